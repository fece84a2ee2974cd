"""Which tests of the suites decide which requirement, found by collecting them; none is run."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

import pytest

from conformance.errors import KitError, one_line
from conformance.markers import MARKER, NEED_MARKER, PROPERTY_MARKER, TIME_MARKER, claimed_ids
from conformance.paths import HOME, PYTEST_SETTINGS, SUITES

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Claims:
    """Notes what the collected tests claim.  Replaces the kit's plug-in, which needs an implementation."""

    def __init__(self) -> None:
        self.tests: dict[str, dict[str, None]] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        for marker in (MARKER, NEED_MARKER, TIME_MARKER, PROPERTY_MARKER):
            config.addinivalue_line("markers", f"{marker}: see conformance.plugin")

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        function = f"{item.path.relative_to(HOME).as_posix()}::{getattr(item, 'originalname', item.name)}"
        for identity in claimed_ids(item):
            self.tests.setdefault(identity, {})[function] = None


def tests_by_requirement() -> Mapping[str, tuple[str, ...]]:
    """The test functions, ``suites/AREA/test_file.py::test_name``, that decide each requirement, in their order.

    Requirements without a test are left out.

    Raises:
        KitError: the suites are missing or cannot be collected.
    """
    if not SUITES.is_dir():
        raise KitError(f"the suites are not installed: there is no folder {SUITES}")
    claims = _Claims()
    words = ["--collect-only", "-q", "-p", "no:conformance", "-p", "no:cacheprovider", "-c", str(PYTEST_SETTINGS)]
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = pytest.main([*words, f"--rootdir={HOME}", str(SUITES)], plugins=[claims])
    if status != pytest.ExitCode.OK:
        lines = [line for line in output.getvalue().splitlines() if line.startswith("E ")]
        raise KitError(f"the suites cannot be collected: {one_line(lines[-1][1:] if lines else f'status {status}')}")
    return {identity: tuple(tests) for identity, tests in sorted(claims.tests.items())}
