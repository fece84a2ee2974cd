"""Graph classes that forget, leak or destroy: reset(), deletion, failed and abandoned captures."""

from __future__ import annotations

import contextlib
import weakref
from contextlib import AbstractContextManager
from typing import Any, ClassVar
from weakref import WeakSet

from reference_impl import CUDAGraph
from reference_impl.devices.protocol import Device
from reference_impl.errors import DeviceError, GraphError
from reference_impl.faults.fault import Faults, replaced
from reference_impl.graphs import core
from reference_impl.graphs.core import GraphCore
from reference_impl.pool_ids import PoolId

FAULTS = Faults("class")


# -- reset ------------------------------------------------------------------------------------------------------------


@FAULTS.graph_class("reset.deletes-work", "reset.replay-refused")
class ResetDoesNothing(CUDAGraph):
    """reset() leaves a finished graph as it was."""

    def reset(self) -> None:
        if self._state in ("empty", "capturing"):
            super().reset()


@FAULTS.graph_class("pools.memory-returns-after-reset")
class ResetKeepsTheMemory(CUDAGraph):
    """reset() forgets the pool without releasing it, so its memory never returns."""

    def reset(self) -> None:
        if self._state != "capturing":
            self._holds.pools.clear()
        super().reset()


@FAULTS.graph_class("pools.memory-returns-after-reset")
class ResetGivesMemoryBackLate(CUDAGraph):
    """What reset() should give back stays with the object until its next capture, or its end."""

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)
        self._late: list[PoolId] = []
        weakref.finalize(self, _release_all, self._device, self._late).atexit = False

    def reset(self) -> None:
        for pool in self._holds.pools if self._state != "capturing" else ():
            self._device.retain_pool(pool)
            self._late.append(pool)
        super().reset()

    def _begun(self) -> None:
        _release_all(self._device, self._late)
        super()._begun()


def _release_all(device: Device, pools: list[PoolId]) -> None:
    while pools:
        device.release_pool(pools.pop())


@FAULTS.graph_class("reset.handles-refused")
class ResetKeepsHandles(CUDAGraph):
    """After reset() the handles of what was destroyed are still handed out."""

    _old_template: int | None = None
    _old_exec: int | None = None

    def reset(self) -> None:
        self._old_template, self._old_exec = self._holds.template, self._holds.exec
        super().reset()

    def raw_cuda_graph(self) -> int:
        return self._old_template or super().raw_cuda_graph()

    def raw_cuda_graph_exec(self) -> int:
        return self._old_exec or super().raw_cuda_graph_exec()


@FAULTS.graph_class("misuse.pool-needs-capture")
class ResetKeepsTheToken(CUDAGraph):
    """After reset() pool() still gives the token of the pool that was released, and then captures into another."""

    _token: Any = None

    def reset(self) -> None:
        self._token = self._holds.pools[0] if self._state in ("captured", "instantiated", "ready") else None
        super().reset()

    def pool(self) -> Any:
        return self._token if self._token is not None and self._state == "empty" else super().pool()


@FAULTS.graph_class("reset.keeps-mode", "reset.keeps-mode-handles")
class ResetForgetsKeepGraph(CUDAGraph):
    """After reset() the graph is one with keep_graph=False: all fields were set to their defaults."""

    def reset(self) -> None:
        super().reset()
        self._keep_graph = False


@FAULTS.graph_class("reset.idempotent")
class SecondResetRaises(CUDAGraph):
    """A second reset() is an error: it destroys what is gone already."""

    _reset_before = False

    def reset(self) -> None:
        if self._reset_before and self._state == "empty":
            raise GraphError("reset(): there is nothing to reset")
        super().reset()
        self._reset_before = True


@FAULTS.graph_class("reset.before-capture")
class ResetNeedsACapture(CUDAGraph):
    """reset() of a graph that never captured is an error."""

    _captured_before = False

    def _captured(self) -> None:
        self._captured_before = True
        super()._captured()

    def reset(self) -> None:
        if not self._captured_before and self._state == "empty":
            raise GraphError("reset(): there is nothing to reset")
        super().reset()


@FAULTS.graph_class("reset.recapture")
class CapturesOnlyOnce(CUDAGraph):
    """A graph that was reset cannot capture again."""

    _used = False

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        if self._used:
            raise self._refuse(call, "use a new graph")
        super()._begin(call, pool, mode, check_input_liveness)
        self._used = True


@FAULTS.graph_class("reset.recapture")
class ReplaysTwiceAfterThreeResets(CUDAGraph):
    """From an object's third reset() on each replay does the work twice."""

    _resets = 0

    def reset(self) -> None:
        self._resets += self._state != "empty"
        super().reset()

    def replay(self) -> None:
        super().replay()
        if self._resets >= 3:
            super().replay()


@FAULTS.graph_class("pools.token-names-memory")
class PoolOfTheFirstCapture(CUDAGraph):
    """pool() gives the token of the object's first capture, also when it was reset and captured again."""

    _token: Any = None

    def pool(self) -> Any:
        token = super().pool()
        self._token = token if self._token is None else self._token
        return self._token


