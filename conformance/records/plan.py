"""The tests of a record, kept small: of each its digest, what it decides and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from conformance.errors import one_line
from conformance.records.hashed_tests import HashedTests

_PLANNED, _LEFT_OUT, _ENDED = 1, 2, 4
_WORD = (1 << 64) - 1


class Plan:
    """The tests that a record names, in places of 13 bytes each.

    If two of them were known by the same hash, the record would be refused as if one of them stood there twice.

    Attributes:
        planned: how many tests are to run.
        left_out: how many are left out.
        ended: how many of the planned have a result.
    """

    def __init__(self) -> None:
        self.planned = self.left_out = self.ended = 0
        self._left_out_sum = 0
        self._ids: list[tuple[str, ...]] = []
        self._places: dict[tuple[str, ...], int] = {}
        self._tests = HashedTests("B")

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
        if self.is_planned(test):
            raise ValueError(f"{shown(test)} is planned already")
        number = self._places.get(ids)
        if number is None:
            number = self._places[ids] = len(self._ids)
            self._ids.append(ids)
        place = self._tests.mark(test, _PLANNED)
        self._tests.numbers[place] = number
        self.planned += 1

    def leave_out(self, test: str) -> None:
        """Leave a test out.

        Raises:
            ValueError: it is left out already, or there are too many.
        """
        if self.is_left_out(test):
            raise ValueError(f"{shown(test)} is left out already")
        self._tests.mark(test, _LEFT_OUT)
        self.left_out += 1
        self._left_out_sum = self._left_out_sum + hash(test) & _WORD

    def end(self, test: str) -> None:
        """Note that a test has a result.

        Raises:
            ValueError: it has one already, or there are too many tests.
        """
        if self.has_ended(test):
            raise ValueError(f"{shown(test)} has a result already")
        place = self._tests.mark(test, _ENDED)
        if self._tests.states[place] & _PLANNED:
            self.ended += 1

    def has_ended(self, test: str) -> bool:
        return bool(self._tests.state(test) & _ENDED)

    def is_planned(self, test: str) -> bool:
        return bool(self._tests.state(test) & _PLANNED)

    def is_left_out(self, test: str) -> bool:
        return bool(self._tests.state(test) & _LEFT_OUT)

    def decided_by(self, test: str) -> tuple[str, ...] | None:
        """What a test decides by the plan, or ``None`` when it is not planned."""
        place = self._tests.place(test)
        return self._ids[self._tests.numbers[place]] if self._tests.states[place] & _PLANNED else None

    def without_result(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """What the planned tests without a result decide, each with their number."""
        if self.ended == self.planned:
            return
        tests = zip(self._tests.numbers, self._tests.states, strict=True)
        counts = Counter(place for place, state in tests if state in _OPEN)
        for place, count in sorted(counts.items()):
            yield self._ids[place], count

    def sets(self) -> Iterator[tuple[str, ...]]:
        """Each set of requirements that a test decides, once."""
        return iter(self._ids)

    def leaves_out_as(self, other: Plan) -> bool:
        """Whether both leave the same tests out."""
        return (self.left_out, self._left_out_sum) == (other.left_out, other._left_out_sum)


#: Planned, and without a result.
_OPEN = (_PLANNED, _PLANNED | _LEFT_OUT)


def function_of(test: str) -> str:
    """The name of a test without its parameters."""
    return test.partition("[")[0]


def shown(test: str) -> str:
    """The name of a test for a message: one line of printable characters."""
    return one_line(test if test.isprintable() else repr(test), 200)
