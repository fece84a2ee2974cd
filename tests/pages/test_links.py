"""Every relative link leads somewhere, and every page can be found from the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.links import Link, anchors, links

HOME = Path(__file__).parents[2]
DOCS = HOME / "docs"
READMES = [HOME / "conformance" / "requirements" / room / "README.md" for room in ("areas", "documents")]
PAGES = sorted([*HOME.glob("*.md"), *DOCS.rglob("*.md"), *(HOME / "examples").rglob("*.md"), *READMES])


def test_the_pages_are_seen() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "index.md", "requirements.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(HOME).as_posix())
def test_its_links_lead_somewhere(page: Path) -> None:
    assert [trouble for link in links(page) if (trouble := link.trouble()) is not None] == []


def test_every_page_can_be_found_from_the_index() -> None:
    reached = {DOCS / "index.md"}
    waiting = list(reached)
    while waiting:
        here = {link.file for link in links(waiting.pop()) if link.file.suffix == ".md"} - reached
        reached |= here
        waiting += here
    assert set(PAGES) - reached == set()


def test_the_readme_leads_to_the_index() -> None:
    targets = {link.file for link in links(HOME / "README.md")}
    assert {DOCS / "index.md", DOCS / "glossary.md", HOME / "CONTRIBUTING.md", HOME / "LICENSE"} <= targets


def test_what_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page: `x`, and y\n\n## A page\n[one](#a-page) [two](none.md) [three](page.md#b) `[four](gone.md)`\n"
        "[five](https://example.org/x)\n\n```sh\n# no heading\n[six](gone.md)\n```\n",
        encoding="utf-8",
    )
    assert [link.target for link in links(page)] == ["#a-page", "none.md", "page.md#b"]
    troubles = [link.trouble() for link in links(page)]
    assert troubles == [None, "none.md: no such file", "page.md#b: no such heading"]


def test_headings_are_called_as_in_links() -> None:
    text = "# The `record`: a, b\n## Of a run\n## Of a run\n"
    assert anchors(text) == {"the-record-a-b", "of-a-run", "of-a-run-1"}


def test_a_link_without_a_file_is_to_its_own_page(tmp_path: Path) -> None:
    assert Link(tmp_path / "page.md", "#here").file == tmp_path / "page.md"
