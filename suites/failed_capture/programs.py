"""A program whose replay can be checked, ways to spoil its capture, and captures that record how they went."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect_equal, expect_no_raise
from conformance.errors import HarnessError
from suites.support.programs import side_stream

if TYPE_CHECKING:
    import torch

SIZE = 37
POISON = -7.0


class Affine:
    """``out = x * factor + 1`` over static tensors, in two halves so that something can happen between them."""

    def __init__(self, impl: Adapter, factor: float = 3.0) -> None:
        self.factor = factor
        self.x = impl.full(SIZE, 2.0)
        self.out = impl.full(SIZE, POISON)
        self._product: torch.Tensor | None = None

    def first_half(self) -> None:
        """Make the product, in the graph's pool."""
        self._product = self.x * self.factor

    def second_half(self) -> None:
        """Finish what `first_half` began."""
        assert self._product is not None, "the halves were called out of order"
        self.out.copy_(self._product + 1)
        self._product = None

    def body(self) -> None:
        """The whole program."""
        self.first_half()
        self.second_half()

    def check(self, impl: Adapter, graph: Any, promise: str) -> None:
        """Reject unless replays of `graph` compute the program, each time from new input into poisoned output."""
        for value in (5.0, -2.0, 11.0):
            self.x.fill_(value)
            self.out.fill_(POISON)
            expect_no_raise(promise, graph.replay)
            expect_equal(impl, self.out, value * self.factor + 1, promise)


#: Given the implementation, does what must be done outside the capture and returns what is to be done inside.
Spoiler = Callable[[Adapter], Callable[[], Any]]


def host_read(impl: Adapter) -> Callable[[], Any]:
    """Read a value of the device on the host."""
    tensor = impl.full(SIZE, 6.0)
    element = tensor[3]
    return element.item


def device_synchronize(impl: Adapter) -> Callable[[], Any]:
    """Wait for the whole device."""
    return impl.synchronize


def stream_synchronize(impl: Adapter) -> Callable[[], Any]:
    """Wait for the stream that captures."""
    return lambda: impl.current_stream().synchronize()


def unjoined_fork(impl: Adapter) -> Callable[[], Any]:
    """Fork work to a second stream and never join it."""
    fork = impl.new_stream()
    tensor = impl.full(SIZE, 1.0)

    def act() -> None:
        fork.wait_stream(impl.current_stream())
        with impl.stream(fork):
            tensor.add_(1)

    return act


def foreign_event(impl: Adapter) -> Callable[[], Any]:
    """Wait for work of another stream that is no part of the capture."""
    tensor = impl.full(SIZE, 1.0)
    event = impl.new_event()
    with side_stream(impl) as outside:
        tensor.add_(1)
        event.record(outside)
    return lambda: impl.current_stream().wait_event(event)


#: Spoilers that need nothing but a device, and those that need work on several streams to be captured.
BASIC: dict[str, Spoiler] = {
    "host-read": host_read,
    "device-synchronize": device_synchronize,
    "stream-synchronize": stream_synchronize,
}
FORKING: dict[str, Spoiler] = {"unjoined-fork": unjoined_fork, "foreign-event": foreign_event}

basic = pytest.mark.parametrize("spoiler", [pytest.param(value, id=name) for name, value in BASIC.items()])
forking = pytest.mark.parametrize("spoiler", [pytest.param(value, id=name) for name, value in FORKING.items()])


def caught(call: Callable[[], Any]) -> Exception | None:
    """What `call` raised, without the frames that would keep its tensors alive; ``None`` if nothing."""
    try:
        call()
    except HarnessError:  # the kit's own trouble is no answer of the implementation's
        raise
    except Exception as error:
        return error.with_traceback(None)
    return None


def in_words(error: Exception | None) -> str:
    """An outcome for a failure message."""
    return "no error" if error is None else f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class Attempt:
    """How a capture went.

    Attributes:
        graph: the graph that captured.
        stream: the stream that it captured on.
        refusal: what the disturbing call raised inside the capture.
        ending: what capture_end raised.
        left_capturing: whether the stream was still capturing after capture_end (it was then cleaned up).
    """

    graph: Any
    stream: Any
    refusal: Exception | None
    ending: Exception | None
    left_capturing: bool

    def __str__(self) -> str:
        return f"the call inside the capture: {in_words(self.refusal)}; capture_end: {in_words(self.ending)}"


def attempt(
    impl: Adapter,
    body: Callable[[], Any],
    disturbance: Callable[[], Any],
    *,
    graph: Any = None,
    keep_graph: bool | None = None,
    stream: Any = None,
    **settings: Any,
) -> Attempt:
    """Capture `body`, then make the disturbing call, then end the capture; record the outcome of each."""
    graph = impl.new_graph(keep_graph) if graph is None else graph
    ending: Exception | None = None
    before = impl.current_stream()
    side = impl.new_stream() if stream is None else stream
    side.wait_stream(before)
    with impl.stream(side):
        impl.capture_begin(graph, **settings)
        try:
            body()
            refusal = caught(disturbance)
            ending = caught(graph.capture_end)
        finally:
            left_capturing = impl.is_current_stream_capturing()
            if left_capturing:
                impl.abort_capture(graph)
    # A stream that still captures cannot be waited for; what it left is for the test to say.
    stuck = caught(lambda: before.wait_stream(side))
    if stuck is not None and not left_capturing:
        raise stuck
    return Attempt(graph, side, refusal, ending, left_capturing)


def spoil(impl: Adapter, spoiler: Spoiler, body: Callable[[], Any], **settings: Any) -> Attempt:
    """Capture `body` and spoil the capture."""
    return attempt(impl, body, spoiler(impl), **settings)


def expect_eager_work(impl: Adapter, stream: Any, promise: str) -> None:
    """Reject unless ordinary work on `stream` runs at once and gives the right values."""
    tensor = impl.full(SIZE, 4.0)

    def work() -> None:
        with side_stream(impl, stream):
            tensor.mul_(2).add_(1)

    expect_no_raise(promise, work)
    expect_equal(impl, tensor, 9.0, promise)


def expect_capture(impl: Adapter, graph: Any, promise: str, *, stream: Any = None, **settings: Any) -> Affine:
    """Reject unless `graph` captures a new program on `stream` and replays it; return the program."""
    program = Affine(impl, factor=5.0)

    def capture() -> None:
        with open_capture(impl, graph, stream=stream, **settings):
            program.body()
            graph.capture_end()

    expect_no_raise(promise, capture)
    program.check(impl, graph, promise)
    return program


@contextlib.contextmanager
def open_capture(impl: Adapter, graph: Any, *others: Any, stream: Any = None, **settings: Any) -> Iterator[Any]:
    """Begin a capture on a side stream and leave ending it to the block; clean up what a failing block leaves open.

    Args:
        impl: the implementation.
        graph: begins the capture.
        others: graphs that could have a hand in it if the implementation is broken.
        stream: captures; a new one when left out.
        settings: for `Adapter.capture_begin`.
    """
    with side_stream(impl, stream) as side:
        impl.capture_begin(graph, **settings)
        try:
            yield side
        finally:
            for owner in (graph, *others):
                if impl.is_current_stream_capturing():
                    impl.abort_capture(owner)


@contextlib.contextmanager
def current_stream_kept(impl: Adapter) -> Iterator[Any]:
    """Put the caller's stream back afterwards, whatever the block leaves current."""
    caller = impl.current_stream()
    with impl.stream(caller):
        yield caller
