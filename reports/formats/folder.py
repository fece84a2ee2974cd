"""Writes all that programs read into the folder of a report."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from reports.formats import badges
from reports.formats.ctrf import Ctrf, ctrf_path
from reports.formats.index import INDEX, index
from reports.formats.json_text import JsonList, json_text
from reports.formats.junit import JUnit
from reports.formats.report_json import report_head, report_records
from reports.formats.runs import RecordedRun, tests_of
from reports.formats.tables import REQUIREMENTS, RESULTS, Table, requirement_rows, result_row
from reports.formats.traceability import traceability, traced
from reports.model import Report

_REPORT = "report.json"
_TRACEABILITY = "traceability.json"
_REQUIREMENTS = "requirements.csv"
_RESULTS = "results.csv"
_JUNIT = "junit.xml"

#: What is written into the folder: files, and folders of files.
NAMES = (_REPORT, INDEX, _TRACEABILITY, _REQUIREMENTS, _RESULTS, _JUNIT, "ctrf.json", "ctrf", "badges")


def paths_of(runs: Sequence[RecordedRun]) -> list[str]:
    """The places of all files, relative to the folder; the index is the last."""
    return [
        *(_REPORT, _TRACEABILITY, _REQUIREMENTS, _RESULTS, _JUNIT),
        *(ctrf_path(run, alone=len(runs) == 1) for run in runs),
        *(badges.badge_path(run, name) for run in runs for name in badges.NAMES),
        INDEX,
    ]


def write_files(report: Report, runs: Sequence[RecordedRun], places: Mapping[str, Path]) -> None:
    """Write the files.

    Args:
        report: what the pages show.
        runs: its records.
        places: where to write each of `paths_of`; files that stand there besides are named in the index, too.

    Raises:
        RecordError: a record was changed since it was read.
    """
    _write_report(report, runs, places[_REPORT])
    with _opened(places[_REQUIREMENTS]) as stream:
        table = Table(stream, REQUIREMENTS)
        for row in requirement_rows(runs, report.areas):
            table.add(row)
    _write_tests(report, runs, places)
    for run in runs:
        for name in badges.NAMES:
            _write_json(places[badges.badge_path(run, name)], badges.badge(run, name))
    others = {path: place for path, place in places.items() if path != INDEX}
    _write_json(places[INDEX], index(runs, others))


def _write_report(report: Report, runs: Sequence[RecordedRun], place: Path) -> None:
    with _opened(place) as stream:
        records = JsonList.named(stream, report_head(report), "records")
        for entry in report_records(report, runs):
            records.add(entry)
        records.end()


def _write_tests(report: Report, runs: Sequence[RecordedRun], places: Mapping[str, Path]) -> None:
    """Write the files with an entry for each test, which are read from the records once for all of them."""
    with _opened(places[_RESULTS]) as table, _opened(places[_JUNIT]) as xml, _opened(places[_TRACEABILITY]) as trace:
        rows, junit = Table(table, RESULTS), JUnit(xml)
        traces = JsonList.named(trace, traceability(runs, report.areas), "tests")
        for run in runs:
            with _opened(places[ctrf_path(run, alone=len(runs) == 1)]) as stream:
                ctrf = Ctrf(stream, run)
                junit.begin(run)
                for result in tests_of(run.record):
                    rows.add(result_row(run, result))
                    junit.add(result)
                    ctrf.add(result)
                    traces.add(traced(run, result))
                junit.end()
                ctrf.close()
        junit.close()
        traces.end()


@contextlib.contextmanager
def _opened(place: Path) -> Iterator[TextIO]:
    with place.open("w", encoding="utf-8", newline="") as stream:
        yield stream


def _write_json(place: Path, value: Any) -> None:
    place.write_text(json_text(value) + "\n", encoding="utf-8", newline="")
