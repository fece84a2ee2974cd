"""Graph classes that check their inputs' lives wrongly."""

from __future__ import annotations

import weakref
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from reference_impl import CUDAGraph
from reference_impl.devices import operators
from reference_impl.faults.fault import Faults, replaced, together
from reference_impl.graphs.liveness import LivenessTracker, _Input

FAULTS = Faults("class")


@FAULTS.graph_class("liveness.dead-input")
class NeverChecksLiveness(CUDAGraph):
    """check_input_liveness is taken and forgotten."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        del check_input_liveness
        super().capture_begin(pool, capture_error_mode, False)


@FAULTS.graph_class("liveness.off-by-default")
class AlwaysChecksLiveness(CUDAGraph):
    """Dead inputs are an error though nobody asked for the check."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        del check_input_liveness
        super().capture_begin(pool, capture_error_mode, True)


@FAULTS.graph_class("liveness.nothing-launched")
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


@FAULTS.graph_class("liveness.dead-input")
class LivenessEndsAfterTwentyReplays(CUDAGraph):
    """Inputs that were alive at twenty replays are not looked at again."""

    _good = 0

    def replay(self) -> None:
        super().replay()
        self._good += 1
        if self._good >= 20:
            self._holds.tracker = None


@FAULTS.graph_class("liveness.one-of-several")
class LivenessOfSixteenInputs(CUDAGraph):
    """The first sixteen inputs of a capture are watched, and no others."""

    def _end(self, call: str) -> None:
        tracker = self._holds.tracker
        super()._end(call)
        if tracker is not None:
            for address in list(tracker._inputs)[16:]:
                del tracker._inputs[address]


@FAULTS.graph_class("liveness.every-replay")
class ChecksLivenessOnce(CUDAGraph):
    """After one error the dead input is forgotten."""

    def replay(self) -> None:
        try:
            super().replay()
        except RuntimeError:
            self._holds.tracker = None
            raise


@FAULTS.patch("liveness.keeps-nothing-alive", "liveness.dead-input")
def tracker_keeps_inputs_alive() -> AbstractContextManager[Any]:
    """The tracker holds the inputs that it watches, so that none ever dies."""

    def wrap(original: Any) -> Any:
        def note_input(self: LivenessTracker, tensor: torch.Tensor, operator: str) -> None:
            self.__dict__.setdefault("_held", []).append(tensor)
            original(self, tensor, operator)

        return note_input

    return replaced(LivenessTracker, "_note_input", wrap)


@FAULTS.patch("liveness.tracks-lists")
def tracker_overlooks_lists() -> AbstractContextManager[Any]:
    """Tensors in lists, as cat and stack take them, are not tracked."""
    return _tensors_of(lambda args, kwargs: [t for t in (*args, *kwargs.values()) if isinstance(t, torch.Tensor)])


