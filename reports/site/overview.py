"""The first page: who was tested, what came of it, and where the answers to a user's questions stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.records.causes import number
from conformance.requirements.profiles import PROFILES
from conformance.requirements.vocabulary import Level
from reports.formats.runs import RecordedRun
from reports.model import CauseRow, Causes, Column, Finding, Report
from reports.site.comparison_pages import Pair
from reports.site.map import COMPARE, DETECTION, FAILURES, READING, Map
from reports.site.record_pages import claimable, is_of_profile
from reports.words import PROFILE_STANDINGS

#: Answers of one question, and causes of one record; the pages that they lead to have all.
_SHOWN = 8
_CAUSES = 3
_PROFILE = "keep-graph"


@dataclass(frozen=True)
class Link:
    """Words that lead to a place of a page."""

    text: str
    path: str
    fragment: str = ""


@dataclass(frozen=True)
class Question:
    """What a reader came for.

    Attributes:
        text: in the reader's words.
        answers: the first of them.
        more: where the others stand, or ``None``.
    """

    text: str
    answers: tuple[Link, ...]
    more: Link | None = None


@dataclass(frozen=True)
class Line:
    """One record in the table of implementations.

    Attributes:
        path: of its page.
        release, device, driver, started: what was run on what, and when.
        complete: whether the run came to its end, in words.
        musts, advice: what became of them, in words.
        profiles: what is said of each profile of `Overview.profiles`.
    """

    column: Column
    path: str
    release: str
    device: str
    driver: str
    started: str
    complete: str
    musts: str
    advice: str
    profiles: tuple[str, ...]


@dataclass(frozen=True)
class Roots:
    """Why tests of one record went wrong, the largest cause first.

    Attributes:
        tests, noted: how many did, and how many more failed at what is left open, in words.
        musts: the first musts that are not met: the causes of these need not be the largest.
        more_musts, more: how many musts and causes there are beside these.
    """

    line: Line
    tests: str
    noted: str
    musts: tuple[Finding, ...]
    more_musts: int
    rows: tuple[CauseRow, ...]
    more: int


@dataclass(frozen=True)
class Remark:
    """What must be said beside the claims of some records."""

    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Overview:
    """The page.

    Attributes:
        questions: and their answers.
        profiles: that the documents of any record have.
        lines: the records.
        roots: why tests went wrong.
        notices: what must be known before all else.
        remarks: what must be known of some records.
    """

    questions: tuple[Question, ...]
    profiles: tuple[str, ...]
    lines: tuple[Line, ...]
    roots: tuple[Roots, ...]
    notices: tuple[str, ...]
    remarks: tuple[Remark, ...]
    places: Map


def overview(report: Report, runs: Sequence[RecordedRun], pairs: Sequence[Pair], places: Map) -> Overview:
    """The page.

    Args:
        report: what is shown.
        runs: its records.
        pairs: those that are compared.
        places: of the pages.
    """
    remarks: dict[str, list[str]] = {}
    for run in runs:
        for remark in run.record.remarks:
            remarks.setdefault(remark, []).append(run.column.label)
    of_one = {f"{label}: {remark}." for remark, labels in remarks.items() for label in labels}
    profiles = tuple(name for name in PROFILES if any(name in run.record.assessment.profiles for run in runs))
    lines = tuple(_line(run, profiles, places) for run in runs)
    by_anchor = {line.column.anchor: line for line in lines}
    return Overview(
        questions=tuple(_questions(report, runs, pairs, places)),
        profiles=profiles,
        lines=lines,
        roots=tuple(_roots(one, by_anchor[one.column.anchor], report.findings) for one in report.causes),
        notices=tuple(text for text in report.notices if text not in of_one),
        remarks=tuple(Remark(text, tuple(labels)) for text, labels in remarks.items()),
        places=places,
    )


def _roots(causes: Causes, line: Line, findings: Sequence[Finding]) -> Roots:
    musts = [one for one in findings if one.column is causes.column and _is_level(one, "must")]
    return Roots(
        line=line,
        tests=causes.tests,
        noted=causes.noted,
        musts=tuple(musts[:_SHOWN]),
        more_musts=len(musts[_SHOWN:]),
        rows=causes.rows[:_CAUSES],
        more=len(causes.rows[_CAUSES:]),
    )


def _is_level(finding: Finding, level: Level) -> bool:
    return finding.requirement is not None and finding.requirement.level == level


def _line(run: RecordedRun, profiles: Sequence[str], places: Map) -> Line:
    header, assessment = run.record.header, run.record.assessment
    return Line(
        column=run.column,
        path=places.record(run.column),
        release=f"{header.dialect}, PyTorch {header.revision}",
        device=str(header.environment.get("device", "not stated")),
        driver=str(header.environment.get("driver", "not stated")),
        started=header.started_at,
        complete="complete" if run.record.complete else "incomplete",
        musts=_tally(run.column, "Musts"),
        advice=_tally(run.column, "Advice"),
        profiles=tuple(
            PROFILE_STANDINGS[assessment.profiles[name]] if name in assessment.profiles else "- not documented"
            for name in profiles
        ),
    )


def _tally(column: Column, heading: str) -> str:
    counts = [
        f"{word.symbol} {count:,} {word.text}"
        for name, tally in column.counts
        if name == heading
        for word, count in tally
    ]
    return ", ".join(counts) or "none"


# -- the five questions -----------------------------------------------------------------------------------------------


def _questions(report: Report, runs: Sequence[RecordedRun], pairs: Sequence[Pair], places: Map) -> Iterator[Question]:
    yield _shortened(
        "Is my backend ready for keep_graph?",
        [Link(f"{run.column.label}: {_ready(run, report)}", places.record(run.column), "profiles") for run in runs],
        Link("all implementations and profiles", "index.html", "profiles"),
    )
    yield _shortened(
        "What broke since an earlier run or release?",
        [Link(f"{pair.title}: {pair.outcome}", pair.path) for pair in pairs]
        or [Link("There is one record of each implementation, so there is nothing to compare.", COMPARE)],
        Link("all comparisons", COMPARE),
    )
    yield Question("How do I reproduce a failure?", tuple(_reproduce(report, places)))
    yield _shortened(
        "What may I claim?",
        [Link(f"{run.column.label}: {_claim(run)}", places.record(run.column), "claim") for run in runs],
        Link("all implementations", "index.html", "implementations"),
    )
    yield Question("How much does the kit detect?", (*_detected(report), Link("what that means", READING, "detection")))


def _shortened(text: str, answers: Sequence[Link], more: Link) -> Question:
    return Question(text, tuple(answers[:_SHOWN]), more if len(answers) > _SHOWN else None)


def _ready(run: RecordedRun, report: Report) -> str:
    standing = run.record.assessment.profiles.get(_PROFILE)
    if standing is None:
        return f"not documented for {run.record.header.revision}"
    advice = sum(
        one.column is run.column and _is_level(one, "should") and is_of_profile(one, _PROFILE)
        for one in report.findings
    )
    rest = f"; {number(advice, 'piece')} of its advice not followed" if advice else ""
    return PROFILE_STANDINGS[standing] + rest


def _claim(run: RecordedRun) -> str:
    names = ", ".join(claimable(run))
    return run.column.claim.headline + (f" Could be claimed alone, with --profile: {names}." if names else "")


def _reproduce(report: Report, places: Map) -> Iterator[Link]:
    if not report.findings:
        yield Link("Nothing went wrong in these runs.", FAILURES)
        return
    first, what = report.findings[0], "command"
    scripted = next((one for one in report.findings if one.tests and one.tests[0].reproducer), None)
    if scripted is not None:
        first, what = scripted, "command and script"
    yield Link(f"for example {first.title} on {first.column.label}: {what}", places.failure(first), "again")
    yield Link("each failure has a page with the command that runs it again", FAILURES)


def _detected(report: Report) -> Iterator[Link]:
    if report.detection is None:
        yield Link("This report was made without the table of a self-check, so it does not say.", DETECTION)
        return
    yield Link(report.detection.headline, DETECTION)
    for notice in report.detection.notices:
        yield Link(notice, DETECTION)
