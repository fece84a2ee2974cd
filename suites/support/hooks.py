"""Hooks that log their calls, and their registration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: The documented moments that a hook can be registered for.
MOMENTS = ("capture-end", "post-instantiate")


class HookFailed(Exception):
    """What a hook raises: an exception that no implementation raises."""


def raising(_graph: Any) -> None:
    """A hook that fails."""
    raise HookFailed("from the hook")


def noting(log: list[Any], word: Any) -> Callable[[Any], None]:
    """A hook that appends `word` to `log`."""
    return lambda _graph: log.append(word)


def register(graph: Any, moment: str, hook: Callable[[Any], Any]) -> Any:
    """Register `hook` on `graph` for one of `MOMENTS`; return the handle."""
    return getattr(graph, f"register_{moment.replace('-', '_')}_hook")(hook)
