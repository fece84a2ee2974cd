"""Each script that a run writes is run once, alone: whether it shows the failure that it was written for."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Literal

from conformance.errors import one_line
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.reproducing.alone import Ending
from conformance.reproducing.showing import shows
from conformance.reproducing.turns import turns_of
from conformance.text import published

#: ``shown``: it fails as its test did; ``passed``: alone it does not fail; ``otherwise``: it fails, of something else.
Outcome = Literal["shown", "passed", "otherwise"]

#: Seconds that a script has for its imports and for opening the device, besides those that its test took each turn.
_START_S = 20.0
#: Characters of why.
_WHY_LIMIT = 300

_SERVE = "from conformance.reproducing.alone import serve; serve()"


@dataclass(frozen=True)
class Reproduction:
    """What running a script alone came to.

    Attributes:
        outcome: see `Outcome`.
        why: in a line.
    """

    outcome: Outcome
    why: str


def try_scripts(
    results: Sequence[TestResult], seconds: float, processes: int, tell: Callable[[TestResult, Reproduction], None]
) -> None:
    """Run the scripts of `results` for at most so many `seconds`, one of each requirement first; `tell` of each.

    Args:
        results: of tests that went wrong.
        seconds: for all of them; those that are not reached are not told of.
        processes: how many run at a time.
        tell: called in this thread.
    """
    if not hasattr(os, "fork"):
        return
    waiting: SimpleQueue[TestResult] = SimpleQueue()
    for result in _one_of_each_first(results):
        waiting.put(result)
    told: SimpleQueue[tuple[TestResult, Reproduction] | None] = SimpleQueue()
    deadline = time.monotonic() + seconds
    threads = [
        threading.Thread(target=_try_each, args=(waiting, told, deadline), daemon=True)
        for _ in range(min(processes, len(results)))
    ]
    for thread in threads:
        thread.start()
    left = len(threads)
    while left:
        entry = told.get()
        if entry is None:
            left -= 1
        else:
            tell(*entry)


def _one_of_each_first(results: Sequence[TestResult]) -> list[TestResult]:
    seen: dict[tuple[str, ...], int] = {}
    turns = []
    for result in results:
        seen[result.requirements] = turn = seen.get(result.requirements, 0) + 1
        turns.append((turn, result))
    return [result for _, result in sorted(turns, key=lambda entry: entry[0])]


def _try_each(
    waiting: SimpleQueue[TestResult], told: SimpleQueue[tuple[TestResult, Reproduction] | None], deadline: float
) -> None:
    try:
        # When the process that runs them is gone, the rest is not tried.
        with contextlib.suppress(OSError, ValueError):
            for result, ending in _endings(waiting, deadline):
                reproduction = judged(result, ending)
                if reproduction is not None:
                    told.put((result, reproduction))
    finally:
        told.put(None)


def _endings(waiting: SimpleQueue[TestResult], deadline: float) -> Iterator[tuple[TestResult, Ending]]:
    """How scripts end in a process that runs one after the other, as long as there is time."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(  # noqa: S603  # this interpreter, and the kit's own words
            [sys.executable, "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        ) as process,
    ):
        script = Path(folder) / "script.py"
        assert process.stdin is not None
        assert process.stdout is not None
        while True:
            try:
                result = waiting.get_nowait()
            except Empty:
                return
            limit_s = min(limit(result), deadline - time.monotonic())
            if limit_s < limit(result) and limit_s < _START_S:
                return
            script.write_text(result.reproducer or "", encoding="utf-8")
            request = json.dumps({"script": str(script), "limit_s": limit_s})
            yield result, _ending(process.stdin, process.stdout, request)


def limit(result: TestResult) -> float:
    """Seconds that the script of a test has: one that shows that a test hangs uses them up."""
    if result.rejection is Verdict.TIMEOUT:
        return _START_S
    return _START_S + 2 * turns_of(result.reproducer or "") * result.duration_s


def _ending(requests: IO[str], answers: IO[str], request: str) -> Ending:
    requests.write(f"{request}\n")
    requests.flush()
    return Ending(**json.loads(answers.readline()))


# -- the judgement ----------------------------------------------------------------------------------------------------


def judged(result: TestResult, ending: Ending) -> Reproduction | None:
    """Whether a script that ended so shows what its test came to; ``None`` when there is no telling."""
    verdict = result.rejection
    if ending.status is None:
        # A test that came to its end may have a script that a busy machine gave no time.
        return Reproduction("shown", "it did not end in time") if verdict is Verdict.TIMEOUT else None
    if ending.kind is not None:
        said = f"{ending.kind}: {ending.message}" if ending.message else ending.kind
        return Reproduction(
            "shown" if shows(result, ending.kind, ending.message) else "otherwise",
            one_line(published(said), _WHY_LIMIT),
        )
    if ending.status == 0:
        return Reproduction("passed", "alone it does not fail")
    how = f"signal {-ending.status}" if ending.status < 0 else f"exit status {ending.status}"
    return Reproduction("shown" if verdict is Verdict.CRASH else "otherwise", f"its process ended: {how}")
