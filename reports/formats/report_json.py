"""``report.json``: all that the pages show, record by record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.records.assessment import as_json
from conformance.records.causes import Cause
from conformance.records.result import TestResult
from reports.detection import Detection
from reports.formats.runs import RecordedRun
from reports.model import Finding, Report

#: Grows when a reader of the old form would be misled.
SCHEMA = 1


def report_head(report: Report) -> dict[str, Any]:
    """What is said of all records."""
    return {
        "format": "graph-conformance report",
        "schema": SCHEMA,
        "title": report.title,
        "notices": list(report.notices),
        "requirements": [row.requirement.to_dict() for area in report.areas for row in area.rows],
        "detection": None if report.detection is None else _detection(report.detection),
    }


def report_records(report: Report, runs: Sequence[RecordedRun]) -> Iterator[dict[str, Any]]:
    """What is said of each."""
    for number, run in enumerate(runs):
        yield {**identity(run), **_judgement(run), **_details(report, run, number)}


def identity(run: RecordedRun) -> dict[str, Any]:
    """What tells a record from others."""
    record, header = run.record, run.record.header
    return {
        "name": run.name,
        "label": run.column.label,
        "implementation": header.implementation,
        "dialect": header.dialect,
        "revision": header.revision,
        "device": header.environment.get("device"),
        "started_at": header.started_at,
        "kit_version": header.kit_version,
        "suite_digest": header.suite_digest,
        "file": record.path.name,
        "chain": record.chain.digest,
        "complete": record.complete,
        "outcome": record.claim.verdict.value,
        "headline": record.claim.headline,
        "profiles": {name: standing.value for name, standing in record.assessment.profiles.items()},
    }


def _judgement(run: RecordedRun) -> dict[str, Any]:
    record, assessment = run.record, run.record.assessment
    return {
        "claim": record.claim.line,
        "detail": record.claim.detail,
        "remarks": list(record.remarks),
        "counts": {
            "musts": as_json(assessment.musts),
            "advice": as_json(assessment.advice),
            "long_programs": as_json(assessment.composites),
            "tests": as_json(assessment.tests),
        },
        "exceptions": list(assessment.exceptions),
        "hazards": assessment.hazards,
        "duration_s": None if record.footer is None else record.footer.duration_s,
        "options": dict(record.header.options),
        "environment": dict(record.header.environment),
        "capabilities": dict(run.column.capabilities),
        "waivers": [dict(waiver) for waiver in record.header.waivers],
    }


def _details(report: Report, run: RecordedRun, number: int) -> dict[str, Any]:
    levels = run.record.assessment.levels
    causes = [causes for causes in report.causes if causes.column is run.column]
    return {
        "causes": [_cause(row.cause) for each in causes for row in each.rows],
        "more_causes": "".join(each.more for each in causes),
        "findings": [_finding(one) for one in report.findings if one.column is run.column],
        "verdicts": {
            row.requirement.id: {
                "verdict": row.cells[number].word.key,
                "level": levels.get(row.requirement.id),
                "note": row.cells[number].note,
            }
            for area in report.areas
            for row in area.rows
        },
        "observations": [
            {"about": one.title, "test": one.test, "values": dict(one.values), "note": one.note}
            for one in report.observations
            if one.column is run.column
        ],
        "unsupported": {one.requirement.id: one.reason for one in report.unsupported if one.column is run.column},
        "not_applicable": {one.requirement.id: one.reason for one in report.not_applicable if one.column is run.column},
    }


def _cause(cause: Cause) -> dict[str, Any]:
    example = cause.example
    return {
        "words": cause.words,
        "remedy": cause.remedy,
        "tests": cause.tests,
        "requirements": list(cause.requirements),
        "verdicts": as_json(cause.verdicts),
        "example": {
            "test": example.test,
            "expected": example.expected,
            "seen": example.seen,
            "command": example.command,
        },
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "requirement": None if finding.requirement is None else finding.requirement.id,
        "verdict": finding.word.key,
        "tests": [_test(result, finding) for result in finding.tests],
        "more": finding.more,
        "others": [{"test": other.test, "verdict": other.verdict.value} for other in finding.others],
        "more_others": finding.more_others,
    }


def _test(result: TestResult, finding: Finding) -> Mapping[str, Any]:
    values = result.to_dict()
    # As on the page, where it says so.
    return {**values, "reproducer": None} if result.test in finding.alike else values


def _detection(detection: Detection) -> dict[str, Any]:
    return {
        "holds": detection.kind == "holds",
        "headline": detection.headline,
        "notices": list(detection.notices),
        "facts": dict(detection.facts),
        "rows": [
            {**line.row.to_dict(), "complaint": line.complaint} for group in detection.groups for line in group.lines
        ],
    }
