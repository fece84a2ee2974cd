"""Declarations that are so and declarations that are not, from the adapter to the exit status and its line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.records.record import Record, read_record
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.requirements.loading import load_registry
from conformance.requirements.vocabulary import CAPABILITIES, Dialect

ADAPTERS = Path(__file__).parent / "adapters.py"
ROOT = Path(__file__).parents[2]
SUITE = ROOT / "suites" / "declarations"
WORKS = "there and works"

#: Adapters that declare all absent although it is there, with what their documents have.
LIARS: dict[str, tuple[str, Dialect]] = {
    "all_absent": ("2.14", "cuda"),
    "all_absent_xpu": ("2.14", "xpu"),
    "all_absent_accelerator": ("2.14", "accelerator"),
    "all_absent_of_old": ("1.10", "cuda"),
}
OPEN = {"all_present": "present", "all_unstated": "unstated"}
#: Adapters that rightly declare something absent: what, and what its probe sees.
HONEST = {
    "no_keep_graph": ("keep_graph", "not there: TypeError"),
    "ignores_keep_graph": ("keep_graph", "there, but: nothing shows"),
    "refuses_pools": ("pools", "there, but: RuntimeError: this class has one pool"),
    "no_pool_handles": ("pools", "not there: NotImplementedError"),
    "no_modes": ("capture_modes", "not there: TypeError"),
    "ignores_modes": ("capture_modes", "there, but: the call inside the capture: no error"),
    "modes_that_cannot_be_tried": ("capture_modes", "cannot be tried: "),
    "ignores_liveness": ("liveness", "there, but: no error"),
    "no_hooks": ("hooks", "not there: AttributeError"),
    "deaf_hooks": ("hooks", "there, but: []"),
    "leaves_captures_open": ("hooks", "there, but: RuntimeError: captures with hooks"),
    "no_phases": ("capture_phases", "not there: AttributeError"),
    "made_up_handles": ("raw_handles", "there, but: no error"),
    "no_runtime": ("template_editing", "not there: NotImplementedError"),
    "refuses_dumps": ("debug_dump", "there, but: NotBuilt"),
    "empty_dumps": ("debug_dump", "there, but: the file is empty"),
    "nodes_without_ids": ("graph_data", "there, but: [{"),
    "throws_anything": ("graph_data", "there, but: SystemExit"),
    "no_draws": ("rng", "there, but: RuntimeError: random operators"),
    "no_graphed_callables": ("graphed_callables", "not there: NotImplementedError"),
    "eager_callables": ("graphed_callables", "there, but: the module's own code ran again"),
    "no_events": ("fork_join", "not there: NotImplementedError"),
    "one_thread": ("threads", "there, but: RuntimeError: captures are for the main thread"),
    "wrong_statistics": ("memory_stats", "there, but: 0 bytes before"),
}


@dataclass(frozen=True)
class Session:
    """A session over the probes, for several adapters."""

    status: int
    output: str
    folder: Path

    def record(self, name: str) -> Record:
        return read_record(self.folder / f"{name}.jsonl")

    def results(self, name: str) -> dict[str, TestResult]:
        """The result of each probe, by capability."""
        requirements = load_registry().requirements
        return {str(requirements[result.requirements[0]].probes): result for result in self.record(name).results}

    def summary(self, name: str) -> list[list[str]]:
        """The words of the summary's lines for an adapter."""
        _, _, rest = self.output.partition(f" conformance of {name} ")
        return [line.split() for line in rest.partition("\n==")[0].splitlines()]


