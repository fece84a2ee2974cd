"""How to read a report: what its words mean."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.requirements.profiles import PROFILES
from reports.words import WORDS, Word

_LEVELS = (
    ("must", "a document of the claimed dialect and revision says so, and is named"),
    ("should", "follows from what a document says, or is safety that any engineer expects: advice"),
    ("may", "left open by the documents: recorded, and never judged"),
)
_VERDICTS = {
    "fail": "The implementation does not do what is expected.",
    "flaky": "It failed, and passed when it ran again. Never counted as met.",
    "crash": "The process died.",
    "timeout": "It did not come back.",
    "error": "The kit or the adapter failed, or the device had no memory, so nothing can be said.",
    "waived": "It went wrong, and a waiver accepts that for a while. Never counted as met.",
    "not_run": "Planned, without a result: nothing is known.",
    "skipped": "Left out by the operator. Never a pass.",
    "unsupported": "Behind a capability that is declared absent, or without the means to be tried.",
    "pass": "It does what is expected, in each test that was run.",
    "recorded": "Left open by the documents: what was seen is noted.",
    "untestable": "No test can decide it.",
    "not_applicable": "Not asked of this dialect, or not by this revision.",
    "unknown": "The suites of this record do not have it.",
}


@dataclass(frozen=True)
class Reading:
    """The page."""

    levels: tuple[tuple[str, str], ...]
    verdicts: tuple[tuple[Word, str], ...]
    profiles: tuple[tuple[str, str], ...]


def reading() -> Reading:
    """The page, which is the same in each report."""
    return Reading(
        levels=_LEVELS,
        verdicts=tuple((word, _VERDICTS[word.key]) for word in WORDS),
        profiles=tuple((profile.name, profile.meaning) for profile in PROFILES.values()),
    )
