"""Defects of the runtime below the graph classes: edges of captures, and the order of launches.

Both show on the asynchronous device only, where work that nobody ordered is run as late as can be.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from reference_impl import runtime as software
from reference_impl.faults.fault import Countdown, Faults, replaced, together
from reference_impl.runtime import api_streams, executables, scheduler, streams
from reference_impl.runtime.captures import Capture
from reference_impl.runtime.executables import Executable, FrozenNode

FAULTS = Faults("runtime")

_ASYNC = "reference.asynchronous"


# -- edges of a capture -----------------------------------------------------------------------------------------------


@FAULTS.patch("capture.fork-join-order", "capture.fork-join", implementation=_ASYNC)
def join_adds_no_edge() -> AbstractContextManager[Any]:
    """A stream of the capture that waits for another one gets no edge: the join is ticked off, and not recorded."""

    def wrap(original: Any) -> Any:
        def append(self: Capture, stream: Any, payload: Any) -> Any:
            waits = self.streams[stream]
            if len(waits) > 1:
                self.streams[stream] = waits[:1]
            return original(self, stream, payload)

        return append

    return together(replaced(Capture, "append", wrap), replaced(Capture, "unjoined", lambda _: lambda self: False))


@FAULTS.patch("capture.fork-join-order", implementation=_ASYNC)
def fork_adds_no_edge() -> AbstractContextManager[Any]:
    """The first node of a forked stream does not wait for what was in front of the fork."""

    def wrap(original: Any) -> Any:
        def append(self: Capture, stream: Any, payload: Any) -> Any:
            streams = self.__dict__.setdefault("_begun_streams", {self.origin})
            if stream not in streams:
                streams.add(stream)
                self.streams[stream] = ()
            return original(self, stream, payload)

        return append

    return replaced(Capture, "append", wrap)


@FAULTS.patch("capture.fork-join-order", implementation=_ASYNC)
def wait_uses_the_first_record() -> AbstractContextManager[Any]:
    """An event that is recorded twice in a capture marks what its first record marked."""

    def wrap(original: Any) -> Any:
        def record(event: Any, stream: Any, flags: int) -> None:
            before = event.captured
            original(event, stream, flags)
            if before is not None and event.captured is not None and before[0] is event.captured[0]:
                event.captured = before

        return record

    return replaced(api_streams, "_record", wrap)


@FAULTS.patch("capture.fork-join-order", implementation=_ASYNC)
def second_fork_has_no_edge() -> AbstractContextManager[Any]:
    """Only the first side stream of a capture waits for the fork: one fork event is remembered."""

    def wrap(original: Any) -> Any:
        def append(self: Capture, stream: Any, payload: Any) -> Any:
            forks = self.__dict__.setdefault("_forks", [])
            if stream is not self.origin and stream not in forks:
                forks.append(stream)
                if len(forks) > 1:
                    self.streams[stream] = ()
            return original(self, stream, payload)

        return append

    return replaced(Capture, "append", wrap)


def _frozen(changed: Callable[[tuple[FrozenNode, ...]], tuple[FrozenNode, ...]]) -> AbstractContextManager[Any]:
    """Change what an executable takes over from its template."""

    def wrap(original: Any) -> Any:
        def freeze(template: Any) -> tuple[FrozenNode, ...]:
            return changed(original(template))

        return freeze

    return replaced(executables, "freeze", wrap)


@FAULTS.patch("capture.fork-join-order", implementation=_ASYNC)
def executable_keeps_four_edges_a_node() -> AbstractContextManager[Any]:
    """Instantiation has room for four dependencies of a node and loses the others."""
    return _frozen(lambda nodes: tuple(dataclasses.replace(node, waits=node.waits[:4]) for node in nodes))


@FAULTS.patch("capture.fork-join-order", implementation=_ASYNC)
def executable_keeps_sixteen_edges_a_node() -> AbstractContextManager[Any]:
    """Instantiation has room for sixteen dependencies of a node and loses the others."""
    return _frozen(lambda nodes: tuple(dataclasses.replace(node, waits=node.waits[:16]) for node in nodes))


@FAULTS.patch("capture.fork-join-order", implementation=_ASYNC)
def executable_keeps_one_edge_a_node() -> AbstractContextManager[Any]:
    """Instantiation keeps the first dependency of each node and loses the others."""
    return _frozen(lambda nodes: tuple(dataclasses.replace(node, waits=node.waits[:1]) for node in nodes))


@FAULTS.patch("replay.performs-work")
def dependent_pair_reordered() -> AbstractContextManager[Any]:
    """Instantiation turns the edge between the last two nodes round."""

    def changed(nodes: tuple[FrozenNode, ...]) -> tuple[FrozenNode, ...]:
        if len(nodes) < 2 or nodes[-1].waits != (len(nodes) - 2,):
            return nodes
        *front, second, last = nodes
        return (*front, dataclasses.replace(last, waits=second.waits), dataclasses.replace(second, waits=(len(front),)))

    return _frozen(changed)


@FAULTS.patch("capture.many-operators", implementation=_ASYNC)
def edges_lost_in_large_graphs() -> AbstractContextManager[Any]:
    """From the thirteenth node on, nodes have no edges: a table of fixed size."""
    return _frozen(
        lambda nodes: tuple(
            node if place < 12 else dataclasses.replace(node, waits=()) for place, node in enumerate(nodes)
        )
    )


@FAULTS.patch("capture.many-operators")
def nodes_lost_in_large_graphs() -> AbstractContextManager[Any]:
    """A graph of more than twenty nodes loses its last one."""
    return _frozen(lambda nodes: nodes[:-1] if len(nodes) > 20 else nodes)


# -- order of launches ------------------------------------------------------------------------------------------------


def _launch(changed: Callable[[Any, Executable, Any], None]) -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        def launch(self: Executable, stream: Any) -> None:
            changed(original, self, stream)

        return launch

    return replaced(Executable, "launch", wrap)


@FAULTS.patch("replay.ordered-on-stream", "replay.any-stream", implementation=_ASYNC)
def launches_on_the_default_stream() -> AbstractContextManager[Any]:
    """Every launch goes to the default stream, whichever stream it was given."""
    return _launch(lambda original, executable, _: original(executable, streams.legacy))


@FAULTS.patch("replay.ordered-on-stream", "replay.mixes-with-eager", implementation=_ASYNC)
def launch_does_not_wait_for_its_stream() -> AbstractContextManager[Any]:
    """A launch begins before the work in front of it on its stream is done."""

    def wrap(_original: Any) -> Any:
        def predecessors(stream: Any) -> tuple[Any, ...]:
            return ()

        return predecessors

    return replaced(executables, "predecessors", wrap)


@FAULTS.patch("replay.ordered-on-stream", "replay.mixes-with-eager", implementation=_ASYNC)
def stream_does_not_wait_for_a_launch() -> AbstractContextManager[Any]:
    """Work behind a launch begins before the launch is done."""

    def wrap(_original: Any) -> Any:
        def advance(stream: Any, task: Any) -> None:
            """Forget it."""

        return advance

    return replaced(executables, "advance", wrap)


@FAULTS.patch("replay.ordered-on-stream", "replay.mixes-with-eager", implementation=_ASYNC)
def every_fourth_launch_is_not_ordered() -> AbstractContextManager[Any]:
    """One launch in four does not wait for the work in front of it: a race that is mostly won."""
    countdown = Countdown(4)

    def wrap(original: Any) -> Any:
        def predecessors(stream: Any) -> tuple[Any, ...]:
            return () if countdown.due() else original(stream)

        return predecessors

    return replaced(executables, "predecessors", wrap)


@FAULTS.patch("replay.ordered-through-events", implementation=_ASYNC)
def events_do_not_cover_launches() -> AbstractContextManager[Any]:
    """An event that is recorded behind a launch does not wait for it."""
    launched: set[int] = set()

    def remember(original: Any) -> Any:
        def advance(stream: Any, task: Any) -> None:
            launched.add(id(task))
            original(stream, task)

        return advance

    def record(original: Any) -> Any:
        def recorded(stream: Any, event: Any) -> None:
            original(stream, event)
            event.work = tuple(task for task in event.work or () if id(task) not in launched)

        return recorded

    return together(replaced(executables, "advance", remember), replaced(scheduler, "record", record))


@FAULTS.patch("replay.ordered-through-events", implementation=_ASYNC)
def waits_for_events_are_forgotten() -> AbstractContextManager[Any]:
    """A wait for an event outside of captures orders nothing."""

    def wrap(_original: Any) -> Any:
        def wait(stream: Any, event: Any) -> None:
            """Forget it."""

        return wait

    return replaced(scheduler, "wait", wrap)


@FAULTS.patch("replay.performs-work", "replay.reads-current-values")
def third_launch_is_lost() -> AbstractContextManager[Any]:
    """The third launch of every executable is taken and not run."""

    def changed(original: Any, executable: Executable, stream: Any) -> None:
        turn = executable.__dict__["_turns"] = executable.__dict__.get("_turns", 0) + 1
        if turn != 3:
            original(executable, stream)

    return _launch(changed)


@FAULTS.patch("replay.performs-work", "replay.reads-current-values")
def every_fifth_launch_runs_half() -> AbstractContextManager[Any]:
    """One launch in five, over all graphs, runs the first half of its nodes only."""
    countdown = Countdown(5)

    def changed(original: Any, executable: Executable, stream: Any) -> None:
        if not countdown.due():
            original(executable, stream)
            return
        whole = executable._runs
        executable._runs = [run[: len(run) // 2] for run in whole]
        try:
            original(executable, stream)
        finally:
            executable._runs = whole

    return _launch(changed)


@FAULTS.patch("reinstantiation.in-any-thread")
def launches_from_other_threads_are_lost() -> AbstractContextManager[Any]:
    """A launch from another thread than the main one is taken and not run."""

    def changed(original: Any, executable: Executable, stream: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            original(executable, stream)

    return _launch(changed)


@FAULTS.patch("reset.replays-under-way-finish", implementation=_ASYNC)
def destroying_drops_launches_under_way() -> AbstractContextManager[Any]:
    """Destroying an executable drops what it was launched for and has not run yet."""

    def changed(original: Any, executable: Executable, stream: Any) -> None:
        original(executable, stream)

    def wrap(original: Any) -> Any:
        def destroy(exec_: Any) -> Any:
            executable = executables.executables.find(exec_)
            work = scheduler.policy.deferred
            if (
                executable is not None
                and work is not None
                and executable.latest is not None
                and not executable.latest.done
            ):
                batch = executable.latest.batch
                if batch is not None:
                    batch.failed = True
            return original(exec_)

        return destroy

    return together(_launch(changed), replaced(software, "cudaGraphExecDestroy", wrap))
