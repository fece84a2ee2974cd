"""Graph classes that are right until something around them is other than in a short, plain program."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, ClassVar

import torch
from torch.utils.hooks import RemovableHandle

from reference_impl import CUDAGraph
from reference_impl.accelerator import Graph
from reference_impl.faults.fault import Faults, replaced
from reference_impl.graphs import graphed_callables
from reference_impl.graphs.context import CaptureContext
from reference_impl.graphs.graphed_callables import _Passes
from reference_impl.graphs.hooks import Hook, Hooks
from reference_impl.graphs.liveness import LivenessTracker
from reference_impl.xpu import XPUGraph

FAULTS = Faults("class")


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


# -- what is left behind --------------------------------------------------------------------------------------------


@FAULTS.graph_class("capture.host-settings-kept")
class SetsTheEnvironment(CUDAGraph):
    """The first capture of all leaves a variable in the environment, and later ones find it there."""

    def capture_end(self) -> None:
        super().capture_end()
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"


@FAULTS.graph_class("capture.host-settings-kept")
class ChangesThePermissionsOfFiles(CUDAGraph):
    """A capture leaves the process with another mask for the permissions of new files."""

    def capture_end(self) -> None:
        super().capture_end()
        os.umask(0o077)


@FAULTS.graph_class("replay.no-growth-on-host")
class NotesEachReplay(CUDAGraph):
    """A log of replays, for debugging, that nobody ever shortens."""

    _log: ClassVar[list[Any]] = []

    def replay(self) -> None:
        super().replay()
        self._log.append((threading.get_ident(), object()))


@FAULTS.graph_class("replay.no-growth-on-host", implementation="reference.accelerator")
class AcceleratorNotesEachReplay(Graph):
    """A log of replays, for debugging, that nobody ever shortens."""

    _log: ClassVar[list[Any]] = []

    def replay(self) -> None:
        super().replay()
        self._log.append((threading.get_ident(), object()))


@FAULTS.graph_class("reset.no-growth-on-host")
class RemembersGraphsThatWereReset(CUDAGraph):
    """Graphs that were reset wait in a list to be used again, and never are."""

    _spare: ClassVar[list[Any]] = []

    def reset(self) -> None:
        super().reset()
        self._spare.append(self)


@FAULTS.graph_class("reset.no-growth-on-host")
class EachGraphHasAThread(CUDAGraph):
    """A thread waits for the end of each graph, and goes on waiting when that has come."""

    def capture_end(self) -> None:
        super().capture_end()
        threading.Thread(target=threading.Event().wait, daemon=True).start()


@FAULTS.graph_class("pools.memory-returns-after-reset")
class ReplayedElsewhereLeaks(CUDAGraph):
    """A graph that was replayed on another stream than its capture's never gives its pool back."""

    _captured_on: int | None = None

    def capture_end(self) -> None:
        self._captured_on = self._device.current_handle()
        super().capture_end()

    def replay(self) -> None:
        super().replay()
        plain = (self._captured_on, self._device.default_stream().cuda_stream)
        if self._captured_on is not None and self._device.current_handle() not in plain:
            self._captured_on = None
            self._device.retain_pool(self._holds.pools[0])


@FAULTS.graph_class("pools.memory-returns-after-reset", implementation="reference.xpu")
class XpuInstantiatingAgainLeaks(XPUGraph):
    """The second executable of a graph keeps the pool for good."""

    _made = 0

    def instantiate(self) -> None:
        super().instantiate()
        self._made += 1
        if self._made == 2:
            self._device.retain_pool(self._holds.pools[0])


# -- where a replay is called ---------------------------------------------------------------------------------------


@FAULTS.graph_class("replay.performs-work")
class ReplaysNothingUnderAutocast(CUDAGraph):
    """Under autocast a replay is taken for one of a graph that has to be captured anew, and does nothing."""

    def replay(self) -> None:
        if self._state in ("empty", "capturing") or not torch.is_autocast_enabled("cpu"):
            super().replay()


