"""Whatever the backend does in one test: that test gets the right verdict, and no other one notices."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.isolation.conftest import ROOT, Outcome, session
from tests.isolation.expected import EXPECTED, table

BACKEND = "--impl=backend.py:adapter"
#: Memory for a worker besides what importing torch maps: enough for its tests, and little enough to be eaten fast.
MARGIN_KIB = 840_000


@pytest.fixture(scope="module")
def clean(hostile_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The suite over the same backend when it behaves."""
    return session(hostile_folder, tmp_path_factory.mktemp("clean") / "run.jsonl", BACKEND)


@pytest.fixture(scope="module")
def hostile(hostile_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The suite over the backend that misbehaves in every second test; while some workers hang, others start."""
    record = tmp_path_factory.mktemp("bad") / "run.jsonl"
    return session(
        hostile_folder,
        record,
        BACKEND,
        "-n2",
        "--test-timeout=3",
        limit_kib=_mapped_by_torch_kib() + MARGIN_KIB,
        HOSTILE="1",
    )


def _mapped_by_torch_kib() -> int:
    # A build for GPUs maps several times as much as one for CPUs.
    code = "import torch, pathlib; print(pathlib.Path('/proc/self/status').read_text())"
    status = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    return int(re.search(r"VmPeak:\s+(\d+) kB", status)[1])  # type: ignore[index]


def _name(test: str) -> str:
    return re.sub(r".*\[(.*)\]", r"\1", test)


def test_a_clean_run_passes(clean: Outcome) -> None:
    assert clean.status == 0, clean.output
    assert set(clean.verdicts.values()) == {"pass"}


@pytest.mark.parametrize("behaviour", EXPECTED)
def test_a_behaviour_is_charged_to_its_test(hostile: Outcome, behaviour: str) -> None:
    verdict, phase, words = EXPECTED[behaviour]
    (result,) = (result for result in hostile.record.results if result.test.endswith(f"::test_it[{behaviour}]"))
    assert result.verdict.value in verdict.split("|"), result.message
    assert result.phase in phase.split("|"), result.message
    assert words in result.message
    assert (result.ending is not None) == (result.verdict.value in {"crash", "timeout"})


def test_every_other_test_is_as_in_a_clean_run(hostile: Outcome, clean: Outcome) -> None:
    bad = {*EXPECTED, "abort"}
    assert set(hostile.verdicts) == set(clean.verdicts)
    assert {test: verdict for test, verdict in hostile.verdicts.items() if _name(test) not in bad} == {
        test: verdict for test, verdict in clean.verdicts.items() if _name(test) not in bad
    }
    assert hostile.record.complete
    assert hostile.status == 1


def test_a_crash_among_destructive_tests_is_one_crash(hostile: Outcome) -> None:
    last = [(_name(result.test), result.verdict.value) for result in hostile.record.results[-3:]]
    assert last == [("calm-1", "pass"), ("abort", "crash"), ("calm-2", "pass")]


def test_a_lost_process_leaves_a_script(hostile: Outcome) -> None:
    lost = [result for result in hostile.record.results if result.verdict.value in {"crash", "timeout"}]
    assert lost
    for result in lost:
        assert result.reproducer is not None, result.test
        assert "a replay" in result.reproducer or "each replay" in result.reproducer
        assert result.message.partition("\n")[0] in result.reproducer


def test_a_crash_says_how_where_and_after_which_calls(hostile: Outcome) -> None:
    (result,) = (result for result in hostile.record.results if result.test.endswith("[segmentation-fault]"))
    assert result.ending is not None
    assert result.ending["signal"] == "SIGSEGV"
    assert "Segmentation fault" in result.ending["stacks"]
    assert "in replay" in result.ending["stacks"]
    calls = [call.partition("(")[0] + call.rpartition(")")[2] for call in result.calls]
    assert calls[:5] == [
        "adapter.new_graph -> g0",
        "adapter.capture",
        "g0.capture_begin",
        "end of adapter.capture",
        "  g0.capture_end",
    ]
    assert result.calls[-1] == "g0.replay() (did not return)"
    assert result.command.endswith("'test_behaviour.py::test_it[hostile-segmentation-fault]'")


def test_a_hang_in_c_shows_its_stacks(hostile: Outcome) -> None:
    (result,) = (result for result in hostile.record.results if result.test.endswith("[hang-in-c-with-lock]"))
    assert result.ending is not None
    assert "in replay" in result.ending["stacks"]
    assert "in test_it" in result.ending["stacks"]


def test_output_is_kept_in_bounds(hostile: Outcome) -> None:
    assert hostile.path.stat().st_size < 2 << 20


def test_the_documents_list_every_behaviour() -> None:
    assert table() in (ROOT / "docs" / "isolation.md").read_text(encoding="utf-8")
