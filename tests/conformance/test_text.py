"""Text of unknown origin: nothing in it acts, nothing in it names a person, and it has an end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.errors import one_line
from conformance.text import brief, published, visible, visible_line, without_folders

HOSTILE = "a\x1b[2J\x00b\ud800\u202ec\u2066\x85\u2028\U000e0041"


def test_nothing_is_hidden() -> None:
    assert visible(HOSTILE) == "a\\u001b[2J\\u0000b\\ud800\\u202ec\\u2066\\u0085\\u2028\\U000e0041"
    assert visible("ein Gerät\n\tüber\r\n") == "ein Gerät\n    über\n"
    assert visible_line("one\ntwo\rthree") == "one\\u000atwo\\u000dthree"


def test_what_is_cut_tells_its_length_and_is_cut_once() -> None:
    text = brief("\x1b" * 5_000_000)
    assert len(text) == 4000
    assert text.endswith("… (5000000 characters in all)")
    assert brief(text) == text
    assert brief("short") == "short"
    assert len(brief("\x1b" * 3999)) == 4000


def test_an_error_that_cannot_speak_is_named() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise KeyError

    assert one_line(Mute()) == "Mute: (a Mute whose message cannot be had: it raised KeyError)"
    assert one_line(RuntimeError("red \x1b[31m\nline")) == "RuntimeError: red \\u001b[31m line"


def test_folders_of_people_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = Path.cwd().as_posix()
    assert published(f"in {here}/vendor/graph.py, {here}") == f"in vendor/graph.py, {here}"
    assert without_folders("/home/one/x.cpp:3 /Users/two/y C:\\Users\\Three\\z") == "~/x.cpp:3 ~/y ~\\z"
    assert without_folders("/usr/home/lib.so /data/home/lib.so") == "/usr/home/lib.so /data/home/lib.so"


def test_the_own_home_is_left_out_wherever_it_is(tmp_path: Path) -> None:
    home = tmp_path / "someones-home"
    home.mkdir()
    texts = [f"{home}/lib/x.py", f"'{home}'", f"{home}2/x.py", f"file://{home}"]
    code = f"import json; from conformance.text import without_folders as f; print(json.dumps([*map(f, {texts})]))"
    output = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert json.loads(output) == ["~/lib/x.py", "'~'", f"{home}2/x.py", "file://~"]
