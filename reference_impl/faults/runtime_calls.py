"""Defects of the runtime below the graph classes: what a capture allows, executables, handles and template edits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from reference_impl import runtime as software
from reference_impl.devices.software import streams as software_streams
from reference_impl.faults.fault import Faults, replaced, together
from reference_impl.runtime import captures, executables, templates
from reference_impl.runtime.captures import Capture
from reference_impl.runtime.executables import Executable, FrozenNode, Step
from reference_impl.runtime.memory import Fill

FAULTS = Faults("runtime")

_ASYNC = "reference.asynchronous"


# -- what a capture allows --------------------------------------------------------------------------------------------


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
    from reference_impl.devices import namespace

    return together(
        replaced(namespace, "current_stream_capturing", lambda _: lambda on: False),
        replaced(software_streams.Stream, "is_capturing", lambda _: lambda self: False),
    )


@FAULTS.patch("capture.reports-this-stream")
def every_stream_says_capturing() -> AbstractContextManager[Any]:
    """While anything captures, every stream says that it does."""
    from reference_impl.devices import namespace

    return replaced(namespace, "current_stream_capturing", lambda _: lambda on: bool(captures.live))


@FAULTS.patch("failed-capture.stream-usable")
def failed_end_leaves_the_stream() -> AbstractContextManager[Any]:
    """After a capture that failed, its stream goes on capturing forever."""

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


@FAULTS.patch("graph-data.neighbours-agree", "graph-data.chain")
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
