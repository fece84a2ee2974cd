"""What refutes a record: where it contradicts itself, or the suites of its digest, when those are installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from conformance.errors import ExitStatus, one_line
from conformance.paths import HOME, SUITES, suite_digest
from conformance.records.assessment import Assessment, as_json
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.requirements.loading import load_registry
from conformance.requirements.registry import Requirement

#: At the start of a line, as all of the suites' tests are.
_TEST = re.compile(r"^def (test_\w+)\(", re.MULTILINE)

if TYPE_CHECKING:
    from conformance.records.footer import Footer
    from conformance.records.header import Header
    from conformance.records.plan import Plan
    from conformance.records.record import Record
    from conformance.records.result import TestResult


class _Named:
    """What all of some names have in common, told with the first of them."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._first = ""
        self._count = 0

    def add(self, name: str) -> None:
        self._first = self._first if self._count else name
        self._count += 1

    def sentences(self) -> Iterator[str]:
        """One sentence, or none when there is no name."""
        if self._count:
            first = self._first if self._first.isprintable() else repr(self._first)
            more = f", and {self._count - 1:,} more" if self._count > 1 else ""
            yield f"{one_line(first, 200)} {self._what}{more}"


def _some(what: str, names: Iterable[str]) -> Iterator[str]:
    named = _Named(what)
    for name in names:
        named.add(name)
    return named.sentences()


class Contradictions:
    """What in the tests and the results of one record cannot be true, noted as they pass.

    Attributes:
        missing: the test functions of the installed suites that neither ran nor were left out; empty when the record is
            of other suites.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self._unplanned = _Named("has a result and was not planned")
        self._differing = _Named("decides others in its result than in the plan")
        self._left_out = _Named("is planned and left out as not applicable")
        self._unwaived = _Named("is waived, and no waiver in the header is for it")
        self._unused = _Named("has a waiver and is not waived")
        self.missing = dict.fromkeys(_installed_tests()) if header.suite_digest == suite_digest() else {}

    def planned(self, test: str) -> None:
        self.missing.pop(test.partition("[")[0], None)

    def left_out(self, test: str, *, is_planned: bool) -> None:
        self.missing.pop(test.partition("[")[0], None)
        if is_planned:
            self._left_out.add(test)

    def result(self, result: TestResult, planned_ids: tuple[str, ...] | None) -> None:
        """Note a result of a test that decides `planned_ids` by the plan; ``None`` when it is not planned."""
        if planned_ids is None:
            self._unplanned.add(result.test)
        elif planned_ids != result.requirements and set(planned_ids) != set(result.requirements):
            self._differing.add(result.test)
        if result.verdict is not Verdict.WAIVED:
            if result.waiver is not None:
                self._unused.add(result.test)
        elif not any(_is_for(waiver, result) for waiver in self._header.waivers):
            self._unwaived.add(result.test)

    def joined(self, others: Iterable[Contradictions]) -> Contradictions:
        """Those of a run with these parts, none of which has a contradiction."""
        whole = copy(self)
        for other in others:
            whole.missing = {test: None for test in whole.missing if test in other.missing}
        return whole

    def sentences(self, plan: Plan) -> Iterator[str]:
        """What was found, each a sentence without its stop."""
        known_ids = {entry.id for entry in self._header.requirements}
        unknown_ids = {identity for ids in plan.sets() for identity in ids if identity not in known_ids}
        yield from _some("is decided by a test, and is none of its requirements", sorted(unknown_ids))
        for named in (self._unplanned, self._differing, self._left_out, self._unwaived, self._unused):
            yield from named.sentences()


def defects_of(record: Record, assessment: Assessment) -> tuple[str, ...]:
    """What refutes `record`, whose values come to `assessment`, each a sentence without its stop.

    A record is not believed for it: who writes a record can write a good one of a run that never was.
    """
    header = record.header
    found = [] if record.chain.broken is None else [record.chain.broken]
    found += record.contradictions.sentences(record.plan)
    if header.suite_digest == suite_digest():
        found += _against_the_installed(header)
        if assessment.verdict in {RunVerdict.CONFORMS, RunVerdict.CONFORMS_IN_PART}:
            missing = record.contradictions.missing
            found += _some("is a test of its suites, and it neither ran nor was left out", missing)
    if record.footer is not None:
        found += _against_its_footer(record, record.footer, assessment)
        if record.footer.stopped is None and not assessment.musts:
            found.append("no must of it holds for the dialect and the revision")
    return tuple(found)


# -- against itself ---------------------------------------------------------------------------------------------------


def _is_for(waiver: Mapping[str, str], result: TestResult) -> bool:
    """Whether `waiver` is the one that `result` names, and is for its test."""
    names = result.waiver or {}
    is_same = all(waiver.get(key) == names.get(key) for key in ("reason", "link", "owner", "expires"))
    tests = {result.test, result.test.partition("[")[0]}
    return is_same and (waiver.get("test") in tests or waiver.get("requirement") in result.requirements)


def _against_its_footer(record: Record, footer: Footer, assessment: Assessment) -> Iterator[str]:
    tallies = {"counts": assessment.tests, "musts": assessment.musts, "advice": assessment.advice}
    for name, tally in tallies.items():
        if dict(getattr(footer, name)) != as_json(tally):
            yield f"the {name} that it ends with are not those of its results"
    if footer.verdict != assessment.verdict.value:
        yield f"it ends with the verdict {footer.verdict}, and its results come to {assessment.verdict.value}"
    if footer.complete != (footer.stopped is None and record.plan.ended == record.plan.planned):
        yield f"it ends as {'complete' if footer.complete else 'incomplete'}, and its results say otherwise"
    # A session of several implementations ends with the gravest status, so only a milder one is wrong.
    least = ExitStatus.NOT_CONFORMING if footer.waiver_problems else ExitStatus.CONFORMING
    least = max(least, assessment.exit_status)
    if footer.exit_status < least:
        yield f"it ends with the exit status {footer.exit_status}, and its results come to {int(least)}"


# -- against the suites of the same digest ----------------------------------------------------------------------------


def _against_the_installed(header: Header) -> Iterator[str]:
    installed = load_registry().seen_by(header.dialect).requirements
    recorded = {entry.id: entry for entry in header.requirements}
    yield from _some(
        "is a requirement of its suites, and it has none", (name for name in installed if name not in recorded)
    )
    yield from _some("is no requirement of its suites", (name for name in recorded if name not in installed))
    changed = {
        name: _difference(entry, installed[name])
        for name, entry in recorded.items()
        if name in installed and entry != installed[name]
    }
    yield from _some("is another in its suites", (f"{name} ({difference})" for name, difference in changed.items()))


@cache
def _installed_tests() -> tuple[str, ...]:
    """The test functions of the suites, read and not imported, since that takes torch."""
    return tuple(
        f"{file.relative_to(HOME).as_posix()}::{name}"
        for file in sorted(SUITES.rglob("test_*.py"))
        for name in _TEST.findall(file.read_text(encoding="utf-8"))
    )


def _difference(recorded: Requirement, installed: Requirement) -> str:
    names = [entry.name for entry in fields(Requirement)]
    return "; ".join(
        f"{name} {_shown(getattr(recorded, name))} for {_shown(getattr(installed, name))}"
        for name in names
        if getattr(recorded, name) != getattr(installed, name)
    )


def _shown(value: Any) -> str:
    return one_line(repr(value)[:200], 60)
