"""What a reader of a comparison must know of the two runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from conformance.errors import one_line
from conformance.records.header import Header
from conformance.records.record import Record
from conformance.records.resume import differences
from conformance.requirements.revisions import Revision

#: Differences that are told, and the characters of each.
_TOLD = 20
_SHOWN = 200


def notes_of(old: Record, new: Record, by_name: int, by_chance: int) -> tuple[str, ...]:
    """What tells two records apart, or does not, each a sentence without its stop.

    Args:
        old: a record.
        new: the other.
        by_name: how many tests of both have no digests to compare.
        by_chance: how many were flaky in the old run, and passed in the new one.
    """
    suites = _suites(old.header, new.header, by_name)
    return (*_order(old, new), *_parts(old, new), *suites, *_chance(by_chance), *_told(old, new))


def _order(old: Record, new: Record) -> Iterator[str]:
    if old.chain.digest == new.chain.digest:
        yield "both are the same record"
        return
    if old.header.implementation != new.header.implementation:
        return
    if _is_later_release(old.header, new.header):
        # Which of two releases was run first says nothing.
        return
    first, second = _moment(old.header.started_at), _moment(new.header.started_at)
    if first == second:
        yield f"both runs began at {old.header.started_at}, so which one is the later cannot be told"
    elif second < first:
        yield "the new run began before the old one: the records may be in the wrong order"


def _is_later_release(old: Header, new: Header) -> bool:
    try:
        return Revision(old.revision) < Revision(new.revision)
    except ValueError:  # of a run that could not start
        return False


def _moment(text: str) -> tuple[datetime, float]:
    """A time of a header, in an order; `datetime` of Python 3.10 reads fewer shapes of it than a record may have."""
    rest = text[19:]
    zone = "+00:00" if rest.endswith("Z") else rest[-6:]
    fraction = rest.removesuffix("Z") if rest.endswith("Z") else rest[:-6]
    return datetime.fromisoformat(text[:19] + zone), float(f"0{fraction}") if fraction else 0.0


def _parts(old: Record, new: Record) -> Iterator[str]:
    for word, record in (("old", old), ("new", new)):
        if not record.complete:
            yield f"the {word} record is incomplete: a test without a result is 'not_run', and fixes nothing"
    narrowed = [word for word, record in (("old", old), ("new", new)) if record.narrowed]
    if narrowed:
        runs = "both runs were" if len(narrowed) == 2 else f"the {narrowed[0]} run was"
        yield f"{runs} of a part of the suites: tests beyond that are 'not selected'"


def _suites(old: Header, new: Header, by_name: int) -> Iterator[str]:
    if old.suite_digest == new.suite_digest != "":
        return
    if by_name:
        yield f"{by_name:,} tests are compared by name only: a record has no digests of their code"
    yield "the suites are not the same: a test is compared where its own code is, whatever it imports"


def _chance(count: int) -> Iterator[str]:
    if count:
        tests = "1 test" if count == 1 else f"{count:,} tests"
        yield f"{tests} failed now and then in the old run and passed in the new one, which one pass does not prove"


def _told(old: Record, new: Record) -> Iterator[str]:
    found = [one_line(difference, _SHOWN) for difference in differences(old.header, new.header)]
    # What is asked is compared requirement by requirement.
    found = [difference for difference in found if difference != "other requirements"]
    yield from found[:_TOLD]
    if len(found) > _TOLD:
        yield f"and {len(found) - _TOLD:,} more differences of the two runs"
    yield from (f"both: {remark}" for remark in old.remarks if remark in new.remarks)
    for word, record, other in (("old", old, new), ("new", new, old)):
        yield from (f"{word}: {remark}" for remark in record.remarks if remark not in other.remarks)
