"""The one function that every count and every judgement of a run comes from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from conformance.errors import ExitStatus
from conformance.records.outcomes import Outcomes
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.requirements.profiles import PROFILES, profile_of
from conformance.requirements.registry import Requirement
from conformance.requirements.vocabulary import Level

Tally = Mapping[Verdict, int]


def as_json(tally: Tally) -> dict[str, int]:
    """`tally` as JSON values."""
    return {verdict.value: count for verdict, count in tally.items()}


@dataclass(frozen=True)
class Target:
    """What a run is to show.

    Attributes:
        profiles: those that are to be claimed; empty for all that is documented.
        strict: whether the advice has to be followed, too.
        complete: whether a part of the suites is not enough.
    """

    profiles: tuple[str, ...] = ()
    strict: bool = False
    complete: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Target:
        """The target that the options of a record's header name."""
        return cls(tuple(options.get("profile") or ()), bool(options.get("strict")), bool(options.get("complete")))


class Standing(str, Enum):
    """What a run says of one profile."""

    MET = "met"
    NOT_MET = "not_met"
    #: Nothing was rejected, but a must of it needs what is declared absent, or could not be tried.
    DECLINED = "declined"
    #: A must of it has no verdict.
    UNDECIDED = "undecided"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Assessment:
    """A run, judged.

    Attributes:
        verdict: of the whole run.
        exit_status: that a run with this verdict ends with.
        target: what it was to show.
        tests: how many tests have each verdict; verdicts that no test has are left out, here and below.
        requirements: the verdict of each requirement that holds for the implementation and can be tested.
        levels: the level of each of those.
        musts: how many of the musts have each verdict.
        advice: how many of the shoulds have each verdict.
        composites: how many of the composite musts and shoulds, which are in neither of the two.
        exceptions: the ids of the shoulds that were tried and are not followed.
        hazards: how many tests crashed or hung and decide no must.
        profiles: what is said of each profile that the documents of the revision have any must of.
        declined: the names of the profiles with a must that was declined or could not be tried.
        not_applicable: the requirements of other dialects or revisions.
        untestable: the requirements that hold but that no test can decide.
    """

    verdict: RunVerdict
    exit_status: ExitStatus
    target: Target
    tests: Tally
    requirements: Mapping[str, Verdict]
    levels: Mapping[str, Level]
    musts: Tally
    advice: Tally
    composites: Tally
    exceptions: tuple[str, ...]
    hazards: int
    profiles: Mapping[str, Standing]
    declined: tuple[str, ...]
    not_applicable: tuple[str, ...]
    untestable: tuple[str, ...]

    def refuted(self) -> Assessment:
        """The same counts, without a claim: they are those of a record that cannot be true."""
        undecided = dict.fromkeys(self.profiles, Standing.UNDECIDED)
        return replace(self, verdict=RunVerdict.ERROR, exit_status=ExitStatus.KIT_FAILED, profiles=undecided)

    def profiles_that_are(self, standing: Standing) -> tuple[str, ...]:
        """The names of the profiles with that `standing`."""
        return tuple(name for name, each in self.profiles.items() if each is standing)


def assess(
    requirements: Iterable[Requirement],
    outcomes: Outcomes,
    *,
    dialect: str,
    revision: str,
    capabilities: Mapping[str, bool],
    target: Target | None = None,
    narrowed: bool = False,
    stopped: bool = False,
    ended: bool = True,
) -> Assessment:
    """Judge a run.

    Args:
        requirements: all that the kit knew.
        outcomes: of its tests.
        dialect: of the implementation.
        revision: the release that it claims.
        capabilities: what it declares.
        target: what the run is to show; by default all that is documented, without the advice.
        narrowed: whether the operator asked for a part of the suites only.
        stopped: whether the kit could not go on.
        ended: whether the run came to its end; a record without its footer did not.

    A requirement has the worst verdict of its tests, where tests that could not be tried decide nothing as long as
    others remain.
    """
    target = target or Target()
    entries: list[Requirement] = []
    not_applicable: list[str] = []
    untestable: list[str] = []
    for each in requirements:
        if not each.holds_for(dialect, revision):
            not_applicable.append(each.id)
        elif each.untestable is not None:
            untestable.append(each.id)
        else:
            entries.append(each.seen_by(dialect))
    verdicts = {
        entry.id: Verdict.UNSUPPORTED
        if entry.lacks(capabilities) is not None
        else _worst(outcomes.by_requirement.get(entry.id, ()))
        for entry in entries
    }

    judge = _Judge(entries, verdicts, outcomes, narrowed=narrowed, stopped=stopped, ended=ended)
    levels = {entry.id: entry.level for entry in entries}
    return Assessment(
        verdict=judge.verdict(target.profiles),
        exit_status=judge.exit_status(target),
        target=target,
        tests={verdict: outcomes.tests[verdict] for verdict in Verdict if outcomes.tests[verdict]},
        requirements=verdicts,
        levels=levels,
        musts=judge.tally("must"),
        advice=judge.tally("should"),
        composites=_count(verdicts[entry.id] for entry in entries if entry.composite and entry.scored),
        exceptions=tuple(
            entry.id
            for entry in entries
            if entry.level == "should" and not entry.composite and verdicts[entry.id].is_unmet
        ),
        hazards=sum(
            number for ids, number in outcomes.losses.items() if all(levels.get(identity) != "must" for identity in ids)
        ),
        profiles=judge.profiles(),
        declined=tuple(
            dict.fromkeys(
                profile_of(entry)
                for entry in entries
                if entry.level == "must" and verdicts[entry.id] is Verdict.UNSUPPORTED
            )
        ),
        not_applicable=tuple(not_applicable),
        untestable=tuple(untestable),
    )


