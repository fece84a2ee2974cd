"""Addresses, which differ from run to run, have names in a self-check's messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.selfcheck.addresses import without_addresses
from conformance.selfcheck.outcomes import reason

PAGE = Path(__file__).parents[2] / "docs" / "kill-table.md"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("<Stream 0x7f0000000040> instead of <Stream 0x0>", "<Stream address-1> instead of <Stream 0x0>"),
        ("0x7f6000000040 became 0x7f6000000080", "address-1 became address-2"),
        ("[0x7F6000000040, 0x7f6000000080, 0x7f6000000040]", "[address-1, address-2, address-1]"),
        ("<function f.<locals>.<lambda> at 0x10a2b3c4d>", "<function f.<locals>.<lambda> at address-1>"),
        ("the call returned 139912854634560", "the call returned address-1"),
        ("[139912854634560] at 0x7f4000000040", "[address-1] at address-1"),
    ],
)
def test_addresses_have_names(text: str, named: str) -> None:
    assert without_addresses(text) == named


@pytest.mark.parametrize(
    "text",
    [
        "-1073741824 and should be -2",
        "0xffffffff",
        "0.139912854634560",
        "25769803776",
        "72057594037927936",
        "x1399128546345600",
    ],
)
def test_values_stay(text: str) -> None:
    assert without_addresses(text) == text


@pytest.mark.parametrize("promise", [None, "a refusal"])
def test_two_runs_say_the_same(promise: str | None) -> None:
    first, second = (reason(rejection(handle, promise)) for handle in ("0x7f4000000040", "0x7f5000000080"))
    assert first == second
    assert "<Handle address-1>" in first


def rejection(handle: str, promise: str | None) -> TestResult:
    """A failure that shows `handle`."""
    seen = f"<Handle {handle}>"
    message = f"no refusal, but {seen}"
    return TestResult(
        "test", ("reset.handles-refused",), Verdict.FAIL, message=message, expected=promise, seen=promise and seen
    )


def test_the_published_table_has_none() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if without_addresses(line) != line] == []
