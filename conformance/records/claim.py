"""What may be said of an implementation after a run: decided and worded here, for every terminal, record and page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.records.assessment import Assessment, Standing, Tally
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.text import capital


@dataclass(frozen=True)
class Claim:
    """The outcome of a run, in words.

    Attributes:
        verdict: of the run.
        line: one line for a terminal, which names the implementation.
        headline: one short sentence for a page, which does not.
        detail: the two numbers and what they leave out, in a few sentences.
        exceptions: the ids of the advice that is not followed.
        musts: how many musts are met, and what became of the others; empty where that would mislead.
    """

    verdict: RunVerdict
    line: str
    headline: str
    detail: str
    exceptions: tuple[str, ...] = ()
    musts: str = ""


def claim(
    assessment: Assessment,
    *,
    implementation: str,
    dialect: str,
    revision: str,
    ending: str = "",
    defects: Sequence[str] = (),
) -> Claim:
    """The claim that a run allows.

    Args:
        assessment: the run, judged.
        implementation: its name.
        dialect: of the implementation.
        revision: the release that it claims.
        ending: where a run that was cut short ended, as a sentence.
        defects: what refutes its record, each a sentence without its stop.
    """
    if defects:
        return _refuted(f"{implementation} as {dialect} {revision}", defects)
    verdict = assessment.verdict
    musts, *others = _numbers(assessment)
    numbers = "; ".join([musts, *others])
    remarks = _remarks(assessment)
    sentences = [f"As {dialect} {revision}: {numbers}.", *(f"{capital(remark)}." for remark in remarks), ending]
    return Claim(
        verdict=verdict,
        line=f"{_LEADS[verdict]}: {implementation} as {dialect} {revision}: {'; '.join([numbers, *remarks])}",
        headline=_headline(assessment, cut_short=bool(ending)),
        detail=" ".join(sentence for sentence in sentences if sentence),
        exceptions=assessment.exceptions,
        musts=musts,
    )


def _refuted(subject: str, defects: Sequence[str]) -> Claim:
    """The claim of a record that cannot be true: its numbers would only mislead."""
    reason = "the record contradicts itself or its suites"
    more = f" (and {len(defects) - 1} more)" if len(defects) > 1 else ""
    return Claim(
        verdict=RunVerdict.ERROR,
        line=f"{_LEADS[RunVerdict.ERROR]}: {subject}: {reason}: {defects[0]}{more}",
        headline=f"No claim: {reason}.",
        detail=" ".join(f"{capital(defect)}." for defect in defects),
    )


_LEADS = {
    RunVerdict.CONFORMS: "CONFORMS",
    RunVerdict.CONFORMS_IN_PART: "CONFORMS IN PART",
    RunVerdict.DOES_NOT_CONFORM: "DOES NOT CONFORM",
    RunVerdict.NARROWED: "NO CLAIM",
    RunVerdict.INCOMPLETE: "NO CLAIM",
    RunVerdict.ERROR: "NO CLAIM",
}

_NO_CLAIM = {
    RunVerdict.NARROWED: "only a part of the suites was selected",
    RunVerdict.INCOMPLETE: "tests were skipped or not run",
    RunVerdict.ERROR: "the kit or the adapter failed, or the device had no memory",
}


def _headline(assessment: Assessment, *, cut_short: bool) -> str:
    verdict = assessment.verdict
    if verdict is RunVerdict.INCOMPLETE and cut_short:
        return "Incomplete record: no claim."
    if verdict in _NO_CLAIM:
        return f"No claim: {_NO_CLAIM[verdict]}."
    if verdict is RunVerdict.CONFORMS_IN_PART:
        return f"Conforms in part: {', '.join(_claimed(assessment))}."
    if verdict is RunVerdict.DOES_NOT_CONFORM and assessment.target.profiles:
        return f"Does not conform in what was asked for: {', '.join(assessment.target.profiles)}."
    return "Conforms." if verdict is RunVerdict.CONFORMS else "Does not conform."


def _claimed(assessment: Assessment) -> tuple[str, ...]:
    """The profiles that a claim may name."""
    return assessment.target.profiles or assessment.profiles_that_are(Standing.MET) or ("no profile in full",)


def _numbers(assessment: Assessment) -> list[str]:
    """How many musts are met, how much of the advice is followed, and which long programs went wrong."""
    numbers = [
        _score(assessment.musts, "must", "musts", "met"),
        _score(assessment.advice, "piece of advice", "pieces of advice", "followed"),
    ]
    if any(verdict.is_unmet for verdict in assessment.composites):
        numbers.append(_score(assessment.composites, "long program", "long programs", "right"))
    return numbers


def _score(tally: Tally, one: str, many: str, met: str) -> str:
    """How many are met, of how many, and what became of the others."""
    count, total = tally.get(Verdict.PASS, 0), sum(tally.values())
    # Of what was not run, nothing is known: a total would make it look as if it had failed.
    number = f"{count} {one if count == 1 else many}" if Verdict.NOT_RUN in tally else f"{count} of {total} {many}"
    rejected = sum(number for verdict, number in tally.items() if verdict.rejects)
    others = [f"{rejected} not {met}"] if rejected else []
    others += [f"{tally[verdict]} {word}" for verdict, word in _OTHERS.items() if verdict in tally]
    return ", ".join([f"{number} {met}", *others])


_OTHERS = {
    Verdict.WAIVED: "waived",
    Verdict.UNSUPPORTED: "declined",
    Verdict.SKIPPED: "skipped",
    Verdict.ERROR: "in error",
    Verdict.NOT_RUN: "not run",
}


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _remarks(assessment: Assessment) -> list[str]:
    """What the numbers do not say."""
    verdict = assessment.verdict
    remarks = []
    if assessment.declined:
        remarks.append(f"musts were declined or not tried in {', '.join(assessment.declined)}")
    if verdict is RunVerdict.CONFORMS_IN_PART:
        remarks.append(f"conforms in {', '.join(_claimed(assessment))}")
    if verdict is RunVerdict.DOES_NOT_CONFORM and assessment.target.profiles:
        remarks.append(f"asked for: {', '.join(assessment.target.profiles)}")
    if assessment.hazards:
        remarks.append(f"{_number(assessment.hazards, 'test')} outside the musts crashed or hung")
    if verdict in _NO_CLAIM:
        remarks.append(f"{_NO_CLAIM[verdict]}, so no claim can rest on this run")
    return remarks
