"""Tests that come to something else each time they run; what they come to is in their names, a letter for each run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from conformance.adapter import Adapter
from conformance.markers import requirement

NAMES = ["p", "fff", "fpp", "ffp", *os.environ.get("UNSTEADY", "").split()]


def _letter(name: str) -> str:
    """What this run is to come to; the file counts the runs of all processes."""
    file = Path(f"runs-of-{name}")
    with file.open("a", encoding="utf-8") as stream:
        stream.write(".")
    number = len(file.read_text(encoding="utf-8"))
    return name.partition("-")[0][number - 1]


def _come_to(letter: str) -> None:
    if letter == "c":
        os.abort()
    if letter == "h":
        time.sleep(1000)
    assert letter == "p", f"it fails as {letter}"


@requirement("hostile.deadly")
@pytest.mark.parametrize("name", ["fpp-deadly"])
def test_deadly(impl: Adapter, name: str) -> None:
    _come_to(_letter(name))


@requirement("hostile.behaves")
@pytest.mark.parametrize("name", NAMES)
def test_it(impl: Adapter, name: str) -> None:
    _come_to(_letter(name))
