"""One documented method wrong in each class; everything else is the reference's.

`AREAS` says which areas must reject which class.
"""

from __future__ import annotations

import contextlib
from typing import Any

from reference_impl import CUDAGraph, graph_pool_handle
from reference_impl.graphs.topology import nodes_of
from reference_impl.pool_ids import PoolId


class RunsAtCaptureEnd(CUDAGraph):
    """The captured work runs once when the capture ends."""

    def capture_end(self) -> None:
        super().capture_end()
        self.replay()


class ForgetsTheLastNode(CUDAGraph):
    """Whatever was captured last is not in the graph."""

    def capture_end(self) -> None:
        self._end("capture_end()")
        for node in nodes_of(self._device.runtime, self._holds.template)[-1:]:
            self._device.runtime.cudaGraphDestroyNode(node)
        self.capture_end_post()


class ReplaysTwice(CUDAGraph):
    """One replay does the work twice."""

    def replay(self) -> None:
        super().replay()
        super().replay()


class ReplaysOnlyOnce(CUDAGraph):
    """From the second replay on, nothing happens."""

    def replay(self) -> None:
        if not self.__dict__.setdefault("_replayed", False):
            super().replay()
            self._replayed = True


class ReplaysNothingSilently(CUDAGraph):
    """A replay without a capture is no error."""

    def replay(self) -> None:
        if self._state not in ("empty", "capturing"):
            super().replay()


class IgnoresKeepGraph(CUDAGraph):
    """keep_graph=True is taken and forgotten."""

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(False)


class AlwaysKeeps(CUDAGraph):
    """keep_graph=False is taken and forgotten."""

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(True)


class InstantiatesEagerly(CUDAGraph):
    """capture_end makes the executable even with keep_graph=True."""

    def capture_end(self) -> None:
        super().capture_end()
        if self._keep_graph:
            self.instantiate()


class LetsAnyoneInstantiate(CUDAGraph):
    """instantiate() does nothing instead of refusing when there is no template."""

    def instantiate(self) -> None:
        if self._keep_graph:
            super().instantiate()


class InstantiatesOnce(CUDAGraph):
    """A second instantiate() keeps the old executable."""

    def instantiate(self) -> None:
        if self._holds.exec is None:
            super().instantiate()


class InstantiatesAtEveryReplay(CUDAGraph):
    """Edits of the template show without instantiate()."""

    def replay(self) -> None:
        if self._state == "instantiated":
            self.instantiate()
        super().replay()


class InstantiateDropsTheTemplate(CUDAGraph):
    """instantiate() destroys the template."""

    def instantiate(self) -> None:
        super().instantiate()
        self._drop_template()


class OnePoolForAll(CUDAGraph):
    """Every graph captures into the same pool, asked or not."""

    shared: PoolId | None = None

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        OnePoolForAll.shared = OnePoolForAll.shared or graph_pool_handle()
        super().capture_begin(OnePoolForAll.shared, capture_error_mode, check_input_liveness)


class NewTokenAtEveryCall(CUDAGraph):
    """pool() does not say which pool the graph uses."""

    def pool(self) -> PoolId:
        super().pool()
        return graph_pool_handle()


class PoolWithoutCapture(CUDAGraph):
    """pool() invents a token before there is a capture."""

    def pool(self) -> PoolId:
        return graph_pool_handle() if self._state == "empty" else super().pool()


class ResetKeepsTheMemory(CUDAGraph):
    """reset() forgets the pool without releasing it."""

    def reset(self) -> None:
        if self._state != "capturing":
            self._holds.pools.clear()
        super().reset()


class ResetDoesNothing(CUDAGraph):
    """reset() leaves a finished graph as it was."""

    def reset(self) -> None:
        if self._state in ("empty", "capturing"):
            super().reset()


class NeverChecksLiveness(CUDAGraph):
    """check_input_liveness is taken and forgotten."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        super().capture_begin(pool, capture_error_mode, False)


class AlwaysChecksLiveness(CUDAGraph):
    """Dead inputs are an error though nobody asked for the check."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        super().capture_begin(pool, capture_error_mode, True)


class ChecksLivenessTooLate(CUDAGraph):
    """The dead input is reported after the work was launched."""

    def replay(self) -> None:
        tracker, self._holds.tracker = self._holds.tracker, None
        try:
            super().replay()
        finally:
            self._holds.tracker = tracker
        if tracker is not None:
            tracker.check(self._holds.pools)


class ChecksLivenessOnce(CUDAGraph):
    """After one error the dead input is forgotten."""

    def replay(self) -> None:
        try:
            super().replay()
        except RuntimeError:
            self._holds.tracker = None
            raise


class AlwaysRelaxed(CUDAGraph):
    """The error mode is taken and forgotten."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        super().capture_begin(pool, "relaxed", check_input_liveness)


class AlwaysGlobal(CUDAGraph):
    """Other threads disturb every capture."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        super().capture_begin(pool, "global", check_input_liveness)


class TakesAnyMode(CUDAGraph):
    """An unknown error mode counts as the default."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        known = capture_error_mode in ("global", "thread_local", "relaxed")
        super().capture_begin(pool, capture_error_mode if known else "global", check_input_liveness)


class HidesASpoiledCapture(CUDAGraph):
    """capture_end does not report that the capture failed."""

    def capture_end(self) -> None:
        capturing = self._state == "capturing"
        with contextlib.suppress(RuntimeError):
            super().capture_end()
        if not capturing:
            super().capture_end()


AREAS: dict[type[CUDAGraph], set[str]] = {
    RunsAtCaptureEnd: {"capture"},
    ForgetsTheLastNode: {"capture", "replay"},
    ReplaysTwice: {"replay"},
    ReplaysOnlyOnce: {"replay"},
    ReplaysNothingSilently: {"replay", "misuse"},
    IgnoresKeepGraph: {"keep-graph"},
    AlwaysKeeps: {"keep-graph"},
    InstantiatesEagerly: {"keep-graph"},
    LetsAnyoneInstantiate: {"keep-graph"},
    InstantiatesOnce: {"reinstantiation"},
    InstantiatesAtEveryReplay: {"reinstantiation"},
    InstantiateDropsTheTemplate: {"reinstantiation", "raw-handles"},
    OnePoolForAll: {"pools"},
    NewTokenAtEveryCall: {"pools"},
    PoolWithoutCapture: {"pools"},
    ResetKeepsTheMemory: {"pools"},
    ResetDoesNothing: {"reset"},
    NeverChecksLiveness: {"liveness"},
    AlwaysChecksLiveness: {"liveness"},
    ChecksLivenessTooLate: {"liveness"},
    ChecksLivenessOnce: {"liveness"},
    AlwaysRelaxed: {"error-modes"},
    AlwaysGlobal: {"error-modes"},
    TakesAnyMode: {"error-modes"},
    HidesASpoiledCapture: {"error-modes", "failed-capture"},
}
