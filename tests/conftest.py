"""What all tests share: where the processes that they start keep compiled modules."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

import pytest

_FOLDER = pytest.StashKey[str]()
# Most sessions that tests start are about something else, and each script takes as long as an import of torch.
os.environ.setdefault("GRAPH_CONFORMANCE_TRY_SCRIPTS", "0")


def pytest_configure(config: pytest.Config) -> None:
    """Let processes that may not write compiled modules next to the sources share some that go with this session.

    Without them each one compiles torch and pytest again, which takes longer than most tests.
    """
    if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
        config.stash[_FOLDER] = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="compiled-")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove them."""
    if _FOLDER in config.stash:
        shutil.rmtree(config.stash[_FOLDER], ignore_errors=True)
