"""The start of a waiver file that the kit writes: refused as it is, and right once it is filled in."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus
from conformance.records.verdicts import Verdict
from tests.waivers.conftest import ONE, TWO, Kit, waiver

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest_plugins = ["pytester"]

TANGLE = """
    @requirement(ONE)
    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_numbers(impl, number):
        if number != 3:
            fail("it is three", 'a "quoted"\\n\\x1b[31mred\\x00 \\\\ text')

    @requirement(ONE, OPEN)
    def test_besides_open(impl): fail("p", "s")

    @requirement(TWO, THREE)
    def test_two_and_three(impl): fail("p", "s")

    @requirement(ONE, THREE)
    def test_one_and_three(impl): fail("p", "s")

    @requirement(TWO)
    def test_passes(impl): ...

    @requirement(OPEN)
    def test_open(impl): fail("p", "s")
"""


def _filled(text: str) -> str:
    for key in ("reason", "link", "owner"):
        text = text.replace(f'{key} = ""', f'{key} = "known"')
    return text


def test_it_is_refused_until_it_is_filled_in(kit: Kit) -> None:
    kit.tests(TANGLE)
    kit.run(None)
    assert main(["waivers", "run.jsonl", "--output=start.toml"]) == ExitStatus.CONFORMING
    text = Path("start.toml").read_text(encoding="utf-8")
    result, _ = kit.run(text)
    assert result.ret == ExitStatus.USAGE
    line = text.split("\n").index('reason = ""') + 1
    result.stderr.fnmatch_lines(f"ERROR: conformance: known.toml:{line}: 'reason': it is empty: say why *")

    result, record = kit.run(_filled(text))
    assert result.ret == ExitStatus.CONFORMING
    assert record is not None
    waived = [each.test.partition("::")[2] for each in record.results if each.verdict is Verdict.WAIVED]
    assert waived == [
        "test_numbers[1]",
        "test_numbers[2]",
        "test_besides_open",
        "test_two_and_three",
        "test_one_and_three",
    ]


def test_it_groups_by_requirement_and_has_the_scope(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    kit.tests(TANGLE)
    kit.run(None)
    capsys.readouterr()
    assert main(["waivers", "run.jsonl"]) == ExitStatus.CONFORMING
    text = capsys.readouterr().out
    entries = tomllib.loads(text)["waiver"]
    assert [each.get("requirement") or each["test"] for each in entries] == [
        ONE,
        "test_it.py::test_two_and_three",
        "test_it.py::test_one_and_three",
    ]
    end = datetime.now(timezone.utc).date() + timedelta(days=90)
    for entry in entries:
        assert entry["expires"] in {end, end - timedelta(days=1)}  # midnight may have passed
        assert (entry["reason"], entry["link"], entry["owner"]) == ("", "", "")
        assert (entry["implementation"], entry["revision"]) == ("fake", "2.13")
        assert (entry["device"], entry["driver"]) == ("Model 7 [[]80 GB]", "13.1")
    assert r'# fail: test_it.py::test_numbers[1]: a "quoted" \u001b[31mred\u0000 \ text' in text.split("\n")


def test_what_is_waived_or_in_error_is_left_out_and_said(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    kit.tests("""
        @requirement(ONE)
        def test_one(impl): fail("p", "s")

        @requirement(TWO)
        def test_two(impl): fail("p", "s")

        @requirement(THREE)
        def test_three(impl): raise HarnessError("lost")
    """)
    kit.run(waiver())
    capsys.readouterr()
    assert main(["waivers", "run.jsonl"]) == ExitStatus.CONFORMING
    text = capsys.readouterr().out
    assert [each["requirement"] for each in tomllib.loads(text)["waiver"]] == [TWO]
    assert "# Not here, because no waiver covers the kit's own errors: 1 of them." in text
    assert "# Not here, because they were waived in that run: 1 of them." in text


def test_a_crash_of_what_is_left_open_needs_one_too(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    kit.tests("""
        import os

        @requirement(OPEN)
        def test_open(impl): os.abort()
    """)
    kit.run(None, "-n2")
    capsys.readouterr()
    assert main(["waivers", "run.jsonl"]) == ExitStatus.CONFORMING
    text = capsys.readouterr().out
    assert [each["test"] for each in tomllib.loads(text)["waiver"]] == ["test_it.py::test_open"]
    result, record = kit.run(_filled(text), "-n2")
    assert record is not None
    assert [each.verdict for each in record.results] == [Verdict.WAIVED]
    assert result.ret == ExitStatus.CONFORMING


def test_nothing_is_written_without_failures(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    kit.tests("""
        @requirement(ONE)
        def test_one(impl): ...
    """)
    kit.run(None)
    capsys.readouterr()
    assert main(["waivers", "run.jsonl", "--output=start.toml"]) == ExitStatus.CONFORMING
    assert capsys.readouterr().err == "nothing to waive: no failure in run.jsonl\n"
    assert not Path("start.toml").exists()


def test_a_file_that_is_there_is_not_replaced(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    kit.run(None)
    Path("start.toml").write_text("mine", encoding="utf-8")
    assert main(["waivers", "run.jsonl", "--output=start.toml"]) == ExitStatus.USAGE
    assert "--output=start.toml cannot be written: File exists" in capsys.readouterr().err
    assert Path("start.toml").read_text(encoding="utf-8") == "mine"


def test_a_record_that_is_none_is_refused(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["waivers", "gone.jsonl"]) == ExitStatus.USAGE
    assert "the record gone.jsonl cannot be read" in capsys.readouterr().err
