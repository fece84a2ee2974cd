"""The waivers of one session."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date

from conformance.records.result import TestResult
from conformance.records.subject import Subject
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Requirement
from conformance.waivers import applying, checking
from conformance.waivers.checking import RunFacts
from conformance.waivers.reading import WaiverFile
from conformance.waivers.waiver import Waiver, facts


class SessionWaivers:
    """What ``--waivers`` says, on one day.

    Args:
        file: that it names, or ``None`` when it was not given.
        today: the day in UTC.
    """

    def __init__(self, file: WaiverFile | None, today: date) -> None:
        self._waivers = () if file is None else file.waivers
        self._today = today
        #: The file's name and digest, for records.
        self.option = None if file is None else file.option

    def of(self, subject: Subject) -> tuple[Waiver, ...]:
        """The waivers whose scope a run has, expired ones included."""
        run = facts(subject.name, subject.revision, subject.environment)
        return tuple(waiver for waiver in self._waivers if waiver.in_scope(run))

    def facts_of(
        self,
        subject: Subject,
        planned: Mapping[str, tuple[str, ...]],
        verdicts: Mapping[str, Verdict],
        requirements: Iterable[Requirement],
        *,
        narrowed: bool,
    ) -> RunFacts:
        """What they are checked against, of a run with these tests, each with what it decides and came to."""
        run = facts(subject.name, subject.revision, subject.environment)
        run_facts = RunFacts(run, self._waivers, requirements, narrowed=narrowed)
        for test, ids in planned.items():
            run_facts.planned(test, ids)
            if test in verdicts:
                run_facts.ended(test, ids, verdicts[test])
        return run_facts

    def _in_force(self, subject: Subject) -> tuple[Waiver, ...]:
        return tuple(waiver for waiver in self.of(subject) if waiver.days_left(self._today) >= 0)

    def cover(self, subject: Subject, test: str, scored: Sequence[str]) -> bool:
        """Whether a failure of `test`, which decides the requirements `scored`, is waived."""
        return bool(self._waivers) and bool(applying.covering(self._in_force(subject), test, scored))

    def waive(self, subject: Subject, result: TestResult, scored: Sequence[str]) -> TestResult:
        """`result`, waived if it is a failure and covered."""
        return applying.waive(result, self._in_force(subject), scored) if self._waivers else result

    def problems(self, runs: Collection[RunFacts]) -> list[str]:
        """What fails the session, each as ``FILE:LINE: what is wrong: what to change``."""
        return checking.problems(self._waivers, runs, self._today)

    def report(self, runs: Collection[RunFacts]) -> list[str]:
        """What the summary says of the waivers in force."""
        return checking.report(self._waivers, runs, self._today)
