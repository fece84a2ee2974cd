"""The one implementation behind every documented graph class: a capture, its template, its executable, its pools.

The classes add names and defaults.  The state follows from what is held:

=============  ==========  ==========  ============
state          capture     template    executable
=============  ==========  ==========  ============
empty          no          no          no
capturing      yes         no          no
captured       no          yes         no
instantiated   no          yes         yes
ready          no          no          yes
=============  ==========  ==========  ============

A call that the state does not allow raises `GraphError` and changes nothing.
"""

from __future__ import annotations

import dataclasses
import threading
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

from reference_impl.devices.chosen import device
from reference_impl.devices.mode_stack import remove
from reference_impl.devices.protocol import Device, Stream, current_stream_capturing
from reference_impl.errors import DeviceError, GraphError, check
from reference_impl.graphs.ending import Ending
from reference_impl.graphs.hooks import Hooks, every_graph
from reference_impl.graphs.liveness import LivenessTracker
from reference_impl.pool_ids import PoolId, as_pool_id

MODES = {
    "global": "cudaStreamCaptureModeGlobal",
    "thread_local": "cudaStreamCaptureModeThreadLocal",
    "relaxed": "cudaStreamCaptureModeRelaxed",
}


@dataclasses.dataclass(frozen=True)
class _Capture:
    """A capture underway."""

    stream: Any
    #: The only thread that may end it, or ``None``.
    thread: int | None


class _Holdings:
    """What a graph owns outside Python.  `release` gives it all back and never raises, as destructors must not."""

    def __init__(self, on: Device) -> None:
        self.device = on
        self.capture: _Capture | None = None
        self.template: int | None = None
        self.exec: int | None = None
        self.pools: list[PoolId] = []
        self.tracker: LivenessTracker | None = None
        self._ending: Ending | None = None
        self.exec_ids: set[int] = set()

    def release(self) -> None:
        runtime = self.device.runtime
        # Some capture may be underway elsewhere: destroying another graph must neither fail in it nor spoil it.
        relaxed = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed
        mode = runtime.cudaThreadExchangeStreamCaptureMode(relaxed)[1]
        try:
            self._fire_ending()
            if self.capture is not None:
                self.abandon_capture()
            if self.exec is not None:
                runtime.cudaGraphExecDestroy(self.exec)
            if self.template is not None:
                runtime.cudaGraphDestroy(self.template)
        finally:
            runtime.cudaThreadExchangeStreamCaptureMode(mode)
        self.exec = self.template = None
        self.stop_tracking()
        self.tracker = None
        self.release_pools()

    @property
    def ending(self) -> Ending:
        """What its users want done when this capture goes; most want nothing."""
        if self._ending is None:
            self._ending = Ending()
        return self._ending

    def _fire_ending(self) -> None:
        ending, self._ending = self._ending, None
        if ending is not None:
            ending.fire(self.device)
        ids, self.exec_ids = self.exec_ids, set()
        if ids:
            every_graph.destroy.fire_guarded(ids)

    def abandon_capture(self) -> None:
        """End a capture whose result nobody wants, so that its stream and thread are usable again."""
        assert self.capture is not None
        runtime = self.device.runtime
        code, template = runtime.cudaStreamEndCapture(self.capture.stream.cuda_stream)
        if int(code) == 0:
            runtime.cudaGraphDestroy(template)
        self.capture_over()

    def capture_over(self) -> None:
        """Stop routing work and memory to a capture that has ended."""
        assert self.capture is not None
        self.capture = None
        self.device.end_pool(self.pools[0])
        self.device.capture_over()

    def stop_tracking(self) -> None:
        if self.tracker is not None:
            remove(self.tracker)

    def release_pools(self) -> None:
        while self.pools:
            self.device.release_pool(self.pools.pop())