@FAULTS.patch("liveness.tracks-keywords", "liveness.tracks-destinations")
def tracker_overlooks_keywords() -> AbstractContextManager[Any]:
    """Tensors that the program gives by keyword, out= among them, are not tracked."""
    hidden: set[int] = set()

    class Keywords(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            hidden.update(id(tensor) for tensor in operators.tensors_in((kwargs or {}).values()))
            try:
                return func(*args, **(kwargs or {}))
            finally:
                hidden.clear()

    def watched(original: Any) -> Any:
        def begin(self: CUDAGraph, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
            original(self, call, pool, mode, check_input_liveness)
            if check_input_liveness:
                vars(self)["_keywords"] = Keywords().__enter__()  # type: ignore[no-untyped-call]

        return begin

    def over(original: Any) -> Any:
        def end(self: CUDAGraph, call: str) -> None:
            keywords = vars(self).pop("_keywords", None)
            if keywords is not None:
                keywords.__exit__(None, None, None)
            original(self, call)

        return end

    def noting(original: Any) -> Any:
        def note(self: LivenessTracker, tensor: torch.Tensor, operator: str) -> None:
            if id(tensor) not in hidden:
                original(self, tensor, operator)

        return note

    return together(
        replaced(CUDAGraph, "_begin", watched),
        replaced(CUDAGraph, "_end", over),
        replaced(LivenessTracker, "_note_input", noting),
    )


def _tensors_of(visible: Any) -> AbstractContextManager[Any]:
    """Let the tracker, and nobody else, see only the tensors of ``visible(args, kwargs)``."""

    def wrap(original: Any) -> Any:
        def dispatch(self: LivenessTracker, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            inside = {"on": True}
            plain = self._note_input
            inputs = [id(tensor) for tensor in visible(args, kwargs or {})]

            def note(tensor: torch.Tensor, operator: str) -> None:
                if not inside["on"] or id(tensor) in inputs:
                    plain(tensor, operator)

            self._note_input = note  # type: ignore[method-assign]
            try:
                return original(self, func, types, args, kwargs)
            finally:
                del self._note_input

        return dispatch

    return replaced(LivenessTracker, "__torch_dispatch__", wrap)


@FAULTS.patch("liveness.one-of-several", "liveness.message")
def tracker_watches_the_first_input_only() -> AbstractContextManager[Any]:
    """Only the first input of a capture is watched."""

    def wrap(original: Any) -> Any:
        def note_input(self: LivenessTracker, tensor: torch.Tensor, operator: str) -> None:
            if not self._inputs:
                original(self, tensor, operator)

        return note_input

    return replaced(LivenessTracker, "_note_input", wrap)


@FAULTS.patch("liveness.own-tensors")
def tracker_takes_own_tensors_for_inputs() -> AbstractContextManager[Any]:
    """Tensors that the capture made itself are watched like inputs, and reported when it lets them go."""

    def nothing(_original: Any) -> Any:
        def note(self: LivenessTracker, results: Any) -> None:
            """What is made inside is not noted."""

        return note

    def everywhere(_original: Any) -> Any:
        def within(address: int, ranges: Any) -> bool:
            return False

        return within

    from reference_impl.faults.fault import together
    from reference_impl.graphs import liveness

    return together(replaced(LivenessTracker, "_note_made_inside", nothing), replaced(liveness, "_within", everywhere))


@FAULTS.patch("liveness.not-revived")
def tracker_accepts_reused_memory() -> AbstractContextManager[Any]:
    """A dead input counts as alive once anything lies at its address again: addresses are compared, not storages."""

    def wrap(original: Any) -> Any:
        def dead(self: _Input) -> bool:
            from reference_impl.devices.chosen import device

            allocator = getattr(device(), "allocator", None)
            segment = None if allocator is None else allocator.segment_of(self.address)
            blocks = () if segment is None else segment.blocks()
            if any(block.address == self.address and block.requested for block in blocks):
                return False
            return bool(original(self))

        return dead

    return replaced(_Input, "dead", wrap)


@FAULTS.graph_class("liveness.cleared-by-reset")
class LivenessOutlivesReset(CUDAGraph):
    """After reset() and a new capture, the inputs of the first capture are still demanded."""

    _old: Any = None

    def reset(self) -> None:
        self._old = self._holds.tracker or self._old
        super().reset()

    def replay(self) -> None:
        if self._old is not None and self._state not in ("empty", "capturing"):
            self._old.check(self._holds.pools)
        super().replay()


@FAULTS.graph_class("liveness.watching-ends")
class AbandonedCaptureIsWatched(CUDAGraph):
    """reset() in the middle of a capture leaves the tracker on the thread's stack of dispatch modes."""

    def reset(self) -> None:
        self._holds.tracker = None
        super().reset()


@FAULTS.graph_class("liveness.each-graph")
class LivenessOfTheNewestGraphOnly(CUDAGraph):
    """Only the graph that captured last is checked: one tracker for the class."""

    newest: Any = None

    def capture_end(self) -> None:
        super().capture_end()
        LivenessOfTheNewestGraphOnly.newest = self._holds.tracker

    def replay(self) -> None:
        tracker = self._holds.tracker
        self._holds.tracker = tracker if tracker is LivenessOfTheNewestGraphOnly.newest else None
        try:
            super().replay()
        finally:
            self._holds.tracker = tracker


@FAULTS.graph_class("liveness.replaced-storage")
class LivenessOverlooksEmptiedTensors(CUDAGraph):
    """An input whose tensor has no elements now is taken for one that never had any."""

    def capture_begin(self, *arguments: Any, **settings: Any) -> None:
        super().capture_begin(*arguments, **settings)
        tracker = self._holds.tracker
        if tracker is None:
            return
        watched: list[tuple[weakref.ref[torch.Tensor], int]] = []
        vars(self)["_watched"] = watched
        note = tracker._note_input

        def noting(tensor: torch.Tensor, operator: str) -> None:
            watched.append((weakref.ref(tensor), tensor.untyped_storage().data_ptr()))
            note(tensor, operator)

        vars(tracker)["_note_input"] = noting

    def replay(self) -> None:
        for tensor, address in vars(self).get("_watched", ()):
            here = tensor()
            if here is not None and here.numel() == 0 and self._holds.tracker is not None:
                self._holds.tracker._inputs.pop(address, None)
        super().replay()


@FAULTS.graph_class("liveness.view-and-base", "liveness.kept-storage")
class LivenessOfTensorsNotStorages(CUDAGraph):
    """A tensor object that is gone counts as a dead input, though another one keeps its memory."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        super().capture_begin(pool, capture_error_mode, check_input_liveness)
        tracker = self._holds.tracker
        if tracker is None:
            return
        import weakref

        watched: list[weakref.ref[torch.Tensor]] = []
        plain, check = tracker._note_input, tracker.check

        def note(tensor: torch.Tensor, operator: str) -> None:
            if tensor.untyped_storage().data_ptr() not in tracker._made_inside:
                watched.append(weakref.ref(tensor))
            plain(tensor, operator)

        def checked(pools: Any) -> None:
            check(pools)
            if any(reference() is None for reference in watched):
                raise RuntimeError("replay(): dead tensor(s) among the graph's inputs")

        tracker._note_input = note  # type: ignore[method-assign]
        tracker.check = checked  # type: ignore[method-assign]
