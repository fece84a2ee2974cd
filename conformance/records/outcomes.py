"""What the tests of a run came to, counted as they come: all that a run is judged by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from conformance.records.verdicts import Verdict


class Result(Protocol):
    """What is counted: one test's outcome."""

    @property
    def test(self) -> str: ...
    @property
    def requirements(self) -> tuple[str, ...]: ...
    @property
    def verdict(self) -> Verdict: ...
    @property
    def is_loss(self) -> bool: ...


class Outcomes:
    """Counts; they grow with the requirements, and not with the tests.

    Attributes:
        tests: how many tests have each verdict.
        by_requirement: the verdicts that tests of a requirement have.
        losses: what the tests decide that crashed or hung, be it in one of several runs, each set with their number.
    """

    def __init__(self) -> None:
        self.tests: Counter[Verdict] = Counter()
        self.by_requirement: dict[str, set[Verdict]] = {}
        self.losses: Counter[tuple[str, ...]] = Counter()

    @classmethod
    def of(cls, results: Iterable[Result], planned: Mapping[str, tuple[str, ...]] | None = None) -> Outcomes:
        """Those of `results`; a test that was `planned` and has none is `not_run`."""
        outcomes, tests = cls(), set()
        for result in results:
            outcomes.add(result.requirements, result.verdict, is_loss=result.is_loss)
            tests.add(result.test)
        for test, ids in (planned or {}).items():
            if test not in tests:
                outcomes.add(ids, Verdict.NOT_RUN)
        return outcomes

    @classmethod
    def joined(cls, parts: Iterable[Outcomes]) -> Outcomes:
        """Those of runs that share no test."""
        outcomes = cls()
        for part in parts:
            outcomes.tests.update(part.tests)
            outcomes.losses.update(part.losses)
            for identity, verdicts in part.by_requirement.items():
                outcomes.by_requirement.setdefault(identity, set()).update(verdicts)
        return outcomes

    def add(self, ids: tuple[str, ...], verdict: Verdict, times: int = 1, *, is_loss: bool = False) -> None:
        """Count tests that decide `ids` and have this verdict."""
        self.tests[verdict] += times
        for identity in ids:
            self.by_requirement.setdefault(identity, set()).add(verdict)
        if is_loss:
            self.losses[ids] += times
