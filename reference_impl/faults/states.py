"""Graph classes whose states are wrong: what a capture is, what a replay does, which calls are refused."""

from __future__ import annotations

import contextlib
import random
import threading
import time
import weakref
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import torch

from reference_impl import CUDAGraph
from reference_impl.errors import GraphError
from reference_impl.faults.fault import Faults, replaced
from reference_impl.graphs.context import CaptureContext
from reference_impl.graphs.topology import nodes_of

FAULTS = Faults("class")


# -- capture ----------------------------------------------------------------------------------------------------------


@FAULTS.graph_class("capture.runs-nothing")
class RunsAtCaptureEnd(CUDAGraph):
    """The captured work runs once when the capture ends, as if capturing were a first execution."""

    def capture_end(self) -> None:
        super().capture_end()
        self.replay()


@FAULTS.graph_class("replay.performs-work")
class ForgetsTheLastNode(CUDAGraph):
    """Whatever was captured last is not in the graph: the recording is cut off one node early."""

    def capture_end(self) -> None:
        self._end("capture_end()")
        for node in nodes_of(self._device.runtime, self._raw_template("capture_end()"))[-1:]:
            self._device.runtime.cudaGraphDestroyNode(node)
        self.capture_end_post()


@FAULTS.graph_class("capture.many-operators")
class HoldsFiveHundredNodes(CUDAGraph):
    """What is captured after the 500th operator is not in the graph: a table of a fixed size."""

    def capture_end(self) -> None:
        self._end("capture_end()")
        for node in nodes_of(self._device.runtime, self._raw_template("capture_end()"))[500:]:
            self._device.runtime.cudaGraphDestroyNode(node)
        self._captured()
        self.capture_end_post()


@FAULTS.graph_class("capture.default-stream-refused")
class TakesTheDefaultStream(CUDAGraph):
    """A capture on the default stream is moved to a hidden side stream instead of being refused; work misses it."""

    def _require_capturable(self, call: str, stream: Any) -> None:
        if stream.cuda_stream == self._device.default_stream().cuda_stream:
            self._device.set_stream(self._device.new_stream())

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        stream = self._device.current_stream()
        self._require_capturable(call, stream)
        super()._begin(call, pool, mode, check_input_liveness)


@FAULTS.graph_class("capture.end-on-same-stream")
class EndsOnAnyStream(CUDAGraph):
    """The capture ends although another stream is current."""

    def capture_end(self) -> None:
        here = self._device.current_stream()
        if self._holds.capture is not None:
            self._device.set_stream(self._holds.capture.stream)
        try:
            super().capture_end()
        finally:
            self._device.set_stream(here)


@FAULTS.graph_class("capture.wrong-end-recoverable")
class WrongEndDropsTheCapture(CUDAGraph):
    """Ending on the wrong stream is refused, but the capture underway is thrown away with the refusal."""

    def capture_end(self) -> None:
        try:
            super().capture_end()
        except GraphError:
            if self._holds.capture is not None:
                self._holds.abandon_capture()
            raise


@FAULTS.graph_class("capture.empty-replays")
class RefusesAnEmptyCapture(CUDAGraph):
    """A capture without work is an error when it ends."""

    def _captured(self) -> None:
        if not nodes_of(self._device.runtime, self._raw_template("capture_end()")):
            self.reset()
            raise GraphError("capture_end(): nothing was captured")
        super()._captured()


# -- replay -----------------------------------------------------------------------------------------------------------


@FAULTS.graph_class("capture.host-work-once")
class SeedsTheHost(CUDAGraph):
    """Each replay seeds the host's generator as well, so that the program draws the same numbers again and again."""

    def replay(self) -> None:
        random.seed(0)
        super().replay()


@FAULTS.graph_class("replay.performs-work")
class ReplaysTwice(CUDAGraph):
    """One replay does the work twice: an instantiation that uploads by launching."""

    def replay(self) -> None:
        super().replay()
        super().replay()


