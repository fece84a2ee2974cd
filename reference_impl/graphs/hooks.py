"""Functions that users register on one graph or on all graphs, called in the order of registration."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from torch.utils.hooks import RemovableHandle

Hook = Callable[[Any], object]

_log = logging.getLogger(__name__)


class Hooks(dict[int, Hook]):
    """The hooks for one moment in a graph's life, by the ids of their handles; false when there are none.

    Args:
        moment: its name in the registering method, for messages.
    """

    def __init__(self, moment: str) -> None:
        super().__init__()
        self._moment = moment

    def register(self, hook: Hook) -> RemovableHandle:
        """Add `hook`; the handle's ``remove()`` takes it out again.

        Raises:
            TypeError: `hook` cannot be called.
        """
        if not callable(hook):
            raise TypeError(f"register_{self._moment}_hook(): the hook must be callable, and {hook!r} is not")
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle

    def fire(self, argument: Any) -> None:
        """Call the hooks that are registered now.

        One that an earlier hook of this firing removes still runs, one that it registers runs from the next firing on;
        an exception stops the firing and goes to the caller.
        """
        for hook in tuple(self.values()):
            hook(argument)

    def fire_guarded(self, argument: Any) -> None:
        """Call the hooks that are registered now; an exception is logged and goes no further."""
        for hook in tuple(self.values()):
            guarded(f"{self._moment} hook", hook, argument)


def guarded(what: str, call: Callable[..., object], *arguments: object) -> None:
    """Call what must not disturb its caller: an exception is logged and goes no further."""
    try:
        call(*arguments)
    except Exception:
        _log.exception("a graph's %s raised", what)


class GlobalHooks:
    """The hooks of all graphs of the process."""

    def __init__(self) -> None:
        self.capture_start = Hooks("graph_capture_start")
        self.capture_end = Hooks("graph_capture_end")
        self.instantiate = Hooks("graph_instantiate")
        self.replay_start = Hooks("graph_replay_start")
        self.replay_end = Hooks("graph_replay_end")
        self.destroy = Hooks("graph_destroy")


every_graph = GlobalHooks()


def register_graph_capture_start_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(graph)`` called when any graph has begun a capture, before the graph's own hooks."""
    return every_graph.capture_start.register(hook)


def register_graph_capture_end_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(graph)`` called when any graph's capture has ended, before the graph's own hooks."""
    return every_graph.capture_end.register(hook)


def register_graph_instantiate_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(graph)`` called after each instantiation of any graph, before the graph's own hooks."""
    return every_graph.instantiate.register(hook)


def register_graph_replay_start_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(graph)`` called before each launch of any graph, before the graph's own hooks."""
    return every_graph.replay_start.register(hook)


def register_graph_replay_end_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(graph)`` called after each launch of any graph, before the graph's own hooks."""
    return every_graph.replay_end.register(hook)


def register_graph_destroy_hook(hook: Callable[[set[int]], object]) -> RemovableHandle:
    """Have ``hook(ids)`` called when a graph goes, with the ids of all executables that it made since its capture."""
    return every_graph.destroy.register(hook)
