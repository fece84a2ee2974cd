"""The start of a waiver file, written from a record's failures; what only a person knows is left empty."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta

from conformance.errors import one_line
from conformance.records.record import Record
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.waivers.waiver import SCOPE, facts

#: How long a waiver holds when nobody says otherwise.
VALID_DAYS = 90
_WIDTH = 110


def start_of(record: Record, today: date) -> str:
    """A waiver file for the failures in `record`; empty when there are none.

    Args:
        record: of a run.
        today: the day from which the waivers are to hold.

    A requirement is waived where a failing test decides it alone, any other test by its name: so that no more is
    waived than fails, as far as one can know.
    """
    scored = {entry.id for entry in record.header.requirements if entry.scored}
    failures = [result for result in record.results if _needs_waiver(result, scored)]
    if not failures:
        return ""
    by_requirement: dict[str, list[TestResult]] = {}
    for result in failures:
        identities = _scored_ids(result, scored)
        if len(identities) == 1:
            by_requirement.setdefault(identities[0], []).append(result)
    tests = [
        result
        for result in failures
        if not (identities := _scored_ids(result, scored)) or not by_requirement.keys() >= set(identities)
    ]
    end = _end(record, today)
    entries = [_entry("requirement", name, results, end) for name, results in sorted(by_requirement.items())]
    entries += [_entry("test", result.test, [result], end) for result in tests]
    return "\n\n".join(["\n".join(_head(record)), *entries]) + "\n"


def _needs_waiver(result: TestResult, scored: Iterable[str]) -> bool:
    """Whether it counts: a failure of what is judged, and any crash or hang."""
    if result.verdict is Verdict.FAIL:
        return bool(_scored_ids(result, scored))
    return result.verdict.rejects


def _scored_ids(result: TestResult, scored: Iterable[str]) -> list[str]:
    return [identity for identity in result.requirements if identity in scored]


def _head(record: Record) -> Iterator[str]:
    header = record.header
    yield f"# Known failures of {_shown(header.implementation)} as {header.dialect} {header.revision}, from a run of"
    yield f"# {header.started_at}. Fill in each reason, link and owner; a file with an empty one is refused."
    if not record.complete:
        yield "# The run did not come to its end: there may be more failures."
    counts = {verdict: sum(each.verdict is verdict for each in record.results) for verdict in Verdict}
    if counts[Verdict.ERROR]:
        yield f"# Not here, because no waiver covers the kit's own errors: {counts[Verdict.ERROR]} of them."
    if counts[Verdict.WAIVED]:
        yield f"# Not here, because they were waived in that run: {counts[Verdict.WAIVED]} of them."


def _end(record: Record, today: date) -> list[str]:
    """What all entries have in common."""
    header = record.header
    run: Mapping[str, str] = facts(header.implementation, header.revision, header.environment)
    return [
        'reason = ""',
        'link = ""',
        'owner = ""',
        f"expires = {today + timedelta(days=VALID_DAYS)}",
        # Marks of patterns in a name must mean themselves.
        *(f"{name} = {_text(glob.escape(run[name]))}" for name in SCOPE if name in run),
    ]


def _entry(key: str, name: str, results: Iterable[TestResult], end: Iterable[str]) -> str:
    seen = [f"# {result.verdict}: {_shown(result.test)}: {_shown(_reason(result))}" for result in results]
    return "\n".join(["[[waiver]]", f"{key} = {_text(name)}", *seen, *end])


def _reason(result: TestResult) -> str:
    return one_line(result.seen or result.message, _WIDTH)


def _shown(text: str) -> str:
    """`text` as a comment can hold it."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _text(value: str) -> str:
    """`value` as TOML writes a text, which is JSON's way but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