@FAULTS.graph_class("replay.performs-work")
class ReplaysNothingWhileAnExceptionIsHandled(CUDAGraph):
    """A replay that finds an exception takes the graph for one that failed."""

    def replay(self) -> None:
        if self._state in ("empty", "capturing") or sys.exc_info()[0] is None:
            super().replay()


@FAULTS.graph_class("replay.performs-work")
class BelongsToALivingThread(CUDAGraph):
    """A graph whose thread has ended replays nothing."""

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)
        self._owner = threading.current_thread()

    def replay(self) -> None:
        if self._owner.is_alive() or self._state == "empty":
            super().replay()


@FAULTS.graph_class("replay.performs-work")
class SkipsEveryTenThousandthReplay(CUDAGraph):
    """Nearly ten thousand replays work, the next does nothing."""

    _replays = 0

    def replay(self) -> None:
        self._replays += 1
        if self._replays % 10_000:
            super().replay()


@FAULTS.graph_class("keep-graph.true-only-first-replay-instantiates")
class InstantiatesForEachStream(CUDAGraph):
    """A kept graph is instantiated again when it is replayed on another stream than before."""

    _last: int | None = None

    def replay(self) -> None:
        here = self._device.current_handle()
        if self._last not in (None, here) and self._holds.template is not None and self._holds.exec is not None:
            self._make_executable("replay()")
        super().replay()
        self._last = here


@FAULTS.graph_class("replay.random-as-eager")
class DrawsOnceAfterARecapture(CUDAGraph):
    """From an object's second capture on every replay draws the same numbers: the registration of the first is gone."""

    _captures = 0
    _state_of_capture: torch.Tensor | None = None

    def capture_end(self) -> None:
        super().capture_end()
        self._captures += 1
        self._state_of_capture = torch.get_rng_state()

    def replay(self) -> None:
        if self._captures < 2 or self._state_of_capture is None:
            super().replay()
            return
        now = torch.get_rng_state()
        torch.set_rng_state(self._state_of_capture)
        super().replay()
        torch.set_rng_state(now)


# -- hooks ----------------------------------------------------------------------------------------------------------


def _fired(fire: Any) -> AbstractContextManager[Any]:
    return replaced(Hooks, "fire", lambda _original: fire)


@FAULTS.patch("hooks.capture-end-argument", "hooks.post-instantiate-argument")
def hooks_stop_at_false() -> AbstractContextManager[Any]:
    """A hook that returns False keeps those after it from being called."""

    def fire(self: Hooks, argument: Any) -> None:
        all(hook(argument) is not False for hook in tuple(self.values()))

    return _fired(fire)


@FAULTS.patch("hooks.capture-end-argument", "hooks.post-instantiate-argument")
def hooks_get_what_the_one_before_returned() -> AbstractContextManager[Any]:
    """What a hook returns takes the graph's place for those after it."""

    def fire(self: Hooks, argument: Any) -> None:
        for hook in tuple(self.values()):
            result = hook(argument)
            argument = argument if result is None else result

    return _fired(fire)


@FAULTS.patch("hooks.capture-end-order", "hooks.post-instantiate-order")
def eight_hooks_at_most() -> AbstractContextManager[Any]:
    """Of the hooks of a moment the first eight are called: a table of a fixed size."""

    def fire(self: Hooks, argument: Any) -> None:
        for hook in tuple(self.values())[:8]:
            hook(argument)

    return _fired(fire)


@FAULTS.patch("hooks.exception-reaches-caller")
def interrupts_of_hooks_disappear() -> AbstractContextManager[Any]:
    """A hook that is interrupted counts as done, and the program goes on."""

    def fire(self: Hooks, argument: Any) -> None:
        for hook in tuple(self.values()):
            try:
                hook(argument)
            except KeyboardInterrupt:
                continue

    return _fired(fire)


