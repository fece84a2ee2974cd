"""A comparison as text for a terminal, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from tabulate import tabulate

from conformance.comparing.changes import Change
from conformance.comparing.comparison import Comparison
from conformance.comparing.found import Found, RequirementChange, TestChange
from conformance.errors import ExitStatus, one_line
from conformance.records.record import Record
from conformance.text import visible_line

#: Of the form of `data`.
SCHEMA = 1
#: Entries of each list, and of those of regressions.
_SHOWN = 5
_SHOWN_REGRESSIONS = 20
_WIDTH = 110
_DIGITS = 12

#: The words for each change, in the order in which they are told.
TITLES = {
    Change.REGRESSED: "regressed",
    Change.UNDECIDED: "not decided any more",
    Change.FIXED: "fixed",
    Change.WAIVED: "waived",
    Change.FAILING: "wrong in both",
    Change.DECIDED: "decided for the first time",
    Change.CHANGED: "changed, not comparable",
    Change.INCOMPARABLE: "decided by other tests, not comparable",
    Change.NEW: "new",
    Change.GONE: "gone",
    Change.OPEN: "differs in what is left open",
}


def text_of(comparison: Comparison) -> str:
    """The comparison as lines, the outcome last."""
    parts = [
        "\n".join([*_run("old", comparison.old), *_run("new", comparison.new)]),
        "\n".join(f"note: {visible_line(note)}" for note in comparison.notes),
        _counts(comparison),
        *("\n".join(_section(change, comparison)) for change in TITLES),
        outcome_of(comparison),
    ]
    return "\n\n".join(part for part in parts if part)


def outcome_of(comparison: Comparison) -> str:
    """One line that says what the exit status does."""
    requirements, tests = comparison.regressions
    counts = f"{_number(requirements, 'requirement')}{_musts(comparison)} and {_number(tests, 'test')} regressed"
    found = counts if requirements or tests else "no regression"
    status = comparison.exit_status
    if status is ExitStatus.USAGE:
        names = " and ".join(visible_line(record.path.name) for record in comparison.incomplete)
        return f"INCOMPLETE: {found} in what was run; of {names} the run did not come to its end"
    if status is ExitStatus.KIT_FAILED:
        return f"ERROR: {found} in what could be decided; the kit or the adapter failed in the new run"
    undecided = comparison.tests.get(Change.UNDECIDED)
    more = f"; {_number(undecided.count, 'test')} not decided any more" if undecided else ""
    return f"REGRESSED: {counts}{more}" if requirements or tests else f"NO REGRESSION{more}"


def _musts(comparison: Comparison) -> str:
    """How grave the regressions are."""
    regressed = comparison.requirements.get(Change.REGRESSED)
    if regressed is None:
        return ""
    return f" ({_number(regressed.musts, 'must')})" if regressed.musts else " (no must)"


def data_of(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON values."""
    return {
        "schema": SCHEMA,
        "exit_status": int(comparison.exit_status),
        "outcome": outcome_of(comparison),
        "old": _data_of_run(comparison.old),
        "new": _data_of_run(comparison.new),
        "notes": list(comparison.notes),
        "requirements": _data_of_changes(comparison.requirements),
        "tests": _data_of_changes(comparison.tests),
    }


def _data_of_run(record: Record) -> dict[str, Any]:
    header = record.header
    return {
        "implementation": header.implementation,
        "dialect": header.dialect,
        "revision": header.revision,
        "started_at": header.started_at,
        "kit_version": header.kit_version,
        "suite_digest": header.suite_digest,
        "complete": record.complete,
        "narrowed": record.narrowed,
        "verdict": record.assessment.verdict.value,
        "claim": record.claim.line,
    }


def _data_of_changes(
    changes: Mapping[Change, Found[RequirementChange]] | Mapping[Change, Found[TestChange]],
) -> dict[str, Any]:
    """Each kind of change with its number; of what did not change there is no list."""
    values = {}
    for change in Change:
        found = changes.get(change)
        items = [] if found is None or change is Change.SAME else found.items
        values[change.value] = {"count": 0 if found is None else found.count, "first": [asdict(item) for item in items]}
    return values


def _run(word: str, record: Record) -> Iterator[str]:
    header = record.header
    suites = header.suite_digest[:_DIGITS] or "not the kit's"
    yield visible_line(f"{word}: {record.path}: run of {header.started_at}, kit {header.kit_version}, suites {suites}")
    yield f"     {visible_line(record.claim.line)}"


def _counts(comparison: Comparison) -> str:
    rows = []
    for change, title in {**TITLES, Change.SAME: "no change"}.items():
        counts = [changes[change].count if change in changes else 0 for changes in _both(comparison)]
        if any(counts) or change is Change.REGRESSED:
            rows.append((title, *counts))
    return str(tabulate(rows, headers=("", "requirements", "tests")))


def _both(comparison: Comparison) -> tuple[Mapping[Change, Found[Any]], Mapping[Change, Found[Any]]]:
    return comparison.requirements, comparison.tests


def _section(change: Change, comparison: Comparison) -> Iterator[str]:
    requirements, tests = comparison.requirements.get(change), comparison.tests.get(change)
    if requirements or tests:
        yield f"{TITLES[change]}:"
    shown = _SHOWN_REGRESSIONS if change is Change.REGRESSED else _SHOWN
    if requirements:
        for entry in requirements.items[:shown]:
            yield from _requirement(entry)
        yield from _more(requirements.count - shown, "requirement")
    if tests:
        for each in tests.items[:shown]:
            yield from _test(each)
        yield from _more(tests.count - shown, "test")


def _more(count: int, noun: str) -> Iterator[str]:
    if count > 0:
        yield f"  ... and {_number(count, f'more {noun}')}"


def _requirement(entry: RequirementChange) -> Iterator[str]:
    yield f"  {entry.level} {visible_line(entry.id)} ({entry.before} -> {entry.after})"
    if entry.differences:
        yield from (f"      {visible_line(difference)}" for difference in entry.differences)
    else:
        yield f"      {visible_line(one_line(entry.text, _WIDTH))}"


def _test(each: TestChange) -> Iterator[str]:
    yield f"  {visible_line(one_line(each.test, 2 * _WIDTH))} ({each.before} -> {each.after})"
    if each.seen:
        yield f"      seen: {visible_line(one_line(each.seen, _WIDTH))}"
    if each.command:
        yield f"      again: {visible_line(one_line(each.command, 4 * _WIDTH))}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
