"""The fixtures that suites use.  They exist only in sessions with ``--impl``."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import HarnessError

if TYPE_CHECKING:
    from conformance.adapter import Adapter

#: What a test noted, by name.
OBSERVATIONS = pytest.StashKey[dict[str, Any]]()


@pytest.fixture(scope="session")
def impl(request: pytest.FixtureRequest) -> Adapter:
    """The adapter of the implementation under test.  Session-wide, so that property tests may use it."""
    adapter: Adapter = request.param
    return adapter


@pytest.fixture(autouse=True)
def _around_test(request: pytest.FixtureRequest) -> Iterator[None]:
    if "impl" not in request.fixturenames:
        yield
        return
    adapter: Adapter = request.getfixturevalue("impl")
    # Whatever runs before a test, and wherever it runs, a device that makes random choices makes the same ones for it.
    adapter.seed = zlib.crc32(_own_name(request.node.nodeid, adapter.name).encode())
    with adapter.around_test():
        yield


def _own_name(nodeid: str, implementation: str) -> str:
    # The implementation's name may have a slash, too.
    function, bracket, parameters = nodeid.partition("[")
    return function.rpartition("/")[2] + bracket + parameters.replace(implementation, "", 1)


@pytest.fixture
def observe(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """``observe(name, value)`` notes something that the documents leave open.  The last value of a name is kept.

    Raises:
        HarnessError: `value` is not a JSON value.
    """
    notes = request.node.stash.setdefault(OBSERVATIONS, {})

    def note(name: str, value: Any) -> None:
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise HarnessError(f"observe({name!r}, …) takes JSON values: {error}") from None
        notes[name] = value

    return note
