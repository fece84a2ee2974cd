"""Defects of the runtime below the graph classes: edges, order, capture rules, executables, handles, template edits.

Edges and order show on the asynchronous device only, where work that nobody ordered is run as late as can be.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from reference_impl import software, software_streams
from reference_impl.faults.fault import Countdown, Faults, replaced, together
from reference_impl.software import api_streams, captures, executables, scheduler, streams, templates
from reference_impl.software.captures import Capture
from reference_impl.software.executables import Executable, FrozenNode, Step
from reference_impl.software.memory import Fill

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


@FAULTS.patch("capture.fork-join-order", "template-editing.fork-and-join", implementation=_ASYNC)
def fork_adds_no_edge() -> AbstractContextManager[Any]:
    """The first node of a forked stream does not wait for what was in front of the fork."""

    def wrap(original: Any) -> Any:
        def append(self: Capture, stream: Any, payload: Any) -> Any:
            seen = self.__dict__.setdefault("_begun_streams", {self.origin})
            if stream not in seen:
                seen.add(stream)
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
            known = self.__dict__.setdefault("_forks", [])
            if stream is not self.origin and stream not in known:
                known.append(stream)
                if len(known) > 1:
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
def executable_keeps_one_edge_a_node() -> AbstractContextManager[Any]:
    """Instantiation keeps the first dependency of each node and loses the others."""
    return _frozen(lambda nodes: tuple(dataclasses.replace(node, waits=node.waits[:1]) for node in nodes))


@FAULTS.patch("replay.performs-work", "capture.operators")
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
            found = executables.executables.find(exec_)
            work = scheduler.policy.deferred
            if found is not None and work is not None and found.latest is not None and not found.latest.done:
                batch = found.latest.batch
                if batch is not None:
                    batch.failed = True
            return original(exec_)

        return destroy

    return together(_launch(changed), replaced(software, "cudaGraphExecDestroy", wrap))


# -- what a capture allows --------------------------------------------------------------------------------------------


@FAULTS.patch("failed-capture.end-raises", "error-modes.refusal-spoils-capture")
def invalidation_forgotten() -> AbstractContextManager[Any]:
    """A call that breaks the rules of a capture is refused, and the capture goes on as if it had not been made."""

    def wrap(_original: Any) -> Any:
        def invalidate(self: Capture) -> None:
            """Forget it."""

        return invalidate

    return replaced(Capture, "invalidate", wrap)


@FAULTS.patch("failed-capture.fork-reported", "context-manager.failed-end-raises")
def unjoined_work_accepted() -> AbstractContextManager[Any]:
    """A capture ends well although a forked stream was never joined."""
    return replaced(Capture, "unjoined", lambda _: lambda __: False)


@FAULTS.patch("error-modes.global-own-thread", "error-modes.thread-local-own-thread")
def nothing_is_unsafe() -> AbstractContextManager[Any]:
    """Potentially unsafe calls are let through in every mode."""
    return replaced(captures, "refuse_unsafe", lambda _: lambda: None)


@FAULTS.patch("failed-capture.forbidden-call-reported")
def synchronizing_is_allowed() -> AbstractContextManager[Any]:
    """Waiting for a stream or for the device inside a capture is let through and does nothing."""
    return together(
        replaced(captures, "refuse_waiting", lambda _: lambda stream: None),
        replaced(captures, "refuse_any", lambda _: lambda: None),
    )


def _prohibiting(rule: Callable[[Capture], bool]) -> AbstractContextManager[Any]:
    """Let `rule` alone say which captures a potentially unsafe call breaks."""

    def wrap(_original: Any) -> Any:
        def refuse_unsafe() -> None:
            if captures.thread.mode != captures.RELAXED:
                captures._refuse(
                    [each for each in captures.live if rule(each)],
                    software.cudaError_t.cudaErrorStreamCaptureUnsupported,
                )

        return refuse_unsafe

    return replaced(captures, "refuse_unsafe", wrap)


def _own(capture: Capture) -> bool:
    return capture.mode != captures.RELAXED and capture.token is captures.thread.token


@FAULTS.patch("error-modes.global-other-thread", "error-modes.default-is-global-for-other-threads")
def global_is_thread_local() -> AbstractContextManager[Any]:
    """A global capture lets other threads do what it must forbid."""
    return _prohibiting(_own)


@FAULTS.patch("error-modes.thread-local-other-thread")
def thread_local_is_global() -> AbstractContextManager[Any]:
    """A thread-local capture is broken by other threads."""
    return _prohibiting(lambda capture: capture.mode != captures.RELAXED)


@FAULTS.patch("error-modes.relaxed-own-thread")
def relaxed_is_global() -> AbstractContextManager[Any]:
    """A relaxed capture is broken by unsafe calls of its own thread."""
    return _prohibiting(lambda capture: _own(capture) or capture.mode != captures.THREAD_LOCAL)


@FAULTS.patch("error-modes.mode-is-per-capture")
def first_mode_stays() -> AbstractContextManager[Any]:
    """The mode of the process's first capture holds for all later ones."""
    modes: list[Any] = []

    def wrap(original: Any) -> Any:
        def begin(stream: Any, mode: Any, *rest: Any) -> None:
            modes.append(mode)
            original(stream, modes[0], *rest)

        return begin

    return replaced(captures, "begin", wrap)


