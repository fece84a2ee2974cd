"""What an earlier report leaves in its folder goes with it, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports import write
from tests.reports.samples import BAD, sample


def test_pages_of_an_earlier_report_go(tmp_path: Path) -> None:
    bad, good = sample(tmp_path / "bad.jsonl", BAD), sample(tmp_path / "good.jsonl")
    folder, alone = tmp_path / "out", tmp_path / "alone"
    write([bad, good], folder)
    write([good], folder)
    write([good], alone)
    names = [{path.relative_to(home).as_posix() for path in home.rglob("*")} for home in (folder, alone)]
    assert names[0] == names[1]


def test_what_somebody_changed_or_added_stays(tmp_path: Path) -> None:
    bad, good = sample(tmp_path / "bad.jsonl", BAD), sample(tmp_path / "good.jsonl")
    folder = tmp_path / "out"
    write([bad, good], folder)
    changed, linked = sorted((folder / "failures").rglob("*.html"))[:2]
    changed.write_text("mine", encoding="utf-8")
    target = tmp_path / "target.html"
    linked.replace(target)
    linked.symlink_to(target)
    added = folder / "failures" / "notes.txt"
    added.write_text("mine", encoding="utf-8")
    write([good], folder)
    assert changed.read_text(encoding="utf-8") == added.read_text(encoding="utf-8") == "mine"
    assert linked.is_symlink()
    assert target.is_file()


@pytest.mark.parametrize(
    "path",
    [
        "../victim.txt",
        "failures/../../victim.txt",
        "/etc/hostname",
        "victim.txt",
        "",
        ".",
        "failures/\n",
        7,
        None,
        ["a"],
    ],
)
def test_an_index_names_no_other_files(tmp_path: Path, path: object) -> None:
    good = sample(tmp_path / "good.jsonl")
    folder = tmp_path / "out"
    write([good], folder)
    victims = [tmp_path / "victim.txt", folder / "victim.txt"]
    for victim in victims:
        victim.write_text("", encoding="utf-8")
    nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    (folder / "index.json").write_text(json.dumps({"files": [{"path": path, "sha256": nothing}]}), encoding="utf-8")
    write([good], folder)
    assert all(victim.is_file() for victim in victims)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 1}', '{"files": [1, {"path": "a"}]}', "[" * 100_000])
def test_what_is_no_index_says_nothing(tmp_path: Path, text: str) -> None:
    good = sample(tmp_path / "good.jsonl")
    folder = tmp_path / "out"
    write([good], folder)
    (folder / "index.json").write_text(text, encoding="utf-8")
    assert write([good], folder)[0].is_file()
