"""``python -m tools.browser``: pictures of the pages."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.sites import Site
from tools.browser.chromium import why_not


def size_of(picture: Path) -> tuple[int, int]:
    """Of a PNG: its width and height."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", head[16:])
    return width, height


@pytest.mark.parametrize("site", ["site"], indirect=True)
@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_a_page_has_a_picture_of_each_width(site: Site, tmp_path: Path) -> None:
    page = site.pages[0]
    command = [sys.executable, "-m", "tools.browser", str(site.folder), f"--output={tmp_path}", f"--page={page}"]
    subprocess.run(command, check=True, capture_output=True)
    stem = page.removesuffix(".html")
    assert {path.name for path in tmp_path.iterdir()} == {f"{stem}-360.png", f"{stem}-1440.png"}
    for width in (360, 1440):
        wide, high = size_of(tmp_path / f"{stem}-{width}.png")
        assert wide == width
        assert high > 900
    subprocess.run([*command, "--width=500", "--height=300", "--dark", "--scale=2"], check=True, capture_output=True)
    assert size_of(tmp_path / f"{stem}-500.png") == (1000, 600)
