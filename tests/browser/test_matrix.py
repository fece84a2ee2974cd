"""The matrix: what its filters show and in which order, and that the address keeps it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.browser.sites import Site
from tests.reports.samples import REQUIREMENTS
from tools.browser.chromium import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

ALL = [entry.id for entry in REQUIREMENTS]
TEMPLATE, LATE, NOW, TWICE, ORDER, THERMAL, RELAXED, STRICT, XPU = ALL

#: Each with what it leaves, in order.
FILTERS = {
    "verdict=fail": [TEMPLATE],
    "verdict=crash": [TWICE],
    "verdict=fail crash": [TEMPLATE, TWICE],
    "level=must": [one for one in ALL if one not in {TWICE, ORDER}],
    "level=should may": [TWICE, ORDER],
    "verdict=pass&level=must": [TEMPLATE, NOW, STRICT],
    "area=replay": [NOW, TWICE, ORDER, THERMAL],
    "capability=keep_graph": [TEMPLATE],
    "dialect=cuda": ALL[:-1],
    "text=READS": [NOW],
    "text=two follow": [TWICE],
    "area=modes&text=relaxed": [RELAXED],
    "area=modes&text=nowhere": [],
    "sort=id": sorted(ALL),
    "sort=level": [TEMPLATE, LATE, NOW, THERMAL, RELAXED, STRICT, XPU, TWICE, ORDER],
}


def shown(page: Page) -> list[str]:
    return page.locator(".drawn tbody th[scope=row]").all_inner_texts()


def choose(page: Page, key: str, value: str) -> None:
    """As a reader does."""
    if key in {"verdict", "level"}:
        for one in value.split():
            page.locator(f".chip[data-kind={key}][data-value={one}]").click()
    elif key == "text":
        page.locator("input[name=text]").fill(value)
    elif key == "sort":
        page.locator("select[name=sort]").select_option(value)
    else:
        page.locator(f"select[name={key}]").select_option(label=value)


def _without_state(address: str) -> bool:
    return "=" not in address


@pytest.fixture
def page(site: Site, visits: Callable[..., Visit]) -> Page:
    one = visits().open(site.address(site.matrix))
    assert shown(one) == ALL
    return one


def test_filters_leave_what_they_say_and_the_address_keeps_it(page: Page) -> None:
    for filters, expected in FILTERS.items():
        for each in filters.split("&"):
            choose(page, *each.split("="))
        assert shown(page) == expected, filters
        assert page.locator(".shown").inner_text() == f"{len(expected)} of {len(ALL)} requirements match"
        page.reload()
        assert shown(page) == expected, filters
        page.get_by_role("button", name="Clear").click()
        page.wait_for_url(_without_state)
        assert shown(page) == ALL


def test_an_address_with_a_state_opens_with_it(page: Page, site: Site) -> None:
    address = site.address(site.matrix)
    for filters, expected in FILTERS.items():
        page.goto(f"{address}#{filters}")
        assert shown(page) == expected, filters
    page.go_back()
    page.go_back()
    assert shown(page) == FILTERS["area=modes&text=nowhere"]
    page.goto(f"{address}#verdict=none&area=none&sort=none&by=none&level=<b>&text=")
    assert shown(page) == ALL


def test_a_column_is_sorted_by_its_worst(page: Page) -> None:
    page.locator(".drawn thead button").last.click()
    assert shown(page)[:2] == [TEMPLATE, TWICE]
    assert page.locator("[aria-sort]").count() == 1
    page.reload()
    assert shown(page)[:2] == [TEMPLATE, TWICE]
    page.locator(".drawn thead button").last.click()
    assert shown(page) == ALL


def test_the_keyboard_is_enough(page: Page) -> None:
    page.locator("input[name=text]").focus()
    page.keyboard.type("reads")
    assert shown(page) == [NOW]
    page.keyboard.press("Enter")
    assert shown(page) == [NOW]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.wait_for_url(_without_state)
    page.locator(".chip[data-value=fail]").focus()
    page.keyboard.press("Space")
    assert shown(page) == [TEMPLATE]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.locator(".drawn thead button").last.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.by") is not None


def test_cells_lead_to_failures_and_names_to_requirements(page: Page) -> None:
    row = page.locator(".drawn tbody tr", has_text=TEMPLATE)
    row.get_by_role("link", name="fail").click()
    page.get_by_text("a null handle", exact=True).first.wait_for()
    page.go_back()
    page.locator(".drawn").get_by_role("link", name=NOW, exact=True).click()
    page.get_by_text("A replay reads what is there now.").first.wait_for()
