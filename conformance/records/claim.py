"""What may be said of an implementation after a run: decided and worded here, for every terminal, record and page."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.records.verdicts import Assessment, RunVerdict, Verdict


@dataclass(frozen=True)
class Claim:
    """The result of a run, in words.

    Attributes:
        verdict: of the run.
        line: one line for a terminal, which names the implementation.
        headline: one short sentence for a page, which does not.
        detail: why, in one or two sentences.
    """

    verdict: RunVerdict
    line: str
    headline: str
    detail: str


def claim(assessment: Assessment, *, implementation: str, dialect: str, revision: str, ending: str = "") -> Claim:
    """The claim that a run allows.

    Args:
        assessment: the run, judged.
        implementation: its name.
        dialect: of the implementation.
        revision: the release that it claims.
        ending: where a run that was cut short ended, as a sentence.
    """
    verdict = assessment.verdict
    headline = "Incomplete record: no claim." if verdict is RunVerdict.INCOMPLETE and ending else _HEADLINES[verdict]
    sentences = [_detail(assessment, dialect, revision, ending), ending]
    return Claim(
        verdict=verdict,
        line=f"{verdict.value.upper()}: {implementation} as {dialect} {revision}: {_score(assessment)}{_WHY[verdict]}",
        headline=headline,
        detail=" ".join(sentence for sentence in sentences if sentence),
    )


_HEADLINES = {
    RunVerdict.PASS: "The claim holds.",
    RunVerdict.FAIL: "The claim does not hold.",
    RunVerdict.PARTIAL: "No claim: only a part was run.",
    RunVerdict.INCOMPLETE: "No claim: the run is incomplete.",
    RunVerdict.ERROR: "No claim: the kit failed.",
}

_WHY = {
    RunVerdict.PASS: "",
    RunVerdict.FAIL: "",
    RunVerdict.PARTIAL: "; only a part of the suites was selected, so no claim can rest on this run",
    RunVerdict.INCOMPLETE: "; tests were skipped or not run",
    RunVerdict.ERROR: "; the kit or the adapter failed, so nothing can be said",
}


def _score(assessment: Assessment) -> str:
    absent = assessment.scored.get(Verdict.UNSUPPORTED, 0)
    remark = f" ({absent} more behind capabilities declared absent)" if absent else ""
    total = sum(assessment.scored.values()) - absent
    return f"{assessment.scored.get(Verdict.PASS, 0)} of {total} scored requirements met{remark}"


def _detail(assessment: Assessment, dialect: str, revision: str, ending: str) -> str:
    scored = assessment.scored
    scope = f"{_number(sum(scored.values()), 'scored requirement')} of revision {revision} for the {dialect} dialect"
    unmet = sum(count for verdict, count in scored.items() if verdict.rejects)
    if assessment.verdict is RunVerdict.FAIL:
        return f"{unmet} of {scope} {'is' if unmet == 1 else 'are'} not met." if unmet else "A test crashed or hung."
    if assessment.verdict is RunVerdict.ERROR:
        return f"{_number(assessment.tests.get(Verdict.ERROR, 0), 'test')} could not be carried out."
    if assessment.verdict is RunVerdict.INCOMPLETE:
        return "" if ending else "Something planned did not run or was skipped."
    if assessment.verdict is RunVerdict.PARTIAL:
        undecided = _number(scored.get(Verdict.NOT_RUN, 0), "scored requirement")
        return f"What was run passed; {undecided} stayed undecided."
    absent = scored.get(Verdict.UNSUPPORTED, 0)
    return f"All {scope} are met{f', apart from {absent} behind a feature declared absent' if absent else ''}."


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
