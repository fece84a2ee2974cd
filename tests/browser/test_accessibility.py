"""Each page meets the accessibility guidelines, levels A and AA, as far as a program can tell."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.sites import Site
from tools.browser.axe import violations
from tools.browser.chromium import Visit


@pytest.mark.parametrize(
    ("dark", "width", "media"), [(False, 1440, "screen"), (True, 360, "screen"), (True, 700, "print")]
)
def test_no_page_violates_the_guidelines(
    site: Site, visits: Callable[..., Visit], *, dark: bool, width: int, media: str
) -> None:
    one = visits(dark=dark, width=width)
    on_paper = media == "print"
    one.page.emulate_media(media="print" if on_paper else "screen")
    found = {name: violations(one.open(site.address(name)), on_paper=on_paper) for name in site.kinds}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_violation_is_found(visits: Callable[..., Visit]) -> None:
    page = visits().page
    page.set_content("<!DOCTYPE html><title>t</title><main><p style='color: #ccc; background: #fff'>pale</p></main>")
    found = violations(page)
    assert [line.split()[0] for line in found] == ["color-contrast", "html-has-lang"]
