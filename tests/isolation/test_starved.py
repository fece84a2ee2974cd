"""A test that the device had no memory for runs once more, and says so."""

from __future__ import annotations

import pytest

from tests.isolation.conftest import Outcome, folder_of, session


@pytest.fixture(scope="module", params=[("--isolate",), ("-n2",)], ids=["one worker", "two"])
def starved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The hostile suite over a class that behaves, on a device that has no memory now and then."""
    path = tmp_path_factory.mktemp("starved")
    folder = folder_of(path / "suite", starved="starved", test_behaviour="hostile/behaviour_suite")
    return session(folder, path / "run.jsonl", "--impl=starved.py:adapter", *request.param)


def test_most_pass_in_the_end_and_none_fails(starved: Outcome) -> None:
    second = [result.verdict.value for result in starved.record.results if result.warnings]
    assert {*starved.verdicts.values()} <= {"pass", "error"}, starved.output
    # The device may have none at the second time either.
    assert second.count("error") == list(starved.verdicts.values()).count("error") < second.count("pass")
    assert starved.status == (3 if "error" in second else 0)
    assert starved.record.complete


def test_each_second_run_says_so_and_began_once(starved: Outcome) -> None:
    again = [result for result in starved.record.results if result.warnings]
    assert again
    for result in again:
        (words,) = result.warnings
        assert words.startswith("OutOfMemory: this is its second run; in the first the device had no memory: ")
        assert "78 GiB in use" in words
    started = starved.record.started
    assert len(started) == len({*started})
