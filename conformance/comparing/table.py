"""The tests of two records, kept small: of each what became of it in both, and whether its code is the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from conformance.records.hashed_tests import HashedTests
from conformance.records.verdicts import Verdict

_HALF = (1 << 32) - 1
_VERDICTS = tuple(Verdict)
_PLACES = {verdict: place for place, verdict in enumerate(_VERDICTS, 1)}
#: In the bits of a side: the place of a verdict, or this for a test that does not apply to the run.
_LEFT_OUT = 15
_USED, _OTHER_CODE, _KNOWN_CODE, _BY_NAME = 1 << 8, 1 << 9, 1 << 10, 1 << 11


class Side(int, Enum):
    """One of the two records; its value is the place of its bits."""

    OLD = 0
    NEW = 4


@dataclass(frozen=True)
class Fate:
    """What two records say of one test.

    Attributes:
        old, new: its verdict in each; ``None`` when it is not planned there.
        left_out_of_old, left_out_of_new: whether it does not apply there.
        same_code: whether its code is the same in both, as far as one knows.
        by_name: whether nobody knows, because a record has no digest of it.
    """

    old: Verdict | None
    new: Verdict | None
    left_out_of_old: bool
    left_out_of_new: bool
    same_code: bool
    by_name: bool


class Table:
    """The tests of two records, in places of 14 bytes each."""

    def __init__(self) -> None:
        self._tests = HashedTests("H")

    def plan(self, side: Side, test: str, digest: str | None) -> None:
        """Note that a test is to run, with the digest of its code, if there is one."""
        tests = self._tests
        place = tests.mark(test, _USED)
        code = 0 if digest is None else hash(digest) & _HALF
        if side is Side.OLD:
            tests.numbers[place] = code
            tests.states[place] |= 0 if digest is None else _KNOWN_CODE
        elif tests.states[place] & 15 << Side.OLD:
            if digest is None or not tests.states[place] & _KNOWN_CODE:
                tests.states[place] |= _BY_NAME
            elif code != tests.numbers[place]:
                tests.states[place] |= _OTHER_CODE
        self._set(place, side, _PLACES[Verdict.NOT_RUN])

    def leave_out(self, side: Side, test: str) -> None:
        """Note that a test does not apply."""
        self._set(self._tests.mark(test, _USED), side, _LEFT_OUT)

    def end(self, side: Side, test: str, verdict: Verdict) -> None:
        """Note what a planned test came to."""
        self._set(self._tests.mark(test, _USED), side, _PLACES[verdict])

    def fate(self, test: str) -> Fate:
        """What is known of a test."""
        state = self._tests.state(test)
        old, new = state >> Side.OLD & 15, state >> Side.NEW & 15
        return Fate(
            old=_verdict(old),
            new=_verdict(new),
            left_out_of_old=old == _LEFT_OUT,
            left_out_of_new=new == _LEFT_OUT,
            same_code=not state & _OTHER_CODE,
            by_name=bool(state & _BY_NAME),
        )

    def _set(self, place: int, side: Side, value: int) -> None:
        states = self._tests.states
        states[place] = states[place] & ~(15 << side) | value << side


def _verdict(value: int) -> Verdict | None:
    return None if value in {0, _LEFT_OUT} else _VERDICTS[value - 1]
