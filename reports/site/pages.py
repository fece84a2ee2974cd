"""All pages of one report, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property

from conformance.records.record import Record
from reports.formats.ctrf import milliseconds_of
from reports.formats.runs import RecordedRun
from reports.model import Column, Report
from reports.site.comparison_pages import ComparisonPage, Comparisons, comparison_page, pairs_of
from reports.site.environment_page import environment_page
from reports.site.failure_pages import failure_pages, failures
from reports.site.map import (
    COMPARE,
    DETECTION,
    ENVIRONMENTS,
    FAILURES,
    MATRIX,
    OVERVIEW,
    READING,
    TREND,
    WAIVERS,
    Map,
)
from reports.site.matrix import matrix
from reports.site.overview import overview
from reports.site.page import Page
from reports.site.reading import reading
from reports.site.record_pages import record_pages
from reports.site.requirement_pages import RequirementPages
from reports.site.series import series_of
from reports.site.trends import Trends, trends
from reports.site.waiver_page import WaiverPage, waiver_page


def latest_day(records: Sequence[Record]) -> date:
    """The day of the latest run."""
    latest = max((record.header.started_at for record in records), key=milliseconds_of)
    return date.fromisoformat(latest[:10])


def _refuted(runs: Sequence[RecordedRun]) -> tuple[Column, ...]:
    return tuple(run.column for run in runs if run.record.defects)


class Pages:
    """The pages of a report.

    Args:
        report: what is shown.
        runs: its records.
        day: that the days of waivers are counted from.
    """

    def __init__(self, report: Report, runs: Sequence[RecordedRun], day: date) -> None:
        self._report = report
        self._runs = runs
        self._day = day
        self._series = series_of(runs)
        self._map = Map(report, runs)

    @cached_property
    def comparisons(self) -> tuple[ComparisonPage, ...]:
        """Of each pair of records that is compared.

        Raises:
            RecordError: a record was changed since it was read.
        """
        return tuple(comparison_page(pair, self._map) for pair in pairs_of(self._series, self._map))

    @cached_property
    def trends(self) -> Trends:
        """Of each implementation."""
        return trends(self._report, self._runs, self._series, self._map)

    @cached_property
    def waivers(self) -> WaiverPage:
        """Of all records."""
        return waiver_page(self._runs, self._day, self._map)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where the pages stand, in the order of `pages`."""
        report, places = self._report, self._map
        return (
            *(OVERVIEW, MATRIX, FAILURES, COMPARE, TREND, WAIVERS, ENVIRONMENTS, DETECTION, READING),
            *(places.record(run.column) for run in self._runs),
            *(places.comparison(old.column, new.column) for one in self._series for old, new in one.pairs),
            *(places.requirement(row.requirement.id) for area in report.areas for row in area.rows),
            *(places.failure(one) for one in report.findings),
        )

    def pages(self) -> Iterator[Page]:
        """Each page.

        Raises:
            RecordError: a record was changed since it was read.
        """
        report, runs, places = self._report, self._runs, self._map
        pairs = tuple(each.pair for each in self.comparisons)
        yield Page(OVERVIEW, report.title, "overview", overview(report, runs, pairs, places))
        yield Page(MATRIX, "Matrix", "matrix", matrix(report, runs, places))
        yield Page(FAILURES, "Failures", "failures", failures(report, runs, places))
        yield Page(COMPARE, "Compare", "compare", Comparisons(pairs, _refuted(runs), places))
        yield Page(TREND, "Trend", "trend", self.trends)
        yield Page(WAIVERS, "Waivers", "waivers", self.waivers)
        yield Page(ENVIRONMENTS, "Environments", "environments", environment_page(runs, places))
        yield Page(DETECTION, "What these suites detect", "detection", report.detection)
        yield Page(READING, "How to read this report", "reading", reading())
        for path, record in record_pages(report, runs, places):
            yield Page(path, record.column.label, "record", record)
        for each in self.comparisons:
            yield Page(each.pair.path, each.pair.title, "comparison", each)
        for one in RequirementPages(report, runs, self._series, places).make():
            yield Page(places.requirement(one.requirement.id), one.requirement.id, "requirement", one)
        for path, failure in failure_pages(report, places):
            title = failure.finding.title
            yield Page(path, f"{title} on {failure.finding.column.label}", "failure", failure)
