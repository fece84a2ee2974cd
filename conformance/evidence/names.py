"""Small names for what a test's calls are about: graphs, streams, events and pools, in the order they turn up.

Nothing here keeps a thing alive, since tests look at when things die.  So what cannot be referred to weakly is known by
its address, and a call that makes a new thing gives that address a new name.
"""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

#: Characters of a text, and entries of a list, that an argument is shown with.
_TEXT = 40
_ENTRIES = 4
#: Where a device module's streams have the number that tells one from another, whichever object stands for it.
_STREAM_NUMBERS = ("stream_id", "cuda_stream")
#: Numbers from here on are handles and addresses, which are others in each run.
_ADDRESSES = 1 << 24
_LETTERS = {"graph": "g", "stream": "s", "event": "e", "pool": "p"}
_PLAIN = frozenset({int, float, bool, type(None)})


@dataclass
class KnownGraph:
    """What is known of a graph by the calls on it.

    Attributes:
        name: such as ``g0``.
        find: gives the graph, or ``None`` once it is gone or where that cannot be known.
        state: what the last call made of it: ``new``, ``capturing``, ``captured``, ``instantiated``, ``reset`` or
            ``failed``, after a capture that could not be ended.
        kept: whether its template was asked to be kept.
        pool: the name of its pool, once a call has shown it.
    """

    name: str
    find: Callable[[], Any]
    state: str = "new"
    kept: bool = False
    pool: str | None = None

    def stands_for(self, graph: Any) -> bool:
        """Whether it is known of `graph`, and not of one that was at its address before."""
        return self.find is _unknown or self.find() is graph


class Names:
    """The names of one test.

    Args:
        graph_classes: whose instances are graphs.
    """

    def __init__(self, *graph_classes: type) -> None:
        self._graph_classes = graph_classes
        #: By type, what its instances are, and how a stream's number is found; learned as they turn up.
        self._kinds: dict[type, str] = {}
        self.clear()

    def clear(self) -> None:
        """Forget all names."""
        self._graphs: dict[int, KnownGraph] = {}
        self._others: dict[tuple[str, Any], str] = {}
        self._counts: Counter[str] = Counter()

    def learn(self, value: Any, kind: str) -> None:
        """Note that instances of the type of `value` are streams, events or pools."""
        if value is not None:
            self._kinds[type(value)] = kind

    # -- graphs -------------------------------------------------------------------------------------------------------

    def graph(self, graph: Any, *, is_new: bool = False) -> KnownGraph:
        """What is known of `graph`."""
        known = self._graphs.get(id(graph))
        if known is None or is_new or not known.stands_for(graph):
            known = self._graphs[id(graph)] = KnownGraph(self._next("graph"), _finder(graph))
        return known

    def living_graphs(self) -> Iterator[tuple[KnownGraph, Any]]:
        """Those that are still there and can be found, in the order of their names."""
        for known in self._graphs.values():
            graph = known.find()
            if graph is not None:
                yield known, graph

    # -- the others ---------------------------------------------------------------------------------------------------

    def new(self, value: Any, kind: str) -> str:
        """The name of a thing that a call has made just now."""
        key = self._key(value, kind)
        if key == id(value):
            self._others.pop((kind, key), None)
        return self._named(kind, key)

    def pool(self, value: Any) -> str:
        """The name of a pool, by its token or its object."""
        return self._named("pool", self._key(value, "pool"))

    def word(self, value: Any) -> str:
        """A few characters for an argument or a result."""
        kind = type(value)
        if kind in _PLAIN:
            return "address" if kind is int and value > _ADDRESSES else repr(value)
        if kind is str:
            return repr(value if len(value) <= _TEXT else value[:_TEXT] + "...")
        known = self._kinds.get(kind) or self._kind(kind)
        if known == "graph":
            return self.graph(value).name
        if known == "tensor":
            return known  # looking closer would be seen by the modes that tests put around operators
        if known in _LETTERS:
            return self._named(known, self._key(value, known))
        return self._composed(value, kind)

    def _composed(self, value: Any, kind: type) -> str:
        if kind is tuple or kind is list:
            if kind is tuple and ("pool", _token(value)) in self._others:
                return self._others["pool", _token(value)]
            words = [self.word(each) for each in value[:_ENTRIES]]
            return f"[{', '.join(words)}{', ...' if len(value) > _ENTRIES else ''}]"
        name = getattr(value, "__name__", None) if callable(value) else None
        return name if isinstance(name, str) else kind.__name__

    def _kind(self, kind: type) -> str:
        torch = sys.modules.get("torch")
        if issubclass(kind, self._graph_classes):
            found = "graph"
        elif torch is not None and issubclass(kind, torch.Tensor):
            found = "tensor"
        else:
            return ""  # a later call may show what it is
        self._kinds[kind] = found
        return found

    def _key(self, value: Any, kind: str) -> Any:
        if kind == "stream":
            for name in _STREAM_NUMBERS:
                number = getattr(value, name, None)
                if type(number) is int:
                    return name, number
        if kind == "pool":
            token = _token(value if type(value) is tuple else getattr(value, "id", None))
            if token is not None:
                return token
        return id(value)

    def _named(self, kind: str, key: Any) -> str:
        name = self._others.get((kind, key))
        if name is None:
            name = self._others[kind, key] = self._next(kind)
        return name

    def _next(self, kind: str) -> str:
        number = self._counts[kind]
        self._counts[kind] += 1
        return f"{_LETTERS[kind]}{number}"


def _finder(graph: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(graph)
    except TypeError:  # a class without weak references
        return _unknown


def _unknown() -> None:
    """Nobody knows whether the graph is still there."""


def _token(value: Any) -> tuple[int, ...] | None:
    """A pool's token where it is a tuple of numbers, as torch's is."""
    is_token = type(value) is tuple and value and all(type(part) is int for part in value)
    return value if is_token else None
