"""Verdicts: of a test, of a requirement, and of a run."""

from __future__ import annotations

from enum import Enum


class Verdict(str, Enum):
    """What a run says of one test or one requirement; each member's place is its severity, mildest first."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    UNSUPPORTED = "unsupported"
    SKIPPED = "skipped"
    NOT_RUN = "not_run"
    WAIVED = "waived"
    FLAKY = "flaky"
    FAIL = "fail"
    TIMEOUT = "timeout"
    CRASH = "crash"
    ERROR = "error"

    @property
    def severity(self) -> int:
        return _SEVERITY[self]

    @property
    def rejects(self) -> bool:
        """Whether it says that the implementation did something wrong."""
        return self in {Verdict.FLAKY, Verdict.FAIL, Verdict.TIMEOUT, Verdict.CRASH}

    @property
    def is_loss(self) -> bool:
        """Whether the test's process did not come back from it."""
        return self in {Verdict.TIMEOUT, Verdict.CRASH}

    @property
    def is_unmet(self) -> bool:
        """Whether it says that something was not met, excused by a waiver or not."""
        return self.rejects or self is Verdict.WAIVED

    @property
    def is_answer(self) -> bool:
        """Whether what has it was put to the implementation and answered."""
        return self is Verdict.PASS or self.is_unmet

    @property
    def is_trouble(self) -> bool:
        """Whether somebody has to look at it: something was not met, or could not be tried for an error."""
        return self.is_unmet or self is Verdict.ERROR

    def __str__(self) -> str:
        return self.value


_SEVERITY = {verdict: place for place, verdict in enumerate(Verdict)}


class RunVerdict(str, Enum):
    """What a run says of the implementation as a whole."""

    #: Every must that holds is met.
    CONFORMS = "conforms"
    #: No must that was asked for is broken, but not every must is met: others were declined, or not asked for.
    CONFORMS_IN_PART = "conforms_in_part"
    #: What was selected is met, but the selection leaves requirements undecided: no claim can rest on it.
    NARROWED = "narrowed"
    #: Something planned did not run or was skipped, or the run did not come to its end.
    INCOMPLETE = "incomplete"
    #: A must that was asked for is not met.
    DOES_NOT_CONFORM = "does_not_conform"
    #: The kit or the adapter failed, or the device had no memory, so that nothing can be said.
    ERROR = "error"

    def __str__(self) -> str:
        return self.value
