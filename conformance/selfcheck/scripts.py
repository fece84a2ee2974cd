"""Whether scripts keep their promise: each fails while the fault that it was written for is there, and passes without.

A script runs in a forked process in which nothing of the kit can be imported, as it would where the kit is not.
"""

from __future__ import annotations

import gc
import importlib.abc
import json
import os
import re
import runpy
import select
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from conformance.adapters.implementations import KNOWN
from conformance.errors import KitError, one_line
from conformance.records.result import TestResult
from conformance.reproducing.showing import shows
from conformance.selfcheck.catalogue import Fault
from conformance.selfcheck.children import Apply, Forked, Reporter, ended, fork
from conformance.selfcheck.outcomes import AS_PROMISED

#: Seconds that a script may take; its test took less than that.
_LIMIT_S = 60.0

#: The packages that a script does without.
_KIT = ("conformance", "suites", "reports")
#: The line with which a script finds its graph class; see `conformance.reproducing.preamble`.
_GRAPH = re.compile(r"^Graph = .+$", re.MULTILINE)


@dataclass(frozen=True)
class Trial:
    """A script to try.

    Attributes:
        fault: that it was written for.
        result: of the test that the script was written for, and the script with it.
        graph_class: the name of the implementation's own graph class in its module.
    """

    fault: Fault
    result: TestResult
    graph_class: str

    @property
    def script(self) -> str:
        """The text of the script."""
        return self.result.reproducer or ""


@dataclass(frozen=True)
class _Ending:
    """How a script ended.

    Attributes:
        kind: the name of the exception that ended it, ``""`` of what ended its process, ``None`` when it passed.
        message: more of that.
    """

    kind: str | None = None
    message: str = ""

    def __str__(self) -> str:
        return one_line(f"{self.kind}: {self.message}" if self.kind else self.message)


def try_scripts(trials: Sequence[Trial], processes: int) -> list[str]:
    """Run each script with its fault and without it.

    Args:
        trials: the scripts.
        processes: how many run at a time.

    Returns:
        For each, `AS_PROMISED` or what is wrong.

    Raises:
        KitError: a process that runs scripts did not come to its end.
    """
    outcomes: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        numbered = [(number, trial, Path(folder) / f"script_{number}.py") for number, trial in enumerate(trials)]
        # Scripts collect garbage, and would walk all that the suites' collection has left.
        gc.collect()
        gc.freeze()
        try:
            shares = [numbered[first::processes] for first in range(min(processes, len(trials)))]
            children = [fork(partial(_try_each, share)) for share in shares]
        finally:
            gc.unfreeze()
        for pid, pipe in children:
            os.set_blocking(pipe.fileno(), True)
            lines = [json.loads(line) for line in pipe]
            Forked(pid, pipe, 0.0).wait()
            outcomes.update({line["number"]: line["what"] for line in lines if line["kind"] == "tried"})
    if len(outcomes) < len(trials):
        raise KitError(f"only {len(outcomes)} of {len(trials)} scripts could be tried")
    return [outcomes[number] for number in range(len(trials))]


def _try_each(numbered: Sequence[tuple[int, Trial, Path]], reporter: Reporter) -> None:
    for number, trial, path in numbered:
        reporter.say("tried", number=number, what=_try(trial, path))


def _try(trial: Trial, path: Path) -> str:
    package = KNOWN[trial.fault.implementation].package
    module = re.search(rf"^import ({package}[\w.]*)$", trial.script, re.MULTILINE)  # a face has one of its own
    sound_class = f"{module[1] if module else package}.{trial.graph_class}"
    sound_script, places = _GRAPH.subn(f"Graph = {sound_class}", trial.script)
    if places != 1:
        return "does not say in one line what its graph class is"
    path.write_text(trial.script, encoding="utf-8")
    faulty = _run(partial(_live, path, trial.fault.apply))
    if faulty.kind is None:
        return "passes with the fault"
    if not shows(trial.result, faulty.kind, faulty.message):
        how = "fails for another reason" if faulty.kind == "AssertionError" else "ends otherwise"
        return f"{how} with the fault: {faulty}"
    path.write_text(sound_script, encoding="utf-8")
    sound = _run(partial(_live, path, nullcontext))
    if sound.kind is not None:
        return f"fails without the fault: {sound}"
    return AS_PROMISED


def _run(live: Callable[[Reporter], None]) -> _Ending:
    """Let a process live, and hear how that ended."""
    pid, pipe = fork(live)
    process = Forked(pid, pipe, time.monotonic() + _LIMIT_S)
    content = b""
    while select.select([pipe], [], [], max(0.0, process.deadline - time.monotonic()))[0]:
        more = os.read(pipe.fileno(), 1 << 20)
        if not more:
            status = process.wait()
            break
        content += more
    else:
        process.kill()
        process.wait()
        return _Ending(kind="", message=f"it did not end in {_LIMIT_S:.0f} s")
    if not content:
        return _Ending(kind="", message=ended(status))
    # What follows is of the fault, which may not come off.
    message = json.loads(content.splitlines()[0])
    if message["kind"] == "trouble":
        return _Ending(kind="", message=message["message"])
    return _Ending(message["error"], message["message"])


# -- in the child -----------------------------------------------------------------------------------------------------


class _NoKit(importlib.abc.MetaPathFinder):
    """Refuses the kit's modules."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002
        """Refuse one, as if it were not installed."""
        if fullname.partition(".")[0] in _KIT:
            raise ModuleNotFoundError(f"no module named {fullname!r}", name=fullname)


def _live(path: Path, apply: Apply, reporter: Reporter) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in _KIT]:
        del sys.modules[name]
    sys.meta_path.insert(0, _NoKit())
    with apply():
        try:
            runpy.run_path(str(path), run_name="__main__")
        except BaseException as error:
            reporter.say("ended", error=type(error).__name__, message=str(error)[:4000])
        else:
            reporter.say("ended", error=None, message="")
