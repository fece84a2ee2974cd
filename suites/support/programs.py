"""Small programs and moves that several suites share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from conformance.adapter import Adapter
from conformance.checks import expect_no_raise


def capture_into(impl: Adapter, graph: Any, body: Callable[[], Any], **settings: Any) -> Any:
    """Capture `body` into `graph` with the implementation's context manager; return what `body` returned."""
    with impl.capture(graph, **settings):
        return body()


def captured(
    impl: Adapter, body: Callable[[], Any], *, keep_graph: bool | None = None, **settings: Any
) -> tuple[Any, Any]:
    """A new graph holding the work of `body`, and what `body` returned."""
    graph = impl.new_graph(keep_graph)
    return graph, capture_into(impl, graph, body, **settings)


@contextlib.contextmanager
def side_stream(impl: Adapter, stream: Any = None) -> Iterator[Any]:
    """Make a side stream current, ordered after the work before it and before the work after it."""
    side = impl.new_stream() if stream is None else stream
    before = impl.current_stream()
    side.wait_stream(before)
    with impl.stream(side):
        yield side
    before.wait_stream(side)


def replay(impl: Adapter, graph: Any, times: int = 1) -> None:
    """Replay `graph` on the current stream and wait for it."""
    for _ in range(times):
        expect_no_raise("a graph that holds a capture can be replayed", graph.replay)
    impl.synchronize()


def capture_between(impl: Adapter, graph: Any, body: Callable[[], Any], *, stream: Any = None, **settings: Any) -> Any:
    """Capture `body` between capture_begin and capture_end on a side stream; return what `body` returned."""
    with side_stream(impl, stream):
        impl.capture_begin(graph, **settings)
        try:
            result = body()
        except BaseException:
            impl.abort_capture(graph)
            raise
        graph.capture_end()
    return result


def warm_up(impl: Adapter, body: Callable[[], Any], times: int = 2) -> None:
    """Run `body` eagerly on a side stream, so that no library handle is made inside the capture that follows."""
    with side_stream(impl):
        for _ in range(times):
            body()
    impl.synchronize()


class OperatorCount(TorchDispatchMode):
    """A mode such as a program may put on: counts the operators that are called inside."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operators = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operators += 1
        return func(*args, **(kwargs or {}))
