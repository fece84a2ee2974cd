"""Graph classes of the other two pages, XPU's and the accelerator's, whose states are wrong in ways of their own."""

from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import reference_impl.xpu
from reference_impl.accelerator import Graph
from reference_impl.devices.protocol import current_stream_capturing
from reference_impl.devices.software.device import SoftwareDevice
from reference_impl.errors import DeviceError
from reference_impl.faults.fault import Faults, replaced
from reference_impl.graphs.core import MODES, GraphCore
from reference_impl.pool_ids import PoolId, as_pool_id
from reference_impl.xpu import XPUGraph

FAULTS = Faults("class")


@FAULTS.graph_class("replay.performs-work", "replay.reads-current-values", implementation="reference.xpu")
class XpuReplaysOnce(XPUGraph):
    """From the second replay on, nothing happens: a command graph that was not made updatable."""

    def replay(self) -> None:
        if not self.__dict__.setdefault("_replayed_before", False):
            super().replay()
            self._replayed_before = True


@FAULTS.graph_class("xpu.template-needs-keep-graph", implementation="reference.xpu")
class XpuHandsOutADebugTemplate(XPUGraph):
    """The template that is kept for dumping is handed out although keep_graph is false."""

    def _kept_template(self, call: str) -> int:
        return self._raw_template(call)


@FAULTS.graph_class("xpu.executable-in-debug-mode", implementation="reference.xpu")
class XpuDebugModeDefersInstantiation(XPUGraph):
    """enable_debug_mode() acts like keep_graph=True: capture_end makes no executable."""

    def enable_debug_mode(self) -> None:
        super().enable_debug_mode()
        self._deferring = True

    def capture_end(self) -> None:
        keep, self._keep_graph = self._keep_graph, self._keep_graph or self.__dict__.get("_deferring", False)
        try:
            super().capture_end()
        finally:
            self._keep_graph = keep


@FAULTS.graph_class("keep-graph.true-template-kept", "reset.keeps-mode", implementation="reference.xpu")
class XpuIgnoresKeepGraph(XPUGraph):
    """keep_graph=True is taken and forgotten."""

    def __init__(self, keep_graph: bool = False) -> None:
        del keep_graph
        super().__init__(False)


@FAULTS.graph_class("accelerator.stream-at-begin", implementation="reference.accelerator")
class AcceleratorCapturesOnItsFirstStream(Graph):
    """The stream that was current at construction captures, whichever is current at capture_begin."""

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default") -> None:
        super().__init__(keep_graph, pool=pool, capture_error_mode=capture_error_mode)
        self._first = self._device.current_stream()

    @contextlib.contextmanager
    def _on_the_first_stream(self) -> Iterator[None]:
        here = self._device.current_stream()
        if self._first.cuda_stream != self._device.default_stream().cuda_stream:
            self._device.set_stream(self._first)
        try:
            yield
        finally:
            self._device.set_stream(here)

    def capture_begin(self) -> None:
        with self._on_the_first_stream():
            super().capture_begin()

    def capture_end(self) -> None:
        with self._on_the_first_stream():
            super().capture_end()


@FAULTS.graph_class("accelerator.settings-last", implementation="reference.accelerator")
class AcceleratorSettingsLastOnce(Graph):
    """Pool and mode hold for the first capture only; after reset() the graph has a pool of its own."""

    def reset(self) -> None:
        super().reset()
        self.graph_pool = None
        self.capture_error_mode = "default"


@FAULTS.graph_class("error-modes.unknown-refused", implementation="reference.accelerator")
class AcceleratorTakesAnyMode(Graph):
    """An unknown error mode counts as the default."""

    def capture_begin(self) -> None:
        if self.capture_error_mode not in self._modes:
            self.capture_error_mode = "default"
        super().capture_begin()


