"""The failures, crashes, timeouts and errors of a run, grouped by what caused them, the largest group first.

Results pass by one at a time, and what is kept of them grows with the causes, of which there is room for `ROOM`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import one_line
from conformance.records.result import TestResult
from conformance.records.symptoms import Symptom, symptom_of
from conformance.records.verdicts import Verdict

if TYPE_CHECKING:
    from conformance.requirements.registry import Requirement

#: Groups that are told apart.  When there are more, the smallest are counted by their requirements from then on.
ROOM = 1_000
#: Characters of what a test expected or saw.
_TEXT = 200

_Key = tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """One test of a group, the first.

    Attributes:
        test: its name.
        expected, seen: as in its result, one line each; empty when it did not say.
        command: runs just this test again.
    """

    test: str
    expected: str
    seen: str
    command: str


@dataclass(frozen=True)
class Cause:
    """Tests that went wrong for one reason.

    Attributes:
        words: what went wrong.
        remedy: what to do when that is how the class is meant to be; empty when there is nothing to declare or write.
        tests: how many.
        requirements: the ids of what they decide.
        verdicts: how many tests have each.
        example: one of them.
    """

    words: str
    remedy: str
    tests: int
    requirements: tuple[str, ...]
    verdicts: Mapping[Verdict, int]
    example: Example

    @property
    def size(self) -> str:
        """How many tests and requirements, in words."""
        return f"{number(self.tests, 'test')}, {number(len(self.requirements), 'requirement')}"

    @property
    def line(self) -> str:
        """All but the example."""
        return f"{self.size}: {self.words}" + (f"; {self.remedy}" if self.remedy else "")


class _Group:
    """The tests of one cause, while they are counted."""

    def __init__(self, words: str, remedy: str, example: Example) -> None:
        self.words = words
        self.remedy = remedy
        self.example = example
        self.ids: dict[str, None] = {}
        self.verdicts: Counter[Verdict] = Counter()

    @property
    def tests(self) -> int:
        return self.verdicts.total()

    def take(self, ids: Iterable[str], verdicts: Mapping[Verdict, int]) -> None:
        self.ids.update(dict.fromkeys(ids))
        self.verdicts.update(verdicts)


class Causes:
    """Counts tests that went wrong by their causes.

    Args:
        requirements: all of them, with the levels that they have for the dialect.

    Attributes:
        noted: how many tests failed at nothing but what is left open, which is no failure.
    """

    def __init__(self, requirements: Iterable[Requirement]) -> None:
        self.noted = 0
        #: By id, whether it is judged.
        self._judged = {entry.id: entry.scored for entry in requirements}
        self._groups: dict[_Key, _Group] = {}
        self._by_requirement: dict[str, _Group] = {}

    @classmethod
    def of(cls, results: Iterable[TestResult], requirements: Iterable[Requirement]) -> Causes:
        """Those of `results`."""
        causes = cls(requirements)
        for result in results:
            causes.add(result)
        return causes

    def add(self, result: TestResult) -> None:
        """Count `result`, if the test went wrong and no waiver accepts that."""
        if not result.verdict.is_trouble or result.verdict is Verdict.WAIVED:
            return
        # What a record says may name others: what is kept must not grow with them.
        ids = [identity for identity in result.requirements if identity in self._judged]
        if result.verdict is Verdict.FAIL and not any(self._judged[identity] for identity in ids):
            self.noted += 1
            return
        key, words, remedy = _described(result)
        group = None if key is None else self._groups.get(key)
        if group is None:
            group = _Group(words, remedy, _example(result))
            if key is not None:
                self._groups[key] = group
        group.take(ids, {result.verdict: 1})
        if key is None:
            _fold(group, self._by_requirement)
        elif len(self._groups) > ROOM:
            self._make_room()

    def _make_room(self) -> None:
        """Count the smaller half by requirement; a large cause that comes late has a place to grow in."""
        largest_first = sorted(self._groups, key=lambda key: -self._groups[key].tests)
        for key in largest_first[ROOM // 2 :]:
            _fold(self._groups.pop(key), self._by_requirement)

    def ranked(self) -> tuple[Cause, ...]:
        """The causes, the largest first."""
        by_requirement = {key: _copy(group) for key, group in self._by_requirement.items()}
        shared = []
        for group in self._groups.values():
            # One test has nothing in common with others but what it decides.
            if group.tests == 1 and not group.remedy:
                _fold(group, by_requirement)
            else:
                shared.append(group)
        causes = [_cause(group, group.words) for group in shared]
        causes += [_cause(group, _first_of(group)) for group in by_requirement.values()]
        return tuple(sorted(causes, key=lambda cause: (-cause.tests, -len(cause.requirements), cause.example.test)))


def _fold(group: _Group, groups: dict[str, _Group]) -> None:
    """Count the tests of `group` in the one of `groups` that is for what they decide."""
    key = next(iter(group.ids), "")
    if key not in groups:
        groups[key] = _copy(group)
    else:
        groups[key].take(group.ids, group.verdicts)


def _copy(group: _Group) -> _Group:
    copy = _Group(group.words, group.remedy, group.example)
    copy.take(group.ids, group.verdicts)
    return copy


def _first_of(group: _Group) -> str:
    """The words for tests that have no more in common than what they decide."""
    place = next(iter(group.ids), "")
    return group.words if group.tests == 1 or not place else f"{place}, each test for itself; the first: {group.words}"


def _cause(group: _Group, words: str) -> Cause:
    return Cause(
        words=words,
        remedy=group.remedy,
        tests=group.tests,
        requirements=tuple(group.ids),
        verdicts=dict(group.verdicts),
        example=group.example,
    )


def key_of(result: TestResult) -> _Key | None:
    """The same for all tests that went wrong for the reason of `result`; ``None`` when nothing is common."""
    return _described(result)[0]


def _described(result: TestResult) -> tuple[_Key | None, str, str]:
    """The key of the group that `result` belongs to, what went wrong, and what to do; no key: nothing is common."""
    symptom = symptom_of(result)
    if result.cause is None:
        return symptom.key, symptom.words, ""
    kind, name, declare = (result.cause.get(part) or "" for part in ("kind", "name", "declare"))
    return ("cause", kind, name, declare), _words(symptom, name), _remedy(kind, name, declare)


def _words(symptom: Symptom, name: str) -> str:
    return symptom.words if not name or name in symptom.words else f"there is no {name}"


def _remedy(kind: str, name: str, declare: str) -> str:
    declaration = f"declare capabilities={{{declare!r}: False}}" if declare else ""
    if kind == "adapter":
        method = f"write the adapter's {name}()"
        return f"{method}, or {declaration}" if declaration else method
    return f"if that is so, {declaration}" if declaration else ""


def _example(result: TestResult) -> Example:
    return Example(
        test=result.test,
        expected=one_line(result.expected or "", _TEXT),
        seen=one_line(result.seen or result.message, _TEXT),
        command=one_line(result.command, 1_000),
    )


def number(count: int, noun: str) -> str:
    """`count` with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