@FAULTS.graph_class("reset.recapture-into-given-pool")
class StaysInItsFirstPool(CUDAGraph):
    """A capture after reset() goes into the pool that the object's first capture was given, whatever it is given."""

    _first: Any = None

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        self._first = pool if self._first is None else self._first
        super()._begin(call, self._first, mode, check_input_liveness)


@FAULTS.graph_class("reset.destroys-graph")
class ResetLeaksTheExecutable(CUDAGraph):
    """reset() forgets the executable without destroying it."""

    def reset(self) -> None:
        self._holds.exec = None
        super().reset()


@FAULTS.graph_class("reset.destroys-graph")
class ResetLeaksTheTemplate(CUDAGraph):
    """reset() forgets the template without destroying it."""

    def reset(self) -> None:
        if self._state != "capturing":
            self._holds.template = None
        super().reset()


@FAULTS.graph_class("reset.deletion-destroys-graph")
class DeletionLeaksTheGraph(CUDAGraph):
    """Only reset() destroys anything: what a graph that goes still held stays in the runtime."""

    def __del__(self) -> None:
        self._holds.exec = self._holds.template = None


@FAULTS.graph_class("reset.destroys-graph", "hooks.capture-end-template-not-kept")
class UnkeptTemplateIsLeaked(CUDAGraph):
    """With keep_graph=False the end of the capture forgets the template without destroying it."""

    def _drop_template(self) -> None:
        self._holds.template = None


@FAULTS.graph_class("reinstantiation.old-executable-destroyed", "reset.destroys-graph")
class InstantiateLeaksTheExecutable(CUDAGraph):
    """instantiate() forgets the executable that there was without destroying it."""

    def _make_executable(self, call: str) -> None:
        self._holds.exec = None
        super()._make_executable(call)


@FAULTS.graph_class("reset.leaves-others-alone")
class ResetsAllGraphs(CUDAGraph):
    """reset() of one graph destroys the work of every other: one context for all of them."""

    everyone: ClassVar[WeakSet[CUDAGraph]] = WeakSet()

    def capture_end(self) -> None:
        super().capture_end()
        self.everyone.add(self)

    def reset(self) -> None:
        super().reset()
        for other in list(self.everyone):
            if other._state in ("captured", "instantiated", "ready"):
                other._holds.release()


@FAULTS.graph_class("reset.shared-pool-survives", "pools.reset-releases-once", "pools.lives-while-used")
class ResetReleasesTwice(CUDAGraph):
    """reset() releases the pool twice, so that a graph which shares it loses its memory."""

    def reset(self) -> None:
        pools = list(self._holds.pools)
        super().reset()
        for pool in pools:
            with contextlib.suppress(RuntimeError):
                self._device.release_pool(pool)


@FAULTS.graph_class("reset.outputs-stay-usable", "pools.tensors-outlive-graph")
class ResetPoisonsOutputs(CUDAGraph):
    """reset() gives the pool's memory up although tensors in it are alive."""

    def reset(self) -> None:
        finished = self._state in ("captured", "instantiated", "ready")
        ranges = self._device.pool_ranges(self._holds.pools) if finished else []
        super().reset()
        for start, end in ranges:
            self._device.runtime.cudaMemset(start, 0x7F, end - start)


@FAULTS.graph_class("reset.deletion-spares-captures")
class DeletionOfAnUnusedGraphWaits(CUDAGraph):
    """Deleting a graph that never captured spoils the capture underway: its destructor synchronizes."""

    def __del__(self) -> None:
        self._device.runtime.cudaDeviceSynchronize()


@FAULTS.patch("pools.memory-returns-after-delete")
def deletion_leaks() -> AbstractContextManager[Any]:
    """Only reset() releases anything; a graph that is merely deleted leaves everything behind."""

    def wrap(original: Any) -> Any:
        def init(self: GraphCore, keep_graph: bool) -> None:
            original(self, keep_graph)
            # The finalizer releases the holdings that it was made with, and from here on they stay empty.
            self._holds = core._Holdings(self._device)

        return init

    return replaced(GraphCore, "__init__", wrap)


# -- failed and abandoned captures ------------------------------------------------------------------------------------


@FAULTS.graph_class("reset.keeps-mode", "failed-capture.recapture")
class FailureForgetsKeepGraph(CUDAGraph):
    """After a capture that failed the graph is one with keep_graph=False."""

    def _end(self, call: str) -> None:
        capturing = self._state == "capturing"
        try:
            super()._end(call)
        except DeviceError:
            self._keep_graph = self._keep_graph and not capturing
            raise


@FAULTS.graph_class("failed-capture.quiet-end-is-replayable", "error-modes.refusal-spoils-capture")
class HidesASpoiledCapture(CUDAGraph):
    """capture_end does not report that the capture failed."""

    def capture_end(self) -> None:
        capturing = self._state == "capturing"
        with contextlib.suppress(RuntimeError):
            super().capture_end()
        if not capturing:
            super().capture_end()


