"""Badges: one small file for each profile, in the form that an endpoint of shields has."""

from __future__ import annotations

from typing import Any

from conformance.records.assessment import Standing
from conformance.records.verdicts import RunVerdict
from conformance.requirements.profiles import FULL, PROFILES
from reports.formats.runs import RecordedRun

#: What a badge says of a profile, and its colour: grey wherever nothing is decided.
_PROFILE = {
    Standing.MET: ("conforms", "brightgreen"),
    Standing.NOT_MET: ("does not conform", "red"),
    Standing.DECLINED: ("declined", "lightgrey"),
    Standing.UNDECIDED: ("no data", "lightgrey"),
}
_NOT_DOCUMENTED = ("not documented", "lightgrey")

_WHOLE = {
    RunVerdict.CONFORMS: ("conforms", "brightgreen"),
    RunVerdict.CONFORMS_IN_PART: ("conforms in part", "yellow"),
    RunVerdict.DOES_NOT_CONFORM: ("does not conform", "red"),
    RunVerdict.NARROWED: ("no claim", "lightgrey"),
    RunVerdict.INCOMPLETE: ("no claim", "lightgrey"),
    RunVerdict.ERROR: ("no claim", "lightgrey"),
}

#: The names of the badges of each record.
NAMES = (FULL, *PROFILES)


def badge_path(run: RecordedRun, profile: str) -> str:
    """Where a badge stands in the report's folder."""
    return f"badges/{run.name}/{profile}.json"


def badge(run: RecordedRun, profile: str) -> dict[str, Any]:
    """What the badge of `run` says of one of `NAMES`."""
    header, assessment, claim = run.record.header, run.record.assessment, run.record.claim
    if profile == FULL:
        words, colour = _WHOLE[claim.verdict]
        message = ": ".join(part for part in (words, claim.musts) if part)
    else:
        standing = assessment.profiles.get(profile)
        message, colour = _NOT_DOCUMENTED if standing is None else _PROFILE[standing]
    what = "graph capture" if profile == FULL else f"graph capture: {profile}"
    return {
        "schemaVersion": 1,
        "label": f"{what} ({header.dialect} {header.revision})",
        "message": message,
        "color": colour,
    }
