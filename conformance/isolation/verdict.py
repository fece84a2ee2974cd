"""The report and the result of a test that its process did not survive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from conformance.records.record import TestResult
from conformance.records.verdicts import Verdict

if TYPE_CHECKING:
    from conformance.isolation.evidence import Ending
    from conformance.session.cases import Case


def charged(
    case: Case,
    reports: Sequence[pytest.TestReport],
    verdict: Verdict,
    phase: str,
    message: str,
    ending: Ending | None,
    command: str,
) -> TestResult:
    """The result of `case`, whose process ended too early.

    Args:
        case: the test.
        reports: what the worker still said of it.
        verdict: on it.
        phase: in which the process ended.
        message: how.
        ending: what the process left behind.
        command: runs the test again.
    """
    told_of = (vars(report)["conformance"] for report in reports if "conformance" in vars(report))
    sent: dict[str, Any] = next(told_of, {})
    if not sent:
        duration = round(sum(report.duration for report in reports if report.when != "teardown"), 6)
        return TestResult(
            test=case.test,
            requirements=case.ids,
            verdict=verdict,
            phase=phase,
            message=message,
            duration_s=duration,
            command=command,
            ending=None if ending is None else ending.to_dict(),
        )
    before = TestResult.from_dict(sent["result"])
    # The graver one names the verdict, and the test's own words are kept.
    told = f"{message}\nbefore that: {before.message}" if before.message else message
    changed = {"verdict": verdict.value, "phase": phase, "message": told}
    return TestResult.from_dict({**before.to_dict(), **changed, "ending": None if ending is None else ending.to_dict()})


def lost_report(
    nodeid: str, case: Case | None, result: TestResult | None, verdict: Verdict, message: str, ending: Ending | None
) -> pytest.TestReport:
    """What pytest shows of such a test."""
    lines = [message]
    if ending is not None:
        lines.append(ending.details())
    if case is not None:
        lines += [f"{entry.id} ({entry.level}, since {entry.since}): {entry.text}" for entry in case.requirements]
    if result is not None:
        lines.append(f"run it again: {result.command}")
    file, _, name = nodeid.partition("::")
    report = pytest.TestReport(
        nodeid=nodeid,
        location=(file, None, name),
        keywords={},
        outcome="failed",
        longrepr="\n".join(line for line in lines if line),
        when="call",
    )
    if verdict in {Verdict.CRASH, Verdict.TIMEOUT}:
        vars(report)["conformance_status"] = verdict.value
    if case is not None and result is not None:
        vars(report)["conformance"] = {"implementation": case.implementation, "result": result.to_dict()}
    return report