@FAULTS.graph_class("replay.performs-work", "replay.reads-current-values")
class ReplaysOnlyOnce(CUDAGraph):
    """From the second replay on, nothing happens."""

    def replay(self) -> None:
        if not self.__dict__.setdefault("_replayed_before", False):
            super().replay()
            self._replayed_before = True


@FAULTS.graph_class("replay.performs-work", "replay.reads-current-values")
class SkipsEveryThirdReplay(CUDAGraph):
    """Two replays work, the third does nothing, and so on: a ring of launch slots with one that is never filled."""

    slots: ClassVar[int] = 3

    def replay(self) -> None:
        self._turn = self.__dict__.get("_turn", 0) + 1
        if self._turn % self.slots or self._state in ("empty", "capturing"):
            super().replay()


@FAULTS.graph_class("replay.performs-work")
class SkipsEverySixtyFourthReplay(SkipsEveryThirdReplay):
    """Sixty-three replays work, the next does nothing: the same ring, as long as real ones are."""

    slots = 64


@FAULTS.graph_class("replay.performs-work")
class SkipsEveryHundredthReplay(SkipsEveryThirdReplay):
    """Ninety-nine replays work, the next does nothing: a ring that is longer still."""

    slots = 100


@FAULTS.graph_class("replay.performs-work")
class SkipsEveryThousandthReplay(SkipsEveryThirdReplay):
    """Nine hundred and ninety-nine replays work, the next does nothing: a counter with three digits."""

    slots = 1000


@FAULTS.graph_class("replay.performs-work")
class ReplaysNothingInInferenceMode(CUDAGraph):
    """A replay inside inference mode is taken for one that nobody needs."""

    def replay(self) -> None:
        if not torch.is_inference_mode_enabled() or self._state in ("empty", "capturing"):
            super().replay()


@FAULTS.graph_class("replay.performs-work")
class LosesWhatInferenceModeCaptured(CUDAGraph):
    """A graph that was captured inside inference mode replays nothing."""

    _inference = False

    def capture_begin(self, *arguments: Any, **settings: Any) -> None:
        super().capture_begin(*arguments, **settings)
        self._inference = torch.is_inference_mode_enabled()

    def replay(self) -> None:
        if not self._inference or self._state in ("empty", "capturing"):
            super().replay()


@FAULTS.graph_class("replay.before-capture-refused", "misuse.replay-needs-capture")
class ReplaysNothingSilently(CUDAGraph):
    """A replay without a capture is no error."""

    def replay(self) -> None:
        if self._state not in ("empty", "capturing"):
            super().replay()


@FAULTS.graph_class("replay.interleaved-graphs")
class ReplaysTheNewestGraph(CUDAGraph):
    """Whichever graph is replayed, the one that was captured last runs: a current executable held by the class."""

    newest: ClassVar[int | None] = None

    def capture_end(self) -> None:
        super().capture_end()
        if self._holds.exec is not None:
            ReplaysTheNewestGraph.newest = self._holds.exec

    def _launch(self, call: str) -> None:
        own, self._holds.exec = self._holds.exec, ReplaysTheNewestGraph.newest or self._holds.exec
        try:
            super()._launch(call)
        except RuntimeError:
            self._holds.exec = own
            super()._launch(call)
        finally:
            self._holds.exec = own


@FAULTS.graph_class("replay.interleaved-graphs")
class OnlySixtyFourGraphsReplay(CUDAGraph):
    """While more than 64 graphs are alive, replays of the oldest do nothing: a table of a fixed size."""

    _alive: ClassVar[list[weakref.ref[OnlySixtyFourGraphsReplay]]] = []
    _places: ClassVar[int] = 64

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)
        self._alive.append(weakref.ref(self))

    def replay(self) -> None:
        self._alive[:] = [each for each in self._alive if each() is not None]
        first_in_table = max(0, len(self._alive) - self._places)
        if self._state in ("empty", "capturing") or all(each() is not self for each in self._alive[:first_in_table]):
            super().replay()


