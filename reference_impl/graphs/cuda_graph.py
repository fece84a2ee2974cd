"""The documented class torch.cuda.CUDAGraph."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from torch.utils.hooks import RemovableHandle

from reference_impl.graphs.core import GraphCore
from reference_impl.graphs.debugging import print_dot
from reference_impl.graphs.hooks import Hook, Hooks
from reference_impl.graphs.topology import graph_data
from reference_impl.pool_ids import PoolId


class CUDAGraph(GraphCore):
    """A graph of device work that is captured once and replayed many times.  Implements torch.cuda.CUDAGraph.

    Args:
        keep_graph: ``False``: `capture_end` makes the executable and destroys the template.  ``True``: the template
            stays and may be edited through `raw_cuda_graph`; the executable is made by `instantiate`, or by the first
            `replay`.
    """

    _name = "CUDA Graph"

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)
        self._capture_start_hooks = Hooks("capture_start")
        self._capture_end_hooks = Hooks("capture_end")
        self._post_instantiate_hooks = Hooks("post_instantiate")
        self._replay_start_hooks = Hooks("replay_start")
        self._replay_end_hooks = Hooks("replay_end")
        self._in_post_instantiate = False

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        """Begin a capture on the current stream.

        Args:
            pool: token of the memory pool to share, or an object with such a token as ``id``; a new pool when ``None``.
            capture_error_mode: which threads' unsafe calls are errors while the capture lasts: ``"global"`` (any),
                ``"thread_local"`` (this one's) or ``"relaxed"`` (none's).
            check_input_liveness: let `replay` raise when a tensor that the capture used from outside is gone.

        Raises:
            RuntimeError: the graph already holds a capture, or the current stream cannot begin one.
            TypeError, ValueError: `pool` or `capture_error_mode` is not of the documented kind.
        """
        self._begin("capture_begin()", pool, capture_error_mode, check_input_liveness)

    def capture_end_pre(self) -> None:
        """End the capture and leave the template live, in both keep_graph modes; `capture_end_post` finalizes.

        Raises:
            RuntimeError: as `capture_end`.
        """
        self._end("capture_end_pre()")

    def capture_end_post(self) -> None:
        """Finalize what `capture_end_pre` ended: with ``keep_graph=False`` it is instantiated, and the template goes.

        Raises:
            RuntimeError: nothing is captured.
        """
        if self._state in ("empty", "capturing"):
            raise self._refuse("capture_end_post()", "end a capture with capture_end_pre() first")
        if self._keep_graph or self._holds.template is None:
            return
        if self._holds.exec is None:
            self._make_executable("capture_end_post()")
        self._finalize()

    def register_capture_start_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(graph)`` called when a capture has begun; it must give the device no work.

        An exception from a hook goes to the caller of `capture_begin`, and the capture is abandoned.

        Raises:
            TypeError: `hook` cannot be called.
        """
        return self._capture_start_hooks.register(hook)

    def register_capture_end_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(graph)`` called when a capture has ended, its template live, before anything is made of it.

        An exception from a hook goes to the caller of `capture_end`: the template stays live, `replay`,
        `capture_end_post` and `reset` work.

        Raises:
            TypeError: `hook` cannot be called.
        """
        return self._capture_end_hooks.register(hook)

    def register_post_instantiate_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(graph)`` called after each instantiation, with the new executable in place.

        Raises:
            TypeError: `hook` cannot be called.
        """
        return self._post_instantiate_hooks.register(hook)

    def pools(self) -> list[PoolId]:
        """The tokens of all memory pools that this graph keeps; the first is `pool`'s.

        Raises:
            RuntimeError: nothing is captured.
        """
        return self._pools("pools()")

    def raw_cuda_graph(self) -> int:
        """The template's ``cudaGraph_t`` as an integer.

        Raises:
            RuntimeError: there is no live template.
        """
        return self._raw_template("raw_cuda_graph()")

    def raw_cuda_graph_exec(self) -> int:
        """The executable's ``cudaGraphExec_t`` as an integer.  It dies with the next `instantiate` or `reset`.

        Raises:
            RuntimeError: nothing is instantiated.
        """
        return self._raw_executable("raw_cuda_graph_exec()")

    def enable_debug_mode(self) -> None:
        """Keep the template from now on, as ``keep_graph=True`` does, so that it can be looked at."""
        self._keep_graph = True

    def debug_dump(self, debug_path: str | os.PathLike[str], *, verbose: bool = True) -> None:
        """Write the template to the file `debug_path` in Graphviz's DOT format.

        Args:
            debug_path: file to write.
            verbose: with all that the runtime knows of each node.

        Raises:
            RuntimeError: there is no live template, or the file cannot be written.
        """
        print_dot(self, "debug_dump()", debug_path, verbose=verbose)

    def get_graph_data(self) -> dict[str, Any]:
        """The graph's nodes and dependencies as a dictionary; see `reference_impl.graphs.topology.graph_data`.

        Raises:
            RuntimeError: the template is not kept, or not instantiated.
        """
        call = "get_graph_data()"
        return graph_data(self._device, self._raw_template(call), self._raw_executable(call))

    def instantiate(self) -> None:
        """Make a fresh executable from the template; one that was made before is destroyed.

        Raises:
            RuntimeError: there is no template, or a post-instantiate hook of this graph is calling.
        """
        if self._in_post_instantiate:
            raise self._refuse("instantiate()", "a post-instantiate hook must not instantiate again")
        super().instantiate()

    def register_replay_start_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(graph)`` called before each launch.  If it raises, nothing is launched.

        Raises:
            TypeError: `hook` cannot be called.
        """
        return self._replay_start_hooks.register(hook)

    def register_replay_end_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(graph)`` called after each launch, which may still be running.

        Raises:
            TypeError: `hook` cannot be called.
        """
        return self._replay_end_hooks.register(hook)

    def register_destroy_callback(
        self, cb: Callable[[], object], *, synchronize_before_release: bool = False
    ) -> RemovableHandle:
        """Have ``cb()`` called once, when this capture goes: at `reset`, or when the graph is collected.

        Args:
            cb: must not refer to the graph, which would then never be collected; what it raises is logged.
            synchronize_before_release: first wait for the streams that the graph is replayed on from now on.

        Raises:
            TypeError: `cb` cannot be called.
        """
        if not callable(cb):
            raise TypeError(f"register_destroy_callback(): the callback must be callable, and {cb!r} is not")
        if synchronize_before_release:
            self._holds.ending.wait_for_replays(self._replay_start_hooks)
        return self._holds.ending.call(cb)

    def retain_object(self, obj: object, *, synchronize_before_release: bool = False) -> RemovableHandle:
        """Keep `obj` alive as long as this capture: until `reset`, or until the graph is collected.

        Args:
            obj: must not refer to the graph, which would then never be collected.
            synchronize_before_release: first wait for the streams that the graph is replayed on from now on.
        """
        if synchronize_before_release:
            self._holds.ending.wait_for_replays(self._replay_start_hooks)
        return self._holds.ending.keep(obj)

    def _begun(self) -> None:
        super()._begun()
        self._capture_start_hooks.fire(self)

    def _captured(self) -> None:
        super()._captured()
        self._capture_end_hooks.fire(self)

    def _instantiated(self) -> None:
        super()._instantiated()
        self._in_post_instantiate = True
        try:
            self._post_instantiate_hooks.fire(self)
        finally:
            self._in_post_instantiate = False
