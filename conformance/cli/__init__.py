"""The command ``graph-conformance``."""

from conformance.cli.program import main

__all__ = ["main"]
