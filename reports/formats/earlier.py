"""The files of an earlier report in the same folder: what it says is no longer so."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from conformance.errors import RecordError
from conformance.records.lines import parse_object, read_content
from reports.formats.index import digest_of

#: Of the parts of a path that a report writes: none is hidden, or a folder above.
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def leftovers(folder: Path, names: Collection[str], paths: Collection[str]) -> list[Path]:
    """What an earlier report wrote into `folder`, by its index, and this one does not.

    A file that was changed since is nobody's leftover, nor is one that a link leads to.

    Args:
        folder: of both reports.
        names: of the files and folders that a report writes there.
        paths: of the files of this report, relative to the folder.
    """
    root = folder.resolve()
    return [
        root / path
        for path, digest in _named(folder / "index.json")
        if path not in paths and _is_own(path, names) and _is_as_written(root, path, digest)
    ]


def remove(folder: Path, files: Collection[Path]) -> None:
    """Remove `files`, and the folders below `folder` that are empty then."""
    root = folder.resolve()
    for file in files:
        file.unlink(missing_ok=True)
        for parent in file.parents:
            if parent == root:
                break
            with contextlib.suppress(OSError):  # it is not empty
                parent.rmdir()


def _named(index: Path) -> Iterator[tuple[str, str]]:
    """The paths and digests in an index, if it is one."""
    try:
        values = parse_object(read_content(index, "index"))
    except (RecordError, ValueError):
        return
    files = values.get("files")
    if values.get("format") != "graph-conformance index" or not isinstance(files, list):
        return
    for entry in files:
        if isinstance(entry, dict) and isinstance(entry.get("path"), str) and isinstance(entry.get("sha256"), str):
            yield entry["path"], entry["sha256"]


def _is_own(path: str, names: Collection[str]) -> bool:
    parts = path.split("/")
    return parts[0] in names and all(map(_PART.fullmatch, parts))


def _is_as_written(root: Path, path: str, digest: str) -> bool:
    file = root / path
    return file.resolve() == file and file.is_file() and digest_of(file) == digest
