"""One browser for each process of tests, and the report that its tests open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.sites import Site, small_site
from tools.browser.chromium import Visit, chromium, visit, why_not
from tools.browser.serving import Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with chromium() as one:
        yield one


@pytest.fixture(scope="session", params=["site", "single"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A small report, as pages and as one file."""
    return small_site(tmp_path_factory.mktemp("a folder, 100% #1"), single=request.param == "single")


@pytest.fixture(scope="session")
def offer(site: Site) -> Iterator[Served]:
    with served(site.folder) as one:
        yield one


@pytest.fixture
def visits(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Makes visits, with the settings of `tools.browser.chromium.visit`; in none may a page make noise."""
    made: list[Visit] = []
    with ExitStack() as stack:

        def make(**settings: Any) -> Visit:
            made.append(stack.enter_context(visit(browser, **settings)))
            return made[-1]

        yield make
        assert [line for one in made for line in one.noise] == []
