"""Every page, as a file and from a server: it opens quietly, asks for nothing else, and its links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urldefrag, urlsplit

from tests.browser.sites import Site
from tools.browser.chromium import Visit
from tools.browser.serving import Served

Visits = Callable[..., Visit]

#: Each address that an element leads to or loads, as the browser resolves it, but for the icon, and the page's ids.
_ADDRESSES = """() => ({
    links: [...document.querySelectorAll('a[href], area[href]')].map((one) => one.href),
    loads: [...document.querySelectorAll('link[href]:not([rel=icon]), [src]')].map((one) => one.href || one.src),
    ids: [...document.querySelectorAll('[id]')].map((one) => one.id),
})"""
#: How much of the page lies beside the window, and the elements that lie there.
_BESIDE = """() => {
    const wide = document.documentElement.clientWidth;
    const over = [...document.body.querySelectorAll('*')].filter(
        (one) => one.getBoundingClientRect().right > wide + 1 && !one.parentElement.closest('.wide'));
    return [document.documentElement.scrollWidth - wide, over.slice(0, 3).map((one) => one.outerHTML.slice(0, 200))];
}"""
#: What only a script can offer, and is hidden where none runs.
_CONTROLS = """() => {
    const words = [];
    for (const hidden of document.querySelectorAll('[hidden]')) {
        const texts = document.createTreeWalker(hidden, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) words.push(texts.currentNode.data);
    }
    return words.join(' ');
}"""
_OF_CONTROLS = {"sort", "of", "requirements", "match", "9"}


def test_pages_open_from_files(site: Site, visits: Visits) -> None:
    one = visits()
    root = site.folder.as_uri() + "/"
    for name in site.pages:
        page = one.open(site.address(name))
        assert page.title()
        assert page.locator("h1").count() == 1 or len(site.pages) == 1
    assert {address for address in one.requests if not address.startswith((root, "data:"))} == set()


def test_pages_open_below_an_address(site: Site, visits: Visits, offer: Served) -> None:
    one = visits()
    for name in site.pages:
        one.open(offer.address + name)
    assert {address for address in one.requests if not address.startswith((offer.address, "data:"))} == set()
    # What Chromium itself asks for, such as an icon, only the server sees.
    assert {(path, status) for path, status in offer.asked if status not in {200, 304}} == set()


def test_links_lead_somewhere(site: Site, visits: Visits) -> None:
    one = visits()
    found: dict[str, Any] = {}
    for name in site.pages:
        found[name] = one.open(site.address(name)).evaluate(_ADDRESSES)
        assert len(found[name]["ids"]) == len({*found[name]["ids"]}), name
    root = site.folder.as_uri() + "/"
    linked = {site.pages[0]}
    for name, addresses in found.items():
        for address in addresses["links"] + addresses["loads"]:
            where, fragment = urldefrag(address)
            if not where.startswith(root):
                assert urlsplit(address).scheme == "https", (name, address)
                continue
            file = where.removeprefix(root).partition("?")[0]
            assert (site.folder / file).is_file(), (name, address)
            assert not fragment or fragment in found[file]["ids"], (name, address)
            linked.add(file)
    assert {*site.pages} <= linked


def test_pages_say_the_same_without_script(site: Site, visits: Visits) -> None:
    with_script, without = visits(), visits(script=False)
    for name in site.kinds:
        page, plain = with_script.open(site.address(name)), without.open(site.address(name))
        said = {*plain.locator("body").inner_text().split(), *plain.evaluate(_CONTROLS).split(), *_OF_CONTROLS}
        assert {*page.locator("body").inner_text().split()} <= said, name


def test_no_page_is_wider_than_its_window(site: Site, visits: Visits) -> None:
    one = visits(width=320, height=740)
    for name in site.pages:
        page = one.open(site.address(name))
        for width in (320, 360, 768, 1440):
            page.set_viewport_size({"width": width, "height": 740})
            beside, elements = page.evaluate(_BESIDE)
            assert beside <= 0, (name, width, elements)
        page.set_viewport_size({"width": 320, "height": 740})


def test_pages_can_be_printed(site: Site, visits: Visits) -> None:
    one = visits(width=700, dark=True)
    for name in site.kinds:
        page = one.open(site.address(name))
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate(_BESIDE)[0] <= 0, name
        assert not any(one.is_visible() for one in page.locator("nav, form").all()), name
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_each_question_is_answered_a_click_away(site: Site, visits: Visits) -> None:
    page = visits().open(site.address(site.pages[0]))
    assert page.locator(".questions dt").count() == 5
    answers = [link.get_attribute("href") or "" for link in page.locator(".questions dd a").all()]
    assert len(answers) >= 5
    for answer in answers:
        page.goto(site.address(site.pages[0]))
        page.locator(f'.questions a[href="{answer}"]').first.click()
        page.wait_for_url(re.compile(re.escape(answer) + "$"))
        if "#" in answer:
            assert page.locator(":target").is_visible(), answer
        assert page.locator("h1").first.is_visible()