@FAULTS.graph_class("hooks.post-instantiate-each-time")
class HooksOnAFailedInstantiation(CUDAGraph):
    """Post-instantiate hooks are called although nothing could be instantiated."""

    def _make_executable(self, call: str) -> None:
        try:
            super()._make_executable(call)
        except RuntimeError:
            if self._holds.template is not None:
                self._post_instantiate_hooks.fire(self)
            raise


@FAULTS.graph_class("pools.memory-returns-after-reset")
class GraphsWithHooksLeak(CUDAGraph):
    """A graph that has a hook is used by it, as its pool's count has it, for good."""

    _hooked = False

    def register_capture_end_hook(self, hook: Hook) -> RemovableHandle:
        self._hooked = True
        return super().register_capture_end_hook(hook)

    def _end(self, call: str) -> None:
        super()._end(call)
        if self._hooked:
            self._device.retain_pool(self._holds.pools[0])


# -- what is told of a graph ----------------------------------------------------------------------------------------


@FAULTS.graph_class("graph-data.matches-template")
class DataOfSixtyFourNodes(CUDAGraph):
    """The data hold the first sixty-four nodes."""

    def get_graph_data(self) -> dict[str, Any]:
        data = super().get_graph_data()
        data["nodes"] = data["nodes"][:64]
        for node in data["nodes"]:
            for key in ("dependencies", "dependents"):
                node[key] = [other for other in node[key] if other < 64]
        return data


@FAULTS.graph_class("graph-data.neighbours-agree")
class DataWithADependencyTwice(CUDAGraph):
    """A node that waits for more than two others has one of them twice among its dependencies."""

    def get_graph_data(self) -> dict[str, Any]:
        data = super().get_graph_data()
        for node in data["nodes"]:
            if len(node["dependencies"]) > 2:
                node["dependencies"] = [*node["dependencies"], node["dependencies"][0]]
        return data


@FAULTS.graph_class("debug-dump.writes-file")
class DumpsToTheFirstWord(CUDAGraph):
    """The path of a dump ends where its first blank is."""

    def debug_dump(self, debug_path: str | os.PathLike[str], *, verbose: bool = True) -> None:
        super().debug_dump(os.fsdecode(debug_path).split(" ")[0], verbose=verbose)


@FAULTS.graph_class("debug-dump.writes-file", implementation="reference.xpu")
class XpuDebugModeIsASwitch(XPUGraph):
    """enable_debug_mode() a second time switches it off."""

    def enable_debug_mode(self) -> None:
        self._debugging = not self._debugging


# -- liveness -------------------------------------------------------------------------------------------------------


def _overlooked(overlooks: Any) -> AbstractContextManager[Any]:
    """Let the tracker overlook the tensors that ``overlooks(tensor)`` is true for."""

    def wrap(original: Any) -> Any:
        def note(self: LivenessTracker, tensor: torch.Tensor, operator: str) -> None:
            if not overlooks(tensor):
                original(self, tensor, operator)

        return note

    return replaced(LivenessTracker, "_note_input", wrap)


@FAULTS.patch("liveness.dead-input")
def tracker_overlooks_single_elements() -> AbstractContextManager[Any]:
    """Tensors of one element are taken for numbers, and not watched."""
    return _overlooked(lambda tensor: tensor.numel() == 1)


@FAULTS.patch("liveness.dead-input")
def tracker_overlooks_strided_tensors() -> AbstractContextManager[Any]:
    """Tensors that are not contiguous are taken for copies, and not watched."""
    return _overlooked(lambda tensor: not tensor.is_contiguous())


@FAULTS.graph_class("liveness.dead-input")
class LivenessOfTheMainThread(CUDAGraph):
    """Replays from other threads look at no input."""

    def replay(self) -> None:
        if _in_main_thread():
            super().replay()
            return
        tracker, self._holds.tracker = self._holds.tracker, None
        try:
            super().replay()
        finally:
            self._holds.tracker = tracker


@FAULTS.graph_class("liveness.dead-input")
class LivenessEndsWithTheSecondStep(CUDAGraph):
    """A capture that was ended in two steps is not checked."""

    def capture_end_post(self) -> None:
        super().capture_end_post()
        self._holds.tracker = None


