"""Files in the place of others: only where that was asked for, and never a part of one."""

from __future__ import annotations

import contextlib
import errno
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance.errors import ConformanceError, UsageError, WriteError

#: What a disk says that takes no more, or that has broken: nothing that another command line would change.
_TROUBLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def refuse_to_replace(option: str, path: Path, *, force: bool) -> None:
    """Refuse to write over a file that holds anything.

    Args:
        option: of the command line that named it.
        path: of the file.
        force: whether the user asked for that.

    Raises:
        UsageError: it does, and the user did not.
    """
    if not force and path.exists() and not _is_empty(path):
        raise UsageError(f"{option}={path} exists: --force replaces it")


def _is_empty(path: Path) -> bool:
    return not path.is_dir() and path.stat().st_size == 0


def cannot_be_written(what: object, error: OSError) -> ConformanceError:
    """Why `what` is not there: the disk, or a place that no file can be written to."""
    kind = WriteError if error.errno in _TROUBLE else UsageError
    return kind(f"{what} cannot be written: {error.strerror or error}")


@contextlib.contextmanager
def moved_into_place(*paths: Path) -> Iterator[list[Path]]:
    """Give names beside `paths` to write to in a ``with`` block; at its good end the files move to `paths`.

    So nobody reads a part of a file, and one that stood there before is whole until then.  At any other end nothing is
    left of them.

    Args:
        paths: of files; those after the first in its folder or below.

    Raises:
        UsageError: there is something at one of `paths` that is no file, or nothing can be written beside it.
        WriteError: the disk is full, or broken.
    """
    # Through links, which then still lead to the file.
    places = [path.resolve() for path in paths]
    for path, place in zip(paths, places, strict=True):
        if place.exists() and not place.is_file():
            raise UsageError(f"{path} cannot be written: it is not a regular file")
    folder = None
    try:
        places[0].parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".graph-conformance-", dir=places[0].parent))
        # Files of several folders may have one name.
        parts = [folder / str(number) for number, _ in enumerate(places)]
        yield parts
        for parent in {place.parent for place in places}:
            parent.mkdir(parents=True, exist_ok=True)
        for part, place in zip(parts, places, strict=True):
            part.replace(place)
    except OSError as error:
        raise cannot_be_written(paths[0] if len(paths) == 1 else paths[0].parent, error) from None
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
