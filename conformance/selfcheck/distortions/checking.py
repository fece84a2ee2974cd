"""Runs the suites against distortions, each until one test rejects it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from conformance.records.result import TestResult
from conformance.requirements.registry import Registry
from conformance.selfcheck.distortions.distortion import Distortion
from conformance.selfcheck.distortions.equivalents import Equivalent, reason_for
from conformance.selfcheck.outcomes import Judgement, Observed, Outcome, Row, first_kill, kills, reason, strongest
from conformance.selfcheck.running import Job
from conformance.session.cases import Case

#: What the plain class would not have done differently says nothing of the suites.
_NEVER_DIFFERED = "no test makes a call in which it differs"


def job_of(
    distortion: Distortion,
    registry: Registry,
    listed: Sequence[Equivalent],
    rows: dict[str, Row],
    say: Callable[[str], None],
) -> Job:
    """Runs the suites against the distortion until a test rejects it; puts the row among `rows`, by its id."""
    scored = frozenset(entry.id for entry in registry.requirements.values() if entry.scored)

    def finish(observed: Observed) -> None:
        row = judge_distortion(distortion, scored, observed, registry, reason_for(distortion, listed))
        rows[distortion.id] = row
        say(f"{distortion.id}: {row.outcome}, {row.run} tests; {', '.join(row.requirements)} {row.message}"[:200])

    order = partial(_rank, distortion, _areas(distortion, registry))
    return Job(distortion, distortion.implementation, [_is_plain], finish, partial(kills, scored), order)


def _is_plain(case: Case, _results: Sequence[TestResult]) -> bool:
    """Whether a test is no long program, which only asks again what others ask."""
    return not any(entry.composite for entry in case.requirements)


def _areas(distortion: Distortion, registry: Registry) -> frozenset[str]:
    return frozenset(registry.requirements[identity].area for identity in distortion.near)


def _rank(distortion: Distortion, areas: frozenset[str], case: Case) -> tuple[bool, bool]:
    """What the documents say of the member comes first, then its areas, then the rest."""
    return (
        distortion.near.isdisjoint(case.ids),
        areas.isdisjoint(entry.area for entry in case.requirements),
    )


def judge_distortion(
    distortion: Distortion, scored: frozenset[str], observed: Observed, registry: Registry, excuse: str | None
) -> Row:
    """The row of a distortion, which is rejected or has an excuse, and never both."""
    first = first_kill(scored, observed.results)
    ids = frozenset() if first is None else scored & frozenset(first.requirements)
    complaints = [result for result in observed.results if result.verdict.rejects]
    if observed.trouble is not None:
        outcome, message = Outcome.BROKEN, observed.trouble
    elif first is not None and excuse is not None:
        outcome, message = Outcome.FALSE_ALARM, f"listed as equivalent, and rejected: {reason(first)}"
    elif first is not None:
        outcome, message = Outcome.KILLED, reason(first)
    elif complaints:
        outcome = Outcome.WRONG_REASON
        message = f"says nothing of a promise; {complaints[0].test}: {reason(complaints[0])}"
    elif excuse is not None:
        outcome, message = Outcome.EQUIVALENT, excuse
    else:
        outcome = Outcome.SURVIVED
        message = "no scored requirement rejects it" if distortion.mark.is_set else _NEVER_DIFFERED
    level = strongest(outcome, ids, distortion.adapter.dialect, registry)
    judgement = Judgement(outcome, message, ids, len(complaints), level)
    return judgement.row("distortion", distortion, distortion.implementation, observed, layer=distortion.site.name)