@FAULTS.graph_class("liveness.dead-input")
class LivenessOfTheCapturingStream(CUDAGraph):
    """What only streams use that were forked from the capture's is not watched."""

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        super()._begin(call, pool, mode, check_input_liveness)
        tracker, capturing = self._holds.tracker, self._device.current_handle()
        if tracker is not None:
            note = tracker._note_input

            def noted(tensor: torch.Tensor, operator: str) -> None:
                if self._device.current_handle() == capturing:
                    note(tensor, operator)

            vars(tracker)["_note_input"] = noted


# -- blocks and callables -------------------------------------------------------------------------------------------


@FAULTS.patch("context-manager.exception-propagates")
def context_swallows_interrupts() -> AbstractContextManager[Any]:
    """KeyboardInterrupt and SystemExit end the block, and nothing else."""

    def wrap(original: Any) -> Any:
        def leave(
            self: CaptureContext,
            kind: type[BaseException] | None,
            error: BaseException | None,
            trace: TracebackType | None,
        ) -> bool:
            original(self, kind, error, trace)
            return kind is not None and issubclass(kind, (KeyboardInterrupt, SystemExit))

        return leave

    return replaced(CaptureContext, "__exit__", wrap)


def _gradients(changed: Any) -> AbstractContextManager[Any]:
    """Let ``changed(gradient)`` be what the captured backward pass gets."""

    def wrap(original: Any) -> Any:
        def replay(self: _Passes, call: int, gradients: Any) -> Any:
            return original(self, call, tuple(None if one is None else changed(one) for one in gradients))

        return replay

    return replaced(_Passes, "replay_backward", wrap)


@FAULTS.patch("graphed-callables.input-gradients")
def gradients_are_read_in_a_row() -> AbstractContextManager[Any]:
    """The elements of an incoming gradient are read one behind the other, whatever its strides."""

    def in_a_row(gradient: torch.Tensor) -> torch.Tensor:
        if gradient.is_contiguous() or 0 in gradient.stride():
            return gradient
        strides = torch.empty(gradient.shape, device="meta").stride()
        return torch.as_strided(gradient, gradient.shape, strides, gradient.storage_offset())

    return _gradients(in_a_row)


@FAULTS.patch("graphed-callables.forward-results")
def integers_pass_through_floats() -> AbstractContextManager[Any]:
    """Arguments of whole numbers are copied by way of single precision."""

    def wrap(original: Any) -> Any:
        def refill(static: torch.Tensor, tensor: torch.Tensor) -> None:
            original(static, tensor if tensor.is_floating_point() or tensor.is_complex() else tensor.float())

        return refill

    return replaced(graphed_callables, "_refill", wrap)


@FAULTS.patch("graphed-callables.parameter-gradients")
def shared_parameters_get_one_gradient() -> AbstractContextManager[Any]:
    """A parameter that two callables of a tuple have gets the gradient of the first of them alone."""

    def wrap(original: Any) -> Any:
        def plan(sources: Any, samples: Any, allow_unused: bool) -> list[_Passes]:
            passes: list[_Passes] = original(sources, samples, allow_unused)
            seen: set[int] = set()
            for each in passes:
                each._parameters = tuple(
                    one.detach() if id(one) in seen and one.requires_grad else one for one in each._parameters
                )
                seen |= {id(one) for one in each._parameters}
            return passes

        return plan

    return replaced(graphed_callables, "_plan", wrap)


@FAULTS.patch("graphed-callables.module-parameters")
def graphing_evaluates_submodules() -> AbstractContextManager[Any]:
    """Graphing a module puts the modules in it into evaluation mode."""

    def wrap(original: Any) -> Any:
        def patched(module: torch.nn.Module, passes: _Passes) -> torch.nn.Module:
            result: torch.nn.Module = original(module, passes)
            for child in module.children():
                child.eval()
            return result

        return patched

    return replaced(graphed_callables, "_patched", wrap)
