"""Which scripts of lost tests are written at once, and how long the others may take."""

from __future__ import annotations

import time

import pytest

from conformance.isolation.script_plan import AT_ONCE, LEAST_S, SHARE, ScriptPlan
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict


def _lost(number: int, status: int) -> TestResult:
    ending = {"signal": None, "exit_status": status, "output": "", "stacks": ""}
    return TestResult(f"suites/test_it.py::test_{number}", (), Verdict.CRASH, message="it ended", ending=ending)


def test_the_first_scripts_of_each_cause_are_urgent() -> None:
    plan = ScriptPlan()
    assert [plan.is_urgent("one", _lost(number, 7)) for number in range(AT_ONCE + 2)] == [True] * AT_ONCE + [False] * 2
    assert plan.is_urgent("one", _lost(99, 8)), "another cause"
    assert plan.is_urgent("other", _lost(99, 7)), "another implementation"


def test_a_result_that_has_nothing_in_common_with_others_is_urgent() -> None:
    plan, alone = ScriptPlan(), TestResult("suites/test_it.py::test_it", (), Verdict.FAIL, message="[False, True]")
    assert all(plan.is_urgent("one", alone) for _ in range(AT_ONCE + 2))


@pytest.mark.parametrize(("took", "allowed"), [(1.0, LEAST_S), (400.0, 400.0 * SHARE)])
def test_the_others_have_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch, took: float, allowed: float) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    plan = ScriptPlan()
    now += took
    assert plan.has_time()
    now += allowed - 0.5
    assert plan.has_time()
    now += 1.0
    assert not plan.has_time()
