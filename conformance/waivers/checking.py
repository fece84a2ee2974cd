"""What is wrong with waivers after a run, and what people should know of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from conformance.errors import RecordError, one_line
from conformance.records.header import Header
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Requirement
from conformance.waivers.waiver import SCOPE, Waiver, facts

#: Days before its end from which a waiver's expiry is announced.
ANNOUNCED_DAYS = 14
#: Verdicts that leave open whether a test would be rejected.
_OPEN = {Verdict.NOT_RUN, Verdict.SKIPPED, Verdict.ERROR}
_REJECTED = {verdict for verdict in Verdict if verdict.rejects} | {Verdict.WAIVED}


@dataclass
class Concern:
    """What a run says of the tests that one waiver is about, counted as they pass.

    Attributes:
        tests: how many were to run.
        names_one: whether one of them has the very name that the waiver gives.
        verdicts: how many have each verdict.
        rejected_ids: the scored requirements that the rejected ones decide.
    """

    tests: int = 0
    names_one: bool = False
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    rejected_ids: dict[str, None] = field(default_factory=dict)

    @property
    def rejected(self) -> int:
        return sum(count for verdict, count in self.verdicts.items() if verdict.rejects)

    @property
    def is_open(self) -> bool:
        """Whether it leaves open that one of them fails, or says so."""
        known = sum(self.verdicts.values())
        return known < self.tests or any(verdict in _OPEN | _REJECTED for verdict in self.verdicts)


class RunFacts:
    """What waivers are checked against, of one run.

    Args:
        run_facts: what scopes are compared with.
        waivers: of the session.
        requirements: that the run is judged by.
        narrowed: whether only a part of the suites was to run.
    """

    def __init__(
        self,
        run_facts: Mapping[str, str],
        waivers: Sequence[Waiver],
        requirements: Iterable[Requirement],
        *,
        narrowed: bool,
    ) -> None:
        self.facts = run_facts
        self.narrowed = narrowed
        self._scored = {entry.id for entry in requirements if entry.scored}
        self._waivers = waivers
        self._concerns = [Concern() for _ in waivers]

    @property
    def name(self) -> str:
        return self.facts["implementation"]

    def concern(self, waiver: Waiver) -> Concern:
        """What the run says of the tests that `waiver` is about."""
        return self._concerns[self._waivers.index(waiver)]

    def planned(self, test: str, ids: tuple[str, ...]) -> None:
        """Take in a test that is to run."""
        for waiver, concern in self._about(test, self._scored_of(ids)):
            concern.tests += 1
            concern.names_one |= waiver.test == test

    def ended(self, test: str, ids: tuple[str, ...], verdict: Verdict) -> None:
        """Take in what became of it."""
        scored = self._scored_of(ids)
        for _, concern in self._about(test, scored):
            concern.verdicts[verdict] += 1
            if verdict.rejects:
                concern.rejected_ids.update(dict.fromkeys(scored))

    def take_in(self, other: RunFacts) -> None:
        """Take in what `other`, of another part of the run, has."""
        for concern, more in zip(self._concerns, map(other.concern, self._waivers), strict=True):
            concern.tests += more.tests
            concern.names_one |= more.names_one
            concern.verdicts.update(more.verdicts)
            concern.rejected_ids.update(more.rejected_ids)

    def _scored_of(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(identity for identity in ids if identity in self._scored)

    def _about(self, test: str, scored: tuple[str, ...]) -> Iterator[tuple[Waiver, Concern]]:
        pairs = zip(self._waivers, self._concerns, strict=True)
        return ((waiver, concern) for waiver, concern in pairs if waiver.concerns(test, scored))


def problems(waivers: Sequence[Waiver], runs: Collection[RunFacts], today: date) -> list[str]:
    """What fails a session for its waivers' sake, each as ``FILE:LINE: what is wrong: what to change``.

    Args:
        waivers: of the session.
        runs: of the session, one for each implementation.
        today: the day in UTC.
    """
    texts = ((waiver, _problem(waiver, waivers, runs, today)) for waiver in waivers)
    return [f"{waiver.place}: {text}" for waiver, text in texts if text is not None]


class RecordedWaivers:
    """Checks the waivers that a record names, on the day of its run, while its tests pass.

    Raises:
        RecordError: a waiver in its header is malformed.
    """

    def __init__(self, header: Header) -> None:
        try:
            self._waivers = [Waiver.from_dict(values) for values in header.waivers]
            self._day = date.fromisoformat(header.started_at[:10])
        except (KeyError, TypeError, ValueError) as error:
            raise RecordError(f"a malformed waiver in the header ({one_line(error)})") from None
        self.run = RunFacts(
            facts(header.implementation, header.revision, header.environment),
            self._waivers,
            header.requirements,
            narrowed=header.narrowed,
        )

    def planned(self, test: str, ids: tuple[str, ...]) -> None:
        self.run.planned(test, ids)

    def result(self, result: TestResult, size: int) -> None:  # noqa: ARG002 - what watches a record is told
        self.run.ended(result.test, result.requirements, result.verdict)

    def take_in(self, other: RecordedWaivers) -> None:
        """Take in what `other` has seen, of another part of the run."""
        self.run.take_in(other.run)

    def problems(self) -> list[str]:
        """What fails the run for its waivers' sake."""
        return problems(self._waivers, [self.run], self._day)