@FAULTS.patch("error-modes.mode-ends-with-capture")
def mode_outlives_the_capture() -> AbstractContextManager[Any]:
    """Unsafe calls stay forbidden after the capture has ended, until the next one."""
    ended: list[Capture] = []

    def finish(original: Any) -> Any:
        def finished(self: Capture) -> None:
            original(self)
            ended[:] = [self] if self.mode != captures.RELAXED else []

        return finished

    def refuse(original: Any) -> Any:
        def refuse_unsafe() -> None:
            original()
            if ended and not captures.live and ended[0].token is captures.thread.token:
                ended.clear()
                raise software.errors.Refusal(software.cudaError_t.cudaErrorStreamCaptureUnsupported)

        return refuse_unsafe

    return together(replaced(Capture, "finish", finish), replaced(captures, "refuse_unsafe", refuse))


@FAULTS.patch("capture.reports-capturing")
def never_says_capturing() -> AbstractContextManager[Any]:
    """is_current_stream_capturing() is always False: a default that nobody overrode."""
    from reference_impl import namespace

    return together(
        replaced(namespace, "current_stream_capturing", lambda _: lambda on: False),
        replaced(software_streams.Stream, "is_capturing", lambda _: lambda self: False),
    )


@FAULTS.patch("capture.reports-this-stream")
def every_stream_says_capturing() -> AbstractContextManager[Any]:
    """While anything captures, every stream says that it does."""
    from reference_impl import namespace

    return replaced(namespace, "current_stream_capturing", lambda _: lambda on: bool(captures.live))


@FAULTS.patch("capture.other-streams-run", implementation=_ASYNC)
def other_streams_are_captured_too() -> AbstractContextManager[Any]:
    """Work on a stream that has no part in the capture is recorded all the same."""

    def wrap(original: Any) -> Any:
        def of(stream: Any) -> Any:
            found = original(stream)
            if found is None and not stream.legacy:
                for capture in captures.live:
                    if capture.valid and capture.token is captures.thread.token:
                        capture.streams.setdefault(stream, capture.streams[capture.origin])
                        return capture
            return found

        return of

    return together(replaced(captures, "of", wrap), replaced(Capture, "unjoined", lambda _: lambda self: False))


@FAULTS.patch("failed-capture.stream-usable", "failed-capture.abandoned-not-capturing")
def failed_end_leaves_the_stream() -> AbstractContextManager[Any]:
    """After a capture that failed, its stream goes on capturing for ever."""

    def wrap(original: Any) -> Any:
        def finish(self: Capture) -> None:
            if self.valid:
                original(self)

        return finish

    return replaced(Capture, "finish", wrap)


@FAULTS.patch("failed-capture.fork-aftermath")
def failed_end_leaves_forked_streams() -> AbstractContextManager[Any]:
    """After a capture that failed, the streams that were forked from it go on capturing."""

    def wrap(original: Any) -> Any:
        def finish(self: Capture) -> None:
            forked = [] if self.valid else [stream for stream in self.streams if stream is not self.origin]
            original(self)
            for stream in forked:
                stream.capture = self

        return finish

    return replaced(Capture, "finish", wrap)


@FAULTS.patch("error-modes.other-thread-ordinary-work", implementation=_ASYNC)
def ordinary_work_of_other_threads_breaks_captures() -> AbstractContextManager[Any]:
    """A kernel that another thread launches on a stream of its own invalidates a capture underway."""

    def wrap(original: Any) -> Any:
        def of(stream: Any) -> Any:
            for capture in list(captures.live):
                if capture.token is not captures.thread.token and stream.capture is not capture:
                    capture.invalidate()
            return original(stream)

        return of

    return replaced(captures, "of", wrap)


# -- executables and handles ------------------------------------------------------------------------------------------


