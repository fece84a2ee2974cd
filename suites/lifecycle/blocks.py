"""Blocks: captures through the context managers, whose bodies return, raise, or never begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_raises
from suites.lifecycle.scenarios import Name, Scenarios, added
from suites.support.blocks import RESTORED, Unrelated, refused_block, spoil
from suites.support.captures import replay
from suites.support.outcomes import caught, in_words, related
from suites.support.streams import stream_kept

if TYPE_CHECKING:
    import torch


def blocks_return_and_raise(
    impl: Adapter, first: Any, second: Any, tensor: torch.Tensor, number: int, stream: Any
) -> None:
    """Two blocks on the same stream: the first one's body returns, the second one's raises when its work is done."""
    from_body, used = Unrelated("from the body"), []
    with stream_kept(impl) as before:
        default = impl.default_stream()
        for graph in (first, second):
            outcome: BaseException | None = None
            try:
                with impl.capture(graph, stream=stream):
                    used.append(impl.current_stream())
                    capturing = impl.is_current_stream_capturing()
                    tensor.add_(number)
                    if graph is second:
                        raise from_body
            except Unrelated as error:
                outcome = error.with_traceback(None)
            expected = from_body if graph is second else None
            expect(outcome is expected, "what the body raises reaches the caller as it is", f"{outcome!r} came out")
            expect(capturing, "the stream that is current in the block captures", "it does not")
            after = impl.current_stream()
            expect(after == before, RESTORED, f"{after!r} instead of {before!r}")
            with impl.stream(used[-1]):
                capturing = impl.is_current_stream_capturing()
                if capturing:
                    impl.abort_capture(graph)
            expect(not capturing, "when a block is left, its capture is over", "its stream captures")
    if stream is not None:
        expect(used == [stream, stream], "a given stream is current in the block", f"{used!r}, not {stream!r}")
        return
    expect(default not in used, "without a stream a block brings a side stream", f"the default stream in {used!r}")


def block_with_pool(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int, pool: Any) -> None:
    """A block that is given a pool, or whose graph was."""
    settings = {} if impl.dialect == "accelerator" else {"pool": pool}
    with impl.capture(graph, **settings):
        tensor.add_(number)


def block_in_relaxed_mode(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int) -> None:
    """A block in the mode that allows what the default one forbids."""

    def block() -> None:
        with impl.capture(graph, mode="relaxed"):
            tensor.add_(number)
            impl.unsafe_call()

    with stream_kept(impl):
        error = caught(block)
    promise = "a block in the relaxed error mode allows potentially unsafe calls"
    expect(error is None, promise, in_words(error))


class Blocks(Scenarios):
    """Blocks with all that they can be given, and bodies that raise."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """Several graphs are filled by blocks, and are as good as any afterwards."""
        cell = self.cell(pick)
        first, second = self.vacant(), self.vacant()
        stream = self.stream(pick) if flag else None
        self.step(blocks_return_and_raise, first, second, cell, number, stream)
        self.holds(first, added(cell, number))
        self.holds(second, added(cell, number))
        if self.impl.owes("pools"):
            token, pool = self.handle()
            third = self.vacant(pool=token.name)
            self.step(block_with_pool, third, cell, number, token)
            self.holds(third, added(cell, number), pool)
        unsafe = self.impl.owes("raw_allocation") and self.impl.runtime is not None
        if self.impl.dialect == "cuda" and self.impl.owes("capture_modes") and unsafe:
            fourth = self.vacant()
            self.step(block_in_relaxed_mode, fourth, cell, number)
            self.holds(fourth, added(cell, number))


def block_of_an_unknown_mode(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int) -> None:
    """A block whose capture cannot begin."""
    refused_block(impl, graph)
    with impl.capture(graph):
        tensor.add_(number)


class RefusedBlocks(Scenarios):
    """Blocks whose capture cannot begin."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """The same graph is filled by a block that can begin."""
        del flag
        graph, cell = self.vacant(), self.cell(pick)
        self.step(block_of_an_unknown_mode, graph, cell, number)
        self.holds(graph, added(cell, number))


def block_that_fails(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int, *, raises: bool) -> None:
    """A block whose body spoils the capture, and then returns or raises."""
    raised = Unrelated("from the body")

    def block() -> None:
        with impl.capture(graph):
            tensor.add_(number)
            spoil(tensor)
            if raises:
                raise raised

    with stream_kept(impl) as before:
        error = caught(block)
        after, capturing = impl.current_stream(), impl.is_current_stream_capturing()
    expect(after == before, RESTORED, f"{after!r} instead of {before!r}, after {in_words(error)}")
    expect(not capturing, "when a block is left, its capture is over", "the current stream captures")
    if raises:
        promise = "the body's exception is raised, or stands in the context of what is raised"
        expect(raised in related(error), promise, in_words(error))
    raised.__traceback__ = raised.__context__ = None
    impl.reset(graph)
    with impl.capture(graph):
        tensor.add_(number)
    replay(impl, graph)


def block_with_a_loose_fork(impl: Adapter, graph: Any, tensor: torch.Tensor, fork: Any) -> None:
    """A block whose body forks work and never joins it."""

    def block() -> None:
        with impl.capture(graph):
            tensor.add_(1)
            fork.wait_stream(impl.current_stream())
            with impl.stream(fork):
                tensor.add_(1)

    with stream_kept(impl):
        expect_raises("a block whose capture cannot be ended raises", block)
    impl.reset(graph)


class FailedBlocks(Scenarios):
    """Blocks whose capture cannot be ended."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """The same graph is filled by a good block, and replays; then another block fails."""
        graph, cell = self.vacant(), self.cell(pick)
        self.step(block_that_fails, graph, cell, number, raises=flag)
        self.holds(graph, added(cell, number))
        self.did(graph.work)
        if self.impl.dialect == "cuda" and self.impl.owes("fork_join"):
            name = self.fresh("fork")
            self.call(f"{name} = impl.new_stream()", "streams can be made")
            other = self.vacant()
            self.step(block_with_a_loose_fork, other, cell, Name(name))
