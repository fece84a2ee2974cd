"""Doctor and run against the stand-ins of vendors' packages: what was planted in them is found, and nothing else.

A part of the suites runs here; with ``STANDINS=whole`` in the environment, all of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from conformance.records.record import Record, read_record
from tests.forks import sessions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HOME = Path(__file__).parents[2]
EXAMPLE = HOME / "examples" / "standins"
FAILURES: dict[str, dict[str, str]] = tomllib.loads((EXAMPLE / "failures.toml").read_text(encoding="utf-8"))
#: What each is tested as, and what torch is told to load where nothing imports it.
IMPLEMENTATIONS = {
    **{name: (f"torch.{name}", None) for name in ("npu", "musa", "mlu", "gcu", "hpu")},
    **{name: (f"torch.{name}", name) for name in ("xpu", "mtia")},
    **{name: ("torch.cuda", name) for name in ("rocm", "impersonator")},
}
#: Where the classes' shapes show, and most of what was planted.
PART = ("suites/context_manager", "suites/debug_dump", "suites/signatures")
#: The stand-ins of what is part of torch are held to the release of the installed one.
pytestmark = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) != (2, 13), reason="failures.toml is for torch 2.13"
)
WHOLE = os.environ.get("STANDINS") == "whole"


def _kit(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the kit, in a process whose torch has the stand-in `name`."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(EXAMPLE)
    loaded = IMPLEMENTATIONS[name][1]
    if loaded is not None:
        environment["STANDIN"] = loaded
    return subprocess.run(
        [sys.executable, "-c", "import sys; from conformance.cli import main; sys.exit(main())", *words],
        cwd=HOME,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


#: As torch does at the end of its import, which all have behind them.
STAND_IN = """
import os
import standin_loader

name = words.pop(0)
if name != "-":
    os.environ["STANDIN"] = name
    standin_loader.load()
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Of the runs against all of them: each where importing torch is not what takes longest."""
    folder = tmp_path_factory.mktemp("standins")
    records = {name: folder / f"{name}.jsonl" for name in IMPLEMENTATIONS}
    commands = [
        [
            *(loaded or "-", f"--impl={spec}", f"--record={records[name]}"),
            *("-q", "-p", "no:cacheprovider", "--no-isolate", *PART),
        ]
        for name, (spec, loaded) in IMPLEMENTATIONS.items()
    ]
    for ended in sessions(commands, folder, first=STAND_IN, PYTHONPATH=f"{EXAMPLE}{os.pathsep}{HOME}"):
        assert ended.status in {0, 1}, ended.output[-3000:]
    return records


@pytest.fixture(scope="module", params=IMPLEMENTATIONS)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Record]:
    """The record of a run."""
    name = request.param
    if not WHOLE:
        return name, read_record(request.getfixturevalue("records")[name])
    path = tmp_path_factory.mktemp(name) / "run.jsonl"
    run = _kit(name, "run", f"--impl={IMPLEMENTATIONS[name][0]}", f"--record={path}", "-q", "-p", "no:cacheprovider")
    assert run.returncode in {0, 1}, run.stdout[-3000:] + run.stderr
    return name, read_record(path)


def test_what_was_planted_is_found_and_nothing_else(ran: tuple[str, Record]) -> None:
    name, record = ran
    judged = [result for result in record.results if result.verdict != "not_run"]
    assert {result.verdict for result in judged} <= {"pass", "fail", "unsupported"}
    assert len(judged) > 60
    asked = {requirement for result in judged for requirement in result.requirements}
    failed = {requirement for result in judged if result.verdict == "fail" for requirement in result.requirements}
    planted = {*FAILURES[name]} if WHOLE else {*FAILURES[name]} & asked
    assert failed == planted


def test_a_reason_is_given_for_what_is_unsupported(ran: tuple[str, Record]) -> None:
    _, record = ran
    unsupported = [result.message for result in record.results if result.verdict == "unsupported"]
    assert all(unsupported)


@pytest.mark.parametrize("name", IMPLEMENTATIONS if WHOLE else ["mtia"])
def test_the_doctor_contradicts_no_declaration(name: str) -> None:
    said = _kit(name, "doctor", IMPLEMENTATIONS[name][0])
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stdout.splitlines()[-1].startswith("READY")
    lines = said.stdout.split("capabilities, as declared and as tried")[1].split("\n\n")[0].strip().splitlines()
    answers = dict(line.split(maxsplit=1) for line in lines)
    assert answers.pop("raw_allocation", "").endswith("(Adapter.unsafe_call)") or name in {"rocm", "impersonator"}
    if name == "xpu":
        assert "outside of it" in answers.pop("fork_join")
    for capability, answer in answers.items():
        right = r"(unstated|there|present) +(there and works|cannot be tried: .*unsafe_call)"
        right += r"|absent +(not there|there, but): "
        assert re.match(right, answer), f"{capability} {answer}"
