"""The command: what it kills, what it accepts, and what it says of a catalogue that is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

#: A defect of each kind: of capture, constructor, pool, reset, replay and another dialect.  The self-check has all.
KILLED = (
    "runs-at-capture-end",
    "ignores-keep-graph",
    "token-before-the-capture",
    "reset-does-nothing",
    "checks-liveness-once",
    "accelerator-takes-any-mode",
)
FURTHER = (
    "forgets-the-last-node",
    "instantiates-at-every-replay",
    "hides-a-spoiled-capture",
    "replays-twice",
    "replays-only-once",
    "replays-nothing-silently",
    "always-keeps",
    "instantiates-eagerly",
    "instantiates-nothing-silently",
    "instantiates-once",
    "instantiate-drops-the-template",
    "pool-shared-unasked",
    "handles-share-one-pool",
    "token-differs-at-every-call",
    "reset-keeps-the-memory",
    "never-checks-liveness",
    "always-checks-liveness",
    "checks-liveness-too-late",
    "always-relaxed",
    "always-global",
    "takes-any-mode",
    "random-state-frozen",
    "second-capture-is-empty",
)


#: The command, and the same over the suite that rejects what is wrong in the catalogue.
COMMAND = "from conformance.cli import main; raise SystemExit(main())"
OF_MODES = f"""
from functools import partial
from conformance.paths import SUITES
from conformance.selfcheck import check
check.run = partial(check.run, suites=SUITES / "error_modes")
{COMMAND}
"""


def self_check(*arguments: str, code: str = COMMAND) -> tuple[int, str]:
    command = [sys.executable, "-c", code, "self-check"]
    process = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode in {0, 1}, process.stdout[-2000:] + process.stderr[-2000:]
    return process.returncode, process.stdout


def rows(printed: str) -> dict[str, Any]:
    return {row["name"]: row for row in json.loads(printed)["rows"]}


@pytest.fixture(scope="module")
def good() -> tuple[int, dict[str, Any]]:
    """The command over a few faults and a variant."""
    chosen = [f"--fault={name}" for name in KILLED]
    status, printed = self_check("--json", *chosen, "--variant=accelerator-refuses-other-modes")
    return status, rows(printed)


@pytest.mark.parametrize("name", KILLED)
def test_a_fault_is_killed_by_what_it_names(good: tuple[int, dict[str, Any]], name: str) -> None:
    row = good[1][name]
    assert row["outcome"] == "killed"
    assert row["requirements"]
    assert 1 <= row["tests"] <= row["run"]
    assert row["message"].startswith("expected: ")
    assert row["about"]


@pytest.mark.parametrize("name", KILLED)
def test_its_script_fails_with_the_fault_and_passes_without(good: tuple[int, dict[str, Any]], name: str) -> None:
    assert good[1][name]["script"] == "as promised"


@pytest.mark.soak
def test_further_faults_are_killed_and_have_scripts() -> None:
    status, printed = self_check("--json", *(f"--fault={name}" for name in FURTHER))
    table = rows(printed)
    assert {name: (table[name]["outcome"], table[name]["script"]) for name in FURTHER} == dict.fromkeys(
        FURTHER, ("killed", "as promised")
    )
    assert status == 0


def test_a_variant_is_accepted(good: tuple[int, dict[str, Any]]) -> None:
    status, table = good
    row = table["accelerator-refuses-other-modes"]
    assert (row["outcome"], row["tests"]) == ("accepted", 0)
    assert row["run"] > 300
    assert status == 0


def test_what_should_have_been_rejected_fails_the_command(tmp_path: Path) -> None:
    page = tmp_path / "table.md"
    modules = ["--faults=tests.selfcheck.neutral", "--variants=tests.selfcheck.neutral"]
    status, printed = self_check("--json", *modules, f"--markdown={page}", code=OF_MODES)
    table = rows(printed)
    assert status == 1
    assert table["neutral"]["outcome"] == "survived"
    assert table["misnamed"]["outcome"] == "wrong reason"
    assert table["wrong"]["outcome"] == "false alarm"
    assert "| neutral | Nothing is wrong. | **survived**" in page.read_text(encoding="utf-8")
