"""The report as Markdown, for places that show text: a pull request, a mail, a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conformance.records.causes import number
from conformance.records.result import TestResult
from conformance.selfcheck.outcomes import Row
from conformance.text import capital, visible
from reports.detection import Detection
from reports.model import Absence, CauseRow, Causes, Cell, Column, Counts, Finding, Report, evidence
from reports.site.comparison_pages import ComparisonPage, Entries
from reports.site.pages import Pages
from reports.site.trends import Trend
from reports.site.waiver_page import WaiverPage
from reports.words import ALIKE, CAUSES, DETECTION, OBSERVATIONS, Word, seconds, trial


def to_markdown(report: Report, pages: Pages) -> str:
    """The same as the `pages` of `report`."""
    return "\n".join(_lines(report, pages)) + "\n"


def _lines(report: Report, pages: Pages) -> Iterator[str]:
    several = len(report.columns) > 1
    yield f"# {_text(report.title)}"
    for notice in report.notices:
        yield from ("", f"> **Note.** {_text(notice)}")
    for column in report.columns:
        yield from _column(column)
    if report.causes:
        yield from ("", "## Causes", "", CAUSES)
    for causes in report.causes:
        yield from _causes(causes, several=several)
    yield from ("", "## Failures")
    for finding in report.findings:
        yield from _finding(finding, several=several)
    if not report.findings:
        yield from ("", "None.")
    yield from ("", "## Requirements")
    for area in report.areas:
        yield from ("", f"### {_text(area.name)}", "")
        yield from _table(
            ("Requirement", "Level", *(_text(column.label) if several else "Verdict" for column in report.columns)),
            (
                (
                    f"{_code(row.requirement.id)}<br>{_text(row.requirement.text)}",
                    _text(row.requirement.level),
                    *(_cell(cell) for cell in row.cells),
                )
                for row in area.rows
            ),
        )
    yield from ("", "## Observations", "", OBSERVATIONS, "")
    for one in report.observations:
        where = f" on {_text(one.column.label)}" if several else ""
        values = [f"{_text(name)} = {_text(value)}" for name, value in one.values]
        text = "; ".join([*values, _text(one.note)] if one.note else values)
        test = f" ({_code(one.test)})" if one.test else ""
        yield f"- {_code(one.title)}{where}: {_text(one.text)} {text}{test}"
    if not report.observations:
        yield "None."
    for heading, absences in (("Not supported", report.unsupported), ("Not applicable", report.not_applicable)):
        yield from ("", f"## {heading}", "")
        yield from _absences(absences, several=several)
    if pages.comparisons:
        yield from ("", "## Comparisons")
    for comparison in pages.comparisons:
        yield from _comparison(comparison)
    if pages.trends.trends:
        yield from ("", "## Trend")
    for trend in pages.trends.trends:
        yield from _trend(trend)
    if pages.waivers.lines:
        yield from _waivers(pages.waivers)
    if report.detection is not None:
        yield from _detection(report.detection)


def _column(column: Column) -> Iterator[str]:
    claim = column.claim
    yield from ("", f"## {_text(column.label)}", "")
    yield f"**{column.standing.symbol} {_text(claim.headline)}** {_text(claim.detail)}"
    yield from ("", *(f"- {heading}: {_counts(counts)}" for heading, counts in column.counts), "")
    if claim.exceptions:
        yield from (f"Advice that is not followed: {', '.join(map(_code, claim.exceptions))}", "")
    yield from _table(("What", "Value"), ((_text(name), _text(value)) for name, value in column.facts))
    for heading, items in (
        ("Profiles", column.profiles),
        ("Declared capabilities", column.capabilities),
        ("Environment", column.environment),
    ):
        values = "; ".join(f"{_text(name)} {_text(value)}" for name, value in items)
        yield from ("", f"{heading}: {values or 'none'}")


def _causes(causes: Causes, *, several: bool) -> Iterator[str]:
    where = f" on {_text(causes.column.label)}" if several else ""
    noted = f" {causes.noted}." if causes.noted else ""
    yield from ("", f"{causes.tests}{where} went wrong.{noted}", "")
    for place, row in enumerate(causes.rows, 1):
        yield f"{place}. {'; '.join(_cause(row))}"
    if causes.more:
        yield from ("", f"And {causes.more}.")


def _cause(row: CauseRow) -> Iterator[str]:
    cause, example = row.cause, row.cause.example
    yield f"**{cause.size}**: {_text(cause.words)}"
    if cause.remedy:
        yield _text(cause.remedy)
    yield f"such as {_code(example.test)}"
    if example.expected:
        yield f"expected: {_text(example.expected)}"
    yield f"seen: {_text(example.seen)}"
    if row.places:
        more = [f"and {row.more:,} more"] if row.more else []
        yield f"requirements: {', '.join([*(_code(identity) for identity, _ in row.places), *more])}"


def _finding(finding: Finding, *, several: bool) -> Iterator[str]:
    requirement = finding.requirement
    where = f" on {_text(finding.column.label)}" if several else ""
    yield from ("", f"### {_word(finding.word)}: {_code(finding.title)}{where}", "")
    if requirement is not None:
        yield f"{_text(requirement.level.upper())}: {_text(requirement.text)}"
        yield from ("", f"{capital(_text('; '.join(requirement.origins)))}; since {_text(requirement.since)}.")
    else:
        yield "This test decides no requirement that is scored here."
    for test in finding.tests:
        lead = "Promised" if requirement is not None and requirement.level == "must" else "Expected"
        yield from _test(test, lead, alike=test.test in finding.alike)
    if finding.more:
        yield from ("", f"And {finding.more:,} more that went wrong.")
    if finding.others:
        others = [f"{_code(test.test)} {_text(test.verdict.value)}" for test in finding.others]
        others += [f"and {finding.more_others:,} more"] if finding.more_others else []
        yield from ("", f"Other tests of this requirement: {', '.join(others)}")


def _test(test: TestResult, lead: str, *, alike: bool) -> Iterator[str]:
    yield from ("", f"{_code(test.test)}: {test.verdict.value} in {_text(test.phase)}, {seconds(test.duration_s)}")
    if test.waiver:
        yield from ("", f"Waived: {_text('; '.join(f'{name}: {value}' for name, value in test.waiver.items()))}")
    if test.expected:
        yield from ("", f"{lead}: {_text(test.expected)}")
    if test.seen:
        yield from ("", "Seen:", "", *_block(test.seen))
    if test.message and not (test.expected and test.seen):
        yield from ("", *_block(test.message))
    if test.runs:
        runs = ", ".join(f"{count:,} {verdict}" for verdict, count in test.runs.items() if count)
        yield from ("", f"Runs: {_text(runs)}")
    if test.left_behind:
        yield from ("", f"Left behind: {_text(test.left_behind)}")
    if test.frames:
        yield from ("", "Frames inside the implementation:", "", *_block("\n".join(test.frames)))
    for heading, text in evidence(test):
        yield from ("", f"{heading}:", "", *_block(text))
    if test.command:
        yield from ("", "Run again:", "", *_block(test.command))
    tried = trial(test)
    if tried is not None:
        yield from ("", f"Script run alone: {_text(tried)}")
    if alike:
        yield from ("", ALIKE)
    elif test.reproducer:
        summary = "<details><summary>Script without the kit</summary>"
        yield from ("", summary, "", *_block(test.reproducer), "", "</details>")


def _absences(absences: Sequence[Absence], *, several: bool) -> Iterator[str]:
    for one in absences:
        where = f" on {_text(one.column.label)}" if several else ""
        yield f"- {_code(one.requirement.id)}{where}: {_text(one.reason)}"
    if not absences:
        yield "None."


def _comparison(comparison: ComparisonPage) -> Iterator[str]:
    yield from ("", f"### {_text(comparison.pair.title)}", "", f"**{_text(comparison.outcome)}**", "")
    yield from (f"- {capital(_text(note))}." for note in comparison.notes)
    rows = ((_text(title), f"{requirements:,}", f"{tests:,}") for title, requirements, tests in comparison.counts)
    yield from ("", *_table(("Change", "Requirements", "Tests"), rows))
    for section in comparison.sections:
        yield from ("", f"#### {capital(section.title)}", "")
        for one in section.requirements.items:
            differences = "".join(f"; {_text(difference)}" for difference in one.differences)
            yield f"- {_text(one.level)} {_code(one.id)}: {_text(one.before)} → {_text(one.after)}{differences}"
        yield from _rest(section.requirements)
        for test in section.tests.items:
            again = f"; again: {_code(test.command)}" if test.command else ""
            seen = f"; seen: {_text(test.seen)}" if test.seen else ""
            yield f"- {_code(test.test)}: {_text(test.before)} → {_text(test.after)}{seen}{again}"
        yield from _rest(section.tests)


def _rest(found: Entries[Any]) -> Iterator[str]:
    if found.more:
        yield f"- and {number(found.more, f'more {found.noun}')}"


def _trend(trend: Trend) -> Iterator[str]:
    yield from ("", f"### {_text(trend.title)}", "")
    yield from _table(
        ("Run of", "Revision", "Device", "Kit", "What may be claimed", "Musts"),
        (
            (
                _text(line.started),
                _text(line.revision),
                _text(line.device),
                _text(line.kit),
                f"{line.run.column.standing.symbol} {_text(line.run.column.claim.headline)}",
                _counts(line.musts),
            )
            for line in trend.lines
        ),
    )
    yield ""
    for change in trend.changes:
        steps = (f"{_word(step.word)} since {_text(step.label)} ({_text(step.started[:10])})" for step in change.steps)
        yield f"- {_code(change.id)}: {', '.join(steps)}"
    if trend.more:
        yield f"- and {trend.more:,} more requirements"
    if trend.asked_of_some:
        yield f"- and {number(trend.asked_of_some, 'requirement')} not asked in all of the runs, with nothing wrong"


def _waivers(page: WaiverPage) -> Iterator[str]:
    yield from ("", "## Waivers", "", f"Days are counted from {page.day}.", "")
    yield from _table(
        ("What", "Last day", "Days", "Record", "Reason", "Owner", "Followed up"),
        (
            (
                _code(line.target),
                _text(line.expires),
                _text(line.days),
                _text(line.column.label),
                _text(line.reason),
                _text(line.owner),
                _text(line.link),
            )
            for line in page.lines
        ),
    )


def _detection(detection: Detection) -> Iterator[str]:
    yield from ("", "## What these suites detect", "", DETECTION, "")
    yield f"**{detection.symbol} {_text(detection.headline)}**"
    for notice in detection.notices:
        yield from ("", f"> **Note.** {_text(notice)}")
    for line in detection.wrong:
        row = line.row
        yield from ("", f"### {_word(line.word)}: {_code(row.name)} ({row.kind} of {_text(_changed(row))})", "")
        yield from (_text(row.about), "", *_block(line.complaint))
    figures = ((group.name, group.figure) for group in detection.groups)
    yield from (
        "",
        *_table(("What", "Value"), ((_text(name), _text(value)) for name, value in (*figures, *detection.facts))),
    )
    yield from ("", "<details><summary>The whole table</summary>")
    for group in detection.groups:
        yield from ("", f"### {_text(group.name)}", "")
        yield from _table(
            ("Name", "About", "Outcome", "Rejected by", "Area", "Tests", "Message", "Script"),
            (
                (
                    f"{_code(line.row.name)}<br>{_text(_changed(line.row))}",
                    _text(line.row.about),
                    _word(line.word),
                    ", ".join(map(_code, line.row.requirements)),
                    _text(", ".join(line.row.areas)),
                    f"{line.row.tests} of {line.row.run}",
                    _text(line.row.message),
                    _text(line.row.script or ""),
                )
                for line in group.lines
            ),
        )
    yield from ("", "</details>")


def _changed(row: Row) -> str:
    return row.implementation + ("" if row.explore is None else f", examples {row.explore}")


def _cell(cell: Cell) -> str:
    return _word(cell.word) + (f"<br>{_text(cell.note)}" if cell.note else "")


def _word(word: Word) -> str:
    return f"{_text(word.symbol)} {word.text}"


def _counts(counts: Counts) -> str:
    return ", ".join(f"{_text(word.symbol)} {count} {word.text}" for word, count in counts) or "none"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _text(value: object) -> str:
    """`value` on one line, with all that Markdown or HTML would act on made literal."""
    line = " ".join(visible(value).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~!])", r"\\\1", line)


def _code(value: object) -> str:
    """`value` as a code span, one line; a pipe would end a table's cell even there."""
    line = " ".join(visible(value).split()).replace("|", "¦")
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _block(value: object) -> list[str]:
    """`value` as a fenced block, with a fence that nothing inside can close."""
    text = visible(value)
    fence = "`" * max(3, _longest_run(text) + 1)
    return [fence, *text.split("\n"), fence]


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
