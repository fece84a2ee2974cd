"""A table from tests to two small numbers that keeps no name: a record may be of a million tests."""

from __future__ import annotations

from array import array

#: More tests than any suite has; it bounds what a file can make its reader keep.
TESTS_LIMIT = 10_000_000

_WORD = (1 << 64) - 1
_FIRST_SIZE = 1 << 10


class HashedTests:
    """Of each test a number of 32 bits and the bits of its state, in places of which a quarter to a half is used.

    A test is known by 64 bits of Python's keyed hash: of a million tests, two have the same with a chance of 3 in a
    hundred million, and are then taken for one.

    Attributes:
        numbers, states: by place; a place whose state is 0 is free.  Both are others once `mark` has made room.
    """

    def __init__(self, state_type: str) -> None:
        """`state_type` is the code by which `array` knows the type of a state."""
        self._state_type = state_type
        self._used = 0
        self._allocate(_FIRST_SIZE)

    def state(self, test: str) -> int:
        """The bits of a test, 0 when it has no place."""
        return self.states[self.place(test)]

    def place(self, test: str) -> int:
        """The place of a test, or the free one that is to be its place."""
        key, place = hash(test) & _WORD, hash(test) & self._mask
        keys, states = self._keys, self.states
        while states[place] and keys[place] != key:
            place = place + 1 & self._mask
        return place

    def mark(self, test: str, bits: int) -> int:
        """Add bits, not 0, to a test's state; its place, which it has from then on.

        Raises:
            ValueError: there are too many tests.
        """
        place = self.place(test)
        if self.states[place]:
            self.states[place] |= bits
            return place
        if self._used == TESTS_LIMIT:
            raise ValueError(f"there are more than {TESTS_LIMIT:,} tests")
        self._used += 1
        self._keys[place], self.states[place] = hash(test) & _WORD, bits
        if 2 * self._used <= self._mask:
            return place
        self._grow()
        return self.place(test)

    def _allocate(self, size: int) -> None:
        self._mask = size - 1
        self._keys = array("Q", bytes(8 * size))
        self.numbers = array("I", bytes(4 * size))
        self.states = array(self._state_type, [0]) * size

    def _grow(self) -> None:
        keys, numbers, states = self._keys, self.numbers, self.states
        self._allocate(2 * (self._mask + 1))
        mask = self._mask
        for key, number, state in zip(keys, numbers, states, strict=True):
            if state:
                place = key & mask
                while self.states[place]:
                    place = place + 1 & mask
                self._keys[place], self.numbers[place], self.states[place] = key, number, state
