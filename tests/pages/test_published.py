"""The published records: packages that are what they say, and tables that say the same."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from conformance.packaging.limits import PackageError
from tools.published import FOLDER, PAGES, rows, table, with_table

PACKAGES = sorted(FOLDER.glob("*.zip"))


@pytest.fixture(scope="module")
def published() -> list[dict[str, str]]:
    """The rows of all of them."""
    return rows(FOLDER)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(FOLDER.parent).as_posix())
def test_a_table_says_what_the_packages_say(published: list[dict[str, str]], page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert with_table(text, table(published, PAGES[page])) == text


def test_each_record_makes_a_claim(published: list[dict[str, str]]) -> None:
    assert len(published) >= len(PACKAGES) > 0
    assert {row["outcome"].partition(":")[0] for row in published} <= {
        "conforms",
        "conforms in part",
        "does not conform",
    }


def test_a_package_that_was_altered_has_no_row(tmp_path: Path) -> None:
    """A verdict that somebody would like better."""
    with zipfile.ZipFile(PACKAGES[0]) as package, zipfile.ZipFile(tmp_path / "altered.zip", "w") as altered:
        for name in package.namelist():
            altered.writestr(name, package.read(name).replace(b"CONFORMS", b"EXCELLED"))
    with pytest.raises(PackageError):
        rows(tmp_path)


@pytest.mark.parametrize("text", ["", "<!-- published records -->\n", "<!-- end of them -->\n" * 2])
def test_a_page_without_marks_is_not_written(text: str) -> None:
    with pytest.raises(ValueError, match="stand there 0 times"):
        with_table(text, "")
