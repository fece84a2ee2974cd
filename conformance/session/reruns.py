"""Tests that failed run again, up to as many times as ``--reruns`` says, and all their runs decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _pytest import runner

from conformance.records.runs import how_often
from conformance.records.verdicts import Verdict
from conformance.session.outcome import Outcome, attach, outcome_of

if TYPE_CHECKING:
    from conformance.records.result import TestResult
    from conformance.session.cases import Case
    from conformance.session.recorder import Recorder

Reports = Sequence[pytest.TestReport]


class Reruns:
    """The tests of a session that run again.

    Args:
        times: how often a test that failed runs again.
        recorder: keeps what each run came to.
    """

    def __init__(self, times: int, recorder: Recorder) -> None:
        self._times = times
        self._recorder = recorder
        #: By node id, what pytest says of the gravest run so far; only of runs of this session.
        self._worst: dict[str, Reports] = {}

    def wants(self, case: Case, outcome: Outcome) -> bool:
        """Whether a test with this `outcome` runs again."""
        before = self._recorder.runs[case.implementation].runs_of(case.test).number
        return self._times > before and (before > 0 or _counts(case, outcome.result))

    def put_aside(self, case: Case, outcome: Outcome, reports: Reports) -> None:
        """Keep what came of a test that runs again."""
        run = self._recorder.runs[case.implementation]
        before = run.runs_of(case.test).worst
        self._recorder.ran(case, outcome.result)
        if run.runs_of(case.test).worst is not before:
            self._worst[case.nodeid] = reports

    def settled(self, case: Case, reports: Reports) -> Reports:
        """What pytest is to say of a test that does not run again: of all its runs, when it ran more than once."""
        outcome = next(filter(None, map(outcome_of, reports)), None)
        runs = self._recorder.runs[case.implementation].runs_of(case.test)
        if outcome is None or not runs.number:
            return reports
        runs.add(outcome.result)
        before = self._worst.pop(case.nodeid, None)
        shown = reports if runs.worst is outcome.result else before or [_report(case, runs.result)]
        for report in shown:
            if outcome_of(report) is not None:
                attach(report, replace(outcome, result=runs.result))
            if report.failed:
                report.sections.append(("all its runs", how_often(runs.result.runs or {})))
            if report.failed and runs.result.verdict is Verdict.FLAKY:
                vars(report)["conformance_status"] = Verdict.FLAKY.value
        return shown


def _counts(case: Case, result: TestResult) -> bool:
    """Whether it matters that a test failed: what is left open is never judged, but for crashes and hangs."""
    return result.verdict.rejects and (case.scored or result.is_loss)


def _report(case: Case, result: TestResult) -> pytest.TestReport:
    """What pytest shows of a failure that an earlier session saw."""
    file, _, name = case.nodeid.partition("::")
    text = f"{result.message}\nrun it again: {result.command}"
    report = pytest.TestReport(case.nodeid, (file, None, name), {}, "failed", text, "call")
    attach(report, Outcome(case.implementation, result))
    return report


class InThisProcess:
    """Runs each test, and at once again when it failed.

    Args:
        reruns: of the session.
        case_of: the case that an item is.
        is_usable: whether the process can go on with a case.
    """

    def __init__(self, reruns: Reruns, case_of: Callable[[str], Case], is_usable: Callable[[Case], bool]) -> None:
        self._reruns = reruns
        self._case_of = case_of
        self._is_usable = is_usable

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:  # noqa: ARG002 - as pytest's own
        """Run a test, as pytest does."""
        case = self._case_of(item.nodeid)
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        while True:
            # Without a next test everything is torn down, so that each run begins as the first did.
            reports = runner.runtestprotocol(item, nextitem=None, log=False)
            outcome = next(filter(None, map(outcome_of, reports)), None)
            if outcome is None or not self._reruns.wants(case, outcome) or not self._is_usable(case):
                break
            self._reruns.put_aside(case, outcome, reports)
        for report in self._reruns.settled(case, reports):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
