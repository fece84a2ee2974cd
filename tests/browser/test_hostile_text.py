"""Hostile text in every field of a record: the pages show it, and nothing of it is markup, runs or leads anywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.sites import Site, site_of
from tests.reports.formats.test_hostile import FIELDS, TEXTS
from tests.reports.samples import BAD, sample
from tools.browser.axe import violations
from tools.browser.chromium import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

Visits = Callable[..., Visit]

_RUN = "window.marked=1;document.title='changed';alert(1)"
#: Ends whatever it may stand in, and would run in each.
MARKUP = (
    f"</script></style></title></textarea></noscript>]]>--><script>{_RUN}</script>"
    f'<img src=x onerror="{_RUN}"><svg onload="{_RUN}"><iframe src="javascript:parent.{_RUN}"></iframe>'
    '<base href="https://127.0.0.1:9/"><meta http-equiv=refresh content="0;url=https://127.0.0.1:9/">'
    '<link rel=stylesheet href="https://127.0.0.1:9/a.css"><form action="https://127.0.0.1:9/">'
    f"<input autofocus onfocus=\"{_RUN}\">\"' autofocus tabindex=0 onfocus={_RUN} x='\" style='background:url(https://127.0.0.1:9/)'"
    f'<a href="javascript:{_RUN}">{{{{ 7*7 }}}}${{{_RUN}}}\\u003cscript\\u003e<!--<script>'
)
#: An address that a link must not have.
ADDRESS = f"javascript:{_RUN}//"
#: A name of an implementation becomes names of files and parts of addresses.
NAMES = [
    "../../etc",
    "<b>x</b>",
    "&lt;b&amp;",
    "a'b\"c",
    "%2e%2e%2f",
    "a?b#c",
    "javascript:alert(1)",
    "${marked}`",
    "a" * 200,
]

#: Those that are long are no other to a browser.
SHORT = {name: text for name, text in TEXTS.items() if len(text) < 1_000}
#: Reports that these are spread over.
GROUPS = 4

#: What runs, loads or leads away, beside what the pages have of their own.
_STRANGE = """() => {
    const all = [...document.querySelectorAll('*')];
    const attributes = all.flatMap((one) => [...one.attributes].map((each) => each.name));
    const icon = document.head.querySelector('link[rel=icon]');
    const addresses = all.filter((one) => one !== icon).flatMap((one) => [one.href, one.src, one.action]);
    const own = 'script[src$="site.js"], script[type="application/json"]';
    return {
        elements: all.map((one) => one.localName).filter((name) => STRANGERS.includes(name)),
        scripts: document.scripts.length - document.querySelectorAll(own).length,
        handlers: attributes.filter((name) => /^(on.*|autofocus|srcdoc|style)$/.test(name)),
        links: addresses.filter((one) => typeof one === 'string' && one && !/^(file|https):/.test(one)),
        policies: document.querySelectorAll('meta[http-equiv]').length,
        marked: window.marked,
    };
}""".replace("STRANGERS", "['img', 'iframe', 'object', 'embed', 'base', 'video', 'template', 'b', 'foreignObject']")


def check(page: Page, name: str, *, single: bool) -> None:
    """Nothing of the open page is anything but text."""
    expected = {"elements": [], "scripts": int(single), "handlers": [], "links": [], "policies": 1, "marked": None}
    found = page.evaluate(_STRANGE)
    assert {**expected, **found} == expected, name
    assert page.title() != "changed"


def open_all(site: Site, visits: Visits) -> Visit:
    one = visits()
    for name in site.pages:
        page = one.open(site.address(name))
        check(page, name, single=len(site.pages) == 1)
    root = site.folder.as_uri() + "/"
    assert {address for address in one.requests if not address.startswith(root)} == set()
    return one


@pytest.mark.parametrize("number", range(GROUPS))
def test_hostile_text_is_text_on_the_page(tmp_path: Path, visits: Visits, number: int) -> None:
    records = [
        fill(text, tmp_path / f"{name}-{fill.__name__}.jsonl")
        for name, text in [*SHORT.items()][number::GROUPS]
        for fill, _ in FIELDS
    ]
    one = open_all(site_of(records, tmp_path / "out", single=True), visits)
    assert one.page.locator("h1").first.is_visible()


@pytest.mark.parametrize("text", [MARKUP, ADDRESS], ids=["markup", "address"])
def test_markup_is_text_on_every_page(tmp_path: Path, visits: Visits, text: str) -> None:
    records = [fill(text, tmp_path / f"{number}.jsonl") for number, (fill, _) in enumerate(FIELDS)]
    site = site_of(records, tmp_path / "out")
    one = open_all(site, visits)
    page = one.open(site.address(site.matrix))
    page.locator("input[name=text]").fill(text)
    assert text in page.locator(".drawn tbody th[scope=row]").all_inner_texts()
    check(page, "the matrix, filtered", single=False)
    # The address holds the text now.
    page.reload()
    assert page.locator("input[name=text]").input_value() == text
    check(page, "the matrix, opened with its filter", single=False)
    assert violations(page) == []


def test_hostile_names_lead_to_their_own_pages(tmp_path: Path, visits: Visits) -> None:
    records = [sample(tmp_path / f"{number}.jsonl", BAD, implementation=name) for number, name in enumerate(NAMES)]
    site = site_of(records, tmp_path / "out")
    one = visits()
    page = one.open(site.address(site.matrix))
    links = page.locator(".drawn tbody a").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    assert len({address.split("/")[1] for address in links if address.startswith("failures/")}) == len(NAMES)
    for address in links:
        assert (site.folder / address).resolve().is_relative_to(site.folder)
        assert (site.folder / address).is_file(), address
    assert {path.name for path in tmp_path.iterdir()} == {"out", *(f"{number}.jsonl" for number in range(len(NAMES)))}
    for number in range(len(NAMES)):
        page.locator("thead button").nth(number).click()
        page.reload()
        assert page.locator("[aria-sort]").count() == 1
