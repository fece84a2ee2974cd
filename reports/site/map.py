"""Where each page stands in the site's folder."""

from __future__ import annotations

from collections.abc import Sequence

from reports.formats.runs import RecordedRun
from reports.model import AreaRows, Column, Finding, Report
from reports.names import Names

OVERVIEW = "index.html"
MATRIX = "matrix.html"
FAILURES = "failures.html"
COMPARE = "compare.html"
TREND = "trend.html"
WAIVERS = "waivers.html"
ENVIRONMENTS = "environments.html"
DETECTION = "detection.html"
READING = "reading.html"

#: The pages that every page leads to, with their names there.
NAVIGATION = (
    (OVERVIEW, "Overview"),
    (MATRIX, "Matrix"),
    (FAILURES, "Failures"),
    (COMPARE, "Compare"),
    (TREND, "Trend"),
    (WAIVERS, "Waivers"),
    (ENVIRONMENTS, "Environments"),
    (DETECTION, "What these suites detect"),
    (READING, "How to read this"),
)
#: The folders of the others.
FOLDERS = ("records", "requirements", "failures", "compare")


class Map:
    """Where the pages of one report stand.

    Attributes:
        records: the names of the records' files, by the anchors of their columns.
        requirements: the names of the requirements' files, by their ids.
    """

    def __init__(self, report: Report, runs: Sequence[RecordedRun]) -> None:
        self.records = {run.column.anchor: run.name for run in runs}
        self.requirements = _requirements(report.areas)
        self._findings = self._failures(report.findings)

    def record(self, column: Column) -> str:
        return f"records/{self.records[column.anchor]}.html"

    def requirement(self, identity: str) -> str:
        return f"requirements/{self.requirements[identity]}.html"

    def failure(self, finding: Finding) -> str:
        return self._findings[finding.anchor]

    def comparison(self, old: Column, new: Column) -> str:
        return f"compare/{self.records[old.anchor]}--{self.records[new.anchor]}.html"

    def _failures(self, findings: Sequence[Finding]) -> dict[str, str]:
        """The matrix finds the failures of requirements by their names; the others have a folder of their own."""
        strays: dict[str, Names] = {}
        paths = {}
        for one in findings:
            folder = f"failures/{self.records[one.column.anchor]}"
            if one.requirement is not None:
                paths[one.anchor] = f"{folder}/{self.requirements[one.requirement.id]}.html"
            else:
                names = strays.setdefault(folder, Names("test"))
                paths[one.anchor] = f"{folder}/outside/{names.make(one.title)}.html"
        return paths


def _requirements(areas: Sequence[AreaRows]) -> dict[str, str]:
    names = Names("requirement")
    return {row.requirement.id: names.make(row.requirement.id) for area in areas for row in area.rows}