@FAULTS.patch("reinstantiation.edit-hidden-until-instantiate")
def executable_is_no_copy() -> AbstractContextManager[Any]:
    """An executable reads its template at every launch, so that edits show without instantiating."""

    def init(original: Any) -> Any:
        def made(self: Executable, template: Any, flags: int) -> None:
            original(self, template, flags)
            self.__dict__["_template"] = template

        return made

    def launch(original: Any) -> Any:
        def launched(self: Executable, stream: Any) -> None:
            template = self.__dict__["_template"]
            if template.nodes:
                self.steps = []
                nodes = executables.freeze(template)
                executables.flatten(nodes, self.steps)
                self.nodes = tuple(each.without_payload() for each in nodes)
                self.at = {step.key: index for index, step in enumerate(self.steps)}
                self._orders = []
                self._bind()
            original(self, stream)

        return launched

    return together(replaced(Executable, "__init__", init), replaced(Executable, "launch", launch))


@FAULTS.patch("template-editing.clone-independent")
def clone_shares_its_nodes() -> AbstractContextManager[Any]:
    """The clone of a template is the template itself."""
    return replaced(templates.Template, "clone", lambda _: lambda self, *, embedded=False: self)


@FAULTS.patch("template-editing.insert-between", "reinstantiation.edit-shown-after-instantiate")
def instantiation_skips_added_nodes() -> AbstractContextManager[Any]:
    """Nodes that were added to a captured template by hand are not instantiated."""

    def wrap(original: Any) -> Any:
        def freeze(template: Any) -> tuple[FrozenNode, ...]:
            nodes = original(template)
            return tuple(
                dataclasses.replace(node, payload=templates.Empty()) if isinstance(node.payload, Fill) else node
                for node in nodes
            )

        return freeze

    return replaced(executables, "freeze", wrap)


@FAULTS.patch("template-editing.exec-node-disabled")
def disabled_nodes_run() -> AbstractContextManager[Any]:
    """A node that was disabled in an executable runs all the same."""

    def wrap(original: Any) -> Any:
        def set_enabled(self: Executable, node: Any, *, enabled: bool) -> None:
            del enabled
            original(self, node, enabled=True)

        return set_enabled

    return replaced(Executable, "set_enabled", wrap)


@FAULTS.patch("template-editing.exec-update")
def update_changes_nothing() -> AbstractContextManager[Any]:
    """Updating an executable from another template succeeds and changes nothing."""
    return replaced(Executable, "update", lambda _: lambda self, template: None)


@FAULTS.patch("template-editing.exec-update-refused")
def update_takes_any_template() -> AbstractContextManager[Any]:
    """An executable is updated from a template of another shape as far as it goes, without an error."""

    def wrap(original: Any) -> Any:
        def update(self: Executable, template: Any) -> None:
            try:
                original(self, template)
            except software.errors.Refusal:
                return

        return update

    return replaced(Executable, "update", wrap)


@FAULTS.patch("template-editing.exec-node-parameters")
def executable_parameters_ignored() -> AbstractContextManager[Any]:
    """Changing a node's parameters in an executable succeeds and changes nothing."""
    return replaced(Executable, "set_payload", lambda _: lambda self, node, payload: None)


@FAULTS.patch("template-editing.pitched-memset")
def memset_ignores_the_pitch() -> AbstractContextManager[Any]:
    """A memset of several rows fills them one behind the other, whatever the pitch."""

    def wrap(original: Any) -> Any:
        def call(self: Fill) -> None:
            area = dataclasses.replace(self.area, pitch=self.area.width)
            original(dataclasses.replace(self, area=area))

        return call

    return replaced(Fill, "__call__", wrap)


@FAULTS.patch("template-editing.child-graph")
def child_graphs_run_nothing() -> AbstractContextManager[Any]:
    """The nodes of a child graph are not run."""

    def wrap(original: Any) -> Any:
        def flatten(nodes: Any, steps: list[Step], waits: tuple[int, ...] = ()) -> tuple[int, ...]:
            empty = [dataclasses.replace(node, body=None) if node.body is not None else node for node in nodes]
            ends: tuple[int, ...] = original(empty, steps, waits)
            return ends

        return flatten

    return replaced(executables, "flatten", wrap)


@FAULTS.patch("template-editing.queries-agree", "graph-data.chain")
def dependents_not_reported() -> AbstractContextManager[Any]:
    """Asked for a node's dependents, the runtime knows none."""
    return replaced(
        software,
        "cudaGraphNodeGetDependentNodes",
        lambda _: lambda node, number=0: (software.cudaError_t.cudaSuccess, [], [], 0),
    )


@FAULTS.patch("graph-data.fresh-exec-id", "graph-data.ids-differ-between-graphs")
def executables_share_one_id() -> AbstractContextManager[Any]:
    """All executables have one number, so that profilers cannot tell them apart."""

    def wrap(original: Any) -> Any:
        def made(self: Executable, template: Any, flags: int) -> None:
            original(self, template, flags)
            self.identity = 1

        return made

    return replaced(Executable, "__init__", wrap)
