"""The command's standard streams: closed, read in part, full; and mistakes of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.cli import doctor, main, program
from conformance.records.writer import RecordWriter
from tests.reports.samples import sample


def started(*words: str) -> list[str]:
    return [sys.executable, "-c", "import sys; from conformance.cli import main; sys.exit(main())", *words]


def shell(redirection: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", f'"$@" {redirection}', "bash", *started(*words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("words", [("requirements",), ("requirements", "--json"), ("self-check", "--help")])
def test_a_reader_may_leave(words: tuple[str, ...]) -> None:
    done = shell("| head -n 1", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


def test_a_reader_may_leave_before_the_verdict(tmp_path: Path) -> None:
    record = sample(tmp_path / "good.jsonl")
    done = shell("| true", "report", str(record.path), f"--output={tmp_path / 'out'}")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "report.md").exists()


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_may_be_closed(redirection: str) -> None:
    done = shell(redirection, "requirements", "--area=replay")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_is_told() -> None:
    done = shell("> /dev/full", "requirements")
    assert done.returncode == 3
    assert done.stderr.startswith("graph-conformance: the kit failed: OSError: ")
    assert done.stderr.count("\n") == 1


def test_a_mistake_of_its_own_is_one_line_and_status_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def mistake() -> str:
        raise LookupError("nothing \x1b[1m\nhere")

    monkeypatch.setattr(doctor, "_requirements", mistake)
    monkeypatch.setattr(program.tempfile, "tempdir", str(tmp_path))
    assert main(["doctor"]) == 3
    error = capsys.readouterr().err
    found = re.fullmatch(r"graph-conformance: the kit failed: LookupError: (.*); its traceback is in (.*)\n", error)
    assert found is not None
    assert found[1] == "nothing \\u001b[1m here"
    assert "in mistake" in Path(found[2]).read_text(encoding="utf-8")


def test_a_traceback_that_cannot_be_kept_is_no_second_mistake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def mistake() -> str:
        raise RecursionError

    monkeypatch.setattr(doctor, "_requirements", mistake)
    monkeypatch.setattr(program.tempfile, "tempdir", str(tmp_path / "none"))
    assert main(["doctor"]) == 3
    assert "the kit failed: RecursionError; its traceback could not be kept: FileNotFound" in capsys.readouterr().err


def test_a_name_forges_no_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = sample(tmp_path / "good.jsonl")
    name = "vendor\nCONFORMS: torch.cuda\x1b[2J\u202e\ud800"
    writer = RecordWriter(tmp_path / "forged.jsonl")
    writer.header(replace(record.header, implementation=name), record.planned)
    writer.close()
    assert main(["report", str(writer.path), f"--output={tmp_path / 'out'}"]) == 4
    output, error = capsys.readouterr()
    assert output == ""
    assert error.count("\n") == 1
    assert error.rstrip("\n").isprintable()
