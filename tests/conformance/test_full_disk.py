"""A disk that fills up costs the rest of a run, and nothing of what was written."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import checks  # noqa: F401 - before pytester takes stock of modules
from conformance.cli import main
from conformance.errors import ExitStatus, WriteError
from conformance.records.record import read_record
from conformance.records.writer import RecordWriter
from tests.conformance.conftest import Kit
from tests.conformance.test_record import FIRST, FOOTER, HEADER, LEFT_OUT, PLANNED, SECOND

pytest_plugins = ["pytester"]

TESTS = """
@requirement("alpha.one")
@pytest.mark.parametrize("number", range(12))
def test_one(impl, number): ...
"""


@contextlib.contextmanager
def room(size: int) -> Iterator[None]:
    """Let no file of this process become larger than `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def sizes(whole: int) -> list[int]:
    """Twenty, from nothing to nearly a file of `whole` bytes."""
    return [whole * number // 20 for number in range(20)]


def _write(path: Path, *, shard: str | None = None) -> Path:
    writer = RecordWriter(path)
    header = HEADER if shard is None else HEADER.__class__(**{**vars(HEADER), "options": {"shard": shard}})
    with contextlib.closing(writer):
        writer.header(header, PLANNED, LEFT_OUT)
        for result in (FIRST, SECOND):
            writer.started(result.test)
            writer.result(result)
        writer.footer(FOOTER)
    return path


def test_what_was_written_stays_readable(tmp_path: Path) -> None:
    whole = _write(tmp_path / "whole.jsonl").read_bytes()
    first = whole.index(b"\n") + 1
    for number, size in enumerate(range(first, len(whole), (len(whole) - first) // 20)):
        path = tmp_path / f"{number}.jsonl"
        with room(size), pytest.raises(WriteError, match="File too large; what is there can be read"):
            _write(path)
        content = path.read_bytes()
        assert whole.startswith(content)
        assert content.endswith(b"\n")
        assert read_record(path).defects == ()


def test_a_line_that_was_not_written_is_followed_by_none(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "run.jsonl")
    writer.header(HEADER, PLANNED, LEFT_OUT)
    with room(writer.path.stat().st_size), pytest.raises(WriteError):
        writer.result(FIRST)
    writer.started("t2")
    writer.close()
    assert read_record(writer.path).started == ()


def test_a_run_ends_with_one_line(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.tests(TESTS)
    _, whole = kit.recorded()
    size = whole.path.stat().st_size
    begin = RecordWriter.__init__
    for part in range(20):
        room_left = size * (part + 1) // 21

        class Small(io.FileIO):
            limit = room_left

            def write(self, data: bytes | memoryview) -> int:
                content = bytes(data)[: max(self.limit - self.tell(), 0)]
                if not content:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return super().write(content)

        def begin_on_a_small_disk(writer: RecordWriter, path: Path, kind: type[Small] = Small) -> None:
            begin(writer, path)
            writer.close()
            writer._file = kind(path, "ab")

        monkeypatch.setattr(RecordWriter, "__init__", begin_on_a_small_disk)
        result = kit.run(f"--record={part}.jsonl")
        assert result.ret == ExitStatus.KIT_FAILED
        text = f"{result.outlines}{result.errlines}"
        assert "cannot be written on: No space left on device; what is there can be read" in text
        assert "Traceback" not in text
        assert "INTERNALERROR" not in text
        path = kit.folder / f"{part}.jsonl"
        if path.stat().st_size:
            assert read_record(path).defects == ()


def test_a_merge_leaves_an_earlier_file_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, output = _write(tmp_path / "one.jsonl", shard="1/1"), tmp_path / "all.jsonl"
    output.write_text("earlier", encoding="utf-8")
    words = ["merge", str(one), "--output", str(output), "--force"]
    for size in sizes(one.stat().st_size - 200):
        with room(size):
            assert main(words) == ExitStatus.KIT_FAILED
        assert capsys.readouterr().err == f"graph-conformance: {output} cannot be written: File too large\n"
        assert output.read_text(encoding="utf-8") == "earlier"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["all.jsonl", "one.jsonl"]
    assert main(words) == ExitStatus.NOT_CONFORMING
    assert len(read_record(output).results) == 2


def test_a_report_leaves_an_earlier_one_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, folder = _write(tmp_path / "run.jsonl"), tmp_path / "report"
    words = ["report", str(record), "--output", str(folder), "--force"]
    assert main(words) == ExitStatus.CONFORMING
    before = _files(folder)
    _write(record, shard="1/1")  # another one, so that a page that was written shows
    capsys.readouterr()
    for size in sizes(len(before["index.html"])):
        with room(size):
            assert main(words) == ExitStatus.KIT_FAILED
        assert capsys.readouterr().err == f"graph-conformance: {folder} cannot be written: File too large\n"
        assert _files(folder) == before
    assert main(words) == ExitStatus.CONFORMING
    after = _files(folder)
    assert after.keys() == before.keys()
    assert {"environments.html", "report.md", "report.json", "index.json"} <= {
        name for name in after if after[name] != before[name]
    }


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
