"""Notes the calls on an implementation: those of its adapter, of its graph class, and of its streams and events."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from conformance.errors import one_line
from conformance.evidence.names import KnownGraph, Names

if TYPE_CHECKING:
    from conformance.adapter import Adapter
    from conformance.evidence.calls import CallRing

#: What an adapter says of itself, what the kit asks of it between tests, and what only makes tensors.
_NOT_NOTED = frozenset(
    {
        *("owes", "why_without", "absence", "has_own", "need_own", "need_reset", "environment", "device_count"),
        *("around_test", "recover", "release_library_memory", "tensor", "full", "pinned"),
    }
)
#: What the calls of an adapter give.
_MAKE_GRAPHS = frozenset({"new_graph", "graph_for"})
_GIVE_NEW = {"new_stream": "stream", "new_event": "event"}
_GIVE = {
    "capture_stream": "stream",
    "current_stream": "stream",
    "default_stream": "stream",
    "graph_pool_handle": "pool",
    "new_mem_pool": "pool",
    **_GIVE_NEW,
}
#: What a thread notes: all calls; those on the class, its streams and its events; none.
_NO_ADAPTER, _NOTHING = 1, 2
_BLOCKS = frozenset({"stream", "capture"})
#: What a call that came back makes of a graph.
_STATES = {
    "capture_begin": "capturing",
    "capture_end_pre": "captured",
    "capture_end": "captured",
    "instantiate": "instantiated",
    "reset": "reset",
}
_STREAM_CALLS = ("wait_stream", "wait_event", "record_event")
_EVENT_CALLS = ("record", "wait")


class Tracer:
    """Notes the calls on one implementation in a ring, from its making to `release`.

    Args:
        adapter: of the implementation.
        ring: where they are noted.
        changes: how to take back what was changed, the last one first; tracers of classes that share some have one.

    Attributes:
        on: whether they are: the kit's own calls between two tests would push a test's out.
        names: that the things of the test have.
    """

    def __init__(self, adapter: Adapter, ring: CallRing, changes: list[Callable[[], None]] | None = None) -> None:
        self.on = False
        self.names = Names(adapter.graph_class)
        self._ring = ring
        self._here = _Here()
        self._main = threading.get_ident()
        #: The types of streams, events and pools that were met so far.
        self._met: set[type] = set()
        self._changes = [] if changes is None else changes
        self._trace_adapter(adapter)
        self._trace_class(adapter.graph_class, None, self._of_graph)

    def begin(self) -> None:
        """A test begins: forget the names of the one before."""
        self.names.clear()

    def release(self) -> None:
        """Trace no more, and leave the adapter and the classes as they were."""
        while self._changes:
            self._changes.pop()()

    # -- what is traced -----------------------------------------------------------------------------------------------

    def _trace_adapter(self, adapter: Adapter) -> None:
        for name in dir(type(adapter)):
            if name.startswith("_") or name in _NOT_NOTED or not isinstance(getattr(type(adapter), name), FunctionType):
                continue
            self._put(adapter, name, self._of_adapter(name, getattr(adapter, name)))

    def _trace_class(
        self, cls: Any, names: tuple[str, ...] | None, traced: Callable[[str, Callable[..., Any]], Callable[..., Any]]
    ) -> None:
        """Trace the methods of `cls` that are written in Python; a class that cannot be changed stays as it is."""
        if not isinstance(cls, type):
            return
        for name in dir(cls) if names is None else names:
            # A method may come from a base; the class's own table then gets one that calls it.
            method = getattr(cls, name, None)
            if name.startswith("_") or not isinstance(method, FunctionType):
                continue
            if getattr(method, "traced_by", None) is self:  # in a base
                continue
            try:
                self._put(cls, name, traced(name, method))
            except (TypeError, AttributeError):
                return

    def _meet(self, value: Any, kind: str) -> None:
        """Learn what a stream, an event or a pool is: only things that a call gives show their class."""
        cls = type(value)
        if cls in self._met or value is None or cls is tuple:
            return
        self._met.add(cls)
        self.names.learn(value, kind)
        if kind == "stream":
            self._trace_class(cls, _STREAM_CALLS, functools.partial(self._of_tool, kind))
        elif kind == "event":
            self._trace_class(cls, _EVENT_CALLS, functools.partial(self._of_tool, kind))

    def _put(self, owner: Any, name: str, tracer: Any) -> None:
        table = vars(owner)
        was_there, before = name in table, table.get(name)
        tracer.traced_by = self
        setattr(owner, name, tracer)

        def undo() -> None:
            if vars(owner).get(name) is not tracer:
                return  # somebody else has replaced it meanwhile
            if was_there:
                setattr(owner, name, before)
            else:
                delattr(owner, name)

        self._changes.append(undo)

    # -- how it is noted ----------------------------------------------------------------------------------------------

    def _of_adapter(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        prefix, here = f"adapter.{name}(", self._here
        makes_graph, is_block, names_result = name in _MAKE_GRAPHS, name in _BLOCKS, name in _GIVE

        @functools.wraps(method)
        def tracer(*arguments: Any, **settings: Any) -> Any:
            if not self.on:
                return method(*arguments, **settings)
            if here.quiet == _NOTHING or (here.quiet == _NO_ADAPTER and not (makes_graph or names_result)):
                return method(*arguments, **settings)
            kept = makes_graph and settings.get("keep_graph", arguments[0] if arguments else None) is True
            if here.quiet:  # what an adapter asks of itself says nothing more, but what it made has a name now
                result = method(*arguments, **settings)
                self._given(name, result, kept)
                return result
            text = f"{prefix}{self._words(arguments, settings)})"
            number, result = self._noted(text, _NO_ADAPTER, method, arguments, settings)
            self._end(number, "" if result is None or is_block else self._given(name, result, kept))
            return _Block(self, text, result) if is_block and hasattr(result, "__exit__") else result

        return tracer

    def _of_graph(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        state = _STATES.get(name)

        @functools.wraps(method)
        def tracer(*arguments: Any, **settings: Any) -> Any:
            if not self.on or not arguments or self._here.quiet == _NOTHING:
                return method(*arguments, **settings)
            known, rest = self.names.graph(arguments[0]), arguments[1:]
            if name == "capture_begin":
                self._note_pool(known, rest, settings)
            text = f"{known.name}.{name}({self._words(rest, settings)})"
            try:
                number, result = self._noted(text, 0, method, arguments, settings)
            except BaseException:
                if name == "capture_end":
                    known.state = "failed"
                raise
            if state is not None:
                known.state = state
            known.kept |= name == "enable_debug_mode"
            self._end(number, "" if result is None else self._given_by_graph(known, name, result))
            return result

        return tracer

    def _of_tool(self, kind: str, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of a stream or an event; what it calls itself says nothing more."""

        @functools.wraps(method)
        def tracer(*arguments: Any, **settings: Any) -> Any:
            if not self.on or not arguments or self._here.quiet == _NOTHING:
                return method(*arguments, **settings)
            owner, rest = arguments[0], arguments[1:]
            self._meet(owner, kind)
            text = f"{self._word(owner)}.{name}({self._words(rest, settings)})"
            number, result = self._noted(text, _NOTHING, method, arguments, settings)
            if name == "record_event":
                self._meet(result, "event")
            self._end(number, "" if result is None else f" -> {self._word(result)}")
            return result

        return tracer

    def leaving(self, text: str, leave: Callable[..., Any], error: tuple[Any, ...]) -> Any:
        """Leave a block that a call of the adapter made, and note it."""
        if not self.on or self._here.quiet:
            return leave(*error)
        number = self._begin(f"end of {text}")
        try:
            result = leave(*error)
        except BaseException as trouble:
            self._raised(number, trouble)
            raise
        self._end(number, "")
        return result

    def _noted(
        self,
        text: str,
        quiet: int,
        method: Callable[..., Any],
        arguments: tuple[Any, ...],
        settings: dict[str, Any],
    ) -> tuple[int, Any]:
        """Make a call, of which `quiet` are not noted; its number, which has yet to end, and what it gave."""
        number = self._begin(text)
        here = self._here
        before, here.quiet = here.quiet, quiet
        try:
            return number, method(*arguments, **settings)
        except BaseException as error:
            self._raised(number, error)
            raise
        finally:
            here.quiet = before

    def _begin(self, text: str) -> int:
        here = self._here
        if here.mark is None:
            is_main = threading.get_ident() == self._main
            here.mark = "" if is_main else f"[{threading.current_thread().name}] "
        depth = here.depth
        here.depth = depth + 1
        return self._ring.begin(f"{here.mark}{'  ' * depth}{text}" if depth or here.mark else text)

    def _end(self, number: int, outcome: str) -> None:
        self._here.depth -= 1
        self._ring.end(number, outcome)

    def _raised(self, number: int, error: BaseException) -> None:
        self._end(number, f" raised {one_line(error, 60)}")

    # -- in words -----------------------------------------------------------------------------------------------------

    def _words(self, arguments: tuple[Any, ...], settings: dict[str, Any]) -> str:
        if not arguments and not settings:
            return ""
        words = [self._word(value) for value in arguments]
        if settings:
            words += [f"{name}={self._word(value)}" for name, value in settings.items()]
        return ", ".join(words)

    def _word(self, value: Any) -> str:
        try:
            return self.names.word(value)
        except Exception:  # its own code
            return type(value).__name__

    def _given(self, name: str, result: Any, kept: bool) -> str:
        """What an adapter's call gave; an object that cannot be looked at must not spoil the call that gave it."""
        try:
            if name in _MAKE_GRAPHS:
                graph = result[0] if type(result) is tuple else result
                known = self.names.graph(graph, is_new=name == "new_graph")
                known.kept |= kept
                return f" -> {known.name}"
            kind = _GIVE.get(name)
            if kind is not None:
                self._meet(result, kind)
            if kind == "pool":
                return f" -> {self.names.pool(result)}"
            if name in _GIVE_NEW:
                return f" -> {self.names.new(result, _GIVE_NEW[name])}"
            return f" -> {self.names.word(result)}"
        except Exception:  # its own code
            return f" -> {type(result).__name__}"

    def _given_by_graph(self, known: KnownGraph, name: str, result: Any) -> str:
        """What a graph's call gave, likewise."""
        if name != "pool":
            return f" -> {self._word(result)}"
        try:
            known.pool = self.names.pool(result)
        except Exception:  # its own code
            return f" -> {type(result).__name__}"
        return f" -> {known.pool}"

    def _note_pool(self, known: KnownGraph, arguments: tuple[Any, ...], settings: dict[str, Any]) -> None:
        pool = settings.get("pool", arguments[0] if arguments else None)
        if pool is None or isinstance(pool, str):
            return
        try:
            known.pool = self.names.pool(pool)
        except Exception:  # its own code
            known.pool = None


class _Here(threading.local):
    """Where a thread is: how deep in calls that are noted, and which calls are not."""

    depth = 0
    quiet = 0
    mark: str | None = None


class _Block:
    """A context manager that notes when its block is left."""

    def __init__(self, tracer: Tracer, text: str, block: Any) -> None:
        self._tracer = tracer
        self._text = text
        self._block = block

    def __enter__(self) -> Any:
        return self._block.__enter__()

    def __exit__(self, *error: object) -> Any:
        return self._tracer.leaving(self._text, self._block.__exit__, error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._block, name)
