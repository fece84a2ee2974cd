"""Revisions compare by number."""

from __future__ import annotations

import pytest

from conformance.requirements.revisions import NEWEST, Revision, of_version


def test_order_is_by_number() -> None:
    texts = ["2.14", "2.8", "1.10", "2.11", "2.9"]
    assert sorted(texts, key=Revision) == ["1.10", "2.8", "2.9", "2.11", "2.14"]


def test_equal_revisions_are_one_key() -> None:
    assert {Revision("2.8"), Revision("2.8")} == {Revision("2.8")}
    assert Revision("2.8") != "2.8"
    assert str(Revision("2.8")) in repr(Revision("2.8"))


@pytest.mark.parametrize("text", ["", "2", "2.8.1", "v2.8", "2.x", " 2.8"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a revision"):
        Revision(text)


@pytest.mark.parametrize(
    ("version", "revision"), [("2.13.0+cpu", "2.13"), ("2.8.0a0+git12", "2.8"), ("2.99.1", NEWEST), ("3.0", NEWEST)]
)
def test_a_version_ships_the_documents_of_its_release(version: str, revision: str) -> None:
    assert of_version(version) == revision


def test_a_version_without_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"MAJOR\.MINOR"):
        of_version("nightly")
