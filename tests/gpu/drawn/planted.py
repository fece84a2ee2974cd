"""Differences planted in the model, one behaviour each, that drawn programs have to find."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from reference_impl import runtime as software
from reference_impl.faults import runtime as launch_faults
from reference_impl.faults import runtime_calls as call_faults
from reference_impl.faults.fault import replaced, together
from reference_impl.runtime import captures, errors, executables, memory, parameters, templates, user_objects
from reference_impl.runtime.captures import Capture
from reference_impl.runtime.executables import Executable
from reference_impl.runtime.templates import Template

Planted: TypeAlias = Callable[[], AbstractContextManager[Any]]

E = software.cudaError_t

PLANTED: dict[str, Planted] = {}


def planted(apply: Planted) -> Planted:
    PLANTED[apply.__name__] = apply
    return apply


def _answered(name: str, code: Any, other: Any) -> AbstractContextManager[Any]:
    """The function `name` answers `other` where it should answer `code`."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            results = original(*args)
            return (other, *results[1:]) if results[0] == code else results

        return call

    return replaced(software, name, wrap)


# -- another status ----------------------------------------------------------------------------------------------------


@planted
def second_begin_has_another_status() -> AbstractContextManager[Any]:
    return _answered("cudaStreamBeginCapture", E.cudaErrorIllegalState, E.cudaErrorInvalidValue)


@planted
def unjoined_has_the_status_of_invalidated() -> AbstractContextManager[Any]:
    return _answered("cudaStreamEndCapture", E.cudaErrorStreamCaptureUnjoined, E.cudaErrorStreamCaptureInvalidated)


@planted
def failed_update_has_another_status() -> AbstractContextManager[Any]:
    return _answered("cudaGraphExecUpdate", E.cudaErrorGraphExecUpdateFailure, E.cudaErrorInvalidValue)


@planted
def merge_is_isolation() -> AbstractContextManager[Any]:
    merge, isolation = E.cudaErrorStreamCaptureMerge, E.cudaErrorStreamCaptureIsolation
    return _answered("cudaStreamWaitEvent", merge, isolation)


# -- captures ----------------------------------------------------------------------------------------------------------


@planted
def refusal_leaves_the_capture_valid() -> AbstractContextManager[Any]:
    def refuse(broken: list[Capture], code: Any) -> None:
        if broken:
            raise errors.Refusal(code)

    return replaced(captures, "_refuse", lambda _: refuse)


@planted
def wrong_thread_may_end() -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        def end(stream: Any) -> Any:
            if stream.capture is not None:
                stream.capture.token = captures.thread.token
            return original(stream)

        return end

    return replaced(captures, "end", wrap)


@planted
def empty_wait_forgets_the_edges() -> AbstractContextManager[Any]:
    """A join replaces what a stream waits for."""

    def join(self: Capture, stream: Any, nodes: Any) -> None:
        stream.capture = self
        self.streams[stream] = tuple(nodes) or self.streams.get(stream, ())

    return replaced(Capture, "join", lambda _: join)


@planted
def capture_into_a_template_waits_for_nothing() -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        return lambda stream, mode, template=None, nodes=(): original(stream, mode, template)

    return replaced(captures, "begin", wrap)


@planted
def destroyed_stream_leaves_no_work_to_join() -> AbstractContextManager[Any]:
    def leave(self: Capture, stream: Any) -> None:
        self.invalidate()
        self.finish()

    return replaced(Capture, "leave", lambda _: leave)


# -- templates ---------------------------------------------------------------------------------------------------------


@planted
def host_nodes_are_empty_nodes() -> AbstractContextManager[Any]:
    types = {**templates.TYPES, templates.HostCall: templates.TYPES[templates.Empty]}
    return replaced(templates, "TYPES", lambda _: types)


@planted
def destroyed_node_leaves_its_successors_waiting() -> AbstractContextManager[Any]:
    """An edge from each of its dependencies to each of its dependents takes the node's place."""

    def wrap(original: Any) -> Any:
        def remove(self: Template, node: Any) -> None:
            pairs = [(start, end) for start in node.dependencies for end in node.dependents]
            original(self, node)
            for start, end in pairs:
                if start not in end.dependencies:
                    self.connect([(start, end)])

        return remove

    return replaced(Template, "remove", wrap)


