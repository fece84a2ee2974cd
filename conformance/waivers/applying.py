"""Whether a failure is waived, and its result when it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.waivers.waiver import Waiver


def covering(waivers: Collection[Waiver], test: str, scored: Sequence[str]) -> tuple[Waiver, ...]:
    """The waivers that together excuse a failure of `test`; empty when they do not.

    Args:
        waivers: those in force for the run.
        test: by its name in a record.
        scored: the scored requirements that it decides.

    A test is excused by its name, or when all of `scored` are waived: what fails may be any one of them.
    """
    by_name = tuple(waiver for waiver in waivers if waiver.names(test))
    if by_name:
        return by_name
    by_requirement = {waiver.requirement: waiver for waiver in waivers}
    if scored and all(identity in by_requirement for identity in scored):
        return tuple(by_requirement[identity] for identity in scored)
    return ()


def waive(result: TestResult, waivers: Collection[Waiver], scored: Sequence[str]) -> TestResult:
    """`result`, waived if it is a failure that `waivers` excuse; all else that it says stays.

    The kit's own errors say nothing of the implementation, so there is nothing to accept.

    Args:
        result: of a test.
        waivers: those in force for the run.
        scored: the scored requirements that the test decides.
    """
    if not result.verdict.rejects:
        return result
    excuses = covering(waivers, result.test, scored)
    if not excuses:
        return result
    waiver = {
        "reason": "; ".join(dict.fromkeys(excuse.reason for excuse in excuses)),
        "link": "; ".join(dict.fromkeys(excuse.link for excuse in excuses)),
        "owner": "; ".join(dict.fromkeys(excuse.owner for excuse in excuses)),
        "expires": min(excuse.expires for excuse in excuses).isoformat(),
        "verdict": result.verdict.value,
    }
    return replace(result, verdict=Verdict.WAIVED, waiver=waiver)
