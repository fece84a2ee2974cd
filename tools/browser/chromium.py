"""The Chromium of this machine, and visits to pages in it that remember all that the pages did."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

_COMMANDS = ("chromium", "chromium-browser", "google-chrome")
#: Its own needs, such as updates, must not be taken for a page's.  Containers have no sandbox to offer.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_INSTALL = "pip install '.[browser]'"


def why_not() -> str | None:
    """Why no browser can be driven here; None when one can."""
    if _command() is None:
        return f"there is no Chromium here: apt-get install chromium && {_INSTALL}"
    missing = [name for name in ("playwright", "axe_playwright_python") if find_spec(name) is None]
    return f"{' and '.join(missing)} missing: {_INSTALL}" if missing else None


def _command() -> str | None:
    return next(filter(None, map(shutil.which, _COMMANDS)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium with an empty profile, which goes with it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_command(), headless=True, args=[*_FLAGS])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """A tab with a profile of its own, and what its pages did there.

    Attributes:
        context: the profile.
        page: the tab.
        requests: the addresses that pages asked for.
        noise: what no page of a report does: messages on the console, errors, dialogs, new tabs, downloads.
    """

    context: BrowserContext
    page: Page
    requests: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)

    def open(self, address: str) -> Page:
        """Go to a page, and wait until it is loaded."""
        self.page.goto(address, wait_until="load")
        return self.page

    def __post_init__(self) -> None:
        """Listen."""
        page, hear = self.page, self.noise.append
        self.context.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: hear(f"console: {message.type}: {message.text}"))
        page.on("pageerror", lambda error: hear(f"error: {error}"))
        page.on("popup", lambda other: hear(f"new tab: {other.url}"))
        page.on("download", lambda download: hear(f"download: {download.url}"))
        page.on("websocket", lambda socket: self.requests.append(socket.url))
        page.on("dialog", self._dismiss)

    def _dismiss(self, dialog: Any) -> None:
        self.noise.append(f"dialog: {dialog.type}: {dialog.message}")
        dialog.dismiss()


@contextmanager
def visit(
    browser: Browser, *, width: int = 1440, height: int = 900, dark: bool = False, script: bool = True, scale: float = 1
) -> Iterator[Visit]:
    """A new visit.

    Args:
        browser: where.
        width: of the window, in CSS pixels.
        height: likewise.
        dark: whether the reader prefers dark colours.
        script: whether scripts may run.
        scale: device pixels for each CSS pixel.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
        device_scale_factor=scale,
    )
    try:
        yield Visit(context, context.new_page())
    finally:
        context.close()
