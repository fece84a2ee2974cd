"""Other people's plug-ins of pytest, in this process and with workers: the right result, or one line before the run.

Those that are not installed are skipped; tests/conformance/test_other_plugins.py does what they do without them.
To try them, put them into a folder of their own, so that no other session loads them:
``pip install --target FOLDER --no-deps`` and ``PYTHONPATH=FOLDER``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.records.record import read_record
from tests.isolation.conftest import HERE, Outcome, environment

MODES = [("--no-isolate",), ("-n2",)]
EXPECTED = {"test_it[calm-1]": "pass", "test_it[flaky]": "fail", "test_it[calm-2]": "pass", "test_deadly": "pass"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The toy and a suite with a test that fails once."""
    for source, name in (
        ("hostile/kit", "conftest"),
        ("hostile/behaviours", "behaviours"),
        ("toy/toy", "toy"),
        ("toy/flaky_suite", "test_flaky"),
    ):
        shutil.copy(HERE / f"{source}.py", tmp_path / f"{name}.py")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -ra\n", encoding="utf-8")
    return tmp_path


def _session(folder: Path, *words: str, plug_in: str = "", **variables: str) -> Outcome:
    """A session with no plug-ins but the kit, pytest-xdist and `plug_in`."""
    path = os.pathsep.join([environment()["PYTHONPATH"], os.environ.get("PYTHONPATH", "")])
    run = [sys.executable, "-m", "pytest", "-c", "pytest.ini", "--rootdir=.", "--import-mode=importlib"]
    run += ["-p", "conformance.plugin", "-p", "xdist", *(("-p", plug_in) if plug_in else ())]
    process = subprocess.run(
        [*run, "--impl=toy.py:adapter", "--record=run.jsonl", *words],
        cwd=folder,
        env=environment(PYTHONPATH=path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", **variables),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Outcome(process.returncode, process.stdout + process.stderr, folder / "run.jsonl")


def _check(outcome: Outcome) -> None:
    """Each test ran once, the one that may spoil the process came last, and the failure counts."""
    assert outcome.status == 1, outcome.output
    record = read_record(outcome.path)
    names = [result.test.removeprefix("test_flaky.py::") for result in record.results]
    assert dict(zip(names, outcome.verdicts.values(), strict=True)) == EXPECTED
    assert names[-1] == "test_deadly"
    assert "\nDOES NOT CONFORM: toy as cuda 2.13: 1 of 2 musts met, 1 not met" in outcome.output


@pytest.mark.parametrize("mode", MODES, ids=["here", "workers"])
@pytest.mark.parametrize(
    ("plug_in", "words"),
    [
        ("pytest_rerunfailures", ()),
        ("flaky.flaky_pytest_plugin", ()),
        ("pytest_retry.retry_plugin", ()),
        ("pytest_repeat", ("--count=1",)),
        ("pytest_timeout", ("--timeout=0",)),
        ("pytest_randomly", ()),
        ("random_order.plugin", ("--random-order",)),
        ("pytest_reverse", ("--reverse",)),
        ("pytest_cov.plugin", ("--cov=toy",)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_may_stay_changes_no_result(
    folder: Path, plug_in: str, words: tuple[str, ...], mode: tuple[str, ...]
) -> None:
    _skip_unless_installed(plug_in)
    _check(_session(folder, *words, *mode, plug_in=plug_in))


@pytest.mark.parametrize("mode", MODES, ids=["here", "workers"])
@pytest.mark.parametrize(
    ("plug_in", "option", "line"),
    [
        ("pytest_rerunfailures", "--reruns=2", "--reruns=2 (pytest-rerunfailures) would run failed tests again"),
        ("flaky.flaky_pytest_plugin", "--force-flaky", "--force-flaky (flaky) would run failed tests again"),
        ("pytest_retry.retry_plugin", "--retries=2", "--retries=2 (pytest-retry) would run failed tests again"),
        ("pytest_repeat", "--count=2", "--count=2 (pytest-repeat) would run each test again"),
        ("pytest_timeout", "--timeout=9", "--timeout=9.0 (pytest-timeout) would turn a slow test into a failure"),
        ("pytest_flakefinder", "--flake-finder", "a plug-in repeats tests, such as test_flaky.py::test_deadly"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("-") else "",
)
def test_what_runs_or_ends_tests_itself_is_refused(
    folder: Path, plug_in: str, option: str, line: str, mode: tuple[str, ...]
) -> None:
    _skip_unless_installed(plug_in)
    outcome = _session(folder, option, *mode, plug_in=plug_in)
    assert outcome.status == 4, outcome.output
    (said,) = [text for text in outcome.output.splitlines() if text.startswith("ERROR: ")]
    assert said.startswith(f"ERROR: conformance: {line}")
    assert " passed" not in outcome.output
    assert "NO CLAIM" not in outcome.output


def _skip_unless_installed(plug_in: str) -> None:
    name = plug_in.partition(".")[0]
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize(
    "words", [("-n2", "--dist=loadscope"), ("--tx=2*popen", "--dist=each"), ("-n2", "--dist=worksteal")]
)
def test_the_kit_gives_out_its_tests_itself(folder: Path, words: tuple[str, ...]) -> None:
    _check(_session(folder, *words))


@pytest.mark.parametrize("mode", MODES, ids=["here", "workers"])
def test_what_the_environment_leaves_out_leaves_no_claim(folder: Path, mode: tuple[str, ...]) -> None:
    outcome = _session(folder, *mode, PYTEST_ADDOPTS="-k calm")
    assert outcome.verdicts == {f"test_flaky.py::test_it[calm-{number}]": "pass" for number in (1, 2)}
    assert outcome.status == 0
    assert "\nNO CLAIM: toy as cuda 2.13: " in outcome.output


@pytest.mark.parametrize("mode", MODES, ids=["here", "workers"])
def test_the_last_failures_alone_make_no_claim(folder: Path, mode: tuple[str, ...]) -> None:
    _check(_session(folder, *mode))
    (folder / "run.jsonl").unlink()
    # In this process it passes now.  Of another size, since compiled files are told apart by seconds and size alone.
    (folder / "test_flaky.py").write_text(
        (folder / "test_flaky.py").read_text(encoding="utf-8").replace("> 1", "> 0") + "\n", encoding="utf-8"
    )
    outcome = _session(folder, "--lf", "--complete", *mode)
    assert outcome.verdicts == {"test_flaky.py::test_it[flaky]": "pass"}
    assert outcome.status == 1
    assert "\nNO CLAIM: toy as cuda 2.13: " in outcome.output