@FAULTS.patch("failed-capture.reserved-memory-returns")
def failed_capture_leaks_its_pool() -> AbstractContextManager[Any]:
    """A capture that failed never releases its pool: the release hangs on there being an executable."""

    def wrap(original: Any) -> Any:
        def end(self: GraphCore, call: str) -> None:
            capturing = self._holds.capture is not None
            pools = list(self._holds.pools)
            try:
                original(self, call)
            except DeviceError:
                if capturing:
                    for pool in pools:
                        self._device.retain_pool(pool)
                raise

        return end

    return replaced(GraphCore, "_end", wrap)


@FAULTS.patch("failed-capture.pool-usable")
def failed_capture_keeps_routing() -> AbstractContextManager[Any]:
    """A capture that failed goes on taking the allocations of its pool: the error is raised before the routing ends."""

    def wrap(original: Any) -> Any:
        def end(self: GraphCore, call: str) -> None:
            pools = list(self._holds.pools) if self._holds.capture is not None else []
            try:
                original(self, call)
            except DeviceError:
                for pool in pools[:1]:
                    self._device.begin_pool(pool)
                raise

        return end

    return replaced(GraphCore, "_end", wrap)


@FAULTS.graph_class("failed-capture.replay-refused", "replay.failed-capture-refused")
class ReplaysAFailedCapture(CUDAGraph):
    """After a failed capture a replay does nothing instead of being refused."""

    _failed = False

    def capture_end(self) -> None:
        capturing = self._state == "capturing"
        try:
            super().capture_end()
        except DeviceError:
            self._failed = capturing
            raise

    def replay(self) -> None:
        if not (self._failed and self._state == "empty"):
            super().replay()


@FAULTS.graph_class("failed-capture.reset-works")
class ResetAfterAFailureRaises(CUDAGraph):
    """reset() after a failed capture raises the capture's error again."""

    _failure: Exception | None = None

    def capture_end(self) -> None:
        try:
            super().capture_end()
        except DeviceError as error:
            self._failure = error
            raise

    def reset(self) -> None:
        failure, self._failure = self._failure, None
        super().reset()
        if failure is not None:
            raise GraphError("reset(): the capture failed") from failure


@FAULTS.graph_class("failed-capture.recapture")
class NoCaptureAfterAFailure(CUDAGraph):
    """A graph whose capture failed refuses every further one, reset or not."""

    _failed = False

    def capture_end(self) -> None:
        try:
            super().capture_end()
        except DeviceError:
            self._failed = True
            raise

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        if self._failed:
            raise self._refuse(call, "its capture failed before")
        super()._begin(call, pool, mode, check_input_liveness)


@FAULTS.graph_class("failed-capture.other-graphs-untouched")
class FailureResetsTheOthers(CUDAGraph):
    """When one capture fails, the finished graphs are lost with it."""

    everyone: ClassVar[WeakSet[CUDAGraph]] = WeakSet()

    def capture_end(self) -> None:
        try:
            super().capture_end()
        except DeviceError:
            for other in list(self.everyone):
                other._holds.release()
            raise
        self.everyone.add(self)


@FAULTS.patch("failed-capture.abandoned-not-capturing", "failed-capture.abandoned-all-usable")
def abandoned_capture_goes_on() -> AbstractContextManager[Any]:
    """reset() or deletion during a capture gives the pool up and leaves the stream capturing."""

    def wrap(original: Any) -> Any:
        def abandon_capture(self: core._Holdings) -> None:
            self.capture_over()

        return abandon_capture

    return replaced(core._Holdings, "abandon_capture", wrap)


@FAULTS.patch("failed-capture.abandoned-memory-returns")
def abandoned_capture_leaks() -> AbstractContextManager[Any]:
    """A capture that reset() or deletion abandons never gives its pool back."""

    def wrap(original: Any) -> Any:
        def abandon_capture(self: core._Holdings) -> None:
            self.device.retain_pool(self.pools[0])
            original(self)

        return abandon_capture

    return replaced(core._Holdings, "abandon_capture", wrap)


@FAULTS.graph_class("capture.refused-begin-changes-nothing")
class RefusedBeginLeaksItsPool(CUDAGraph):
    """capture_begin on the default stream is refused after the pool was chosen, and the graph stays half begun."""

    _half = False

    def _require_capturable(self, call: str, stream: Any) -> None:
        try:
            super()._require_capturable(call, stream)
        except GraphError:
            self._half = True
            raise

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        if self._half:
            raise self._refuse(call, "a capture was begun before")
        super()._begin(call, pool, mode, check_input_liveness)


@FAULTS.graph_class("failed-capture.random-state-unaffected")
class FailureBreaksTheGenerator(CUDAGraph):
    """A failed capture leaves the generator where its draws were recorded, as if they had been made."""

    def capture_end(self) -> None:
        try:
            super().capture_end()
        except DeviceError:
            self._device.manual_seed(0)
            raise
