"""How long a test may take: a class that hangs often gets less, and no test is judged by less that is merely slow."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.isolation.deadlines import (
    CONFIRMED,
    HANGS,
    LEAST_CONFIRMED_S,
    LEAST_S,
    TIMES,
    TIMES_CONFIRMED,
    Deadlines,
)
from conformance.records.result import TestResult
from conformance.session.cases import Case
from conformance.session.options import Options
from tests.isolation.conftest import session


def _case(number: int, *, seconds: float = 0.0, implementation: str = "a", draws: bool = False) -> Case:
    names = f"test.py::test[{implementation}-{number}]", f"test.py::test[{number}]"
    return Case(*names, implementation, (), seconds, draws)


@pytest.fixture
def deadlines() -> Deadlines:
    """Those of a session in which a test may take 60 s."""
    return Deadlines(Options(("a", "b"), test_timeout=60.0))


def _hang(deadlines: Deadlines, *numbers: int) -> list[bool]:
    """Let tests hang for as long as they may; whether each is to run again."""
    return [deadlines.runs_again(case, deadlines.limit(case)) for case in map(_case, numbers)]


def test_the_first_hangs_cost_the_whole_limit(deadlines: Deadlines) -> None:
    for number in range(HANGS):
        assert deadlines.limit(_case(number)) == 60.0
        assert _hang(deadlines, number) == [False]
    assert deadlines.limit(_case(HANGS)) == LEAST_S


def test_the_shorter_limit_is_far_above_what_the_class_has_taken(deadlines: Deadlines) -> None:
    deadlines.came_back(_case(100), 2.0)
    deadlines.came_back(_case(101), 0.1)
    _hang(deadlines, *range(HANGS))
    assert deadlines.limit(_case(50)) == TIMES * 2.0
    deadlines.came_back(_case(102), 30.0)
    assert deadlines.limit(_case(50)) == 60.0


def test_a_test_that_asked_for_more_and_another_class_keep_theirs(deadlines: Deadlines) -> None:
    _hang(deadlines, *range(HANGS))
    assert deadlines.limit(_case(50, seconds=300.0)) == 300.0
    assert deadlines.limit(_case(50, implementation="b")) == 60.0
    assert deadlines.limit(None) == 60.0


def test_the_first_that_hang_for_less_run_again_with_the_whole_limit(deadlines: Deadlines) -> None:
    _hang(deadlines, *range(HANGS))
    for number in range(10, 10 + CONFIRMED):
        assert _hang(deadlines, number) == [True]
        assert deadlines.limit(_case(number)) == 60.0
        assert _hang(deadlines, number) == [False]
    # Now it is known of the class.
    assert _hang(deadlines, 20) == [False]
    assert not deadlines.is_whole(_case(20), LEAST_S)
    assert deadlines.remark(_case(20)) == f"(less than its 60 s, for which {HANGS + CONFIRMED} tests had hung)"


def test_one_that_was_merely_slow_gives_all_others_their_limit_back(deadlines: Deadlines) -> None:
    _hang(deadlines, *range(HANGS))
    assert _hang(deadlines, 10) == [True]
    deadlines.came_back(_case(10), 8.0)
    assert deadlines.limit(_case(11)) == 60.0
    assert _hang(deadlines, 11, 12, 13) == [False] * 3
    assert deadlines.limit(_case(14)) == 60.0


def test_one_that_comes_back_at_once_the_second_time_shows_that_the_class_hangs_now_and_then(
    deadlines: Deadlines,
) -> None:
    _hang(deadlines, *range(HANGS))
    for number in range(10, 10 + CONFIRMED):
        assert _hang(deadlines, number) == [True]
        deadlines.came_back(_case(number), 0.1)
    assert deadlines.limit(_case(20)) == LEAST_CONFIRMED_S
    assert _hang(deadlines, 20) == [False]
    deadlines.came_back(_case(100), 2.0)
    assert deadlines.limit(_case(21)) == TIMES_CONFIRMED * 2.0


def test_those_that_draw_examples_are_measured_by_their_own(deadlines: Deadlines) -> None:
    _hang(deadlines, *range(HANGS))
    deadlines.came_back(_case(100, draws=True), 4.0)
    assert deadlines.limit(_case(20)) == LEAST_S
    assert deadlines.limit(_case(21, draws=True)) == TIMES * 4.0


SUITE = """
import time

import pytest
from conformance.markers import requirement

HANGING = {range}

@requirement("hostile.behaves")
@pytest.mark.parametrize("number", range(5))
def test_it(impl, number):
    if number in HANGING:
        time.sleep(4321)
    if number == 3:
        time.sleep(1)
"""
#: One hang is enough, and then a test gets half a second.
PLUGIN = """
from conformance.isolation import deadlines

deadlines.HANGS = deadlines.CONFIRMED = 1
deadlines.LEAST_S, deadlines.LEAST_CONFIRMED_S, deadlines.TIMES = 0.5, 0.5, 0.001
"""


@pytest.fixture
def folder(toy_folder: Path, tmp_path: Path) -> Path:
    """A suite for tests that hang."""
    suite = tmp_path / "suite"
    shutil.copytree(toy_folder, suite)
    (suite / "test_toy.py").unlink()
    (suite / "shorter.py").write_text(PLUGIN, encoding="utf-8")
    return suite


def _results(folder: Path, record: Path, hanging: str, limit: int) -> dict[int, TestResult]:
    (folder / "test_hangs.py").write_text(SUITE.replace("{range}", hanging), encoding="utf-8")
    outcome = session(folder, record, "-p", "shorter", f"--test-timeout={limit}")
    assert outcome.record.complete, outcome.output
    assert outcome.record.defects == ()
    return {int(result.test[-2]): result for result in outcome.record.results}


def test_a_slow_test_of_a_class_that_hangs_passes(folder: Path, tmp_path: Path) -> None:
    results = _results(folder, tmp_path / "run.jsonl", "[0]", 5)
    assert [results[number].verdict.value for number in range(5)] == ["timeout", *["pass"] * 4]
    again = "Timeout: this is its second run; in the first it did not come back in 0.5 s"
    assert [results[number].warnings for number in range(5)].count((again,)) == 1


def test_a_class_that_hangs_often_costs_less_each_time(folder: Path, tmp_path: Path) -> None:
    results = _results(folder, tmp_path / "run.jsonl", "range(4)", 3)
    assert [results[number].verdict.value for number in range(5)] == [*["timeout"] * 4, "pass"]
    messages = [results[number].message.partition(" and ") for number in range(4)]
    assert [before for before, _, _ in messages] == [
        "it did not come back in 3 s",
        "it did not come back in 3 s",
        "it did not come back in 0.5 s",
        "it did not come back in 0.5 s",
    ]
    assert all(
        how == "was ended by SIGTERM (less than its 3 s, for which 2 tests had hung)" for _, _, how in messages[2:]
    )
