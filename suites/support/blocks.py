"""Blocks of the context manager."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_raises
from suites.support.streams import stream_kept

if TYPE_CHECKING:
    import torch

RESTORED = "the stream from before the block is current again after it"


class Unrelated(Exception):
    """An exception that no implementation raises."""


def context(impl: Adapter, graph: Any, *arguments: Any, **settings: Any) -> contextlib.AbstractContextManager[Any]:
    """The implementation's context manager called with exactly these arguments after the graph.

    An adapter with a `capture` of its own hides the context manager behind it, which takes names only.
    """
    factory = impl.own("graph")
    if factory is None:
        return impl.capture(graph, **dict(zip(("pool", "stream"), arguments, strict=False)), **settings)
    block: contextlib.AbstractContextManager[Any] = factory(graph, *arguments, **settings)
    return block


def spoil(tensor: torch.Tensor) -> None:
    """Read a value on the host, which no capture can record: it fails, and on most devices so does the capture."""
    with contextlib.suppress(Exception):
        tensor.view(-1)[0].item()


def refused_block(impl: Adapter, graph: Any) -> None:
    """A block whose capture cannot begin: no body runs, and the current stream is the one from before."""
    log: list[str] = []

    def block() -> None:
        with impl.capture(graph, mode="no such mode"):
            log.append("body")

    with stream_kept(impl) as before:
        expect_raises("an unknown capture error mode is refused", block)
        after = impl.current_stream()
    expect(not log, "the body does not run when the capture cannot begin", "it ran")
    expect(after == before, RESTORED, f"{after!r} instead of {before!r}, after a capture that did not begin")