def _worst(verdicts: Collection[Verdict]) -> Verdict:
    candidates = [verdict for verdict in verdicts if verdict != Verdict.UNSUPPORTED]
    return max(candidates or verdicts, key=lambda verdict: verdict.severity, default=Verdict.NOT_RUN)


def _count(verdicts: Iterable[Verdict]) -> Tally:
    values = list(verdicts)
    return {verdict: values.count(verdict) for verdict in Verdict if verdict in values}


class _Judge:
    """Says what follows from the verdicts of the requirements and the tests."""

    def __init__(
        self,
        entries: Collection[Requirement],
        verdicts: Mapping[str, Verdict],
        outcomes: Outcomes,
        *,
        narrowed: bool,
        stopped: bool,
        ended: bool,
    ) -> None:
        self._entries = entries
        self._verdicts = verdicts
        self._tests = outcomes.tests
        self._has_losses = bool(outcomes.losses)
        self._tried = outcomes.by_requirement.keys()
        self._narrowed = narrowed
        self._stopped = stopped
        self._ended = ended

    def tally(self, level: Level) -> Tally:
        """How many of the requirements of a level have each verdict, composites apart."""
        return _count(
            self._verdicts[entry.id] for entry in self._entries if entry.level == level and not entry.composite
        )

    def verdict(self, profiles: Collection[str], *, waivers_count: bool = False) -> RunVerdict:
        """The run's, judged by the musts of `profiles`, or by all.

        With `waivers_count`, a waived failure counts as if it had not happened.
        """
        if self._stopped or Verdict.ERROR in self._tests:
            return RunVerdict.ERROR
        musts = self._of("must", profiles)
        unmet = [verdict for verdict in musts if verdict.is_unmet]
        if any(verdict.rejects or not waivers_count for verdict in unmet):
            return RunVerdict.DOES_NOT_CONFORM
        if not self._ended or not self._tests or Verdict.NOT_RUN in self._tests:
            return RunVerdict.INCOMPLETE
        scored = [(entry.id in self._tried, self._verdicts[entry.id]) for entry in self._entries if entry.scored]
        if (True, Verdict.SKIPPED) in scored:
            return RunVerdict.INCOMPLETE
        if self._narrowed or (False, Verdict.NOT_RUN) in scored:
            return RunVerdict.NARROWED
        if profiles and Verdict.UNSUPPORTED in musts:
            return RunVerdict.DOES_NOT_CONFORM
        met = {Verdict.PASS, Verdict.WAIVED} if waivers_count else {Verdict.PASS}
        if met.issuperset(self._of("must", ())):
            return RunVerdict.CONFORMS
        return RunVerdict.CONFORMS_IN_PART

    def exit_status(self, target: Target) -> ExitStatus:
        """The status of a run that was to show `target`."""
        verdict = self.verdict(target.profiles, waivers_count=True)
        if verdict is RunVerdict.ERROR:
            return ExitStatus.KIT_FAILED
        if target.strict and not self._follows_advice(target.profiles):
            return ExitStatus.NOT_CONFORMING
        if target.complete and verdict is RunVerdict.NARROWED:
            return ExitStatus.NOT_CONFORMING
        if verdict is RunVerdict.CONFORMS_IN_PART:
            return ExitStatus.CONFORMING if target.profiles else ExitStatus.NOT_CONFORMING
        good = verdict in {RunVerdict.CONFORMS, RunVerdict.NARROWED}
        return ExitStatus.CONFORMING if good else ExitStatus.NOT_CONFORMING

    def profiles(self) -> Mapping[str, Standing]:
        """What is said of each profile with a must that holds."""
        standings = {name: self._standing(self._of("must", (name,))) for name in PROFILES}
        return {name: standing for name, standing in standings.items() if standing is not None}

    def _standing(self, musts: Collection[Verdict]) -> Standing | None:
        if not musts:
            return None
        if any(verdict.is_unmet for verdict in musts):
            return Standing.NOT_MET
        undecided = {Verdict.NOT_RUN, Verdict.SKIPPED, Verdict.ERROR}
        if self._narrowed or not undecided.isdisjoint(musts):
            return Standing.UNDECIDED
        return Standing.DECLINED if Verdict.UNSUPPORTED in musts else Standing.MET

    def _of(self, level: Level, profiles: Collection[str]) -> list[Verdict]:
        return [
            self._verdicts[entry.id]
            for entry in self._entries
            if entry.level == level and (not profiles or profile_of(entry) in profiles)
        ]

    def _follows_advice(self, profiles: Collection[str]) -> bool:
        # What was not run leaves no claim anyway.  A crash is nothing that may be left to an implementation.
        good = {Verdict.PASS, Verdict.WAIVED, Verdict.NOT_RUN}
        return good.issuperset(self._of("should", profiles)) and not self._has_losses
