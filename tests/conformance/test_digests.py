"""The digest of a test's code: what changes it, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.session.digests import digests_of

SOURCE = '''\
"""A module."""

import helpers

CASES = [1, 2]


def _twice(value):
    return 2 * value


def _other():
    return 3


def test_one(impl):
    """One."""
    # A remark.
    assert _twice(2) == 4


@helpers.each(CASES)
def test_two(impl, case):
    assert case
'''


def digests(folder: Path, source: str) -> dict[str, str]:
    (folder / "test_a.py").write_text(source, encoding="utf-8")
    return digests_of(["test_a.py::test_one", "test_a.py::test_two[1]", "test_a.py::test_two[2]"], folder)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("2 * value", "3 * value", {"test_a.py::test_one"}),
        ("== 4", "== 5", {"test_a.py::test_one"}),
        ("[1, 2]", "[1, 2, 3]", {"test_a.py::test_two"}),
        ("helpers.each", "helpers.all", {"test_a.py::test_two"}),
        ("return 3", "return 4", set()),
        ("# A remark.", "# Another.", set()),
        ("\n\n\n", "\n\n\n\n", set()),
    ],
)
def test_a_digest_is_of_what_the_test_uses(tmp_path: Path, old: str, new: str, changed: set[str]) -> None:
    before, after = digests(tmp_path, SOURCE), digests(tmp_path, SOURCE.replace(old, new))
    assert before.keys() == after.keys() == {"test_a.py::test_one", "test_a.py::test_two"}
    assert {name for name in before if before[name] != after[name]} == changed


def test_what_cannot_be_read_has_none(tmp_path: Path) -> None:
    (tmp_path / "test_b.py").write_text("def test_x(:", encoding="utf-8")
    (tmp_path / "test_c.py").write_bytes(b"\xff\xfe\0")
    (tmp_path / "test_d.py").write_text("x = 1\n", encoding="utf-8")
    tests = [f"test_{letter}.py::test_x" for letter in "abcd"]
    assert digests_of([*tests, "test_d.py", "suites/no/test_such.py::test_x"], tmp_path) == {}
