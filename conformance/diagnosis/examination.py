"""Starts the process that calls the implementation, and reads what it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.adapters.answers import Answer
from conformance.diagnosis.child import LINES, OUTPUT, STACKS
from conformance.diagnosis.facts import Facts
from conformance.errors import one_line

_CHILD = "conformance.diagnosis.child"
#: Seconds for a process that hangs to say where.
_STACKS_S = 0.5
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)


@dataclass(frozen=True)
class Request:
    """What to look at.

    Attributes:
        spec: as for ``--impl``.
        device: for a factory that takes one.
        revision: instead of the adapter's own.
        seconds: for the process that calls the implementation, and for each probe.
    """

    spec: str
    device: str | None = None
    revision: str | None = None
    seconds: float = 60.0


@dataclass(frozen=True)
class Findings:
    """What came of it.

    Attributes:
        facts: about the implementation; ``None`` when there is none that could be looked at.
        answers: of its members.
        refused: why there is nothing to look at, or ``None``.
        lost: how the process ended before it came to its end, and where; ``None`` when it came to it.
        lost_in: the call that it did not come back from.
        kit: what the kit itself stumbled over, or ``None``.
    """

    facts: Facts | None
    answers: tuple[Answer, ...]
    refused: str | None = None
    lost: str | None = None
    lost_in: str = ""
    kit: str | None = None


def examine(request: Request) -> Findings:
    """Call each member once, in a process that may crash or hang."""
    words = {"spec": request.spec, "device": request.device, "revision": request.revision}
    with tempfile.TemporaryDirectory(prefix="graph-conformance-") as name:
        folder = Path(name)
        with (folder / OUTPUT).open("wb") as output:
            process = subprocess.Popen(  # noqa: S603  # this program again
                [sys.executable, "-m", _CHILD, json.dumps(words), name],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                late = _wait(process, request.seconds)
            finally:
                _end(process)
        return _read(folder, process.returncode, late)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> str | None:
    """Wait until `process` has ended; how long it was waited for in vain, or ``None``."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGUSR1)  # it writes its stacks
        time.sleep(_STACKS_S)
        return f"did not come back in {seconds:g} s"
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End `process`, and whatever it has started."""
    with contextlib.suppress(ProcessLookupError):  # all have ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read(folder: Path, status: int, late: str | None) -> Findings:
    lines: list[dict[str, Any]] = [json.loads(text) for text in _text(folder / LINES).splitlines()]
    facts = next((Facts(**line["facts"]) for line in lines if "facts" in line), None)
    answers = tuple(Answer(**line["answer"]) for line in lines if "answer" in line)
    refused = next((str(line["refused"]) for line in lines if "refused" in line), None)
    if lines and "end" in lines[-1]:
        return Findings(facts, answers, refused)
    output = _text(folder / OUTPUT).strip()
    if late is None and status == 1 and _TRACEBACK in output:
        return Findings(facts, answers, kit=one_line(output.splitlines()[-1]))
    began = next((str(line["began"]) for line in reversed(lines) if "began" in line), "its start")
    how = late or (f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}")
    lost = f"the process {how} in {began}{_where(_text(folder / STACKS))}"
    return Findings(facts, answers, lost=lost, lost_in=began)


def _where(stacks: str) -> str:
    """The innermost line of somebody else's than the kit's and Python's own."""
    here = str(Path(__file__).parents[1])
    for file, line, function in _FRAME.findall(stacks.partition("most recent call first")[2]):
        if not file.startswith(("<", here)) and not file.startswith(str(Path(json.__file__).parents[1])):
            return f" at {file}, line {line}, in {function}"
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
