"""A graph class in one file: it records the operators of a capture while they run, and runs them again in a replay.

Its tensors are CPU tensors, and there is one stream, the host itself.  Nothing in it knows of the kit.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

#: Operators whose answer is a number, or a size, that the host goes on with: a replay could not follow it.
_READS = {
    "aten::_local_scalar_dense",
    "aten::_unique2",
    "aten::equal",
    "aten::is_nonzero",
    "aten::masked_select",
    "aten::nonzero",
    "aten::unique_consecutive",
}
_captures = threading.local()
_pools = itertools.count(1)


class CaptureError(RuntimeError):
    """A call that the state of the graph, or of the capture, does not allow."""


@dataclass(frozen=True)
class _Node:
    """An operator, what it was given, and the memory that it wrote to."""

    operator: Callable[..., Any]
    args: Any
    kwargs: Any
    outputs: list[torch.Tensor]

    def run(self) -> None:
        """Run it again, and put what it answers where the capture's answer is."""
        answers = _tensors(self.operator(*self.args, **self.kwargs))
        for output, answer in zip(self.outputs, answers, strict=True):
            if output.data_ptr() != answer.data_ptr():
                output.copy_(answer)


class _Recorder(TorchDispatchMode):
    """Runs each operator at once, and keeps it."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Guarding the mode against the compiler would import the compiler, which takes seconds.
        return False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.nodes: list[_Node] = []
        self.failure: str | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name
        if name in _READS:
            self.failure = f"{name} reads a value on the host, which a capture cannot record"
            raise CaptureError(self.failure)
        answer = func(*args, **(kwargs or {}))
        # Without their history: a replay is no business of autograd's, whose saved tensors must not seem changed.
        given, named, outputs = tree_map_only(torch.Tensor, lambda x: x.data, (args, kwargs or {}, _tensors(answer)))
        self.nodes.append(_Node(func, given, named, outputs))
        return answer


def _tensors(answer: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(answer) if isinstance(leaf, torch.Tensor)]


def is_current_stream_capturing() -> bool:
    """Whether this thread has a capture under way."""
    return getattr(_captures, "graph", None) is not None


def graph_pool_handle() -> tuple[int, int]:
    """A token for memory that graphs may share; here none do."""
    return 0, next(_pools)


class RecorderGraph:
    """Operators recorded once and run again, with the signatures of ``torch.cuda.CUDAGraph`` as of 1.10."""

    def __init__(self) -> None:
        self._nodes: list[_Node] | None = None
        self._recorder: _Recorder | None = None
        self._pool: Any = None

    def capture_begin(self, pool: Any = None) -> None:
        """Record what this thread does from now on."""
        if is_current_stream_capturing():
            raise CaptureError("capture_begin(): a capture is under way on this stream already")
        if self._nodes is not None:
            raise CaptureError("capture_begin(): the graph holds a capture; reset() it first")
        if not isinstance(pool, tuple | None):
            raise TypeError(
                f"capture_begin(): a pool is named by a token of graph_pool_handle() or pool(), not {pool!r}"
            )
        self._pool = graph_pool_handle() if pool is None else pool
        self._recorder = _Recorder()
        _captures.graph = self
        self._recorder.__enter__()  # type: ignore[no-untyped-call]

    def capture_end(self) -> None:
        """Stop recording."""
        recorder = self._recorder
        if recorder is None or getattr(_captures, "graph", None) is not self:
            raise CaptureError("capture_end(): this graph has no capture under way in this thread")
        recorder.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self._recorder = _captures.graph = None
        if recorder.failure is not None:
            raise CaptureError(f"capture_end(): the capture failed, since {recorder.failure}")
        self._nodes = recorder.nodes

    def replay(self) -> None:
        """Run the recorded operators again, in their order."""
        if self._nodes is None:
            raise CaptureError("replay(): the graph holds no capture")
        if is_current_stream_capturing():
            raise CaptureError("replay(): a capture is under way on this stream")
        with torch.no_grad():
            for node in self._nodes:
                node.run()

    def reset(self) -> None:
        """Forget what was recorded."""
        if self._recorder is not None:
            raise CaptureError("reset(): the graph's capture is under way")
        self._nodes = None

    def pool(self) -> Any:
        """The token of the graph's memory."""
        if self._nodes is None:
            raise CaptureError("pool(): the graph holds no capture")
        return self._pool
