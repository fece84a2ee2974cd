"""Puts a stand-in in the place of a device module that is part of torch.

Nothing imports such a stand-in as adapters import a vendor's package.  So torch does it when it is imported itself: it
calls `load` as it calls the entry point of every backend.
"""

from __future__ import annotations

import importlib
import os


def load() -> None:
    """Put the stand-in that the environment variable ``STANDIN`` names in its place."""
    name = os.environ.get("STANDIN")
    if name is not None:
        importlib.import_module(f"standin_in_tree.{name}").stand_in()