@FAULTS.graph_class("accelerator.pool-used", implementation="reference.accelerator")
class AcceleratorRepeatsTheTokenAlone(Graph):
    """A token of the constructor is what pool() gives afterwards, and the memory comes from a pool of its own."""

    def capture_begin(self) -> None:
        given = self.graph_pool
        if given is not None:
            as_pool_id("capture_begin()", given)
            self.graph_pool = None
        try:
            super().capture_begin()
        finally:
            self.graph_pool = given

    def pool(self) -> PoolId:
        own = super().pool()
        return own if self.graph_pool is None else as_pool_id("pool()", self.graph_pool)


class _InOneMode(Graph):
    """Captures in the mode `used`, whichever of the documented ones was given."""

    used: str

    def capture_begin(self) -> None:
        given = self.capture_error_mode
        if given in self._modes:
            self.capture_error_mode = self.used
        try:
            super().capture_begin()
        finally:
            self.capture_error_mode = given


@FAULTS.graph_class("error-modes.accelerator-own-thread", implementation="reference.accelerator")
class AcceleratorIsAlwaysRelaxed(_InOneMode):
    """Every mode is taken, and every capture is relaxed."""

    used = "relaxed"


@FAULTS.graph_class(
    "error-modes.accelerator-other-thread",
    "error-modes.accelerator-own-thread",
    implementation="reference.accelerator",
)
class AcceleratorIsAlwaysGlobal(_InOneMode):
    """Every mode is taken, and every capture is a global one."""

    used = "global"


@FAULTS.graph_class("error-modes.accelerator-own-thread", implementation="reference.accelerator")
class AcceleratorBlockForgetsTheMode(Graph):
    """The with statement captures in the default mode, whichever was given at construction."""

    def __enter__(self) -> None:
        given = self.capture_error_mode
        if given in self._modes:
            self.capture_error_mode = "default"
        try:
            super().__enter__()
        finally:
            self.capture_error_mode = given


@FAULTS.graph_class("error-modes.accelerator-left-out-is-default", implementation="reference.accelerator")
class AcceleratorIsRelaxedWhenNothingIsSaid(Graph):
    """A mode that is left out is relaxed; the one named default is global."""

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, **settings: str) -> None:
        super().__init__(keep_graph, pool=pool, **{"capture_error_mode": "relaxed", **settings})


@FAULTS.graph_class("error-modes.accelerator-names-taken", implementation="reference.accelerator")
class AcceleratorKnowsNoModeByName(Graph):
    """The names of the modes are arguments of the wrong type; only the default is taken."""

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default") -> None:
        if capture_error_mode in MODES:
            raise TypeError(f"capture_error_mode must be an enumerator, not {capture_error_mode!r}")
        super().__init__(keep_graph, pool=pool, capture_error_mode=capture_error_mode)


@FAULTS.graph_class("error-modes.accelerator-never-half", implementation="reference.accelerator")
class AcceleratorReplaysNothingAfterARefusal(Graph):
    """The end of a capture that a refused call spoiled says nothing, and replays of its graph do nothing."""

    _spoiled = False

    def capture_end(self) -> None:
        try:
            super().capture_end()
        except DeviceError:
            self._spoiled = True

    def replay(self) -> None:
        if not self._spoiled:
            super().replay()


@FAULTS.patch("error-modes.accelerator-conflicts-reported", implementation="reference.accelerator")
def accelerator_waits_for_nothing_in_a_capture() -> AbstractContextManager[Any]:
    """A synchronisation inside a capture returns at once: there is nothing to wait for, and nothing is said."""

    def wrap(original: Any) -> Any:
        def synchronize(self: SoftwareDevice) -> None:
            if not current_stream_capturing(self):
                original(self)

        return synchronize

    return replaced(SoftwareDevice, "synchronize", wrap)


@FAULTS.graph_class("accelerator.constructor-begins-nothing", implementation="reference.accelerator")
class AcceleratorBeginsWhenConstructed(Graph):
    """Constructing the graph with a stream current begins the capture already."""

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default") -> None:
        super().__init__(keep_graph, pool=pool, capture_error_mode=capture_error_mode)
        with contextlib.suppress(RuntimeError, ValueError, TypeError):
            super().capture_begin()

    def capture_begin(self) -> None:
        if self._state != "capturing":
            super().capture_begin()


