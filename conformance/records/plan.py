"""The tests of a record, kept small: of each its digest, what it decides and what became of it.

A record may be of a million tests, so their names stay in the file.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from conformance.errors import one_line

#: More tests than any suite has; it bounds what a file can make its reader keep.
TESTS_LIMIT = 10_000_000

_PLANNED, _LEFT_OUT, _ENDED = 1, 2, 4
_WORD = (1 << 64) - 1
_FIRST_SIZE = 1 << 10


class Plan:
    """The tests that a record names, in a table of places of 13 bytes, of which a quarter to a half is used.

    A test is known by 64 bits of Python's keyed hash: of a million tests, two have the same with a chance of 3 in a
    hundred million, and the record would be refused as if one of them stood there twice.

    Attributes:
        planned: how many tests are to run.
        left_out: how many are left out.
        ended: how many of the planned have a result.
    """

    def __init__(self) -> None:
        self.planned = self.left_out = self.ended = 0
        self._left_out_sum = 0
        self._used = 0
        self._ids: list[tuple[str, ...]] = []
        self._places: dict[tuple[str, ...], int] = {}
        self._allocate(_FIRST_SIZE)

    @classmethod
    def of(cls, planned: Mapping[str, tuple[str, ...]], left_out: Collection[str] = ()) -> Plan:
        """The plan of these tests."""
        plan = cls()
        for test, ids in planned.items():
            plan.add(test, ids)
        for test in left_out:
            plan.leave_out(test)
        return plan

    def add(self, test: str, ids: tuple[str, ...]) -> None:
        """Plan a test that decides `ids`.

        Raises:
            ValueError: it is planned already, or there are too many.
        """
        slot = self._slot(test)
        if self._states[slot] & _PLANNED:
            raise ValueError(f"{shown(test)} is planned already")
        self._note(slot, test, _PLANNED)
        place = self._places.get(ids)
        if place is None:
            place = self._places[ids] = len(self._ids)
            self._ids.append(ids)
        self._decides[self._slot(test)] = place
        self.planned += 1

    def leave_out(self, test: str) -> None:
        """Leave a test out.

        Raises:
            ValueError: it is left out already, or there are too many.
        """
        slot = self._slot(test)
        if self._states[slot] & _LEFT_OUT:
            raise ValueError(f"{shown(test)} is left out already")
        self._note(slot, test, _LEFT_OUT)
        self.left_out += 1
        self._left_out_sum = self._left_out_sum + hash(test) & _WORD

    def end(self, test: str) -> None:
        """Note that a test has a result.

        Raises:
            ValueError: it has one already, or there are too many tests.
        """
        slot = self._slot(test)
        state = self._states[slot]
        if state & _ENDED:
            raise ValueError(f"{shown(test)} has a result already")
        self._note(slot, test, _ENDED)
        if state & _PLANNED:
            self.ended += 1

    def has_ended(self, test: str) -> bool:
        return bool(self._states[self._slot(test)] & _ENDED)

    def is_planned(self, test: str) -> bool:
        return bool(self._states[self._slot(test)] & _PLANNED)

    def is_left_out(self, test: str) -> bool:
        return bool(self._states[self._slot(test)] & _LEFT_OUT)

    def decided_by(self, test: str) -> tuple[str, ...] | None:
        """What a test decides by the plan, or ``None`` when it is not planned."""
        slot = self._slot(test)
        return self._ids[self._decides[slot]] if self._states[slot] & _PLANNED else None

    def without_result(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """What the planned tests without a result decide, each with their number."""
        if self.ended == self.planned:
            return
        counts = Counter(place for place, state in zip(self._decides, self._states, strict=True) if state in _OPEN)
        for place, count in sorted(counts.items()):
            yield self._ids[place], count

    def sets(self) -> Iterator[tuple[str, ...]]:
        """Each set of requirements that a test decides, once."""
        return iter(self._ids)

    def leaves_out_as(self, other: Plan) -> bool:
        """Whether both leave the same tests out."""
        return (self.left_out, self._left_out_sum) == (other.left_out, other._left_out_sum)

    # -- the table ----------------------------------------------------------------------------------------------------

    def _allocate(self, size: int) -> None:
        self._mask = size - 1
        self._keys = array("Q", bytes(8 * size))
        self._decides = array("I", bytes(4 * size))
        self._states = array("B", bytes(size))

    def _slot(self, test: str) -> int:
        """The place of a test, or the free one that is to be its place."""
        key, slot = hash(test) & _WORD, hash(test) & self._mask
        keys, states = self._keys, self._states
        while states[slot] and keys[slot] != key:
            slot = slot + 1 & self._mask
        return slot

    def _note(self, slot: int, test: str, state: int) -> None:
        if self._states[slot]:
            self._states[slot] |= state
            return
        if self._used == TESTS_LIMIT:
            raise ValueError(f"there are more than {TESTS_LIMIT:,} tests")
        self._used += 1
        self._keys[slot], self._states[slot] = hash(test) & _WORD, state
        if 2 * self._used > self._mask:
            self._grow()

    def _grow(self) -> None:
        keys, decides, states = self._keys, self._decides, self._states
        self._allocate(2 * (self._mask + 1))
        mask = self._mask
        for key, place, state in zip(keys, decides, states, strict=True):
            if state:
                slot = key & mask
                while self._states[slot]:
                    slot = slot + 1 & mask
                self._keys[slot], self._decides[slot], self._states[slot] = key, place, state


#: Planned, and without a result.
_OPEN = (_PLANNED, _PLANNED | _LEFT_OUT)


def function_of(test: str) -> str:
    """The name of a test without its parameters."""
    return test.partition("[")[0]


def shown(test: str) -> str:
    """The name of a test for a message: one line of printable characters."""
    return one_line(test if test.isprintable() else repr(test), 200)
