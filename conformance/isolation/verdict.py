"""The report and the result of a test that its process did not survive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.session.outcome import Outcome, attach, outcome_of

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
    outcome = next(filter(None, map(outcome_of, reports)), None)
    if outcome is None:
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
    before = outcome.result
    # The graver one names the verdict, and the test's own words are kept.
    both = f"{message}\nbefore that: {before.message}" if before.message else message
    left = None if ending is None else ending.to_dict()
    return replace(before, verdict=verdict, phase=phase, message=both, ending=left)


def lost_report(
    nodeid: str, case: Case | None, result: TestResult | None, verdict: Verdict, message: str, ending: Ending | None
) -> pytest.TestReport:
    """What pytest shows of such a test."""
    lines = [message]
    if ending is not None:
        lines.append(ending.told())
    if case is not None:
        lines += [entry.headline for entry in case.requirements]
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
        attach(report, Outcome(case.implementation, result))
    return report
