"""Whatever stands in a file, each command that reads records says what is wrong with it in one line, or reads it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus, RecordError
from conformance.records.record import read_record
from conformance.records.writer import RecordWriter
from conformance.selfcheck.reading import read_table
from tests.conformance.hostile import broken, changed, rechained, without_chain
from tests.conformance.test_record import FIRST, FOOTER, HEADER, LEFT_OUT, PLANNED, SECOND

#: What a command may end with; 3 would say that the kit failed.
GOOD_STATUSES = {ExitStatus.CONFORMING, ExitStatus.NOT_CONFORMING, ExitStatus.USAGE}


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("hostile") / "good.jsonl"
    writer = RecordWriter(path)
    writer.header(HEADER, PLANNED, LEFT_OUT, {"t1": "0" * 16})
    writer.started("t1")
    writer.result(FIRST)
    writer.started("t2")
    writer.result(SECOND)
    writer.reproducer("t2", "print()")
    writer.reproduction("t2", {"outcome": "shown", "why": "AssertionError"})
    writer.footer(FOOTER)
    writer.close()
    return [json.loads(without_chain(line)) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("step", [40, pytest.param(1, marks=pytest.mark.soak)])
def test_hostile_files_are_read_or_refused_in_a_line(
    lines: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str], step: int
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    path, report, merged = folder / "run.jsonl", tmp_path / "report", tmp_path / "merged.jsonl"
    commands = (
        ["report", str(path), "--output", str(report), "--force"],
        ["merge", str(path), "--output", str(merged)],
        ["requirements", "--coverage", str(path)],
        ["waivers", str(path)],
        ["compare", str(folder / "good.jsonl"), str(path)],
    )
    (folder / "good.jsonl").write_bytes(rechained([json.dumps(line) for line in lines]))
    number = refused = 0
    for name, content in [*changed(lines), *broken(lines)]:
        number += 1
        path.write_bytes(content)
        try:
            read_record(path)
            reason = None
        except RecordError as error:
            reason = str(error)
            refused += 1
            assert str(path) in reason, name
            assert reason.isprintable(), name
        # The commands read a file in the same way, so one shows what becomes of it; some go through all of them.
        for command in commands if number % step == 0 else commands[number % 5 :][:1]:
            status = main(command)
            _, errors = capsys.readouterr()
            assert status in GOOD_STATUSES, (name, command)
            if reason is not None:
                assert (status, errors) == (ExitStatus.USAGE, f"graph-conformance: {reason}\n"), (name, command)
        assert {each.name for each in tmp_path.iterdir()} <= {"in", "report"}, name
    assert number > 600
    assert number * 0.6 < refused < number


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(RecordError, match="it is not a regular file"):
            read_record(path)
    with pytest.raises(RecordError, match="cannot be read: embedded null"):
        read_record("a\0b")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" * 100_000, "nested deeper than 32 levels"),
        (b'{"schema": 1, "schema": 1}', "has the key 'schema' twice in one object"),
        (b"[]", "is not a JSON object"),
        (b"{", "is not JSON"),
    ],
)
def test_a_hostile_table_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "table.json"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=reason):
        read_table(path)
