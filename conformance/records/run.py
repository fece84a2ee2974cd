"""One implementation's run, kept small: what its record, its summary and its verdict need, and no more.

Results go to the record as they come.  Only what is counted stays in memory, so that a run may be of any length.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from conformance import __version__
from conformance.errors import RecordError, one_line
from conformance.paths import suite_digest
from conformance.records.assessment import Assessment, Target, as_json, assess
from conformance.records.causes import Causes
from conformance.records.claim import claim
from conformance.records.footer import Footer
from conformance.records.header import Header
from conformance.records.outcomes import Outcomes
from conformance.records.plan import Plan
from conformance.records.result import TestResult
from conformance.records.resume import Beginning, read_beginning, refuse_another_run
from conformance.records.runs import Runs
from conformance.records.summary import RunSummary
from conformance.records.verdicts import Verdict
from conformance.records.writer import RecordWriter
from conformance.requirements.loading import load_registry
from conformance.requirements.profiles import CORE, profile_of

if TYPE_CHECKING:
    from conformance.records.subject import Subject
    from conformance.requirements.registry import Registry, Requirement

#: Characters kept of a message that only the summary reads again.
_REASON_LIMIT = 400


def _is_promised(entry: Requirement, subject: Subject) -> bool:
    return entry.level == "must" and entry.scored and entry.holds_for(subject.dialect, subject.revision)


class BriefResult(NamedTuple):
    """The part of one test's result that `conformance.records.assessment.assess` counts."""

    test: str
    requirements: tuple[str, ...]
    verdict: Verdict
    is_loss: bool


