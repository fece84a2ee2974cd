"""What happens once, when the capture of a graph goes: at reset, or when the graph is collected."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from torch.utils.hooks import RemovableHandle

from reference_impl.devices.protocol import Device, Stream
from reference_impl.errors import GraphError, check
from reference_impl.graphs.hooks import Hooks, guarded


class Ending:
    """The callbacks of one capture's end, and what it keeps alive until then.  Refers to no graph."""

    def __init__(self) -> None:
        self._callbacks: OrderedDict[int, Callable[[], object]] = OrderedDict()
        self._objects: OrderedDict[int, object] = OrderedDict()
        self._replayed_on: dict[int, Stream] = {}
        self._noting: RemovableHandle | None = None

    def call(self, callback: Callable[[], object]) -> RemovableHandle:
        """Have `callback` called; the handle's ``remove()`` takes it out again."""
        handle = RemovableHandle(self._callbacks)
        self._callbacks[handle.id] = callback
        return handle

    def keep(self, obj: object) -> RemovableHandle:
        """Keep `obj` alive; the handle's ``remove()`` lets it go early."""
        handle = RemovableHandle(self._objects)
        self._objects[handle.id] = obj
        return handle

    def wait_for_replays(self, hooks: Hooks) -> None:
        """Wait for the streams of all later replays before anything is released.

        Args:
            hooks: called before each replay.  Only a graph that needs it notes its streams.
        """
        if self._noting is None:
            self._noting = hooks.register(self._note_replay)

    def _note_replay(self, graph: Any) -> None:
        stream = graph._device.current_stream()
        self._replayed_on[stream.cuda_stream] = stream

    def fire(self, device: Device) -> None:
        """Call the callbacks in the order of their registration, then let go what was kept.  Raises nothing."""
        if self._noting is not None:
            self._noting.remove()
        for handle in self._replayed_on:  # and for no other stream: one of those may be capturing
            guarded("synchronization before release", _wait, device.runtime, handle)
        for callback in list(self._callbacks.values()):
            guarded("destroy callback", callback)
        self._callbacks.clear()
        self._objects.clear()


def _wait(runtime: Any, stream: int) -> None:
    if int(check(runtime, "cudaStreamIsCapturing", runtime.cudaStreamIsCapturing(stream))) != 0:
        raise GraphError(f"stream {stream:#x}, which the graph was replayed on, captures: waiting would spoil that")
    check(runtime, "cudaStreamSynchronize", runtime.cudaStreamSynchronize(stream))
