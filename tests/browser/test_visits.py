"""What a visit notices: without these, the silence of a page would say nothing."""

from __future__ import annotations

import http.client
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tools.browser.chromium import visit
from tools.browser.serving import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LOUD = {
    "log": "console.log('a')",
    "error": "throw new Error('b')",
    "rejection": "Promise.reject(new Error('c'))",
    "dialog": "alert('d')",
    "tab": "window.open('about:blank')",
}


@pytest.mark.parametrize("script", LOUD.values(), ids=LOUD)
def test_noise_is_heard(browser: Browser, tmp_path: Path, script: str) -> None:
    file = tmp_path / "page.html"
    file.write_text(f'<!DOCTYPE html><title>t</title><button onclick="{script}">b</button>', encoding="utf-8")
    with visit(browser) as one:
        one.open(file.as_uri()).click("button")
        one.page.wait_for_timeout(50)
        assert len(one.noise) == 1


@pytest.mark.parametrize("element", ["<img src='https://127.0.0.1:9/x'>", "<link rel=stylesheet href=none.css>"])
def test_requests_are_seen(browser: Browser, tmp_path: Path, element: str) -> None:
    file = tmp_path / "page.html"
    file.write_text(f"<!DOCTYPE html><title>t</title>{element}", encoding="utf-8")
    with visit(browser) as one:
        one.open(file.as_uri())
        assert len(one.requests) == 2
        assert [line.partition(": ")[0] for line in one.noise] == ["console"]


def test_what_a_policy_refuses_is_heard(browser: Browser, tmp_path: Path) -> None:
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"
    file = tmp_path / "page.html"
    file.write_text(f"<!DOCTYPE html>{policy}<title>t</title><script>document.title = 'u'</script>", encoding="utf-8")
    with visit(browser) as one:
        assert one.open(file.as_uri()).title() == "t"
        assert "Content Security Policy" in "".join(one.noise)


def test_without_script_nothing_runs(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<!DOCTYPE html><title>t</title><script>document.title = 'u'</script>", encoding="utf-8")
    for script, title in ((True, "u"), (False, "t")):
        with visit(browser, script=script) as one:
            assert one.open(file.as_uri()).title() == title


def test_a_server_knows_its_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    for name in ("inside/a.txt", "b.txt"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    with served(tmp_path / "inside") as offer:
        parts = urlsplit(offer.address)
        for path, status in ((parts.path + "a.txt", 200), (parts.path + "../b.txt", 404), ("/a.txt", 404)):
            connection = http.client.HTTPConnection(parts.netloc)
            connection.request("GET", path)
            assert connection.getresponse().status == status
            connection.close()
        assert [status for _, status in offer.asked] == [200, 404, 404]
