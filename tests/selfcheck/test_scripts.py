"""What the self-check says of scripts that do as they promise, and of those that do not."""

from __future__ import annotations

import sys
import types
from contextlib import nullcontext
from functools import partial
from typing import Any
from unittest import mock

import pytest

from conformance.adapters.known import Known
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.selfcheck import scripts
from conformance.selfcheck.scripts import Trial, try_scripts
from reference_impl.faults import Fault

PROMISE = "a replay runs"
SEEN = "RuntimeError: nothing is there to run"

#: A backend in the place of one: its own class and a broken one, and what a fault may patch.
BACKEND = types.ModuleType("pretended")
exec(  # noqa: S102  # its scripts import it
    """
broken = False
class CUDAGraph:
    def replay(self): return not broken
class Broken(CUDAGraph):
    def replay(self): return False
""",
    vars(BACKEND),
)

#: What a script says that was written for the class Broken.
SCRIPT = """
import pretended
Graph = pretended.Broken

assert Graph().replay(), "expected: a replay runs\\nseen: nothing"
"""

#: In the place of a check: a call that raises what the test saw it raise.
RAISES = "if not Graph().replay(): raise RuntimeError('nothing is there to run')\n0"

KILL = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
PATCH = partial(mock.patch.object, BACKEND, "broken", new=True)

CASES: dict[str, tuple[str, Any, str]] = {
    "class": (SCRIPT, nullcontext, "as promised"),
    "patch": (SCRIPT.replace("Broken", "CUDAGraph"), PATCH, "as promised"),
    "sound": (SCRIPT.replace("Broken", "CUDAGraph"), nullcontext, "passes with the fault"),
    "always": (SCRIPT.replace("Graph().replay()", "False"), nullcontext, "fails without the fault: AssertionError"),
    "call": (SCRIPT.replace("assert Graph().replay()", RAISES), nullcontext, "as promised"),
    "reason": (SCRIPT.replace("a replay", "a reset"), nullcontext, "fails for another reason with the fault"),
    "name": (SCRIPT.replace("assert Graph", "assert Grahp"), nullcontext, "ends otherwise with the fault: NameError"),
    "syntax": (SCRIPT + "if", nullcontext, "ends otherwise with the fault: SyntaxError"),
    "kit": ("import conformance.checks" + SCRIPT, nullcontext, "ends otherwise with the fault: ModuleNotFoundError"),
    "crash": (KILL + SCRIPT, nullcontext, "ends otherwise with the fault: the process died of SIGKILL"),
    "crash-late": (SCRIPT + KILL, nullcontext, "fails without the fault: the process died of SIGKILL"),
    "hang": ("import time; time.sleep(60)" + SCRIPT, nullcontext, "ends otherwise with the fault: it did not end in"),
    "no-class": (SCRIPT.replace("Graph = ", "Other = "), nullcontext, "does not say in one line what its graph"),
    "no-apply": (SCRIPT, lambda: BACKEND.nothing, "ends otherwise with the fault: AttributeError"),
}


def _result(script: str) -> TestResult:
    return TestResult("t", (), Verdict.FAIL, message="m", expected=PROMISE, seen=SEEN, reproducer=script)


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What is said of each."""
    trials = [
        Trial(Fault(name, "class", "", (), "reference", apply), _result(script), "CUDAGraph")
        for name, (script, apply, _) in CASES.items()
    ]
    known = {"reference": Known("", "", "pretended", "CUDAGraph")}
    with (
        mock.patch.object(scripts, "_LIMIT_S", 1.0),
        mock.patch.object(scripts, "KNOWN", known),
        mock.patch.dict(sys.modules, {"pretended": BACKEND}),
    ):
        return dict(zip(CASES, try_scripts(trials, 2), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_what_is_said(said: dict[str, str], name: str) -> None:
    assert said[name].startswith(CASES[name][2])
