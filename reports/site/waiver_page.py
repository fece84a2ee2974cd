"""The waivers of all records, with the days that they have left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from reports.formats.runs import RecordedRun
from reports.model import Column
from reports.site.map import Map


@dataclass(frozen=True)
class WaiverLine:
    """One waiver in one record.

    Attributes:
        target: the requirement or the test that it names.
        path: of the requirement's page, or ``None``.
        days: that are left, in words.
        is_over: whether it has expired.
        scope: what else it names.
    """

    column: Column
    record: str
    target: str
    path: str | None
    reason: str
    link: str
    owner: str
    expires: str
    days: str
    is_over: bool
    place: str
    scope: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class WaiverPage:
    """The page.

    Attributes:
        day: that the days are counted from.
        lines: those that expire first come first.
    """

    day: str
    lines: tuple[WaiverLine, ...]


_TOLD = ("place", "requirement", "test", "reason", "link", "owner", "expires")


def waiver_page(runs: Sequence[RecordedRun], day: date, places: Map) -> WaiverPage:
    """The page, with days counted from `day`."""
    lines = [line for run in runs for line in _lines(run, day, places)]
    return WaiverPage(day.isoformat(), tuple(sorted(lines, key=lambda line: line.expires)))


def _lines(run: RecordedRun, day: date, places: Map) -> Iterator[WaiverLine]:
    for waiver in run.record.header.waivers:
        named = str(waiver.get("requirement") or "")
        days = _days_left(waiver, day)
        yield WaiverLine(
            column=run.column,
            record=places.record(run.column),
            target=named or str(waiver.get("test") or ""),
            path=places.requirement(named) if named in places.requirements else None,
            reason=str(waiver.get("reason", "")),
            link=str(waiver.get("link", "")),
            owner=str(waiver.get("owner", "")),
            expires=str(waiver.get("expires", "")),
            days=_in_words(days),
            is_over=days is not None and days < 0,
            place=str(waiver.get("place", "")),
            scope=tuple((name, str(text)) for name, text in waiver.items() if name not in _TOLD),
        )


def _days_left(waiver: Mapping[str, str], day: date) -> int | None:
    try:
        return (date.fromisoformat(str(waiver.get("expires"))) - day).days
    except ValueError:
        return None


def _in_words(days: int | None) -> str:
    if days is None:
        return "unknown: its last day is none"
    if days < 0:
        return f"expired {-days:,} {'day' if days == -1 else 'days'} before"
    return "its last day" if days == 0 else f"{days:,} {'day' if days == 1 else 'days'} left"
