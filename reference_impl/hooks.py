"""Functions that users register on a graph, called in the order of registration."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from torch.utils.hooks import RemovableHandle

Hook = Callable[[Any], object]


class Hooks:
    """The hooks of one graph for one moment of its life."""

    def __init__(self, moment: str) -> None:
        self._moment = moment
        self._hooks: OrderedDict[int, Hook] = OrderedDict()

    def register(self, hook: Hook) -> RemovableHandle:
        """Add `hook`; the handle's ``remove()`` takes it out again.

        Raises:
            TypeError: `hook` cannot be called.
        """
        if not callable(hook):
            raise TypeError(f"register_{self._moment}_hook(): the hook must be callable with the graph, not {hook!r}")
        handle = RemovableHandle(self._hooks)
        self._hooks[handle.id] = hook
        return handle

    def fire(self, graph: Any) -> None:
        """Call the hooks that are registered now.

        One that an earlier hook of this firing removes still runs, one that it registers runs from the next firing on;
        an exception stops the firing and goes to the caller.
        """
        for hook in list(self._hooks.values()):
            hook(graph)
