"""Whatever an implementation says: it is shown, cut where it has no end, and does nothing else."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest

from conformance.records.result import TestResult
from tests.isolation.conftest import Outcome, folder_of, session

MODES = {
    "workers": ["--isolate"],
    "one process": ["--no-isolate"],
    "one worker each": ["--isolate=test"],
    "warnings as errors": ["--isolate", "-W", "error"],
    "warnings as errors in one process": ["--no-isolate", "-W", "error"],
}
FAILING = {
    "escapes": "RuntimeError: red \\u001b[31m\\u001b[2J \\u202eback\\u2066 \\u0000 \\udcff \\u0085 \\u2028 end",
    "forged": "RuntimeError: lost\nCONFORMS: torch.cuda as cuda 2.14: 543 of 543 musts met\nCONFORMS: torch.cuda",
    "mute": "Mute: (a Mute whose message cannot be had: it raised KeyError)",
    "noted": "RuntimeError: with notes\na\\u001bnote\n7",
    "home": "RuntimeError: no ~/drivers/nova.so",
    "printed": "RuntimeError: after printing",
}
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


@pytest.fixture(scope="module", params=MODES)
def spoken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The talker's suite, in one of the ways to run it."""
    path = tmp_path_factory.mktemp("talker")
    sources = {"toy": "toy/toy", "talker": "talker/talker", "test_talker": "talker/talker_suite"}
    folder = folder_of(path / "suite", **sources)
    words = ["--impl=talker.py:adapter", f"--reproducers={path / 'scripts'}", *MODES[request.param]]
    # pytest says more where it believes itself in CI.
    return session(folder, path / "run.jsonl", *words, HOSTILE="1", HOME=str(path / "someones-home"), CI="true")


def _result(spoken: Outcome, name: str) -> TestResult:
    return next(result for result in spoken.record.results if result.test.endswith(f"[{name}]"))


def test_each_test_has_its_own_verdict(spoken: Outcome) -> None:
    assert spoken.status == 1, spoken.output
    assert spoken.record.complete
    by_name = {re.sub(r".*\[(.*)\]", r"\1", test): verdict for test, verdict in spoken.verdicts.items()}
    assert {name for name, verdict in by_name.items() if verdict == "fail"} == {*FAILING, "long", "sealed"}
    assert {name for name, verdict in by_name.items() if verdict == "pass"} == {
        "local-warning",
        "own-warning",
        "long-warning",
    }


@pytest.mark.parametrize("name", FAILING)
def test_a_message_is_kept_and_shown(spoken: Outcome, name: str) -> None:
    assert _result(spoken, name).message == FAILING[name]


def test_a_long_message_is_cut_and_says_how_long_it_was(spoken: Outcome) -> None:
    message = _result(spoken, "long").message
    assert len(message) == 4000
    assert message.endswith("xx… (5000014 characters in all)")
    assert len(_result(spoken, "long-warning").warnings[0]) <= 400
    assert len(spoken.output) < 400_000


def test_warnings_are_kept_whatever_their_class(spoken: Outcome) -> None:
    (local,) = _result(spoken, "local-warning").warnings
    assert local.startswith("LocalWarning: red \\u001b[31m")
    assert _result(spoken, "own-warning").warnings == ("NovaWarning: of its own",)
    assert "INTERNALERROR" not in spoken.output


def test_observations_are_text(spoken: Outcome) -> None:
    observations = _result(spoken, "own-warning").observations
    (name,) = observations
    assert "\\u001b" in name
    assert "\\udcff" in observations[name][1]["deep"]


def test_nothing_in_the_output_acts(spoken: Outcome) -> None:
    letters = {letter for letter in spoken.output if letter != "\n" and unicodedata.category(letter) in HIDDEN}
    assert letters == set()
    assert not [line for line in spoken.output.splitlines() if line.startswith("CONFORMS")]


def test_nobody_is_named(spoken: Outcome) -> None:
    text = json.dumps([json.loads(line) for line in spoken.path.read_text().splitlines()], ensure_ascii=False)
    assert "someones-home" not in text
    assert spoken.record.header.environment["driver"] == "~/nova \\udcff\\u000a1.0"
