"""What becomes of a test or a requirement from one record to another."""

from __future__ import annotations

from enum import Enum

from conformance.records.verdicts import Verdict


class Change(str, Enum):
    """What two verdicts, or the lack of one, say together; what asks for attention comes first."""

    #: It was right and is not any more.
    REGRESSED = "regressed"
    #: It was answered, and is not any more: not run, skipped, declined or in error.
    UNDECIDED = "undecided"
    #: It was wrong and is right.
    FIXED = "fixed"
    #: It is wrong, and a waiver accepts that.
    WAIVED = "waived"
    #: It is wrong in both.
    FAILING = "failing"
    #: It was not answered, and is now.
    DECIDED = "decided"
    #: What is asked is not the same in both.
    CHANGED = "changed"
    #: A requirement's verdict differs only by tests that are new, gone or changed.
    INCOMPARABLE = "incomparable"
    #: Only the new record has it.
    NEW = "new"
    #: Only the old record has it.
    GONE = "gone"
    #: It differs in what the documents leave open.
    OPEN = "open"
    #: Nothing changed: it is right in both, or was answered in neither.
    SAME = "same"

    def __str__(self) -> str:
        return self.value


def transition(before: Verdict, after: Verdict, *, scored: bool) -> Change:
    """What two verdicts on the same thing say.

    Args:
        before: in the old record.
        after: in the new one.
        scored: whether an implementation is judged by it.
    """
    if after is Verdict.WAIVED:
        return Change.WAIVED
    if not before.is_answer or not after.is_answer:
        return Change.SAME if before.is_answer == after.is_answer else _decision(after)
    if before is after is Verdict.PASS:
        return Change.SAME
    if not scored and _is_open(before) and _is_open(after):
        return Change.SAME if before is after else Change.OPEN
    if before is Verdict.PASS:
        return Change.REGRESSED
    return Change.FIXED if after is Verdict.PASS else Change.FAILING


def _is_open(verdict: Verdict) -> bool:
    """Whether a verdict may be left to an implementation: no crash is, and what is left open is flaky for one only."""
    return not verdict.is_loss and verdict is not Verdict.FLAKY


def _decision(after: Verdict) -> Change:
    return Change.DECIDED if after.is_answer else Change.UNDECIDED
