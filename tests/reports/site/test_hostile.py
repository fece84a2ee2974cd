"""Hostile text in every field of records, on every page: it comes out as text, and leads nowhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.records.record import Record
from conformance.text import visible
from reports import write
from reports.names import Names
from tests.reports.formats.test_hostile import TEXTS, in_accepted, in_failure, in_header, in_requirements
from tests.reports.pages import Page
from tests.reports.samples import BAD, sample
from tests.reports.site.folders import Site
from tests.reports.test_detection import SURVIVED, TABLE

#: What steers a terminal, an editor or the direction of a page, and halves.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]"
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_OWN_TAGS = {
    *("html", "head", "meta", "title", "link", "script", "style", "body", "header", "nav", "main", "footer", "section"),
    *("article", "div", "figure", "figcaption", "details", "summary", "h1", "h2", "h3", "p", "pre", "br", "ul", "ol"),
    *("li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "a", "span", "strong", "small"),
    *("code", "form", "fieldset", "legend", "button", "label", "select", "option", "input"),
    *("svg", "rect", "line", "polyline", "circle", "path", "g", "text", "desc"),
}
_PLACES: tuple[Callable[[str, Path], Record], ...] = (in_header, in_requirements, in_failure, in_accepted)


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_texts_stay_texts(tmp_path: Path, name: str) -> None:
    text = TEXTS[name]
    table = tmp_path / "table.json"
    row = {**SURVIVED.to_dict(), "name": text, "about": text, "message": text, "requirements": [text], "layer": text}
    table.write_text(json.dumps({**TABLE.to_dict(), "rows": [row]}), encoding="utf-8")
    records = [place(text, tmp_path / f"{number}.jsonl") for number, place in enumerate(_PLACES)]
    site = Site(records, tmp_path / "out", table)
    for path in site.files:
        assert all(_NAME.fullmatch(part) for part in path.split("/")), path
    for path, page in site.pages.items():
        _check(page, 1 if path == "matrix.html" else 0)
        for target, fragment in site.links(path):
            assert target in site.pages, (path, target)
            assert not fragment or fragment in site[target].ids
    shown = " ".join(visible(text).split())[:400]
    for path in ("detection.html", "environments.html", "waivers.html"):
        assert shown in site.text(path), path
    assert any(shown in page.text for path, page in site.pages.items() if path.startswith("failures/"))
    single, _ = write(records, tmp_path / "one", table, single=True)
    page = Page(single.read_text(encoding="utf-8"))
    _check(page, 2)
    assert len(page.all("style")) == 1


def _check(page: Page, scripts: int) -> None:
    assert not _HIDDEN.search(page.raw)
    assert {tag for tag, _ in page.tags} <= _OWN_TAGS
    assert len([each for each in page.all("script") if "src" not in each]) == scripts
    for _, attributes in page.tags:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", identity) for identity in page.ids)


@pytest.mark.parametrize(
    "name", ["../../etc", "..", ".hidden", "-rf", "a/b", "C:\\x", "<b>", "%2e%2e%2f", "a'b\"c", "=1"]
)
def test_hostile_names_lead_nowhere(tmp_path: Path, name: str) -> None:
    records = [
        sample(tmp_path / "a.jsonl", BAD, implementation=name),
        sample(tmp_path / "b.jsonl", implementation=name, started_at="2030-05-05T00:00:00Z"),
    ]
    site = Site(records, tmp_path / "deep" / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "b.jsonl", "deep"}
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    assert len([path for path in site.pages if path.startswith("records/")]) == 2
    assert name in site.text("index.html")


def test_names_of_files_are_told_apart_and_short() -> None:
    names = Names("page")
    texts = ["a/b", "a b", "A-B", "\u202e", "", "..", "x" * 500, "x" * 501, "a.b", ".a.b."]
    made = [names.make(text) for text in texts]
    assert len({name.lower() for name in made}) == len(texts)
    assert all(_NAME.fullmatch(name) and len(name) < 90 for name in made)