@FAULTS.graph_class("accelerator.several-blocks", "reset.recapture", implementation="reference.accelerator")
class AcceleratorEntersOnce(Graph):
    """The graph can be used in one with statement only, also after reset()."""

    _entered = False

    def __enter__(self) -> None:
        if self._entered:
            raise self._refuse("with graph:", "it was entered before")
        super().__enter__()
        self._entered = True


@FAULTS.graph_class("accelerator.block-in-block-harmless", implementation="reference.accelerator")
class AcceleratorInnerBlockEndsTheOuter(Graph):
    """Entering the graph inside its own block is refused, and ends the outer capture."""

    def __enter__(self) -> None:
        if self._state == "capturing":
            self.reset()
            raise GraphCore._refuse(self, "with graph:", "it is capturing already")
        super().__enter__()


# -- keep_graph without handles ---------------------------------------------------------------------------------------


@FAULTS.graph_class(
    "keep-graph.true-explicit-instantiate", "keep-graph.counted-instantiate", implementation="reference.accelerator"
)
class AcceleratorIgnoresKeepGraph(Graph):
    """keep_graph=True changes nothing but that instantiate() returns, without doing anything."""

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default") -> None:
        super().__init__(False, pool=pool, capture_error_mode=capture_error_mode)
        self._asked = keep_graph

    def instantiate(self) -> None:
        if not self._asked or self._state != "ready":
            super().instantiate()


@FAULTS.graph_class(
    "keep-graph.true-explicit-instantiate", "keep-graph.counted-instantiate", implementation="reference.accelerator"
)
class AcceleratorInstantiateDoesNothing(Graph):
    """instantiate() returns without an executable, which the first replay makes."""

    def instantiate(self) -> None:
        if self._state != "captured":
            super().instantiate()


@FAULTS.graph_class(
    "keep-graph.false-made-by-capture-end", "keep-graph.counted-capture-end", implementation="reference.accelerator"
)
class AcceleratorMakesTheExecutableLate(Graph):
    """Without keep_graph the executable is made by the first replay, as with it."""

    def capture_end(self) -> None:
        keep, self._keep_graph = self._keep_graph, True
        try:
            super().capture_end()
        finally:
            self._keep_graph = keep

    def replay(self) -> None:
        super().replay()
        if not self._keep_graph and self._holds.template is not None:
            self._finalize()


@FAULTS.graph_class(
    "keep-graph.true-first-replay-instantiates",
    "keep-graph.counted-first-replay",
    implementation="reference.accelerator",
)
class AcceleratorInstantiatesForEachReplay(Graph):
    """Each replay of a kept graph makes an executable of its own, and destroys that of the replay before."""

    def replay(self) -> None:
        if self._state == "instantiated":
            self._make_executable("replay()")
        super().replay()


@FAULTS.graph_class("reinstantiation.counted-replacement", implementation="reference.xpu")
class XpuInstantiatesOnce(XPUGraph):
    """Only the first instantiate() makes an executable."""

    def instantiate(self) -> None:
        if self._state != "instantiated":
            super().instantiate()


# -- arguments --------------------------------------------------------------------------------------------------------


@FAULTS.graph_class("signatures.settings-elsewhere", implementation="reference.xpu")
class XpuTakesAModeForNothing(XPUGraph):
    """capture_begin() takes a mode and a liveness check, as CUDA's does, and ignores both."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        del capture_error_mode, check_input_liveness
        super().capture_begin(pool)


@FAULTS.patch("signatures.settings-elsewhere-in-block", implementation="reference.xpu")
def xpu_block_takes_a_mode_for_nothing() -> AbstractContextManager[Any]:
    """The context manager takes a mode and a liveness check, as CUDA's does, and ignores both."""

    def wrap(original: Any) -> Any:
        def graph(xpu_graph: Any, pool: Any = None, stream: Any = None, **_: Any) -> Any:
            return original(xpu_graph, pool, stream)

        return graph

    return replaced(reference_impl.xpu, "graph", wrap)


