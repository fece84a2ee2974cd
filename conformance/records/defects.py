"""What refutes a record: where it contradicts itself, or the suites of its digest, when those are installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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
    from conformance.records.record import Footer, Header, Record
    from conformance.records.result import TestResult


def defects_of(record: Record, assessment: Assessment) -> tuple[str, ...]:
    """What refutes `record`, whose values come to `assessment`, each a sentence without its stop.

    A record is not believed for it: who writes a record can write a good one of a run that never was.
    """
    header = record.header
    found = [] if record.chain.broken is None else [record.chain.broken]
    found += [*_against_its_requirements(record), *_waived_without_a_waiver(record)]
    if header.suite_digest == suite_digest():
        found += _against_the_installed(header)
        if assessment.verdict in {RunVerdict.CONFORMS, RunVerdict.CONFORMS_IN_PART}:
            tests = {test.partition("[")[0] for test in (*header.planned, *record.not_applicable)}
            missing = (test for test in _installed_tests() if test not in tests)
            found += _some("is a test of its suites, and it neither ran nor was left out", missing)
    if record.footer is not None:
        found += _against_its_footer(record, record.footer, assessment)
        if record.footer.stopped is None and not assessment.musts:
            found.append("no must of it holds for the dialect and the revision")
    return tuple(found)


# -- against itself ---------------------------------------------------------------------------------------------------


def _against_its_requirements(record: Record) -> Iterator[str]:
    planned = record.header.planned
    known_ids = {entry.id for entry in record.header.requirements}
    unknown_ids = {identity for ids in planned.values() for identity in ids if identity not in known_ids}
    yield from _some("is decided by a test, and is none of its requirements", sorted(unknown_ids))
    yield from _some(
        "has a result and was not planned", (one.test for one in record.results if one.test not in planned)
    )
    yield from _some(
        "decides others in its result than in the plan",
        (one.test for one in record.results if set(planned.get(one.test, one.requirements)) != set(one.requirements)),
    )
    left_out = set(record.not_applicable)
    yield from _some("is planned and left out as not applicable", (test for test in planned if test in left_out))


def _waived_without_a_waiver(record: Record) -> Iterator[str]:
    waivers = record.header.waivers
    yield from _some(
        "is waived, and no waiver in the header is for it",
        (
            one.test
            for one in record.results
            if one.verdict is Verdict.WAIVED and not any(_is_for(waiver, one) for waiver in waivers)
        ),
    )
    yield from _some(
        "has a waiver and is not waived",
        (one.test for one in record.results if one.waiver is not None and one.verdict is not Verdict.WAIVED),
    )


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
    tests = {result.test for result in record.results}
    if footer.complete != (footer.stopped is None and all(test in tests for test in record.header.planned)):
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


def _some(what: str, names: Iterable[str]) -> Iterator[str]:
    """One sentence for all of `names`, which tells the first."""
    all_names = list(names)
    if all_names:
        first = all_names[0] if all_names[0].isprintable() else repr(all_names[0])
        more = f", and {len(all_names) - 1} more" if len(all_names) > 1 else ""
        yield f"{one_line(first, 200)} {what}{more}"
