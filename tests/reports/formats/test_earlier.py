"""What an earlier report left in the folder goes, and nothing else does."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from reports import write
from tests.reports.samples import BAD, sample

FAILURE = Path("failures", "sample.Graph", "replay.twice.html")


def written(tmp_path: Path) -> Path:
    """The folder of a report with failures."""
    write([sample(tmp_path / "bad.jsonl", BAD)], tmp_path / "out")
    assert (tmp_path / "out" / FAILURE).exists()
    return tmp_path / "out"


def mended(tmp_path: Path, *, single: bool = False) -> set[str]:
    """The files after another report, of a record without failures, in the same folder."""
    folder = tmp_path / "out"
    write([sample(tmp_path / "good.jsonl")], folder, single=single)
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def test_the_page_of_a_failure_that_is_mended_goes(tmp_path: Path) -> None:
    folder = written(tmp_path)
    files = mended(tmp_path)
    index = json.loads((folder / "index.json").read_text(encoding="ascii"))
    assert files == {"index.json", *(entry["path"] for entry in index["files"])}
    assert not (folder / "failures").exists()


def test_a_site_goes_when_one_page_takes_its_place(tmp_path: Path) -> None:
    written(tmp_path)
    assert {file for file in mended(tmp_path, single=True) if file.endswith((".html", ".css", ".js"))} == {
        "report.html"
    }


def test_what_others_wrote_or_changed_stays(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / FAILURE).write_text("changed", encoding="utf-8")
    (folder / "failures" / "mine.html").write_text("mine", encoding="utf-8")
    assert mended(tmp_path) >= {FAILURE.as_posix(), "failures/mine.html"}


@pytest.mark.parametrize(
    "path",
    [
        "../outside.html",
        "mine.html",
        "failures/../mine.html",
        "/{folder}/mine.html",
        "failures/link/x.html",
        ".hidden",
        "failures/",
    ],
)
def test_a_hostile_index_removes_nothing_of_others(tmp_path: Path, path: str) -> None:
    folder = written(tmp_path)
    mine = [tmp_path / "outside.html", folder / "mine.html", folder / ".hidden", tmp_path / "elsewhere" / "x.html"]
    mine[-1].parent.mkdir()
    for file in mine:
        file.write_text("mine", encoding="utf-8")
    (folder / "failures" / "link").symlink_to(mine[-1].parent, target_is_directory=True)
    index = folder / "index.json"
    entry = {"path": path.format(folder=folder), "sha256": sha256(b"mine").hexdigest()}
    index.write_text(json.dumps({"format": "graph-conformance index", "files": [entry, 1, {}]}), encoding="ascii")
    mended(tmp_path)
    assert all(file.exists() for file in mine)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": "graph-conformance index", "files": {}}', "[" * 10_000]
)
def test_what_is_no_index_names_nothing(tmp_path: Path, content: str) -> None:
    folder = written(tmp_path)
    (folder / "index.json").write_text(content, encoding="ascii")
    assert FAILURE.as_posix() in mended(tmp_path)