@FAULTS.graph_class("signatures.meaningless-argument-refused", implementation="reference.accelerator")
class AcceleratorIgnoresArguments(Graph):
    """capture_end(), instantiate(), replay() and pool() take whatever they are given, and ignore it."""

    def capture_end(self, *_: Any, **__: Any) -> None:
        super().capture_end()

    def instantiate(self, *_: Any, **__: Any) -> None:
        super().instantiate()

    def replay(self, *_: Any, **__: Any) -> None:
        super().replay()

    def pool(self, *_: Any, **__: Any) -> Any:
        return super().pool()


@FAULTS.graph_class("signatures.capture-begin-argument-refused", implementation="reference.accelerator")
class AcceleratorTakesAFlag(Graph):
    """capture_begin() takes a flag that nobody documents, and ignores it."""

    def capture_begin(self, flag: Any = None) -> None:
        del flag
        super().capture_begin()


@FAULTS.graph_class("raw-handles.exec-is-not-template", implementation="reference.xpu")
class XpuOneHandleForBoth(XPUGraph):
    """raw_xpu_graph_exec() gives the template's handle where there is a template."""

    def raw_xpu_graph_exec(self) -> int:
        handle = super().raw_xpu_graph_exec()
        return handle if self._holds.template is None else self._holds.template


@FAULTS.graph_class("raw-handles.counted", implementation="reference.xpu")
class XpuHandsOutNumbersOfItsOwn(XPUGraph):
    """Both handles are numbers of the class's own, which nothing else knows: addresses of its objects."""

    def raw_xpu_graph(self) -> int:
        return super().raw_xpu_graph() + 4096

    def raw_xpu_graph_exec(self) -> int:
        return super().raw_xpu_graph_exec() + 4096


# -- dumps ------------------------------------------------------------------------------------------------------------


@FAULTS.graph_class("debug-dump.needs-enabling", implementation="reference.accelerator")
class AcceleratorDumpsUnasked(Graph):
    """debug_dump() writes the graph also when enable_debug_mode() was never called."""

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default") -> None:
        super().__init__(keep_graph, pool=pool, capture_error_mode=capture_error_mode)
        self._debugging = True


@FAULTS.graph_class("debug-dump.tells-graphs-apart", implementation="reference.xpu")
class XpuDumpsTheSameOfEachGraph(XPUGraph):
    """debug_dump() writes a file that says that there is a graph, and nothing of the graph."""

    def debug_dump(self, debug_path: str | os.PathLike[str]) -> None:
        super().debug_dump(debug_path)
        if self._debugging:
            pathlib.Path(os.fspath(debug_path)).write_text("graph\n", encoding="utf-8")


@FAULTS.graph_class("debug-dump.grows-with-the-work", implementation="reference.accelerator")
class AcceleratorDumpsANumber(Graph):
    """debug_dump() writes the number of the dump in place of the graph."""

    _dumps = itertools.count(100)

    def debug_dump(self, path: str | os.PathLike[str]) -> None:
        super().debug_dump(path)
        if self._debugging:
            pathlib.Path(os.fspath(path)).write_text(f"graph {next(self._dumps)}\n", encoding="utf-8")


@FAULTS.graph_class("signatures.debug-dump-path", implementation="reference.xpu")
class XpuLosesAPathByPosition(XPUGraph):
    """A path that is given by position is taken, and nothing is written there."""

    def debug_dump(self, *given: str | os.PathLike[str], debug_path: str | os.PathLike[str] | None = None) -> None:
        if len(given) != 1 or debug_path is not None:
            super().debug_dump(*given, **{} if debug_path is None else {"debug_path": debug_path})


@FAULTS.graph_class("signatures.debug-dump-path-required", implementation="reference.accelerator")
class AcceleratorDumpsSomewhere(Graph):
    """debug_dump() without a path writes a file of its own choice into the working directory."""

    def debug_dump(self, path: str | os.PathLike[str] = "graph.dot") -> None:
        super().debug_dump(path)
