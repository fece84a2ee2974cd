"""Moves that the context manager suites share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_raises

if TYPE_CHECKING:
    import torch


RESTORED = "the stream from before the block is current again after it"


class Interruption(BaseException):
    """An exception that is no `Exception`, as KeyboardInterrupt is none."""


class Unrelated(Exception):
    """An exception that no implementation raises."""


def context(impl: Adapter, graph: Any, *arguments: Any, **settings: Any) -> contextlib.AbstractContextManager[Any]:
    """The implementation's context manager called with exactly these arguments after the graph.

    An adapter without a device module hides the context manager behind its own `capture`, which takes names only.
    """
    factory = getattr(getattr(impl, "module", None), "graph", None)
    if factory is None:
        return impl.capture(graph, **dict(zip(("pool", "stream"), arguments, strict=False)), **settings)
    made: contextlib.AbstractContextManager[Any] = factory(graph, *arguments, **settings)
    return made


@contextlib.contextmanager
def stream_kept(impl: Adapter) -> Iterator[Any]:
    """Give the current stream; make it current again at the end, even if the implementation did not."""
    before = impl.current_stream()
    with impl.stream(before):
        yield before


def spoil(tensor: torch.Tensor) -> None:
    """Read a value on the host, which no capture can record: it fails, and on most devices so does the capture."""
    with contextlib.suppress(RuntimeError):
        tensor.view(-1)[0].item()


def related(error: BaseException | None) -> list[BaseException]:
    """`error` and the exceptions that it was raised from or while handling."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and one not in found:
            found.append(one)
            waiting += [one.__cause__, one.__context__]
    return found


def refused_block(impl: Adapter, graph: Any) -> None:
    """A block whose capture cannot begin: no body runs, and the current stream is the one from before."""
    ran: list[str] = []

    def block() -> None:
        with impl.capture(graph, mode="no such mode"):
            ran.append("body")

    with stream_kept(impl) as before:
        expect_raises("an unknown capture error mode is refused", block, (RuntimeError, TypeError, ValueError))
        after = impl.current_stream()
    expect(not ran, "the body does not run when the capture cannot begin", "it ran")
    expect(after == before, RESTORED, f"{after!r} instead of {before!r}, after a capture that did not begin")
