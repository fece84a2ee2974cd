"""What people read of the results, kept while these pass: the first of each kind, and how many more there were.

It grows with the requirements and not with the tests, whatever became of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from conformance.errors import one_line
from conformance.records.header import Header
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict

#: So many of one kind are kept: of the failures of a requirement with one verdict, of its other tests, of its notes.
KEPT = 50
#: Bytes of lines whose whole results are kept, of all requirements together.
KEPT_BYTES = 32 << 20
#: Characters of a reason for what was not tried.
_REASON = 1_000

_Item = TypeVar("_Item")


@dataclass
class Excerpt(Generic[_Item]):
    """The first items of many.

    Attributes:
        items: those that are kept, in the record's order.
        more: how many are not.
    """

    items: list[_Item] = field(default_factory=list)
    more: int = 0

    def add(self, item: _Item, *, fits: bool = True) -> bool:
        """Keep `item`, or count it; whether it was kept."""
        is_kept = fits and len(self.items) < KEPT
        if is_kept:
            self.items.append(item)
        else:
            self.more += 1
        return is_kept


class Other(NamedTuple):
    """A test beside those that went wrong."""

    test: str
    verdict: Verdict


class Noted(NamedTuple):
    """What a test observed, or how it failed at what is left open."""

    test: str
    requirements: tuple[str, ...]
    observations: Mapping[str, Any]
    note: str


class Notes:
    """Notes on the results of one record.

    Attributes:
        observations: by what they are about: the requirement that is left open, or all that the tests decide.
    """

    def __init__(self, header: Header) -> None:
        entries = [entry.seen_by(header.dialect) for entry in header.requirements]
        judged = [
            entry for entry in entries if entry.untestable is None and entry.holds_for(header.dialect, header.revision)
        ]
        #: A result of one of these is shown with it, any other by itself.
        self._shown_with = {entry.id for entry in judged if entry.lacks(header.capabilities) is None}
        self._noted_only = {entry.id for entry in judged if not entry.scored}
        self._left_open = {entry.id for entry in header.requirements if entry.level == "may"}
        self._known = {entry.id for entry in entries}
        self._troubles: dict[str | None, dict[Verdict, Excerpt[tuple[int, TestResult]]]] = {}
        self._others: dict[str, Excerpt[Other]] = {}
        self._reasons: dict[tuple[str, Verdict], Excerpt[str]] = {}
        self._scripts: dict[str, str] = {}
        self._reproductions: dict[str, Mapping[str, str]] = {}
        self._kept_tests: set[str] = set()
        self._room = KEPT_BYTES
        self._count = 0
        self.observations: dict[str, Excerpt[Noted]] = {}

    # -- while the results pass ---------------------------------------------------------------------------------------

    def add(self, result: TestResult, size: int) -> None:
        """Note a `result` that stands on a line of `size` bytes."""
        self._count += 1
        if result.verdict.is_trouble:
            self._trouble(result, size)
        else:
            for identity in self._known.intersection(result.requirements):
                self._others.setdefault(identity, Excerpt()).add(Other(result.test, result.verdict))
                if result.message and result.verdict is not Verdict.PASS:
                    self._reason(identity, result)
        self._observe(result, size)

    def script(self, test: str, script: str) -> None:
        """Note the script of a test whose result has passed."""
        if test in self._kept_tests and len(script) <= self._room:
            self._room -= len(script)
            self._scripts[test] = script

    def tried(self, test: str, reproduction: Mapping[str, str]) -> None:
        """Note what running the script of such a test came to."""
        if test in self._kept_tests:
            self._reproductions[test] = reproduction

    def _trouble(self, result: TestResult, size: int) -> None:
        places: set[str | None] = {*self._shown_with.intersection(result.requirements)}
        if not places:
            if result.verdict is Verdict.FAIL and self._noted_only.intersection(result.requirements):
                return
            places = {None}
        fits = size <= self._room
        kept = [
            self._troubles.setdefault(place, {})
            .setdefault(result.verdict, Excerpt())
            .add((self._count, result), fits=fits)
            for place in places
        ]
        if any(kept):
            self._room -= size
            self._kept_tests.add(result.test)

    def _reason(self, identity: str, result: TestResult) -> None:
        reasons, text = (
            self._reasons.setdefault((identity, result.verdict), Excerpt()),
            one_line(result.message, _REASON),
        )
        if text not in reasons.items:
            reasons.add(text)

    def _observe(self, result: TestResult, size: int) -> None:
        open_ids = tuple(identity for identity in result.requirements if identity in self._left_open)
        note = (result.seen or result.message) if open_ids and result.verdict is Verdict.FAIL else ""
        if not result.observations and not note:
            return
        about = open_ids[0] if open_ids else ", ".join(result.requirements)
        noted = Noted(result.test, result.requirements, result.observations, note)
        if self.observations.setdefault(about, Excerpt()).add(noted, fits=size <= self._room):
            self._room -= size

    # -- afterwards ---------------------------------------------------------------------------------------------------

    def troubles(self, identity: str | None) -> Excerpt[TestResult]:
        """The tests of a requirement that went wrong, the first of each verdict; of ``None``, those of none."""
        parts = self._troubles.get(identity, {}).values()
        numbered = sorted((item for part in parts for item in part.items), key=lambda item: item[0])
        return Excerpt([self._whole(result) for _, result in numbered], sum(part.more for part in parts))

    def others(self, identity: str) -> Excerpt[Other]:
        """The tests of a requirement that did not go wrong."""
        return self._others.get(identity, Excerpt())

    def reasons(self, identity: str, verdict: Verdict) -> Excerpt[str]:
        """What the tests of a requirement with that verdict say, each message once."""
        return self._reasons.get((identity, verdict), Excerpt())

    def _whole(self, result: TestResult) -> TestResult:
        script = self._scripts.get(result.test)
        result = result if script is None else replace(result, reproducer=script)
        reproduction = self._reproductions.get(result.test)
        return result if reproduction is None else result.tried(reproduction)
