"""The names that a script's beginning defines, so that `conformance.reproducing.shim` reads as Python."""

from __future__ import annotations

from typing import Any

CAPABILITIES: Any = None
DEVICE: Any = None
DIALECT: Any = None
REVISION: Any = None
RUNTIME: Any = None
Graph: Any = None
backend: Any = None
make_pinned: Any = None
make_tensor: Any = None
read_tensor: Any = None
