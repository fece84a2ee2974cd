"""Pairs of faults: which are drawn, how two changes are joined, and what a pair comes to."""

from __future__ import annotations

import contextlib
from typing import Any

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.requirements.loading import load_registry
from conformance.selfcheck.catalogue import FAULTS, faults
from conformance.selfcheck.distortions.page import as_page
from conformance.selfcheck.outcomes import BOTH, Observed, Outcome
from conformance.selfcheck.pairs import Pair, judge_pair, sample
from conformance.selfcheck.table import Table, verdict
from reference_impl.faults.fault import Fault


class Plain:
    """A class to break."""

    def one(self) -> str:
        return "one"

    def two(self) -> str:
        return "two"


class One(Plain):
    """Wrong in one way."""

    def one(self) -> str:
        return super().one().upper()


class Two(Plain):
    """Wrong in another."""

    def two(self) -> str:
        return super().two().upper()


def fault(name: str, change: Any, *rejected_by: str) -> Fault:
    return Fault(name, "class", name, rejected_by, "reference", lambda: contextlib.nullcontext(change))


PAIR = Pair(fault("a", One, "replay.performs-work"), fault("b", Two, "pools.list"))


def test_the_sample_is_the_same_each_time_and_of_different_areas() -> None:
    catalogue = faults(FAULTS, load_registry())
    pairs = sample(catalogue, 100)
    assert pairs == sample(catalogue, 100)
    assert len({pair.name for pair in pairs}) == 100
    for pair in pairs:
        assert pair.one.rejected_by[0].partition(".")[0] != pair.other.rejected_by[0].partition(".")[0]
        assert pair.one.implementation == pair.other.implementation


def test_two_classes_become_one_that_is_wrong_in_both_ways() -> None:
    with PAIR.apply() as change:
        assert isinstance(change, dict)
        both = change["graph_class"]()
    assert (both.one(), both.two()) == ("ONE", "TWO")


def test_a_class_beside_a_patch_and_beside_what_an_adapter_states() -> None:
    with Pair(PAIR.one, fault("c", None, "pools.list")).apply() as change:
        assert change == {"graph_class": One}
    with Pair(fault("c", {"runtime": None}, "pools.list"), PAIR.other).apply() as change:
        assert change == {"runtime": None, "graph_class": Two}


def test_a_class_that_derives_from_the_other_has_both_already() -> None:
    class Three(One):
        """Wrong in a third way as well."""

    with Pair(PAIR.one, fault("c", Three, "pools.list")).apply() as change:
        assert change == {"graph_class": Three}


def rejected(*requirements: str) -> TestResult:
    return TestResult("t", requirements, Verdict.FAIL, "call", "", expected="one", seen="two")


def test_what_a_pair_comes_to() -> None:
    registry = load_registry()
    alone = judge_pair(PAIR, Observed([rejected("pools.list")]), registry)
    assert (alone.outcome, alone.message) == (Outcome.KILLED, "only b is rejected")
    both = judge_pair(PAIR, Observed([rejected("pools.list"), rejected("replay.performs-work")]), registry)
    assert (both.message, both.requirements) == (BOTH, ("pools.list", "replay.performs-work"))
    hidden = judge_pair(PAIR, Observed([]), registry)
    assert (hidden.outcome, hidden.good) == (Outcome.SURVIVED, False)
    assert judge_pair(PAIR, Observed([], "it cannot be applied"), registry).outcome is Outcome.BROKEN

    table = Table((alone, both, hidden), {"torch": "2"}, False, "1", "0" * 64, "today", 1.0, 2)
    assert "3 pairs: 2 killed, 1 survived" in verdict(table)
    assert "of 3 pairs, both faults of 1 are rejected" in verdict(table)
    assert "| a + b | reference | survived |  |  | each hides the other |" in as_page(table)