@FAULTS.graph_class("replay.any-stream", "replay.ordered-on-stream", implementation="reference.asynchronous")
class ReplaysOnItsCaptureStream(CUDAGraph):
    """Replays go to the stream of the capture, whichever stream is current."""

    def capture_end(self) -> None:
        self._captured_on = None if self._holds.capture is None else self._holds.capture.stream
        super().capture_end()

    def _launch(self, call: str) -> None:
        here = self._device.current_stream()
        self._device.set_stream(self._captured_on or here)
        try:
            super()._launch(call)
        finally:
            self._device.set_stream(here)


@FAULTS.graph_class("replay.threads")
class OneReplayAtATime(CUDAGraph):
    """Which graph is being replayed stands on the class, where another thread's replay changes it."""

    #: It keeps no graph alive: that would be another fault.
    _current: ClassVar[weakref.ref[CUDAGraph]]

    def _launch(self, call: str) -> None:
        OneReplayAtATime._current = weakref.ref(self)
        time.sleep(1e-4)
        CUDAGraph._launch(OneReplayAtATime._current() or self, call)


@FAULTS.graph_class("reinstantiation.in-any-thread")
class ReplaysInItsOwnThreadOnly(CUDAGraph):
    """A replay from a thread other than the capturing one is taken and forgotten: state that is thread-local."""

    def capture_end(self) -> None:
        super().capture_end()
        self._home = threading.get_ident()

    def replay(self) -> None:
        if self._state in ("empty", "capturing") or self._home == threading.get_ident():
            super().replay()


@FAULTS.graph_class("replay.after-reset-refused", "reset.replay-refused")
class ReplaysAfterReset(CUDAGraph):
    """After reset() a replay does nothing instead of being refused."""

    _was_reset = False

    def reset(self) -> None:
        self._was_reset = self._was_reset or self._state not in ("empty", "capturing")
        super().reset()

    def replay(self) -> None:
        if not (self._was_reset and self._state == "empty"):
            super().replay()


@FAULTS.graph_class("misuse.begin-twice", "misuse.capture-survives-second-begin")
class SecondBeginRestarts(CUDAGraph):
    """capture_begin during a capture silently begins again and loses what was recorded."""

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        if self._holds.capture is not None:
            self._holds.abandon_capture()
            self._holds.release_pools()
        super()._begin(call, pool, mode, check_input_liveness)


@FAULTS.graph_class("misuse.end-without-begin")
class StrayEndIgnored(CUDAGraph):
    """capture_end without a capture does nothing."""

    def capture_end(self) -> None:
        if self._state == "capturing":
            super().capture_end()


@FAULTS.graph_class("misuse.graph-survives-second-end")
class SecondEndDropsTheGraph(CUDAGraph):
    """A second capture_end is refused, and takes the finished graph with it."""

    def capture_end(self) -> None:
        finished = self._state in ("captured", "instantiated", "ready")
        try:
            super().capture_end()
        except GraphError:
            if finished:
                self.reset()
            raise


@FAULTS.graph_class("misuse.begin-on-captured-graph")
class BeginOnACapturedGraphIgnored(CUDAGraph):
    """capture_begin on a graph that holds a capture does nothing, so the new work runs eagerly and is lost."""

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        if self._state in ("empty", "capturing"):
            super()._begin(call, pool, mode, check_input_liveness)


@FAULTS.graph_class("misuse.new-graph-survives-refused-call")
class RefusalSpoilsANewGraph(CUDAGraph):
    """After a refused replay the graph can never capture."""

    _spoilt = False

    def replay(self) -> None:
        self._spoilt = self._spoilt or self._state == "empty"
        super().replay()

    def _begin(self, call: str, pool: Any, mode: str, check_input_liveness: bool) -> None:
        if self._spoilt:
            raise GraphError(f"{call}: this graph was used wrongly before")
        super()._begin(call, pool, mode, check_input_liveness)


