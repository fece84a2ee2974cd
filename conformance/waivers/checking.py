"""What is wrong with waivers after a run, and what people should know of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from conformance.errors import RecordError, one_line
from conformance.records.record import Record
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Requirement
from conformance.waivers.waiver import SCOPE, Waiver, facts

#: Days before its end from which a waiver's expiry is announced.
ANNOUNCED_DAYS = 14
#: Verdicts that leave open whether a test would be rejected.
_OPEN = {Verdict.NOT_RUN, Verdict.SKIPPED, Verdict.ERROR}
_REJECTED = {verdict for verdict in Verdict if verdict.rejects} | {Verdict.WAIVED}


def scored_ids(
    planned: Mapping[str, tuple[str, ...]], requirements: Iterable[Requirement]
) -> dict[str, tuple[str, ...]]:
    """The tests of `planned`, each with those of its requirements that are judged."""
    scored = {entry.id for entry in requirements if entry.scored}
    return {test: tuple(identity for identity in ids if identity in scored) for test, ids in planned.items()}


@dataclass(frozen=True)
class RunFacts:
    """What waivers are checked against, of one run.

    Attributes:
        facts: what scopes are compared with.
        planned: the tests to run, each with the scored requirements that it decides.
        verdicts: of the tests that ended.
        narrowed: whether only a part of the suites was to run.
    """

    facts: Mapping[str, str]
    planned: Mapping[str, tuple[str, ...]]
    verdicts: Mapping[str, Verdict]
    narrowed: bool

    @property
    def name(self) -> str:
        return self.facts["implementation"]

    def tests_of(self, waiver: Waiver) -> list[str]:
        """The planned tests that `waiver` is about."""
        return [test for test, ids in self.planned.items() if waiver.concerns(test, ids)]

    def count(self, tests: Collection[str], verdicts: Collection[Verdict]) -> int:
        """How many of `tests` have one of `verdicts`."""
        return sum(self.verdicts.get(test, Verdict.NOT_RUN) in verdicts for test in tests)


def problems(waivers: Sequence[Waiver], runs: Collection[RunFacts], today: date) -> list[str]:
    """What fails a session for its waivers' sake, each as ``FILE:LINE: what is wrong: what to change``.

    Args:
        waivers: of the session.
        runs: of the session, one for each implementation.
        today: the day in UTC.
    """
    texts = ((waiver, _problem(waiver, waivers, runs, today)) for waiver in waivers)
    return [f"{waiver.place}: {text}" for waiver, text in texts if text is not None]


def problems_of_record(record: Record) -> list[str]:
    """The `problems` of the waivers that a record names, on the day of its run.

    Raises:
        RecordError: a waiver in its header is malformed.
    """
    header = record.header
    run = RunFacts(
        facts(header.implementation, header.revision, header.environment),
        scored_ids(header.planned, header.requirements),
        {result.test: result.verdict for result in record.results},
        narrowed=record.narrowed,
    )
    try:
        waivers = [Waiver.from_dict(values) for values in header.waivers]
        day = date.fromisoformat(header.started_at[:10])
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{record.path}: a malformed waiver in the header ({one_line(error)})") from None
    return problems(waivers, [run], day)


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
    if not any(run.narrowed or run.tests_of(waiver) for run in runs_in_scope):
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
    tests = run.tests_of(waiver)
    if run.narrowed and waiver.test not in tests:
        return False  # the tests that were left out may fail
    return bool(tests) and not run.count(tests, _OPEN | _REJECTED)


def _evidence(waiver: Waiver, runs: Collection[RunFacts]) -> str:
    counts = Counter(run.verdicts[test] for run in runs for test in run.tests_of(waiver))
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
        tests = run.tests_of(waiver)
        requirements = {each.requirement for each in in_force if each.in_scope(run.facts)}
        waived = run.count(tests, {Verdict.WAIVED})
        rejected = [test for test in tests if run.verdicts.get(test, Verdict.NOT_RUN).rejects]
        if waived:
            what = f"{_number(waived, 'test')} of {waiver.target} waived for {run.name}"
            until = f"until {waiver.expires} ({_days(waiver.days_left(today))} left)"
            yield f"{waiver.place}: {what} {until}: {one_line(waiver.reason)} [{waiver.link}; {waiver.owner}]"
        if rejected:
            others = dict.fromkeys(identity for test in rejected for identity in run.planned[test])
            names = ", ".join(identity for identity in others if identity not in requirements)
            yield (
                f"{waiver.place}: {_number(len(rejected), 'test')} of {waiver.target} still rejected for {run.name}, "
                f"because of what else is decided there and not waived: {names}"
            )


def _days(count: int) -> str:
    return _number(count, "day")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
