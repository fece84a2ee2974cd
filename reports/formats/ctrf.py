"""CTRF, the Common Test Report Format: a file for each record, since its summary adds up all tests of a file."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from typing import Any, TextIO

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from reports.formats.json_text import JsonList, json_text
from reports.formats.runs import RecordedRun

#: Of the format, whose specification has no final version yet.
_VERSION = "0.0.0"
#: The format's word for each verdict; the verdict itself stands beside it as ``rawStatus``.
STATUS: Mapping[Verdict, str] = {
    Verdict.PASS: "passed",
    Verdict.FAIL: "failed",
    Verdict.FLAKY: "failed",
    Verdict.TIMEOUT: "failed",
    Verdict.CRASH: "failed",
    Verdict.ERROR: "other",
    Verdict.WAIVED: "other",
    Verdict.UNSUPPORTED: "skipped",
    Verdict.SKIPPED: "skipped",
    Verdict.NOT_RUN: "pending",
}
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-]\d\d):(\d\d))")


def ctrf_path(run: RecordedRun, *, alone: bool) -> str:
    """Where the file of `run` stands in the report's folder; `alone`: the report is of no other record."""
    return "ctrf.json" if alone else f"ctrf/{run.name}.json"


class Ctrf:
    """The file of one record, written while its tests pass by."""

    def __init__(self, stream: TextIO, run: RecordedRun) -> None:
        head = {"reportFormat": "CTRF", "specVersion": _VERSION, "generatedBy": "graph-conformance"}
        results = {
            "tool": {"name": "graph-conformance", "version": run.record.header.kit_version},
            "summary": _summary(run),
            "environment": _environment(run),
        }
        before = f'{json_text(head)[:-1]}, "results": {json_text(results)[:-1]}, "tests": ['
        self._list = JsonList(stream, before, after="}}")

    def add(self, result: TestResult) -> None:
        """Add a test."""
        file, _, _ = result.test.partition("::")
        values: dict[str, Any] = {
            "name": result.test,
            "status": STATUS[result.verdict],
            "duration": _milliseconds(result.duration_s),
            "rawStatus": result.verdict.value,
            "filePath": file,
            "tags": list(result.requirements),
        }
        if result.runs is not None:
            values["retries"] = sum(result.runs.values()) - 1
            values["flaky"] = Verdict.PASS.value in result.runs
        if result.message:
            values["message"] = result.message
        if result.frames:
            values["trace"] = "\n".join(result.frames)
        self._list.add(values)

    def close(self) -> None:
        """End the file."""
        self._list.end()


def _summary(run: RecordedRun) -> dict[str, Any]:
    record = run.record
    tests = record.assessment.tests
    start = milliseconds_of(record.header.started_at)
    took = record.duration_s if record.footer is None else record.footer.duration_s
    return {
        "tests": sum(tests.values()),
        **{
            status: sum(count for verdict, count in tests.items() if STATUS[verdict] == status)
            for status in ("passed", "failed", "skipped", "pending", "other")
        },
        "start": start,
        "stop": start + _milliseconds(took),
    }


def _environment(run: RecordedRun) -> dict[str, Any]:
    header = run.record.header
    return {
        "reportName": run.column.label,
        "appName": header.implementation,
        "appVersion": f"{header.dialect} {header.revision}",
        "extra": {"outcome": run.record.claim.verdict.value, **header.environment},
    }


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def milliseconds_of(time: str) -> int:
    """A record's point in time, in milliseconds since 1970 began.

    >>> milliseconds_of("1970-01-01T01:00:01.5+01:00")
    1500
    """
    match = _TIME.fullmatch(time)
    assert match is not None, time  # a header with another is refused
    fraction, hours, minutes = match[7] or "", match[8] or "+00", int(match[9] or 0)
    east = int(hours) * 3600 + (-60 if hours.startswith("-") else 60) * minutes
    seconds = calendar.timegm(tuple(int(part) for part in match.groups()[:6])) - east
    return seconds * 1000 + int(fraction.ljust(3, "0")[:3])
