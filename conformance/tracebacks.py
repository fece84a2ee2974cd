"""Reading tracebacks: which line of whose code raised."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from conformance.errors import NotDerived

#: Frames kept of one failure.  The innermost ones say what happened; a recursion would fill the record.
KEPT_FRAMES = 8

_HERE = Path(__file__).parent


def last_line_in(error: BaseException, file: str = "") -> str:
    """`` at FILE, line N`` for the innermost frame of `error` in `file`, or in any Python file but this package's.

    Empty when there is no such frame.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f" at {error.filename}, line {error.lineno}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<") and not _inside(frame.filename, [_HERE])
    ]
    own = [frame for frame in frames if frame.filename == file] or frames
    return f" at {own[-1].filename}, line {own[-1].lineno}" if own else ""


def missing_method(error: BaseException) -> str | None:
    """The member that the adapter lacks and nothing gives, when that is what `error` says."""
    return error.member if isinstance(error, NotDerived) else None


def missing_name(error: BaseException, adapter: object) -> str | None:
    """The name that neither `adapter` has, nor the device module that it is made of, when that is what `error` says."""
    # Asking for the module might derive one, or fail to.
    owners = [adapter, vars(adapter).get("module", adapter)]
    if isinstance(error, AttributeError) and any(error.obj is owner for owner in owners):
        return error.name
    return None


def implementation_frames(trace: TracebackType | None, kit: Sequence[Path]) -> tuple[str, ...]:
    """The frames below the last one of the kit's own, ``file:line in function``, outermost first.

    Args:
        trace: of the exception.
        kit: the folders of the kit and of the suites.
    """
    frames = traceback.extract_tb(trace)
    last = max((place for place, frame in enumerate(frames) if _inside(frame.filename, kit)), default=-1)
    inner_frames = frames[last + 1 :][-KEPT_FRAMES:]
    return tuple(f"{short_path(frame.filename)}:{frame.lineno} in {frame.name}" for frame in inner_frames)


def short_path(file: str) -> str:
    """`file` relative to where Python imports it from: a record is published, and must not name a home folder."""
    path = Path(file)
    roots = sorted({*map(Path, filter(None, sys.path)), Path.cwd()}, key=lambda root: len(root.parts), reverse=True)
    for root in roots:
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.name


def _inside(file: str, folders: Sequence[Path]) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in folders)