def _problem(waiver: Waiver, waivers: Sequence[Waiver], runs: Collection[RunFacts], today: date) -> str | None:
    days = waiver.days_left(today)
    if days < 0:
        return (
            f"it expired on {waiver.expires}, {_days(-days)} ago, and waives {waiver.target} no longer: "
            "delete it, or set a later 'expires'"
        )
    runs_in_scope = [run for run in runs if waiver.in_scope(run.facts)]
    if not runs_in_scope:
        return f"out of scope: {_mismatch(waiver, runs)}: correct its scope, or delete it"
    if not any(run.narrowed or run.concern(waiver).tests for run in runs_in_scope):
        names = ", ".join(run.name for run in runs_in_scope)
        what = f"called {waiver.test}" if waiver.test else f"that decides {waiver.requirement}"
        return f"it matches nothing: no test {what} applies to {names}: correct the name, or delete it"
    for other in waivers[: waivers.index(waiver)]:
        if other.target == waiver.target and any(other.in_scope(run.facts) for run in runs_in_scope):
            return f"{waiver.target} is waived at {other.place}, too, for the same run: keep one of the two"
    stale = [run for run in runs_in_scope if _is_stale(waiver, run)]
    if not stale:
        return None
    names = ", ".join(run.name for run in stale)
    remedy = "delete it" if len(stale) == len(runs_in_scope) else "narrow its scope"
    return f"{waiver.target} no longer fails: {_evidence(waiver, stale)} for {names}: {remedy}"


def _mismatch(waiver: Waiver, runs: Collection[RunFacts]) -> str:
    """The scope that no run has, with what the runs have instead."""
    for name in SCOPE:
        if not any(waiver.fits(name, run.facts) for run in runs):
            values = dict.fromkeys(run.facts.get(name) for run in runs)
            shown = ", ".join("not stated" if value is None else repr(value) for value in values)
            return f"{name} = {waiver.scope[name]!r}, and here it is {shown}"
    return "no run has all of its scope"


def _is_stale(waiver: Waiver, run: RunFacts) -> bool:
    """Whether all that `waiver` is about was run, and nothing was rejected."""
    concern = run.concern(waiver)
    if run.narrowed and not concern.names_one:
        return False  # the tests that were left out may fail
    return bool(concern.tests) and not concern.is_open


def _evidence(waiver: Waiver, runs: Collection[RunFacts]) -> str:
    counts: Counter[Verdict] = Counter()
    for run in runs:
        counts.update(run.concern(waiver).verdicts)
    return " and ".join(f"{_number(count, 'test')} came to {verdict}" for verdict, count in counts.items())


# -- for the summary --------------------------------------------------------------------------------------------------


def report(waivers: Collection[Waiver], runs: Collection[RunFacts], today: date) -> list[str]:
    """A line for each waiver in force, with what it waived, and one more for each that expires soon."""
    in_force = [waiver for waiver in waivers if waiver.days_left(today) >= 0]
    lines = [line for waiver in in_force for line in _lines(waiver, in_force, runs, today)]
    soon = [waiver for waiver in in_force if waiver.days_left(today) <= ANNOUNCED_DAYS]
    for waiver in sorted(soon, key=lambda waiver: waiver.expires):
        days = waiver.days_left(today)
        when = f"in {_days(days)}" if days else "today"
        lines.append(f"EXPIRES SOON: {waiver.place}: {waiver.target}: {when}, on {waiver.expires}; {waiver.owner}")
    return lines


def _lines(waiver: Waiver, in_force: Collection[Waiver], runs: Collection[RunFacts], today: date) -> Iterator[str]:
    for run in runs:
        if not waiver.in_scope(run.facts):
            continue
        concern = run.concern(waiver)
        requirements = {each.requirement for each in in_force if each.in_scope(run.facts)}
        waived = concern.verdicts[Verdict.WAIVED]
        if waived:
            what = f"{_number(waived, 'test')} of {waiver.target} waived for {run.name}"
            until = f"until {waiver.expires} ({_days(waiver.days_left(today))} left)"
            yield f"{waiver.place}: {what} {until}: {one_line(waiver.reason)} [{waiver.link}; {waiver.owner}]"
        if concern.rejected:
            names = ", ".join(identity for identity in concern.rejected_ids if identity not in requirements)
            what = f"{_number(concern.rejected, 'test')} of {waiver.target} still rejected for {run.name}"
            yield f"{waiver.place}: {what}, because of what else is decided there and not waived: {names}"


def _days(count: int) -> str:
    return _number(count, "day")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
