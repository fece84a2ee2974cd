"""The package cuda.bindings, which some calls need beside PyTorch."""

from __future__ import annotations

import contextlib
import sys
from unittest import mock


def without_bindings() -> contextlib.AbstractContextManager[object]:
    """Every import of cuda.bindings in the block fails; what was imported before goes on working."""
    names = {"cuda.bindings", *(name for name in sys.modules if name.startswith("cuda.bindings."))}
    return mock.patch.dict(sys.modules, dict.fromkeys(names))


def names_bindings(error: BaseException) -> bool:
    """Whether an error tells its reader which package is missing."""
    text = str(error).lower()
    return any(name in text for name in ("cuda.bindings", "cuda-bindings", "cuda-python", "cuda bindings"))
