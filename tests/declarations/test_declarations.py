"""Declarations that are so and declarations that are not, from the adapter to the exit status and its line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

# Before pytester takes stock of modules: it drops those that a session brings, and torch cannot be loaded twice.
from conformance import start  # noqa: F401
from conformance.records.record import Record, read_record
from conformance.requirements.loading import load_registry
from conformance.requirements.vocabulary import CAPABILITIES
from conformance.session import executor, recorder  # noqa: F401
from tests.declarations import adapters

for make in (adapters.all_absent, adapters.all_absent_xpu, adapters.all_absent_accelerator):
    make()

pytest_plugins = ["pytester"]

ADAPTERS = Path(__file__).parent / "adapters.py"
SUITE = Path(__file__).parents[2] / "suites" / "declarations"
WORKS = "there and works"


@dataclass(frozen=True)
class Outcome:
    """What a run of the probes came to."""

    status: int
    output: str
    record: Record

    @property
    def errors(self) -> dict[str, str]:
        """The message of each probe in error, by capability."""
        return {_probed(result): result.message for result in self.record.results if result.verdict == "error"}

    @property
    def outcomes(self) -> dict[str, str]:
        """What each probe saw, by capability."""
        return {_probed(result): result.observations.get("outcome", "") for result in self.record.results}

    def verdict(self, capability: str) -> str:
        return next(result.verdict.value for result in self.record.results if _probed(result) == capability)


def _probed(result: object) -> str:
    (identity,) = result.requirements  # type: ignore[attr-defined]
    return str(load_registry().requirements[identity].probes)


@dataclass
class Probes:
    """Runs the probes of the adapters in `ADAPTERS`."""

    pytester: pytest.Pytester

    def run(self, name: str, *words: str) -> Outcome:
        """In this process, unless `words` say otherwise."""
        path = self.pytester.path / "run.jsonl"
        path.unlink(missing_ok=True)
        where = () if any(word.startswith("--isolate") for word in words) else ("--no-isolate",)
        options = ["-p", "no:cacheprovider", "--import-mode=importlib", f"--record={path}", *where, *words]
        result = self.pytester.runpytest_inprocess(f"--impl={ADAPTERS}:{name}", *options, str(SUITE))
        return Outcome(int(result.ret), result.stdout.str(), read_record(path))


@pytest.fixture
def probes(pytester: pytest.Pytester) -> Probes:
    return Probes(pytester)


def test_each_capability_has_a_probe_wherever_it_is_documented() -> None:
    entries = load_registry().areas["declarations"].requirements
    assert [entry.probes for entry in entries] == list(CAPABILITIES)
    for entry, capability in zip(entries, CAPABILITIES.values(), strict=True):
        assert (entry.since, entry.dialects) == (capability.since, capability.dialects)
        assert entry.id == f"declarations.{capability.name.replace('_', '-')}"


@pytest.mark.parametrize(
    ("name", "dialect", "revision"),
    [
        ("all_absent", "cuda", "2.14"),
        ("all_absent_xpu", "xpu", "2.14"),
        ("all_absent_accelerator", "accelerator", "2.14"),
        ("all_absent_of_old", "cuda", "1.10"),
    ],
)
def test_what_is_declared_absent_and_works_is_an_error_by_name(
    probes: Probes, name: str, dialect: str, revision: str
) -> None:
    outcome = probes.run(name)
    documented = {entry.name for entry in CAPABILITIES.values() if entry.begun_in(revision, dialect)}  # type: ignore[arg-type]
    implementation = "reference" if dialect == "cuda" else f"reference.{dialect}"
    assert outcome.status == 3
    assert set(outcome.outcomes) == documented
    assert outcome.errors == {
        capability: f"{capability} works: declare it or leave it out; adapter {implementation!r} says it is absent"
        for capability in documented
    }
    for message in outcome.errors.values():
        assert message in outcome.output


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_one_wrong_declaration_is_one_error(probes: Probes, capability: str) -> None:
    outcome = probes.run(f"ONE.{capability}")
    assert outcome.status == 3
    assert list(outcome.errors) == [capability]
    rows = [line.split()[:4] for line in outcome.output.splitlines() if line.startswith("declarations.")]
    assert rows[-1] == [f"declarations.{capability.replace('_', '-')}", "may", "error", "1"]
    assert [row[1:] for row in rows].count(["may", "error", "1"]) == 1


@pytest.mark.parametrize(("name", "word"), [("all_present", "present"), ("all_unstated", "unstated")])
def test_what_is_declared_present_or_left_out_is_noted(probes: Probes, name: str, word: str) -> None:
    outcome = probes.run(name)
    assert outcome.status == 0
    assert outcome.outcomes == dict.fromkeys(CAPABILITIES, WORKS)
    assert {result.observations["declared"] for result in outcome.record.results} == {word}


@pytest.mark.parametrize(
    ("name", "capability", "seen"),
    [
        ("no_keep_graph", "keep_graph", "not there: TypeError"),
        ("ignores_keep_graph", "keep_graph", "there, but: nothing shows"),
        ("refuses_pools", "pools", "there, but: RuntimeError: this class has one pool"),
        ("no_pool_handles", "pools", "not there: NotImplementedError"),
        ("no_modes", "capture_modes", "not there: TypeError"),
        ("ignores_modes", "capture_modes", "there, but: the call inside the capture: no error"),
        ("modes_that_cannot_be_tried", "capture_modes", "cannot be tried: "),
        ("ignores_liveness", "liveness", "there, but: no error"),
        ("no_hooks", "hooks", "not there: AttributeError"),
        ("deaf_hooks", "hooks", "there, but: []"),
        ("leaves_captures_open", "hooks", "there, but: RuntimeError: captures with hooks"),
        ("no_phases", "capture_phases", "not there: AttributeError"),
        ("made_up_handles", "raw_handles", "there, but: no error"),
        ("no_runtime", "template_editing", "not there: NotImplementedError"),
        ("refuses_dumps", "debug_dump", "there, but: NotBuilt"),
        ("empty_dumps", "debug_dump", "there, but: the file is empty"),
        ("nodes_without_ids", "graph_data", "there, but: [{"),
        ("throws_anything", "graph_data", "there, but: SystemExit"),
        ("no_draws", "rng", "there, but: RuntimeError: random operators"),
        ("no_graphed_callables", "graphed_callables", "not there: NotImplementedError"),
        ("eager_callables", "graphed_callables", "there, but: the module's own code ran again"),
        ("no_events", "fork_join", "not there: NotImplementedError"),
        ("one_thread", "threads", "there, but: RuntimeError: captures are for the main thread"),
        ("wrong_statistics", "memory_stats", "there, but: 0 bytes before"),
    ],
)
def test_a_declaration_that_is_so_blames_nobody(probes: Probes, name: str, capability: str, seen: str) -> None:
    outcome = probes.run(name)
    assert outcome.outcomes[capability].startswith(seen)
    assert outcome.status == 0
    assert not outcome.errors
    # Nothing is left behind, for the probes that follow or for anybody else.
    assert {result.verdict.value for result in outcome.record.results} == {"pass"}
    assert not any(result.left_behind for result in outcome.record.results)


@pytest.mark.parametrize(
    ("name", "how"), [("crashes", "was ended by SIGSEGV"), ("hangs", "it did not come back in 4 s")]
)
def test_a_class_need_not_survive_what_it_is_said_not_to_have(probes: Probes, name: str, how: str) -> None:
    outcome = probes.run(name, "--isolate", "--test-timeout=4", "-k", "graph_data or pools")
    (result,) = (result for result in outcome.record.results if _probed(result) == "graph_data")
    assert result.verdict == "unsupported"
    assert "declares the capability 'graph_data' absent" in result.message
    assert how in result.message
    assert outcome.outcomes["pools"] == WORKS
    assert outcome.status == 0


def test_a_class_must_survive_what_nobody_says_it_has_not(probes: Probes) -> None:
    outcome = probes.run("crashes_undeclared", "--isolate", "-k", "graph_data")
    assert outcome.verdict("graph_data") == "crash"
    assert outcome.status == 1