class GraphCore:
    """Capture, instantiation and replay on the runtime and device boundaries."""

    #: What messages call such a graph.
    _name = "graph"
    #: What a capture error mode means to the runtime.
    _modes: Mapping[str, str] = MODES
    #: None, unless a class lets them be registered.
    _replay_start_hooks: Hooks = Hooks("replay_start")
    _replay_end_hooks: Hooks = Hooks("replay_end")

    def __init__(self, keep_graph: bool) -> None:
        self._keep_graph = bool(keep_graph)
        self._device = device()
        self._holds = _Holdings(self._device)
        weakref.finalize(self, self._holds.release).atexit = False

    # -- state ------------------------------------------------------------------------------------------------------

    @property
    def _state(self) -> str:
        holds = self._holds
        if holds.capture is not None:
            return "capturing"
        if holds.template is not None:
            return "captured" if holds.exec is None else "instantiated"
        return "empty" if holds.exec is None else "ready"

    def _refuse(self, call: str, remedy: str) -> GraphError:
        described = {
            "empty": "holds no successful capture",
            "capturing": "is still capturing",
            "captured": "holds a captured template that is not instantiated",
            "instantiated": "holds a captured and instantiated template",
            "ready": "holds a finished capture",
        }[self._state]
        return GraphError(f"{call}: this graph {described}; {remedy}")

    # -- capture ----------------------------------------------------------------------------------------------------

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        if self._state == "capturing":
            raise self._refuse(call, "end that capture with capture_end() first")
        if self._state != "empty":
            raise self._refuse(call, "call reset() before a new capture, or use a new graph")
        runtime = self._device.runtime
        capture_mode = self._capture_mode(call, mode)
        pool_id = self._device.new_pool_id() if pool is None else as_pool_id(call, pool)
        stream = self._device.current_stream()
        self._require_capturable(call, stream)

        self._device.begin_pool(pool_id)
        self._holds.pools.append(pool_id)
        try:
            check(runtime, "cudaStreamBeginCapture", runtime.cudaStreamBeginCapture(stream.cuda_stream, capture_mode))
        except DeviceError:
            self._device.end_pool(pool_id)
            self._holds.release_pools()
            raise
        relaxed = capture_mode == runtime.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed
        self._holds.capture = _Capture(stream, None if relaxed else threading.get_ident())
        self._device.capture_begun(pool_id)
        if check_input_liveness:
            self._holds.tracker = LivenessTracker(self._device)
            self._holds.tracker.__enter__()  # type: ignore[no-untyped-call]
        try:
            self._begun()
        except BaseException:
            self._holds.release()
            raise

    def _capture_mode(self, call: str, mode: str) -> Any:
        if mode not in self._modes:
            known = ", ".join(map(repr, self._modes))
            raise ValueError(f"{call}: unknown capture_error_mode {mode!r}; it is one of {known}")
        return getattr(self._device.runtime.cudaStreamCaptureMode, self._modes[mode])

    def _require_capturable(self, call: str, stream: Stream) -> None:
        if stream.cuda_stream == self._device.default_stream().cuda_stream:
            raise self._refuse(
                call, "and the current stream is the default stream, which cannot capture: make a side stream current"
            )
        runtime = self._device.runtime
        if int(check(runtime, "cudaStreamIsCapturing", runtime.cudaStreamIsCapturing(stream.cuda_stream))) != 0:
            raise self._refuse(call, "and another capture is underway on the current stream: end that one first")

    def _end(self, call: str) -> None:
        """End the capture; the template is live afterwards.  On failure the graph is empty and the stream usable."""
        holds, runtime = self._holds, self._device.runtime
        if holds.capture is None:
            raise self._refuse(call, "begin a capture with capture_begin() first")
        if self._device.current_handle() != holds.capture.stream.cuda_stream:
            raise self._refuse(call, "and must be ended on the stream it began on: make that stream current")
        if holds.capture.thread not in (None, threading.get_ident()):
            # The runtime would discard the capture; refused here, it goes on.
            raise self._refuse(call, "and must be ended in the thread that began it, unless its mode is relaxed")
        result = runtime.cudaStreamEndCapture(holds.capture.stream.cuda_stream)
        holds.capture_over()
        holds.stop_tracking()
        try:
            holds.template = int(check(runtime, "cudaStreamEndCapture", result, "The capture is discarded."))
        except DeviceError:
            holds.tracker = None
            holds.release_pools()
            raise
        if int(runtime.cudaGraphGetNodes(holds.template)[2]) == 0:
            warnings.warn(
                # The first words are what programs filter this warning by.
                f"The {self._name} is empty: no work was given to the capturing stream, or it went to another one.",
                UserWarning,
                stacklevel=4,
            )

    # -- executable -------------------------------------------------------------------------------------------------

    def _make_executable(self, call: str) -> None:
        """Instantiate the template; the previous executable dies once its successor exists."""
        holds, runtime = self._holds, self._device.runtime
        if holds.template is None:
            raise self._refuse(call, "an executable is made from a template: capture with keep_graph=True first")
        executable = int(check(runtime, "cudaGraphInstantiate", runtime.cudaGraphInstantiate(holds.template, 0)))
        previous, holds.exec = holds.exec, executable
        if previous is not None:
            check(runtime, "cudaGraphExecDestroy", runtime.cudaGraphExecDestroy(previous))
        if hasattr(runtime, "cudaGraphExecGetId"):  # since CUDA 13.1
            code, exec_id = runtime.cudaGraphExecGetId(executable)
            if int(code) == 0:
                holds.exec_ids.add(int(exec_id))
        self._instantiated()

    def _drop_template(self) -> None:
        holds, runtime = self._holds, self._device.runtime
        template, holds.template = holds.template, None
        check(runtime, "cudaGraphDestroy", runtime.cudaGraphDestroy(template))

    def _launch(self, call: str) -> None:
        """Give the executable to the current stream."""
        assert self._holds.exec is not None
        code = self._device.launch(self._holds.exec)
        if code:
            try:
                check(self._device.runtime, "cudaGraphLaunch", (code,), f"{call} did not complete.")
            except DeviceError as error:
                raise error from self._device.kernel_failure(code)

    # -- the methods that every documented class has ------------------------------------------------------------------

    def capture_end(self) -> None:
        """End the capture on the current stream.

        Raises:
            RuntimeError: no capture, or not on its stream (nothing changes); or the capture was spoiled, unjoined, …
                (the graph is empty then, the stream usable).
        """
        self._end("capture_end()")
        self._captured()
        if not self._keep_graph:
            self._make_executable("capture_end()")
            self._finalize()

    def instantiate(self) -> None:
        """Make a fresh executable from the template; one that was made before is destroyed.

        Raises:
            RuntimeError: there is no template: nothing was captured, or ``keep_graph=False`` let it go.
        """
        self._make_executable("instantiate()")

    def replay(self) -> None:
        """Launch the captured work on the current stream, instantiating it first if need be.

        Start hooks are called before the launch, and nothing is launched if one of the graph's own raises; end hooks
        are called after it, also after one that was refused.

        Raises:
            RuntimeError: nothing is captured; or an input is dead (where liveness is checked): nothing is launched.
        """
        # Each look costs as much as a tenth of a launch, so only what decides something here is looked at.
        holds = self._holds
        if holds.capture is not None or (holds.exec is None and holds.template is None):
            raise self._refuse("replay()", "capture into it first")
        if self._device.captures and current_stream_capturing(self._device):
            # The runtime would refuse the launch as well, and spoil the capture.
            raise self._refuse("replay()", "but the current stream is capturing: replay it outside of captures")
        if holds.tracker is not None:
            holds.tracker.check(holds.pools)
        if holds.exec is None:
            self._make_executable("replay()")
        if every_graph.replay_start:
            every_graph.replay_start.fire_guarded(self)
        if self._replay_start_hooks:
            self._replay_start_hooks.fire(self)
        try:
            self._launch("replay()")
        finally:
            if every_graph.replay_end:
                every_graph.replay_end.fire_guarded(self)
            if self._replay_end_hooks:
                self._replay_end_hooks.fire(self)

    def reset(self) -> None:
        """Delete what the graph holds; it can capture again.  A capture underway is abandoned."""
        self._holds.release()

    def pool(self) -> PoolId:
        """The token of this graph's memory pool, for other graphs to share it.

        Raises:
            RuntimeError: nothing is captured.
        """
        return self._pools("pool()")[0]

    # -- what the faces add or name -----------------------------------------------------------------------------------

    def _begun(self) -> None:
        """Called when a capture has begun; the capture is abandoned if this raises."""
        every_graph.capture_start.fire_guarded(self)

    def _captured(self) -> None:
        """Called with the template live, before anything is made of it."""
        every_graph.capture_end.fire_guarded(self)

    def _instantiated(self) -> None:
        """Called after each instantiation."""
        every_graph.instantiate.fire_guarded(self)

    def _finalize(self) -> None:
        """Destroy the template of a graph that does not keep it."""
        self._drop_template()

    def _pools(self, call: str) -> list[PoolId]:
        if self._state in ("empty", "capturing"):
            raise self._refuse(call, "it has a pool after capture_end()")
        return list(self._holds.pools)

    def _raw_template(self, call: str) -> int:
        if self._holds.template is None:
            raise self._refuse(
                call, "a template is live after capture_end() with keep_graph=True, and inside capture-end hooks"
            )
        return self._holds.template

    def _raw_executable(self, call: str) -> int:
        if self._holds.exec is None:
            raise self._refuse(
                call,
                "there is an executable after instantiate() or replay() with keep_graph=True, else after capture_end()",
            )
        return self._holds.exec
