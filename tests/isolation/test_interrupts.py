"""Ctrl-C never falls between a line of the record and what is counted of it."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from conformance.session.interrupts import interrupts_held_back
from tests.isolation.conftest import session


def _interrupted(written: list[int]) -> None:
    with interrupts_held_back():
        for number in range(3):
            os.kill(os.getpid(), signal.SIGINT)
            written.append(number)
    written.append(-1)


def test_it_is_raised_at_the_end() -> None:
    written: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        _interrupted(written)
    assert written == [0, 1, 2]
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_leaves_the_handler_alone() -> None:
    seen = []

    def look() -> None:
        with interrupts_held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]


PLUGIN = """
import io
import os
import signal

from conformance.records.writer import RecordWriter

begin = RecordWriter.__init__

class Interrupting(io.FileIO):
    def write(self, data):
        written = super().write(data)
        if b'"kind": "result"' in bytes(data) and b"calm-2" in bytes(data):
            os.kill(os.getpid(), signal.SIGINT)
        return written

def begin_with_it(writer, path):
    begin(writer, path)
    writer._file.close()
    writer._file = Interrupting(path, "ab")

RecordWriter.__init__ = begin_with_it
"""


@pytest.mark.parametrize("mode", ["--isolate", "--no-isolate"])
def test_a_record_agrees_with_itself_whenever_its_run_is_interrupted(
    toy_folder: Path, tmp_path: Path, mode: str
) -> None:
    (toy_folder / "interrupts.py").write_text(PLUGIN, encoding="utf-8")
    outcome = session(toy_folder, tmp_path / "run.jsonl", mode, "-p", "interrupts", "-k", "test_it and calm")
    assert outcome.status == 2, outcome.output
    assert outcome.record.defects == ()
    assert 0 < len(outcome.record.results) < 3
    assert outcome.record.footer is not None
    assert outcome.record.footer.counts["pass"] == len(outcome.record.results)