def _session(folder: Path, names: Sequence[str], *words: str) -> Session:
    implementations = ",".join(f"{ADAPTERS}:{name}" for name in names)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tb=line", f"--impl={implementations}"]
    command += [f"--record={folder}/", *words, os.fspath(SUITE)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return Session(done.returncode, done.stdout, folder)


@pytest.fixture(scope="module")
def contradictory(tmp_path_factory: pytest.TempPathFactory) -> Session:
    names = [*LIARS, *(f"ONE.{capability}" for capability in CAPABILITIES)]
    return _session(tmp_path_factory.mktemp("contradictory"), names, "--no-isolate")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return _session(tmp_path_factory.mktemp("honest"), [*HONEST, *OPEN], "--no-isolate")


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Session:
    words = ("--isolate", "--test-timeout=3", "-k", "graph_data or pools")
    return _session(tmp_path_factory.mktemp("lost"), ["crashes", "hangs", "crashes_undeclared"], *words)


def test_each_capability_has_a_probe_wherever_it_is_documented() -> None:
    entries = load_registry().areas["declarations"].requirements
    assert [entry.probes for entry in entries] == list(CAPABILITIES)
    for entry, capability in zip(entries, CAPABILITIES.values(), strict=True):
        assert (entry.since, entry.dialects) == (capability.since, capability.dialects)
        assert entry.id == f"declarations.{capability.name.replace('_', '-')}"


def test_a_contradiction_ends_the_session_as_an_error_of_the_adapter(contradictory: Session) -> None:
    assert contradictory.status == 3


@pytest.mark.parametrize("name", LIARS)
def test_each_capability_that_is_there_but_declared_absent_is_named(contradictory: Session, name: str) -> None:
    revision, dialect = LIARS[name]
    documented = [entry.name for entry in CAPABILITIES.values() if entry.begun_in(revision, dialect)]
    results = contradictory.results(name)
    assert sorted(results) == sorted(documented)
    # The reference's XPU class refuses no call in a capture, so nothing tells whether the adapter has such a call.
    assert name != "all_absent_xpu" or results.pop("raw_allocation").verdict is Verdict.PASS
    for capability, result in results.items():
        line = f"{capability} works: declare it or leave it out; adapter {name!r} says it is absent"
        assert (result.verdict, result.message) == (Verdict.ERROR, line)
        seen = " ".join(line.split()[:8])
        assert any(f"seen: {seen}" in " ".join(row) for row in contradictory.summary(name))
    footer = contradictory.record(name).footer
    assert footer is not None
    assert footer.exit_status == 3


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_one_wrong_declaration_is_one_error(contradictory: Session, capability: str) -> None:
    results = contradictory.results(capability)
    errors = [name for name, result in results.items() if result.verdict is Verdict.ERROR]
    assert len(results) == len(CAPABILITIES)
    assert errors == [capability]
    rows = [row[:4] for row in contradictory.summary(capability) if row and row[0].startswith("declarations.")]
    assert rows == [[f"declarations.{capability.replace('_', '-')}", "may", "error", "1"]]


def test_what_is_rightly_declared_blames_nobody(honest: Session) -> None:
    assert honest.status == 0


@pytest.mark.parametrize("name", HONEST)
def test_a_class_may_lack_what_it_is_said_not_to_have(honest: Session, name: str) -> None:
    capability, seen = HONEST[name]
    results = honest.results(name)
    assert results[capability].observations["outcome"].startswith(seen)
    assert results[capability].observations["declared"] == "absent"
    # Nothing is left behind, for the probes that follow or for anybody else.
    assert {result.verdict for result in results.values()} == {Verdict.PASS}
    assert not any(result.left_behind for result in results.values())


@pytest.mark.parametrize("name", OPEN)
def test_what_is_declared_present_or_left_out_is_noted(honest: Session, name: str) -> None:
    notes = {capability: result.observations for capability, result in honest.results(name).items()}
    assert notes == {capability: {"declared": OPEN[name], "outcome": WORKS} for capability in CAPABILITIES}


@pytest.mark.parametrize(
    ("name", "how"), [("crashes", "was ended by SIGSEGV"), ("hangs", "it did not come back in 3 s")]
)
def test_a_class_need_not_survive_what_it_is_said_not_to_have(lost: Session, name: str, how: str) -> None:
    results = lost.results(name)
    assert results["graph_data"].verdict is Verdict.UNSUPPORTED
    assert "declares the capability 'graph_data' absent" in results["graph_data"].message
    assert how in results["graph_data"].message
    assert results["pools"].observations["outcome"] == WORKS
    footer = lost.record(name).footer
    assert footer is not None
    assert footer.exit_status == 0


def test_a_class_must_survive_what_nobody_says_it_lacks(lost: Session) -> None:
    assert lost.results("crashes_undeclared")["graph_data"].verdict is Verdict.CRASH
