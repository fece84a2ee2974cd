"""The tests of two records, kept small: of each what became of it in both, and whether its code is the same.

A record may be of a million tests, so their names stay in the files.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import Enum

from conformance.records.verdicts import Verdict

_WORD = (1 << 64) - 1
_HALF = (1 << 32) - 1
_FIRST_SIZE = 1 << 10
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
    """The tests of two records, in places of 14 bytes, of which a quarter to a half is used.

    A test is known by 64 bits of Python's keyed hash, as in `conformance.records.plan.Plan`.
    """

    def __init__(self) -> None:
        self._used = 0
        self._allocate(_FIRST_SIZE)

    def plan(self, side: Side, test: str, digest: str | None) -> None:
        """Note that a test is to run, with the digest of its code, if there is one."""
        slot = self._place(test)
        state = self._states[slot]
        code = 0 if digest is None else hash(digest) & _HALF
        if side is Side.OLD:
            self._codes[slot] = code
            self._states[slot] = state | (0 if digest is None else _KNOWN_CODE)
        elif state & 15 << Side.OLD:
            if digest is None or not state & _KNOWN_CODE:
                self._states[slot] = state | _BY_NAME
            elif code != self._codes[slot]:
                self._states[slot] = state | _OTHER_CODE
        self._set(slot, side, _PLACES[Verdict.NOT_RUN])

    def leave_out(self, side: Side, test: str) -> None:
        """Note that a test does not apply."""
        self._set(self._place(test), side, _LEFT_OUT)

    def end(self, side: Side, test: str, verdict: Verdict) -> None:
        """Note what a planned test came to."""
        self._set(self._place(test), side, _PLACES[verdict])

    def fate(self, test: str) -> Fate:
        """What is known of a test."""
        state = self._states[self._slot(test)]
        old, new = state >> Side.OLD & 15, state >> Side.NEW & 15
        return Fate(
            old=_verdict(old),
            new=_verdict(new),
            left_out_of_old=old == _LEFT_OUT,
            left_out_of_new=new == _LEFT_OUT,
            same_code=not state & _OTHER_CODE,
            by_name=bool(state & _BY_NAME),
        )

    # -- the places ---------------------------------------------------------------------------------------------------

    def _allocate(self, size: int) -> None:
        self._mask = size - 1
        self._keys = array("Q", bytes(8 * size))
        self._codes = array("I", bytes(4 * size))
        self._states = array("H", bytes(2 * size))

    def _set(self, slot: int, side: Side, value: int) -> None:
        self._states[slot] = self._states[slot] & ~(15 << side) | value << side

    def _slot(self, test: str) -> int:
        key, slot = hash(test) & _WORD, hash(test) & self._mask
        keys, states = self._keys, self._states
        while states[slot] and keys[slot] != key:
            slot = slot + 1 & self._mask
        return slot

    def _place(self, test: str) -> int:
        """The place of a test, which has one from then on."""
        slot = self._slot(test)
        if self._states[slot]:
            return slot
        self._used += 1
        self._keys[slot], self._states[slot] = hash(test) & _WORD, _USED
        if 2 * self._used > self._mask:
            self._grow()
        return self._slot(test)

    def _grow(self) -> None:
        keys, codes, states = self._keys, self._codes, self._states
        self._allocate(2 * (self._mask + 1))
        mask = self._mask
        for key, code, state in zip(keys, codes, states, strict=True):
            if state:
                slot = key & mask
                while self._states[slot]:
                    slot = slot + 1 & mask
                self._keys[slot], self._codes[slot], self._states[slot] = key, code, state


def _verdict(value: int) -> Verdict | None:
    return None if value in {0, _LEFT_OUT} else _VERDICTS[value - 1]
