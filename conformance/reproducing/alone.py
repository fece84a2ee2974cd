"""A process that runs scripts, each in a child of its own: what they all import is imported once, before any device is
opened.

It reads a JSON object a line (``script``, the file's name, and ``limit_s``) and answers each with one: see `Ending`.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

#: Seconds between two looks at a child.
_PAUSE_S = 0.005
#: Characters kept of what an exception says.
_MESSAGE_LIMIT = 8_000


@dataclass(frozen=True)
class Ending:
    """How a script ended.

    Attributes:
        status: the exit status of its process, negative after a signal, or ``None`` when it did not end in time.
        kind: the name of the exception that ended it, if one did.
        message: what that said.
    """

    status: int | None
    kind: str | None = None
    message: str = ""


def serve() -> None:
    """Run the scripts that standard input names, until no more come."""
    import torch  # noqa: F401  # what takes longest of a script

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a script prints is no answer
    for line in sys.stdin:
        request = json.loads(line)
        script = Path(request["script"])
        said = script.with_suffix(".json")
        said.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            os.setsid()
            _run(script, said)
            return
        status = _status(child, time.monotonic() + request["limit_s"])
        words = json.loads(said.read_text(encoding="utf-8")) if said.exists() else {}
        answers.write(json.dumps({"status": status, **words}) + "\n")
        answers.flush()


def _run(script: Path, said: Path) -> None:
    """Be the script; the end of the process, which may go wrong too, is the caller's."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the next scripts are none of its business
    sys.argv = [str(script)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except BaseException as error:
        with contextlib.suppress(Exception):
            message = str(error)[:_MESSAGE_LIMIT]
            said.write_text(json.dumps({"kind": type(error).__name__, "message": message}), encoding="utf-8")
        raise


def _status(child: int, deadline: float) -> int | None:
    """How a child ended, or ``None`` after it had to be ended, with all that it started."""
    try:
        while time.monotonic() < deadline:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(_PAUSE_S)
    except BaseException:  # this process is interrupted, and the child is in a session of its own
        _end(child)
        raise
    _end(child)
    return None


def _end(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
