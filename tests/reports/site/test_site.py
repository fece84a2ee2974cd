"""What pages there are, that they lead to each other, and that they load nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from conformance.records.record import Record
from conformance.records.verdicts import Verdict
from reports import write
from reports.site import matrix
from tests.reports.pages import Page
from tests.reports.samples import BAD, GOOD, REQUIREMENTS, result, sample
from tests.reports.site.folders import Site

LOADING = {"src", "srcset", "action", "background", "data", "poster", "formaction", "style"}


@pytest.fixture
def three(tmp_path: Path) -> list[Record]:
    """Two runs of one implementation, and another one."""
    stray = result("stray.py::test_it[a/b]", (), Verdict.CRASH, message="killed by SIGBUS")
    return [
        sample(tmp_path / "bad.jsonl", (*BAD, stray)),
        sample(tmp_path / "good.jsonl", started_at="2030-02-02T03:04:05Z"),
        sample(tmp_path / "other.jsonl", implementation="other.Graph", dialect="xpu"),
    ]


def test_each_thing_has_its_page(tmp_path: Path, three: Sequence[Record]) -> None:
    site = Site(three, tmp_path / "out")
    names = ("sample.Graph-bad", "sample.Graph-good", "other.Graph-other")
    assert site.pages.keys() == {
        *("index.html", "matrix.html", "failures.html", "compare.html", "trend.html", "waivers.html"),
        *("environments.html", "detection.html", "reading.html"),
        *(f"records/{name}.html" for name in names),
        *(f"requirements/{entry.id}.html" for entry in REQUIREMENTS),
        "compare/sample.Graph-bad--sample.Graph-good.html",
        "failures/sample.Graph-bad/keep-graph.template-outlives-capture-end.html",
        "failures/sample.Graph-bad/replay.twice.html",
        "failures/sample.Graph-bad/outside/suites-stray.py-test_it-a-b.html",
    }


def test_links_lead_to_pages_and_places_that_are_there(tmp_path: Path, three: Sequence[Record]) -> None:
    site = Site(three, tmp_path / "out")
    for name, page in site.pages.items():
        for target, fragment in site.links(name):
            assert target in site.pages, (name, target)
            assert not fragment or fragment in site[target].ids, (name, target, fragment)
        assert len(set(page.ids)) == len(page.ids), name
        for label in page.all("label"):
            assert label["for"] in page.ids
        for _, attributes in page.tags:
            assert {*attributes.get("aria-labelledby", "").split()} <= set(page.ids)


def test_every_page_is_reached(tmp_path: Path, three: Sequence[Record]) -> None:
    site = Site(three, tmp_path / "out")
    assert site.clicks.keys() == site.pages.keys()
    assert max(site.clicks.values()) == 2


@pytest.mark.parametrize("single", [False, True])
def test_pages_load_nothing_but_their_own_assets(tmp_path: Path, three: Sequence[Record], *, single: bool) -> None:
    folder = tmp_path / "out"
    write(three, folder, single=single)
    for file in folder.rglob("*.html"):
        page, above = Page(file.read_text(encoding="utf-8")), "../" * (len(file.relative_to(folder).parts) - 1)
        for tag, attributes in page.tags:
            assert tag not in {"iframe", "object", "embed", "base", "img"}
            assert not any(name.startswith("on") for name in attributes)
            sources = {name: text for name, text in attributes.items() if name in LOADING}
            assert sources in ({}, {"src": f"{above}assets/site.js"})
        icon, *styles = page.all("link")
        assert icon["rel"] == "icon"
        assert icon["href"].startswith("data:image/svg+xml;base64,")
        assert styles == ([] if single else [{"rel": "stylesheet", "href": f"{above}assets/site.css"}])
        (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
    for name in ("site.css", "site.js"):
        text = (folder / "assets" / name).read_text(encoding="utf-8") if not single else ""
        assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttpRequest|import\(", text)


def test_every_page_has_a_heading_a_skip_link_and_the_way_back(tmp_path: Path, three: Sequence[Record]) -> None:
    site = Site(three, tmp_path / "out")
    titles = set()
    for name, page in site.pages.items():
        assert len(page.all("h1")) == 1
        assert page.all("a")[0] == {"class": "skip", "href": "#main"}
        assert ("index.html", "") in site.links(name)
        (title,) = re.findall(r"^<title>(.*)</title>", page.raw, re.MULTILINE)
        titles.add(title)
        levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
        assert all(after - before <= 1 for before, after in pairwise(levels)), name
        assert all(cell.get("scope") in {"col", "row", "rowgroup"} for cell in page.all("th")), name
        assert len(page.all("caption")) == len(page.all("table")), name
        for region in (each for _, each in page.tags if each.get("role") == "region"):
            assert region["aria-label"]
    assert len(titles) == len(site.pages)


def test_the_same_records_give_the_same_bytes(tmp_path: Path, three: Sequence[Record]) -> None:
    assert Site(three, tmp_path / "1").files == Site(three, tmp_path / "deep" / "2").files


# -- one file ---------------------------------------------------------------------------------------------------------


def test_the_single_file_has_what_the_pages_have(tmp_path: Path, three: Sequence[Record]) -> None:
    site = Site(three, tmp_path / "out")
    (file, _) = write(three, tmp_path / "one", single=True)
    page = Page(file.read_text(encoding="utf-8"))
    assert {path.name for path in (tmp_path / "one").glob("*.html")} == {"report.html"}
    assert not (tmp_path / "one" / "assets").exists()
    assert len(set(page.ids)) == len(page.ids)
    assert {link["href"].partition("#")[0] for link in page.all("a")} == {""}
    assert {link["href"][1:] for link in page.all("a")} <= set(page.ids)
    for name, each in site.pages.items():
        body = each.raw[each.raw.index("</h1>") : each.raw.index("</section>\n</main>")]
        text = Page(f"<main>{body.removeprefix('</h1>')}</main>").text
        assert text in page.text, name


# -- the matrix -------------------------------------------------------------------------------------------------------


def test_the_table_says_what_the_data_says(tmp_path: Path, three: Sequence[Record]) -> None:
    page = Site(three, tmp_path / "out")["matrix.html"]
    cells = re.findall(r'<td class="(?:pass|bad|odd|calm)">(.*?)</td>', page.raw)
    words = [re.sub(r"<[^>]*>", "", cell).split(" ", 1)[1].replace(" ", "_") for cell in cells]
    assert words == [verdict.lower() for row in page.matrix.rows.values() for verdict in row]
    assert ["<a " in cell for cell in cells] == [
        verdict.isupper() for row in page.matrix.rows.values() for verdict in row
    ]
    assert page.all("noscript") == []


def test_a_large_table_is_there_for_readers_without_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "SMALL", 600)  # a page for each requirement of a table that large takes long
    count = matrix.SMALL // 2 + 1
    entries = tuple(replace(REQUIREMENTS[2], id=f"replay.number-{number}") for number in range(count))
    records = [
        sample(tmp_path / f"{name}.jsonl", (), ended=False, implementation=name, requirements=entries) for name in "ab"
    ]
    write(records, tmp_path / "out")
    page = Page((tmp_path / "out" / "matrix.html").read_text(encoding="utf-8"))
    assert len(page.all("noscript")) == 1
    assert page.raw.index("<noscript>") < page.raw.index("<table>") < page.raw.index("</noscript>")
    assert len(page.matrix.rows) == len(page.all("tr")) - 2 == count


# -- what is not known ------------------------------------------------------------------------------------------------


def test_no_data_is_never_a_number(tmp_path: Path) -> None:
    planned = {one.test: one.requirements for one in GOOD}
    site = Site([sample(tmp_path / "cut.jsonl", (), planned=planned, ended=False)], tmp_path / "out")
    for name, page in site.pages.items():
        assert "%" not in page.text, name
        assert not re.search(r"\b0 (?:of|pass|fail)\b", page.text), name
    assert "Incomplete record: no claim." in site.text("index.html")
    assert "? undecided" in site.text("index.html")
    assert "✗" not in site.text("index.html")
    assert "incomplete" in site.text("index.html")
    assert {verdict for row in site["matrix.html"].matrix.rows.values() for verdict in row} == {
        *("not_run", "unsupported", "untestable", "not_applicable")
    }
    assert "Nothing went wrong in these runs." in site.text("failures.html")


def test_a_record_that_is_refuted_claims_nothing_and_is_compared_with_none(tmp_path: Path) -> None:
    records = [
        sample(tmp_path / f"{day}.jsonl", started_at=f"2030-01-0{day}T00:00:00Z", footer=footer)
        for day, footer in ((1, None), (2, {"verdict": "conforms"}), (3, None))
    ]
    site = Site(records, tmp_path / "out")
    assert {name for name in site.pages if name.startswith("compare/")} == {
        "compare/sample.Graph-1--sample.Graph-3.html"
    }
    assert "contradicts itself or its suites: sample.Graph (2)" in site.text("compare.html")
    assert "No claim: the record contradicts itself or its suites." in site.text("records/sample.Graph-2.html")
    assert len(site["trend.html"].all("circle")) == 2
