"""The first page: who was tested, what came of it, and where the answers to a user's questions stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.formats.runs import RecordedRun
from reports.model import CauseRow, Column, Report
from reports.site.comparison_pages import Pair
from reports.site.map import COMPARE, DETECTION, FAILURES, READING, Map
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
    """Why tests of one record went wrong, the largest cause first."""

    line: Line
    tests: str
    rows: tuple[CauseRow, ...]
    more: int


@dataclass(frozen=True)
class Overview:
    """The page."""

    questions: tuple[Question, ...]
    profiles: tuple[str, ...]
    lines: tuple[Line, ...]
    roots: tuple[Roots, ...]
    notices: tuple[str, ...]
    places: Map


def overview(report: Report, runs: Sequence[RecordedRun], pairs: Sequence[Pair], places: Map) -> Overview:
    """The page.

    Args:
        report: what is shown.
        runs: its records.
        pairs: those that are compared.
        places: of the pages.
    """
    profiles = tuple(dict.fromkeys(name for run in runs for name in run.record.assessment.profiles))
    lines = tuple(_line(run, profiles, places) for run in runs)
    by_anchor = {line.column.anchor: line for line in lines}
    return Overview(
        questions=tuple(_questions(report, runs, pairs, places)),
        profiles=profiles,
        lines=lines,
        roots=tuple(
            Roots(
                by_anchor[one.column.anchor],
                one.tests,
                one.rows[:_CAUSES],
                len(one.rows) - len(one.rows[:_CAUSES]),
            )
            for one in report.causes
        ),
        notices=report.notices,
        places=places,
    )


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
        [Link(f"{run.column.label}: {_ready(run)}", places.record(run.column), "profiles") for run in runs],
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
        [Link(f"{run.column.label}: {run.column.claim.headline}", places.record(run.column), "claim") for run in runs],
        Link("all implementations", "index.html", "implementations"),
    )
    yield Question("How much does the kit detect?", (_detected(report), Link("what that means", READING, "detection")))


def _shortened(text: str, answers: Sequence[Link], more: Link) -> Question:
    return Question(text, tuple(answers[:_SHOWN]), more if len(answers) > _SHOWN else None)


def _ready(run: RecordedRun) -> str:
    standing = run.record.assessment.profiles.get(_PROFILE)
    return f"not documented for {run.record.header.revision}" if standing is None else PROFILE_STANDINGS[standing]


def _reproduce(report: Report, places: Map) -> Iterator[Link]:
    if not report.findings:
        yield Link("Nothing went wrong in these runs.", FAILURES)
        return
    first = report.findings[0]
    yield Link(f"for example {first.title} on {first.column.label}: command and script", places.failure(first), "again")
    yield Link("each failure has a page with the command that runs it again", FAILURES)


def _detected(report: Report) -> Link:
    if report.detection is None:
        return Link("This report was made without the table of a self-check, so it does not say.", DETECTION)
    return Link(report.detection.headline, DETECTION)
