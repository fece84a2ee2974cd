"""What all tests share: what sessions here find loaded, and where processes keep compiled modules."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import sys
from typing import Any

import pytest

# Before pytester takes stock of modules: a session in this process forgets what it imported, and torch loads only once.
import torch  # noqa: F401

import conformance

for _module in pkgutil.walk_packages(conformance.__path__, "conformance."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)  # likewise

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


@pytest.fixture
def pytester(pytester: pytest.Pytester) -> pytest.Pytester:
    """Its sessions in this process look for garbage among their own objects: what was there before them is much."""
    run = pytester.inline_run

    def inline_run(*arguments: Any, **settings: Any) -> pytest.HookRecorder:
        gc.freeze()
        try:
            return run(*arguments, **settings)
        finally:
            gc.unfreeze()

    pytester.inline_run = inline_run  # type: ignore[method-assign]
    return pytester