@FAULTS.graph_class("misuse.capture-survives-refused-call")
class RefusedReplayEndsTheCapture(CUDAGraph):
    """replay() during the capture is refused, and the capture is gone."""

    def replay(self) -> None:
        if self._state == "capturing":
            self._holds.release()
        super().replay()


@FAULTS.graph_class("misuse.messages")
class SaysNothing(CUDAGraph):
    """Every refusal has an empty message."""

    def _refuse(self, call: str, remedy: str) -> GraphError:
        return GraphError()


@FAULTS.graph_class("misuse.messages-of-any-refusal")
class AsksWithoutWords(CUDAGraph):
    """Only the calls that capture and replay say why they refuse; the refusals of the questions are empty."""

    def _refuse(self, call: str, remedy: str) -> GraphError:
        explained = ("capture_", "instantiate", "replay")
        return super()._refuse(call, remedy) if call.startswith(explained) else GraphError()


# -- keep_graph -------------------------------------------------------------------------------------------------------


@FAULTS.graph_class("keep-graph.true-template-kept", "keep-graph.true-explicit-instantiate")
class IgnoresKeepGraph(CUDAGraph):
    """keep_graph=True is taken and forgotten."""

    def __init__(self, keep_graph: bool = False) -> None:
        del keep_graph
        super().__init__(False)


@FAULTS.graph_class("keep-graph.false-template-destroyed")
class AlwaysKeeps(CUDAGraph):
    """keep_graph=False is taken and forgotten."""

    def __init__(self, keep_graph: bool = False) -> None:
        del keep_graph
        super().__init__(True)


@FAULTS.graph_class("keep-graph.default-is-false")
class KeepsByDefault(CUDAGraph):
    """The template is kept unless keep_graph=False is said."""

    def __init__(self, keep_graph: bool = True) -> None:
        super().__init__(keep_graph)


@FAULTS.graph_class("keep-graph.true-no-executable-at-capture-end")
class InstantiatesEagerly(CUDAGraph):
    """capture_end makes the executable even with keep_graph=True, before the template can be edited."""

    def capture_end(self) -> None:
        super().capture_end()
        if self._keep_graph:
            self.instantiate()


@FAULTS.graph_class("keep-graph.refused-before-capture")
class InstantiatesNothingSilently(CUDAGraph):
    """instantiate() of a graph that never captured does nothing instead of refusing."""

    def instantiate(self) -> None:
        if self._state != "empty":
            super().instantiate()


@FAULTS.graph_class("keep-graph.true-first-replay-instantiates")
class FirstReplayOnlyInstantiates(CUDAGraph):
    """The replay that has to make the executable does not launch it."""

    def replay(self) -> None:
        if self._state == "captured":
            self.instantiate()
        else:
            super().replay()


@FAULTS.graph_class("keep-graph.true-first-replay-instantiates")
class LazyReplayRefused(CUDAGraph):
    """A kept graph has to be instantiated by hand before it replays."""

    def replay(self) -> None:
        if self._state == "captured":
            raise self._refuse("replay()", "call instantiate() first")
        super().replay()


@FAULTS.graph_class("keep-graph.instantiate-runs-nothing")
class InstantiateLaunches(CUDAGraph):
    """instantiate() runs the work once, to warm the executable up."""

    def instantiate(self) -> None:
        super().instantiate()
        self._launch("instantiate()")


@FAULTS.graph_class("keep-graph.true-only-first-replay-instantiates")
class InstantiatesAgainInAnotherThread(CUDAGraph):
    """A kept graph is instantiated once for each thread that replays it."""

    _home: int | None = None

    def _instantiated(self) -> None:
        self._home = threading.get_ident()
        super()._instantiated()

    def replay(self) -> None:
        if self._state == "instantiated" and self._home != threading.get_ident():
            self.instantiate()
        super().replay()


@FAULTS.graph_class("reinstantiation.fresh-executable", "reinstantiation.edit-shown-after-instantiate")
class InstantiatesOnce(CUDAGraph):
    """A second instantiate() keeps the old executable."""

    def instantiate(self) -> None:
        if self._holds.exec is None:
            super().instantiate()


