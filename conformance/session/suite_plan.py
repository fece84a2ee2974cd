"""Collects the installed suites for no implementation, and prints their tests with the requirements that each decides.

    python -m conformance.session.suite_plan

A program of its own: collecting imports torch, and whoever reads a record has other things in its process.
"""

from __future__ import annotations

import contextlib
import json
import sys

import pytest

from conformance.markers import claimed_ids
from conformance.paths import HOME, PYTEST_SETTINGS, SUITES


class _Listing:
    """A plug-in that takes the tests out of a session, so that none of them needs an implementation."""

    def __init__(self) -> None:
        #: By the name that a record has for a test, what it decides.
        self.tests: dict[str, tuple[str, ...]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.tests = {item.nodeid: claimed_ids(item) for item in items}
        items.clear()


def main() -> int:
    """Print one JSON object; the exit status is pytest's."""
    listing = _Listing()
    words = ["-c", str(PYTEST_SETTINGS), f"--rootdir={HOME}", "-p", "conformance.plugin", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(sys.stderr):
        status = pytest.main([*words, "--collect-only", "-q", str(SUITES)], plugins=[listing])
    if status is not pytest.ExitCode.NO_TESTS_COLLECTED:  # they were taken out, and nothing else went wrong
        return int(status) or int(pytest.ExitCode.INTERNAL_ERROR)
    json.dump(listing.tests, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
