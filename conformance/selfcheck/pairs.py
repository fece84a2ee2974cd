"""Pairs of faults: whether one hides the other from the suites."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from conformance.adapters.implementations import resolve
from conformance.records.result import TestResult
from conformance.requirements.registry import Registry
from conformance.selfcheck.catalogue import Change, Fault
from conformance.selfcheck.outcomes import BOTH, Judgement, Observed, Outcome, Row, kills, strongest
from conformance.selfcheck.running import Job
from conformance.session.cases import Case

#: The same pairs each time.
_SEED = 1


@dataclass(frozen=True)
class Pair:
    """Two faults of one implementation, in force at the same time.

    Attributes:
        one, other: the faults, whose first requirements are of different areas.
    """

    one: Fault
    other: Fault

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.one.name} + {self.other.name}"

    @property
    def about(self) -> str:
        """Both descriptions."""
        return f"{self.one.about} {self.other.about}"

    @property
    def both(self) -> tuple[Fault, Fault]:
        return self.one, self.other

    @property
    def rejected_by(self) -> frozenset[str]:
        """What either names."""
        return frozenset(name for fault in self.both for name in fault.rejected_by)

    def apply(self) -> AbstractContextManager[Change]:
        """A context in which both are in force."""
        return _both(self.both)


def sample(faults: Sequence[Fault], count: int) -> list[Pair]:
    """Some pairs of faults of one implementation and of different areas, or all when there are no more than `count`."""
    pairs = [
        Pair(one, other)
        for one, other in itertools.combinations(faults, 2)
        if one.implementation == other.implementation and _area(one) != _area(other)
    ]
    return random.Random(_SEED).sample(pairs, min(count, len(pairs)))  # noqa: S311  # no secret


def job_of(pair: Pair, registry: Registry, rows: dict[str, Row], say: Callable[[str], None]) -> Job:
    """Runs the tests that either fault names, until each of the two is rejected; puts the row among `rows`."""

    def is_named(case: Case, _results: Sequence[TestResult]) -> bool:
        return not pair.rejected_by.isdisjoint(case.ids)

    rejected: set[str] = set()

    def enough(result: TestResult) -> bool:
        rejected.update(fault.name for fault in pair.both if kills(fault.rejected_by, result))
        return len(rejected) == 2

    def finish(observed: Observed) -> None:
        rows[pair.name] = row = judge_pair(pair, observed, registry)
        say(f"pair {pair.name}: {row.outcome}, {row.message}")

    return Job(pair, pair.one.implementation, [is_named], finish, enough)


def judge_pair(pair: Pair, observed: Observed, registry: Registry) -> Row:
    """The row of a pair, which has to be rejected for one of its faults at least."""
    killing = [result for result in observed.results if kills(pair.rejected_by, result)]
    ids = pair.rejected_by & {name for result in killing for name in result.requirements}
    held = [fault.name for fault in pair.both if any(kills(fault.rejected_by, result) for result in killing)]
    if observed.trouble is not None:
        outcome, message = Outcome.BROKEN, observed.trouble
    elif not held:
        outcome, message = Outcome.SURVIVED, "each hides the other"
    else:
        outcome = Outcome.KILLED
        message = BOTH if len(held) == 2 else f"only {held[0]} is rejected"
    dialect = resolve(pair.one.implementation).dialect
    judgement = Judgement(outcome, message, ids, len(killing), strongest(outcome, ids, dialect, registry))
    return judgement.row("pair", pair, pair.one.implementation, observed)


def _area(fault: Fault) -> str:
    return fault.rejected_by[0].partition(".")[0]


@contextlib.contextmanager
def _both(faults: Sequence[Fault]) -> Iterator[Change]:
    with contextlib.ExitStack() as stack:
        yield _joined([stack.enter_context(fault.apply()) for fault in faults])


def _joined(changes: Sequence[Change]) -> Change:
    """What an adapter states that has all of `changes`."""
    attributes: dict[str, Any] = {}
    classes: list[type] = []
    for change in changes:
        stated = {"graph_class": change} if isinstance(change, type) else dict(change or {})
        classes += [stated.pop("graph_class")] if "graph_class" in stated else []
        attributes |= stated
    return {**attributes, "graph_class": _class_of(classes)} if classes else attributes


def _class_of(classes: Sequence[type]) -> type:
    """A class that behaves as all of them."""
    kept = [cls for cls in classes if not any(other is not cls and issubclass(other, cls) for other in classes)]
    return kept[0] if len(kept) == 1 else type(kept[0].__name__, tuple(kept), {})