@FAULTS.graph_class("reinstantiation.edit-hidden-until-instantiate", "keep-graph.true-only-first-replay-instantiates")
class InstantiatesAtEveryReplay(CUDAGraph):
    """Edits of the template show without instantiate()."""

    def replay(self) -> None:
        if self._state == "instantiated":
            self.instantiate()
        super().replay()


@FAULTS.graph_class("reinstantiation.template-survives", "keep-graph.template-survives-instantiate")
class InstantiateDropsTheTemplate(CUDAGraph):
    """instantiate() destroys the template, as capture_end does for graphs that are not kept."""

    def instantiate(self) -> None:
        super().instantiate()
        self._drop_template()


@FAULTS.graph_class("keep-graph.template-survives-replay")
class ReplayDropsTheTemplate(CUDAGraph):
    """The first replay of a kept graph destroys its template."""

    def replay(self) -> None:
        super().replay()
        if self._holds.template is not None:
            self._drop_template()


@FAULTS.graph_class("reset.recapture")
class RecaptureAppends(CUDAGraph):
    """What was captured before reset() runs again in front of the next capture."""

    def reset(self) -> None:
        if self._holds.exec is not None:
            self._before, self._holds.exec = self._holds.exec, None
        super().reset()

    def _launch(self, call: str) -> None:
        own = self._holds.exec
        earlier = self.__dict__.get("_before")
        if earlier is not None:
            self._holds.exec = earlier
            with contextlib.suppress(RuntimeError):
                super()._launch(call)
        self._holds.exec = own
        super()._launch(call)


# -- error modes ------------------------------------------------------------------------------------------------------


@FAULTS.graph_class("error-modes.global-own-thread", "error-modes.global-other-thread", "error-modes.unknown-refused")
class AlwaysRelaxed(CUDAGraph):
    """capture_begin takes the error mode and forgets it: every capture lets every thread do what it likes."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        del capture_error_mode
        super().capture_begin(pool, "relaxed", check_input_liveness)


@FAULTS.graph_class("error-modes.thread-local-other-thread", "error-modes.relaxed-own-thread")
class AlwaysGlobal(CUDAGraph):
    """capture_begin takes the error mode and forgets it: other threads disturb every capture."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        del capture_error_mode
        super().capture_begin(pool, "global", check_input_liveness)


@FAULTS.graph_class("error-modes.unknown-refused")
class TakesAnyMode(CUDAGraph):
    """An unknown error mode counts as the default."""

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        mode = capture_error_mode if capture_error_mode in self._modes else "global"
        super().capture_begin(pool, mode, check_input_liveness)


@FAULTS.graph_class("error-modes.mode-is-per-capture")
class ThreadLocalStays(CUDAGraph):
    """Once a capture was thread_local, later global ones are thread_local, too."""

    _kept = False

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global", check_input_liveness: bool = False
    ) -> None:
        if capture_error_mode == "thread_local":
            self._kept = True
        mode = "thread_local" if self._kept and capture_error_mode == "global" else capture_error_mode
        super().capture_begin(pool, mode, check_input_liveness)


@FAULTS.patch("error-modes.context-passes-mode")
def context_is_strict_or_relaxed() -> AbstractContextManager[Any]:
    """The context manager makes a global capture of a thread_local one."""

    def wrap(original: Any) -> Any:
        def init(self: Any, target: Any, stream: Any, settings: dict[str, Any]) -> None:
            if settings.get("capture_error_mode") == "thread_local":
                settings = {**settings, "capture_error_mode": "global"}
            original(self, target, stream, settings)

        return init

    return replaced(CaptureContext, "__init__", wrap)


@FAULTS.graph_class("signatures.capture-begin-mode")
class ForgetsAModeByPosition(CUDAGraph):
    """A mode that is given by position is taken, and the capture is a global one."""

    def capture_begin(self, pool: Any = None, *rest: Any, **settings: Any) -> None:
        super().capture_begin(pool, *("global", *rest[1:]) if rest else (), **settings)
