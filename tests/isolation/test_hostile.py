"""Whatever the backend does in one test: that test gets the right verdict, and no other one notices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.isolation.conftest import Done, session
from tests.isolation.expected import EXPECTED

#: Enough for a worker without torch, and little enough to be eaten fast.
LIMIT_KIB = 800_000


@pytest.fixture(scope="module")
def clean(hostile_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The suite over the same backend when it behaves."""
    return session(hostile_folder, tmp_path_factory.mktemp("clean") / "run.jsonl")


@pytest.fixture(scope="module")
def hostile(hostile_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The suite over the backend that misbehaves in every second test, in two workers."""
    record = tmp_path_factory.mktemp("bad") / "run.jsonl"
    return session(hostile_folder, record, "-n2", "--test-timeout=1.5", limit_kib=LIMIT_KIB, HOSTILE="1")


def _name(test: str) -> str:
    return re.sub(r".*\[(.*)\]", r"\1", test)


def test_a_clean_run_passes(clean: Done) -> None:
    assert clean.status == 0, clean.output
    assert set(clean.verdicts.values()) == {"pass"}


@pytest.mark.parametrize("behaviour", EXPECTED)
def test_a_behaviour_is_charged_to_its_test(hostile: Done, behaviour: str) -> None:
    verdict, phase, words = EXPECTED[behaviour]
    (result,) = (result for result in hostile.record.results if result.test.endswith(f"::test_it[{behaviour}]"))
    assert result.verdict.value in verdict.split("|"), result.message
    assert result.phase in phase.split("|"), result.message
    assert words in result.message
    assert (result.ending is not None) == (result.verdict.value in {"crash", "timeout"})


def test_every_other_test_is_as_in_a_clean_run(hostile: Done, clean: Done) -> None:
    bad = {*EXPECTED, "abort"}
    assert set(hostile.verdicts) == set(clean.verdicts)
    assert {test: verdict for test, verdict in hostile.verdicts.items() if _name(test) not in bad} == {
        test: verdict for test, verdict in clean.verdicts.items() if _name(test) not in bad
    }
    assert hostile.record.complete
    assert hostile.status == 1


def test_destructive_tests_run_last_and_a_crash_among_them_is_one_crash(hostile: Done) -> None:
    last = [(_name(result.test), result.verdict.value) for result in hostile.record.results[-4:]]
    assert last == [("calm-1", "pass"), ("abort", "crash"), ("calm-2", "pass"), ("calm-3", "pass")]


def test_a_crash_says_how_where_and_after_which_calls(hostile: Done) -> None:
    (result,) = (result for result in hostile.record.results if result.test.endswith("[segmentation-fault]"))
    assert result.ending is not None
    assert result.ending["signal"] == "SIGSEGV"
    assert "Segmentation fault" in result.ending["stacks"]
    assert "in replay" in result.ending["stacks"]
    assert result.ending["calls"] == [
        "adapter.new_graph",
        "Graph.capture_begin",
        "Graph.capture_end",
        "Graph.replay (did not return)",
    ]
    assert result.command.endswith("'test_behaviour.py::test_it[hostile-segmentation-fault]'")


def test_a_hang_in_c_shows_its_stacks(hostile: Done) -> None:
    (result,) = (result for result in hostile.record.results if result.test.endswith("[hang-in-c-with-lock]"))
    assert result.ending is not None
    assert "in replay" in result.ending["stacks"]
    assert "in test_it" in result.ending["stacks"]


def test_output_is_kept_in_bounds(hostile: Done) -> None:
    assert hostile.path.stat().st_size < 2 << 20


# -- before the first test --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("abort", "was ended by SIGABRT"),
        ("constructor", "was ended by SIGABRT"),
        ("exit", "ended with exit status 0"),
        ("hang", "took more than 1 s to start"),
    ],
)
def test_a_worker_that_cannot_start_ends_the_run(hostile_folder: Path, tmp_path: Path, start: str, words: str) -> None:
    limit = "--start-timeout=1" if start == "hang" else "--start-timeout=30"
    done = session(hostile_folder, tmp_path / "run.jsonl", limit, HOSTILE_START=start)
    assert done.status == 3
    assert "STOPPED: a worker could not be started 3 times in a row" in done.output
    assert words in done.output
    footer = done.record.footer
    assert footer is not None
    assert footer.stopped is not None
    assert words in footer.stopped
    assert (footer.verdict, footer.complete) == ("error", False)
    assert done.record.assessment.verdict.value == "error"


def test_a_refusal_in_a_worker_is_the_sessions(hostile_folder: Path, tmp_path: Path) -> None:
    done = session(hostile_folder, tmp_path / "run.jsonl", "--impl=backend.py:Nothing")
    assert done.status == 4
    assert "ERROR: conformance: --impl=backend.py:Nothing: backend.py has no attribute 'Nothing'" in done.output


# -- other ways to run ------------------------------------------------------------------------------------------------


def test_a_process_for_each_test(hostile_folder: Path, tmp_path: Path) -> None:
    done = session(hostile_folder, tmp_path / "run.jsonl", "--isolate=test", "-k", "abort-in", HOSTILE="1")
    verdicts = {_name(test): verdict for test, verdict in done.verdicts.items() if "deadly" not in test}
    calm = {name: verdict for name, verdict in verdicts.items() if name.startswith("calm")}
    assert set(calm.values()) == {"pass"}
    assert {verdict for name, verdict in verdicts.items() if name not in calm} == {"crash"}


def test_the_parent_imports_no_backend_and_no_torch(hostile_folder: Path, tmp_path: Path) -> None:
    (hostile_folder / "looks.py").write_text(
        "import sys\n"
        "def pytest_sessionfinish(session):\n"
        "    if not hasattr(session.config, 'workerinput'):\n"
        "        print('imported:', sorted({'torch', 'backend', 'reference_impl'} & set(sys.modules)))\n",
        encoding="utf-8",
    )
    done = session(hostile_folder, tmp_path / "run.jsonl", "-p", "looks", "-s", "-k", "calm-1")
    assert done.status == 0, done.output
    assert "imported: []" in done.output


def test_the_debugger_needs_this_process(hostile_folder: Path, tmp_path: Path) -> None:
    done = session(hostile_folder, tmp_path / "run.jsonl", "--pdb")
    assert done.status == 4
    assert "--pdb needs the tests in this process: add --no-isolate" in done.output


def test_stopping_at_the_first_failure(hostile_folder: Path, tmp_path: Path) -> None:
    done = session(hostile_folder, tmp_path / "run.jsonl", "-x", HOSTILE="1")
    assert done.verdicts == {"test_behaviour.py::test_it[segmentation-fault]": "crash"}
    assert not done.record.complete
    assert done.status == 1
