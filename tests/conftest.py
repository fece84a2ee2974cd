"""What all tests share: where the processes that they start keep compiled modules."""

from __future__ import annotations

import os
import sys

import pytest

# Most sessions that tests start are about something else, and each script takes as long as an import of torch.
os.environ.setdefault("GRAPH_CONFORMANCE_TRY_SCRIPTS", "0")


#: The folders whose files take longest.  They come first: a long file that comes last leaves the other workers idle.
_LONGEST = ("isolation", "selfcheck", "examples", "pages", "reproducing", "declarations", "mutants")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first."""
    items.sort(key=lambda item: item.path.parent.name not in _LONGEST)


def pytest_configure(config: pytest.Config) -> None:
    """Let processes that may not write compiled modules next to the sources share some in pytest's cache.

    Without them each one compiles torch and pytest again, which takes longer than most tests.
    """
    cache = getattr(config, "cache", None)  # there is none where it is turned off
    if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ and cache is not None:
        os.environ["PYTHONPYCACHEPREFIX"] = str(cache.mkdir("compiled"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
