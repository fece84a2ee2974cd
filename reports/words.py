"""How verdicts and durations look, in words and symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from conformance.records.assessment import Standing as ProfileStanding
from conformance.records.result import TestResult
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.selfcheck.outcomes import Outcome

Tone = Literal["pass", "bad", "odd", "calm"]


@dataclass(frozen=True)
class Word:
    """What a cell of a report says: never by colour alone, so each tone comes with a symbol and a text."""

    key: str
    symbol: str
    text: str
    tone: Tone


VERDICTS: dict[Verdict, Word] = {
    Verdict.FAIL: Word("fail", "✗", "fail", "bad"),
    Verdict.CRASH: Word("crash", "✸", "crash", "bad"),
    Verdict.TIMEOUT: Word("timeout", "◷", "timeout", "bad"),
    Verdict.FLAKY: Word("flaky", "≈", "flaky", "bad"),
    Verdict.ERROR: Word("error", "!", "kit error", "odd"),
    Verdict.WAIVED: Word("waived", "~", "waived", "odd"),
    Verdict.NOT_RUN: Word("not_run", "?", "not run", "odd"),
    Verdict.SKIPPED: Word("skipped", "»", "skipped", "odd"),
    Verdict.UNSUPPORTED: Word("unsupported", "∅", "unsupported", "calm"),
    Verdict.PASS: Word("pass", "✓", "pass", "pass"),
}
RECORDED = Word("recorded", "○", "recorded", "calm")
UNTESTABLE = Word("untestable", "·", "untestable", "calm")
NOT_APPLICABLE = Word("not_applicable", "-", "not applicable", "calm")
UNKNOWN = Word("unknown", "·", "not in this suite", "calm")

#: Worst first: the order of counts, bars and filters.
WORDS: tuple[Word, ...] = (*VERDICTS.values(), RECORDED, UNTESTABLE, NOT_APPLICABLE, UNKNOWN)


@dataclass(frozen=True)
class Standing:
    """How a page shows the result of a run: the style of the box, and a symbol besides its colour."""

    style: Literal["holds", "part", "fails", "incomplete"]
    symbol: str


STANDINGS: dict[RunVerdict, Standing] = {
    RunVerdict.CONFORMS: Standing("holds", "✓"),
    RunVerdict.CONFORMS_IN_PART: Standing("part", "◐"),
    RunVerdict.DOES_NOT_CONFORM: Standing("fails", "✗"),
    RunVerdict.NARROWED: Standing("incomplete", "?"),
    RunVerdict.INCOMPLETE: Standing("incomplete", "?"),
    RunVerdict.ERROR: Standing("incomplete", "!"),
}

PROFILE_STANDINGS: dict[ProfileStanding, str] = {
    ProfileStanding.MET: "✓ conforms",
    ProfileStanding.NOT_MET: "✗ does not conform",
    ProfileStanding.DECLINED: "∅ declined in part or in whole",
    ProfileStanding.UNDECIDED: "? undecided",
}

#: What a self-check made of a fault or a variant.
OUTCOMES: dict[Outcome, Word] = {
    Outcome.SURVIVED: Word("survived", "✗", "survived", "bad"),
    Outcome.WRONG_REASON: Word("wrong_reason", "✗", "wrong reason", "bad"),
    Outcome.FALSE_ALARM: Word("false_alarm", "✗", "false alarm", "bad"),
    Outcome.BROKEN: Word("broken", "!", "broken", "odd"),
    Outcome.KILLED: Word("killed", "✓", "killed", "pass"),
    Outcome.ACCEPTED: Word("accepted", "✓", "accepted", "pass"),
}

#: What running a script alone came to.
TRIALS = {
    "shown": "it shows the failure",
    "passed": "it passes: the failure needs what went before it",
    "otherwise": "it failed of something else, and was dropped",
}

#: The introduction to the causes.
CAUSES = (
    "What tests that went wrong have in common, apart from their values; the largest cause first. "
    "A test is counted once, at one cause."
)

#: What stands in the place of a script.
ALIKE = "Its script stands in the record: those of ten other tests with this cause are shown."

#: The introduction to the observations.
OBSERVATIONS = "What the documents leave to the implementation: recorded, never judged."

#: The introduction to the table of a self-check.
DETECTION = (
    "How sharp the suites are: a fault is the reference with one thing wrong on purpose, and has to be killed, "
    "by a requirement that it breaks; a variant is correct, though unlike the reference, and has to be accepted."
)


def trial(test: TestResult) -> str | None:
    """What running the script of a test alone came to, if it was."""
    if test.reproduction is None:
        return None
    if test.reproduction["outcome"] == "passed" and Verdict.PASS.value in (test.runs or {}):
        return "it passed this time: the failure comes and goes"
    return f"{TRIALS[test.reproduction['outcome']]} ({test.reproduction['why']})"


def seconds(value: float) -> str:
    """A duration for a person: ``3.2 s``, ``4 min 05 s``."""
    minutes, rest = divmod(round(value), 60)
    if not minutes:
        return f"{value:.1f} s"
    return f"{minutes} min {rest:02d} s"