@planted
def refused_edges_are_taken_back() -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        def connect(self: Template, edges: Any) -> None:
            listed = list(edges)
            before = [(node, list(node.dependencies), list(node.dependents)) for node in self.nodes.values()]
            try:
                original(self, listed)
            except errors.Refusal:
                for node, dependencies, dependents in before:
                    node.dependencies, node.dependents = dependencies, dependents
                raise

        return connect

    return replaced(Template, "connect", wrap)


@planted
def clone_loses_the_last_edge() -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        def clone(self: Template, *, embedded: bool = False) -> Template:
            copy: Template = original(self, embedded=embedded)
            edges = copy.edges()
            copy.disconnect(edges[-1:])
            return copy

        return clone

    return replaced(Template, "clone", wrap)


@planted
def root_nodes_are_all_nodes() -> AbstractContextManager[Any]:
    return replaced(Template, "roots", lambda _: lambda self: list(self.nodes.values()))


@planted
def pitch_is_forgotten() -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        def fill_params(fill: Any) -> Any:
            params = original(fill)
            params.pitch = 0
            return params

        return fill_params

    return replaced(software.api_nodes, "fill_params", wrap)


# -- executables -------------------------------------------------------------------------------------------------------


@planted
def launch_runs_twice() -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        def launch(self: Executable, stream: Any) -> None:
            original(self, stream)
            original(self, stream)

        return launch

    return replaced(Executable, "launch", wrap)


@planted
def update_takes_any_order_of_nodes() -> AbstractContextManager[Any]:
    def same_shape(old: Any, new: Any) -> bool:
        return sorted(str(each.kind) for each in old) == sorted(str(each.kind) for each in new)

    return replaced(executables, "same_shape", lambda _: same_shape)


@planted
def instantiation_accepts_a_cycle() -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        return lambda waits: [*original(waits), *(n for n in range(len(waits)) if n not in set(original(waits)))]

    return replaced(executables, "topological", wrap)


@planted
def disabling_is_only_said() -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        def set_enabled(self: Executable, node: Any, *, enabled: bool) -> None:
            self.switchable(node).enabled = enabled

        return set_enabled

    return replaced(Executable, "set_enabled", wrap)


# -- memory, user objects, errors --------------------------------------------------------------------------------------


@planted
def words_are_filled_as_bytes() -> AbstractContextManager[Any]:
    def wrap(original: Any) -> Any:
        def fill_from(params: Any) -> Any:
            fill = original(params)
            return memory.Fill(fill.area, fill.value, 1) if fill.element_size == 4 else fill

        return fill_from

    return together(
        replaced(parameters, "fill_from", wrap),
        replaced(software.api_nodes, "fill_from", wrap),
    )


@planted
def executables_keep_no_user_objects() -> AbstractContextManager[Any]:
    return replaced(executables, "user_objects", lambda _: lambda template: ())


@planted
def moved_references_stay() -> AbstractContextManager[Any]:
    """With cudaGraphUserObjectMove the template gets references of its own and the caller keeps all."""

    def give_back(references: Any, item: Any, number: int) -> None:
        if references is not user_objects.owned_by_user:
            user_objects.give_back(references, item, number)

    return replaced(software.api_user_objects, "give_back", lambda _: give_back)


@planted
def looking_clears_the_last_error() -> AbstractContextManager[Any]:
    return replaced(software.api_device, "peek_last_error", lambda _: errors.take_last_error)


# -- faults that the reference has for the suites, as far as programs can show them ------------------------------------

# The first two lie above the runtime.  Of the others only orders would tell: programs wait for each piece of work.
_UNSEEN = {
    "never-says-capturing",
    "every-stream-says-capturing",
    "dependent-pair-reordered",
    "edges-lost-in-large-graphs",
    "executable-keeps-four-edges-a-node",
    "executable-keeps-sixteen-edges-a-node",
    "executable-keeps-one-edge-a-node",
    "launches-on-the-default-stream",
    "launch-does-not-wait-for-its-stream",
    "stream-does-not-wait-for-a-launch",
    "every-fourth-launch-is-not-ordered",
    "events-do-not-cover-launches",
    "waits-for-events-are-forgotten",
    "destroying-drops-launches-under-way",
}

for fault in (*launch_faults.FAULTS, *call_faults.FAULTS):
    if fault.name not in _UNSEEN:
        PLANTED[fault.name] = fault.apply
