"""All pages of one report, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from conformance.records.record import Record
from reports.formats.ctrf import milliseconds_of
from reports.formats.runs import RecordedRun
from reports.model import Report
from reports.site.comparison_pages import Comparisons, comparison_page, pairs_of
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
from reports.site.trends import trends
from reports.site.waiver_page import waiver_page


def latest_day(records: Sequence[Record]) -> date:
    """The day of the latest run."""
    latest = max((record.header.started_at for record in records), key=milliseconds_of)
    return date.fromisoformat(latest[:10])


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
        pairs = pairs_of(self._series, places)
        yield Page(OVERVIEW, report.title, "overview", overview(report, runs, pairs, places))
        yield Page(MATRIX, "Matrix", "matrix", matrix(report, runs, places))
        yield Page(FAILURES, "Failures", "failures", failures(report, runs, places))
        yield Page(COMPARE, "Compare", "compare", Comparisons(pairs))
        yield Page(TREND, "Trend", "trend", trends(report, runs, self._series, places))
        yield Page(WAIVERS, "Waivers", "waivers", waiver_page(runs, self._day, places))
        yield Page(ENVIRONMENTS, "Environments", "environments", environment_page(runs, places))
        yield Page(DETECTION, "What these suites detect", "detection", report.detection)
        yield Page(READING, "How to read this report", "reading", reading())
        for path, record in record_pages(report, runs, places):
            yield Page(path, record.column.label, "record", record)
        for pair in pairs:
            yield Page(pair.path, pair.title, "comparison", comparison_page(pair, places))
        for each in RequirementPages(report, runs, self._series, places).make():
            yield Page(places.requirement(each.requirement.id), each.requirement.id, "requirement", each)
        for path, failure in failure_pages(report, places):
            title = failure.finding.title
            yield Page(path, f"{title} on {failure.finding.column.label}", "failure", failure)