class Run:
    """One implementation's run.

    Args:
        subject: what runs.
        registry: the requirements.
        path: of its record, or ``None``.
        resume: whether `path` holds a run that this one continues.

    Raises:
        RecordError: `path` cannot be written or resumed.
    """

    def __init__(self, subject: Subject, registry: Registry, path: Path | None, *, resume: bool = False) -> None:
        self.subject = subject
        self.registry = registry.seen_by(subject.dialect)
        # The digest says which requirements a record was judged by, so others than the kit's own have none.
        self._digest = suite_digest() if registry is load_registry() else ""
        self.planned: Mapping[str, tuple[str, ...]] = {}
        self.results: dict[str, BriefResult] = {}
        #: Of the tests that are to run again, the runs so far.
        self._runs: dict[str, Runs] = {}
        self._failures: dict[str, TestResult] = {}
        self._causes = Causes(self.registry.requirements.values())
        self._target = Target()
        self._start = time.monotonic()
        self._earlier_s = 0.0
        self._earlier: Beginning | None = None
        if resume and path is not None and path.exists():
            self._earlier = read_beginning(path, self._take_earlier, self._take_earlier_run)
        self.writer = None if path is None else RecordWriter(path)

    # -- what happens -------------------------------------------------------------------------------------------------

    def begin(
        self,
        planned: Mapping[str, tuple[str, ...]],
        options: Mapping[str, Any],
        started_at: str,
        *,
        not_applicable: Collection[str] = (),
        narrowed: bool = False,
        waivers: Iterable[Mapping[str, str]] = (),
        digests: Mapping[str, str] | None = None,
    ) -> None:
        """Write the header, or make sure that the one that is there says the same.

        Args:
            planned: the tests to run, each with the requirements that it decides.
            options: those that change what the run decides.
            started_at: UTC, ISO 8601.
            not_applicable: the tests of other dialects or later revisions.
            narrowed: whether the operator asked for a part of the suites only.
            waivers: as in the header.
            digests: of the code of the planned tests, by their names without parameters.

        Raises:
            RecordError: the record to resume is of another run, or the run is to show what nothing is documented of.
        """
        self._target = Target.of(options)
        self._refuse_undocumented()
        # Names that come back with results are new strings each: one of each is enough.
        self.planned = {sys.intern(test): ids for test, ids in planned.items()}
        header = Header(
            implementation=self.subject.name,
            dialect=self.subject.dialect,
            revision=self.subject.revision,
            capabilities=self.subject.capabilities,
            environment=self.subject.environment,
            options=options,
            planned=len(planned),
            not_applicable=len(not_applicable),
            narrowed=narrowed,
            requirements=tuple(self.registry.requirements.values()),
            kit_version=__version__,
            suite_digest=self._digest,
            started_at=started_at,
            waivers=tuple(waivers),
        )
        if self.writer is None:
            return
        if self._earlier is not None:
            plan = Plan.of(planned, not_applicable)
            refuse_another_run(self.writer.path, self._earlier, header, planned, plan)
        if self._earlier is not None and not self._earlier.is_empty:
            self.writer.resume(self._earlier.size, self._earlier.digest)
        else:
            self.writer.header(header, planned, not_applicable, digests)

    def _refuse_undocumented(self) -> None:
        subject = self.subject
        for name in self._target.profiles:
            if name != CORE and not any(
                _is_promised(entry, subject) and profile_of(entry) == name
                for entry in self.registry.requirements.values()
            ):
                raise RecordError(
                    f"--profile={name}: the documents of {subject.dialect} {subject.revision}, which {subject.name} is "
                    "held to, promise nothing of it"
                )

    def started(self, test: str) -> None:
        """Note that a test begins, for the case that it ends the process."""
        if self.writer is not None:
            self.writer.started(test)

    def runs_of(self, test: str) -> Runs:
        """The runs so far of a test that is to run again; none of any other."""
        return self._runs.get(test, Runs())

    def ran(self, result: TestResult) -> None:
        """Note what came of a run of a test that is to run again."""
        self._take_earlier_run(result)
        if self.writer is not None:
            self.writer.attempt(result)

    def ended(self, result: TestResult) -> None:
        """Note a test's result."""
        self._runs.pop(result.test, None)
        self._count(result)
        if self.writer is not None:
            self.writer.result(result)

    def reproduced(self, test: str, script: str) -> TestResult:
        """Add the script to a result that had none, and return the part of the result that is kept."""
        self._failures[test] = result = replace(self._failures[test], reproducer=script)
        if self.writer is not None:
            self.writer.reproducer(test, script)
        return result

    @property
    def untried(self) -> list[TestResult]:
        """The results with a script that was not run yet, or the part of each that is kept."""
        return [result for result in self.scripts if result.reproduction is None]

    @property
    def scripts(self) -> list[TestResult]:
        """The results with a script, likewise."""
        return [result for result in self._failures.values() if result.reproducer is not None]

    def tried(self, test: str, reproduction: Mapping[str, str]) -> TestResult:
        """Add what running a script alone came to, and return the part of the result that is kept."""
        self._failures[test] = result = self._failures[test].tried(reproduction)
        if self.writer is not None:
            self.writer.reproduction(test, reproduction)
        return result

    def _take_earlier_run(self, result: TestResult) -> None:
        self._runs.setdefault(result.test, Runs()).add(result)

    def _take_earlier(self, result: TestResult) -> None:
        self._earlier_s += result.duration_s
        self._runs.pop(result.test, None)
        self._count(result)

    def _count(self, result: TestResult) -> None:
        # The plan has the same ids: one copy of them is enough.
        test = sys.intern(result.test)
        ids = self.planned.get(test, result.requirements)
        self.results[test] = BriefResult(test, ids, result.verdict, result.is_loss)
        self._causes.add(result)
        if result.verdict.is_trouble:
            self._failures[result.test] = replace(
                result,
                message=one_line(result.message, _REASON_LIMIT),
                seen=None if result.seen is None else one_line(result.seen, _REASON_LIMIT),
                expected=None if result.expected is None else one_line(result.expected, _REASON_LIMIT),
                frames=(),
                observations={},
                warnings=(),
                ending=None,
            )

    # -- the result ---------------------------------------------------------------------------------------------------

    def assess(self, *, narrowed: bool, stopped: str | None) -> Assessment:
        """The run, judged from what has happened so far."""
        return assess(
            self.registry.requirements.values(),
            Outcomes.of(self.results.values(), self.planned),
            dialect=self.subject.dialect,
            revision=self.subject.revision,
            capabilities=self.subject.capabilities,
            target=self._target,
            narrowed=narrowed,
            stopped=stopped is not None,
        )

    def end(
        self, assessment: Assessment, status: int, stopped: str | None, waiver_problems: Iterable[str] = ()
    ) -> None:
        """Write the footer."""
        if self.writer is None:
            return
        self.writer.footer(
            Footer(
                counts=as_json(assessment.tests),
                verdict=assessment.verdict.value,
                musts=as_json(assessment.musts),
                advice=as_json(assessment.advice),
                complete=stopped is None and all(test in self.results for test in self.planned),
                exit_status=int(status),
                duration_s=round(self._earlier_s + time.monotonic() - self._start, 3),
                stopped=stopped,
                waiver_problems=tuple(waiver_problems),
            )
        )

    def close(self) -> None:
        """Close the record, however the run ended."""
        if self.writer is not None:
            self.writer.close()

    def summary(self, assessment: Assessment, not_applicable: int) -> RunSummary:
        """What the terminal shows."""
        subject = self.subject
        return RunSummary(
            claim=claim(assessment, implementation=subject.name, dialect=subject.dialect, revision=subject.revision),
            assessment=assessment,
            results=tuple(self._failures.values()),
            requirements=self.registry.requirements,
            causes=self._causes.ranked(),
            noted=self._causes.noted,
            left_out=f"{not_applicable} tests do not apply to the dialect {subject.dialect} and the revision "
            f"{subject.revision}"
            if not_applicable
            else "",
            record=None if self.writer is None else self.writer.path,
        )
