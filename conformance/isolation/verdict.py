"""The report and the result of a test that its process did not survive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.session.outcome import Outcome, attach

if TYPE_CHECKING:
    from conformance.isolation.loss import Loss
    from conformance.isolation.worker_state import RunningTest
    from conformance.session.cases import Case


def charged(case: Case, test: RunningTest, loss: Loss, command: str, capabilities: Mapping[str, bool]) -> TestResult:
    """The result of `case`, whose process ended too early.

    No class is blamed for not surviving what its adapter says it does not have.

    Args:
        case: the test.
        test: with what the worker still said of it.
        loss: of the worker.
        command: runs the test again.
        capabilities: what the adapter declares.
    """
    absent = case.probed_absence(capabilities)
    if absent is not None and loss.verdict.rejects and loss.phase != "exit":
        words = f"the adapter {case.implementation!r} declares the capability {absent!r} absent; tried all the same, "
        loss = replace(loss, verdict=Verdict.UNSUPPORTED, message=words + loss.message)
    ending = None if loss.ending is None else loss.ending.to_dict()
    calls = () if loss.ending is None else loss.ending.calls
    if test.outcome is None:
        duration = round(sum(report.duration for report in test.reports if report.when != "teardown"), 6)
        return TestResult(
            test=case.test,
            requirements=case.ids,
            verdict=loss.verdict,
            phase=loss.phase,
            message=loss.message,
            duration_s=duration,
            command=command,
            ending=ending,
            calls=calls,
        )
    before = test.outcome.result
    # The graver one names the verdict, and the test's own words are kept.
    message = f"{loss.message}\nbefore that: {before.message}" if before.message else loss.message
    return replace(before, verdict=loss.verdict, phase=loss.phase, message=message, ending=ending, calls=calls)


def lost_report(nodeid: str, case: Case | None, result: TestResult | None, loss: Loss) -> pytest.TestReport:
    """What pytest shows of such a test."""
    file, _, name = nodeid.partition("::")
    if case is not None and result is not None and result.verdict is Verdict.UNSUPPORTED:
        report = pytest.TestReport(nodeid, (file, None, name), {}, "skipped", (file, 0, result.message), "call")
        vars(report)["conformance_status"] = Verdict.UNSUPPORTED.value
        attach(report, Outcome(case.implementation, result))
        return report
    lines = [loss.message]
    if loss.ending is not None:
        lines.append(loss.ending.details())
    if case is not None:
        lines += [entry.headline for entry in case.requirements]
    if result is not None:
        lines.append(f"run it again: {result.command}")
    report = pytest.TestReport(
        nodeid=nodeid,
        location=(file, None, name),
        keywords={},
        outcome="failed",
        longrepr="\n".join(line for line in lines if line),
        when="call",
    )
    if loss.verdict.is_loss:
        vars(report)["conformance_status"] = loss.verdict.value
    if case is not None and result is not None:
        attach(report, Outcome(case.implementation, result))
    return report
