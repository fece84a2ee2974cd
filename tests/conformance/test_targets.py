"""``--profile`` and ``--strict``: what a run is to show, and the exit status that says whether it did."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch  # noqa: F401 - before pytester takes stock of modules

from conformance import start  # noqa: F401 - before pytester takes stock of modules
from conformance.adapter import CAPABILITIES
from conformance.cli import main
from conformance.requirements.loading import load_registry
from conformance.requirements.page import profile_table
from conformance.requirements.profiles import CORE, PROFILES, profile_of
from conformance.session import executor, recorder  # noqa: F401 - likewise
from tests.conformance.conftest import Kit

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"

BODIES = """
    @requirement("alpha.one")
    def test_core(impl): {core}

    @requirement("alpha.two")
    def test_advice(impl): {advice}

    @requirement("beta.pooled")
    def test_pools(impl): {pools}

    @requirement("beta.deadly")
    def test_deadly(impl): ...
"""
WRONG = "fail('it holds', 'it does not')"


@pytest.mark.parametrize(
    ("impl", "wrong", "words", "status", "line"),
    [
        ("Fake", "", (), 0, "CONFORMS: fake as cuda 2.13: 3 of 3 musts met; 1 of 1 pieces of advice followed"),
        ("Fake", "", ("--strict",), 0, "CONFORMS: *"),
        ("Fake", "advice", (), 0, "CONFORMS: * 3 of 3 musts met; 0 of 1 pieces of advice followed, 1 not followed"),
        ("Fake", "advice", ("--strict",), 1, "CONFORMS: * 0 of 1 pieces of advice followed, 1 not followed"),
        ("Fake", "pools", (), 1, "DOES NOT CONFORM: * 2 of 3 musts met, 1 not met; *"),
        ("Fake", "pools", ("--profile=core",), 0, "CONFORMS IN PART: *; conforms in core"),
        ("Fake", "pools", ("--profile=pools",), 1, "DOES NOT CONFORM: *; asked for: core, pools"),
        ("Fake", "pools", ("--profile=core,full",), 1, "DOES NOT CONFORM: *"),
        ("Fake", "core", ("--profile=pools",), 1, "DOES NOT CONFORM: *; asked for: core, pools"),
        ("Poor", "", (), 1, "CONFORMS IN PART: poor as cuda 2.13: 2 of 3 musts met, 1 declined; *; conforms in core"),
        ("Poor", "", ("--profile=core",), 0, "CONFORMS IN PART: *2 of 3 musts met, 1 declined; *; conforms in core"),
        ("Poor", "", ("--profile=pools",), 1, "DOES NOT CONFORM: *; asked for: core, pools"),
        ("Poor", "advice", ("--profile=core", "--strict"), 1, "CONFORMS IN PART: *"),
    ],
)
def test_the_exit_status_is_about_what_was_asked_for(
    kit: Kit, impl: str, wrong: str, words: tuple[str, ...], status: int, line: str
) -> None:
    kit.tests(BODIES.format(**{"core": "...", "advice": "...", "pools": "...", **({wrong: WRONG} if wrong else {})}))
    result, record = kit.recorded(*words, impl=f"fake.py:{impl}")
    assert result.ret == status
    result.stdout.fnmatch_lines([line])
    assert record.footer is not None
    assert record.claim.line in result.stdout.str()
    assert record.footer.exit_status == record.assessment.exit_status == status
    assert record.footer.verdict == record.assessment.verdict


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (("--complete",), 0, "CONFORMS: *"),
        (("-k", "core"), 0, "NO CLAIM: *only a part of the suites was selected*"),
        (("-k", "core", "--complete"), 1, "NO CLAIM: *only a part of the suites was selected*"),
        (("--test=test_it.py::test_core", "--complete", "--profile=core"), 1, "NO CLAIM: *only a part *"),
    ],
)
def test_a_part_is_not_enough_for_who_asks_for_all(kit: Kit, words: tuple[str, ...], status: int, line: str) -> None:
    kit.tests(BODIES.format(core="...", advice="...", pools="..."))
    result, record = kit.recorded(*words)
    assert result.ret == status
    result.stdout.fnmatch_lines([line])
    assert record.assessment.exit_status == status
    assert record.header.options.get("complete", False) == ("--complete" in words)


def test_a_shard_is_never_complete(kit: Kit) -> None:
    kit.tests(BODIES.format(core="...", advice="...", pools="..."))
    result = kit.run("--shard=1/2", "--complete")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--complete: a shard is a part; graph-conformance merge judges all of them*"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--profile=speed", "--profile=speed: no such profile (known: core, streams, *, full)"),
        ("--profile=core,", "--profile=: no such profile (known: *"),
        (
            "--profile=hooks",
            "--profile=hooks: the documents of cuda 2.13, which fake is held to, promise nothing *",
        ),
    ],
)
def test_a_profile_that_nothing_could_show_is_refused(kit: Kit, words: str, message: str) -> None:
    kit.tests(BODIES.format(core="...", advice="...", pools="..."))
    result = kit.run(words)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{message}"])


def test_a_command_takes_the_options_too(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--impl=reference", "--profile=speed"]) == 4
    assert "--profile=speed: no such profile" in "".join(capfd.readouterr())


def test_each_capability_is_in_one_profile() -> None:
    names = [capability for profile in PROFILES.values() for capability in profile.capabilities]
    assert sorted(names) == sorted(CAPABILITIES)


def test_what_every_class_has_is_the_core() -> None:
    for entry in load_registry().requirements.values():
        assert entry.capability is not None or profile_of(entry) in {CORE, "data"}


@pytest.mark.parametrize("name", PROFILES)
def test_each_profile_has_something_to_claim(name: str) -> None:
    levels = {entry.level for entry in load_registry().requirements.values() if profile_of(entry) == name}
    assert "must" in levels


def test_the_page_of_claims_has_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert profile_table() in page, f"the table should be:\n{profile_table()}"
