"""Executables (`cudaGraphExec_t`): frozen copies of templates, prepared to launch fast."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from reference_impl.runtime.bindings import cudaError_t
from reference_impl.runtime.errors import LOCK, Refusal, kernel_failed
from reference_impl.runtime.handles import HandleTable
from reference_impl.runtime.kernels import KernelCall, Memory
from reference_impl.runtime.memory import Copy, Fill
from reference_impl.runtime.orders import draw_orders, topological
from reference_impl.runtime.scheduler import Action, Batch, Deferred, Task, advance, policy, predecessors
from reference_impl.runtime.streams import Event, Stamp, Stream
from reference_impl.runtime.templates import (
    TYPES,
    Child,
    EventRecord,
    EventWait,
    HostCall,
    Node,
    Payload,
    Template,
)
from reference_impl.runtime.user_objects import UserObject

_graph_ids = count(1)


@dataclass(frozen=True, slots=True)
class FrozenNode:
    """A node as it was: `key` is the handle it had, `waits` positions of its dependencies.

    Nodes of one `kind` can take each other's parameters.  `body` holds the nodes of a child graph.
    """

    key: int
    kind: Hashable
    waits: tuple[int, ...]
    payload: Payload | None
    body: tuple[FrozenNode, ...] | None = None

    def without_payload(self) -> FrozenNode:
        """The shape alone, which keeps no kernel alive."""
        body = None if self.body is None else tuple([each.without_payload() for each in self.body])
        return FrozenNode(self.key, self.kind, self.waits, None, body)


def freeze(template: Template) -> tuple[FrozenNode, ...]:
    """The template as it is now, child graphs by value.  Refuses a cycle with cudaErrorInvalidValue."""
    position = {node: index for index, node in enumerate(template.nodes.values())}
    frozen = tuple(
        FrozenNode(
            node.handle,
            kind_of(node.payload),
            tuple(position[each] for each in node.dependencies),
            node.payload,
            freeze(node.payload.template) if isinstance(node.payload, Child) else None,
        )
        for node in position
    )
    if len(topological([each.waits for each in frozen])) != len(frozen):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return frozen


def user_objects(template: Template) -> tuple[UserObject, ...]:
    """What the template and those inside its child graph nodes keep alive."""
    return (*template.references, *(item for child in template.children() for item in user_objects(child)))


def kind_of(payload: Payload) -> Hashable:
    """What an executable cannot change about a node."""
    if isinstance(payload, Fill):
        return Fill, payload.area.height > 1
    if isinstance(payload, Copy):
        return Copy, payload.linear
    kind: Hashable = TYPES[type(payload)]
    return kind


@dataclass(slots=True)
class Step:
    """A node among all nodes of a launch.  A step without an action only orders others."""

    key: int
    kind: Hashable
    payload: Payload | None
    waits: tuple[int, ...]
    enabled: bool = True

    @property
    def serial(self) -> Hashable | None:
        if isinstance(self.payload, KernelCall):
            return self.payload.kernel.serial
        return None

    @property
    def memory(self) -> Sequence[Memory]:
        return self.payload.kernel.memory if isinstance(self.payload, KernelCall) else ()


def flatten(nodes: Sequence[FrozenNode], steps: list[Step], waits: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Append the steps of `nodes` behind `waits`; returns the steps that the next must wait for.

    A child graph becomes its own nodes between the child node's dependencies and a closing step.
    """
    at: dict[int, int] = {}
    for index in topological([each.waits for each in nodes]):
        node = nodes[index]
        before = tuple([at[each] for each in node.waits]) or waits
        if before == node.waits:
            before = node.waits  # the same numbers once, not twice
        if node.body is not None:
            before = flatten(node.body, steps, before)
        at[index] = len(steps)
        steps.append(Step(node.key, node.kind, node.payload, before))
    waited = {each for node in nodes for each in node.waits}
    return tuple(at[index] for index in sorted(at) if index not in waited) or waits


class Executable:
    """A launchable copy of a template.  One launch of it runs at a time."""

    def __init__(self, template: Template, flags: int) -> None:
        self.handle = executables.reserve()
        self.identity = next(_graph_ids)
        self.flags = flags
        nodes = freeze(template)
        self._kept = user_objects(template)
        self.steps: list[Step] = []
        flatten(nodes, self.steps)
        self.nodes = tuple(each.without_payload() for each in nodes)
        self.at = {step.key: index for index, step in enumerate(self.steps)}
        self.latest: Task | None = None
        self._launches = 0
        self._turn = threading.RLock()
        self._serial: list[Hashable | None] = []
        self._orders: list[list[int]] = []
        self._bind()
        executables.add(self.handle, self)

    def _bind(self) -> None:
        """Prepare what a launch calls, in each of the orders, and what it holds meanwhile."""
        serial = [step.serial for step in self.steps]
        if not self._orders or serial != self._serial:
            self._serial = serial
            self._orders = draw_orders([step.waits for step in self.steps], serial)
        actions = [action_of(step.payload) if step.enabled else None for step in self.steps]
        self._actions = actions
        # Orders that differ only in steps without an action are one order.
        orders = dict.fromkeys(tuple(index for index in order if actions[index] is not None) for order in self._orders)
        self._runs = [[action for index in order if (action := actions[index])] for order in orders]
        self._memory = list({id(each): each for step in self.steps for each in step.memory}.values())

    def step(self, node: Node) -> Step:
        """The step made from `node`.  Refuses a node of another template with cudaErrorInvalidValue."""
        index = self.at.get(node.handle)
        if index is None:
            raise Refusal(cudaError_t.cudaErrorInvalidValue)
        return self.steps[index]

    def set_payload(self, node: Node, payload: Payload) -> None:
        """Give a node other parameters of the same kind."""
        step = self.step(node)
        if kind_of(payload) != step.kind:
            raise Refusal(cudaError_t.cudaErrorInvalidValue)
        step.payload = payload
        self._bind()

    def set_enabled(self, node: Node, *, enabled: bool) -> None:
        """Let a kernel, memset or memcpy node take part in launches, or only order others."""
        self.switchable(node).enabled = enabled
        self._bind()

    def switchable(self, node: Node) -> Step:
        """The step of a node that can be disabled.  Refuses other types with cudaErrorInvalidValue."""
        step = self.step(node)
        if not isinstance(step.payload, KernelCall | Fill | Copy):
            raise Refusal(cudaError_t.cudaErrorInvalidValue)
        return step

    def set_child(self, node: Node, template: Template) -> None:
        """Give a child graph node the parameters of another template of the same shape."""
        body = find_body(self.nodes, self.step(node).key)
        if body is None:
            raise Refusal(cudaError_t.cudaErrorInvalidValue)
        new = freeze(template)
        if not same_shape(body, new):
            raise Refusal(cudaError_t.cudaErrorGraphExecUpdateFailure)
        self._adopt(body, new)
        self._kept = (*self._kept, *user_objects(template))
        self._bind()

    def update(self, template: Template) -> None:
        """`cudaGraphExecUpdate`: take the parameters of a template of the same shape, or nothing."""
        new = freeze(template)
        if not same_shape(self.nodes, new):
            raise Refusal(cudaError_t.cudaErrorGraphExecUpdateFailure)
        self._adopt(self.nodes, new)
        self._kept = user_objects(template)
        self._bind()

    def _adopt(self, old: Sequence[FrozenNode], new: Sequence[FrozenNode]) -> None:
        for mine, theirs in zip(old, new, strict=True):
            if mine.body is not None and theirs.body is not None:
                self._adopt(mine.body, theirs.body)
            else:
                self.steps[self.at[mine.key]].payload = theirs.payload

    def launch(self, stream: Stream) -> None:
        """Run all steps now, in the next of the prepared orders, or hand them to the scheduler."""
        work = policy.deferred
        if work is not None:
            self._defer(work, stream)
            return
        with self._turn:
            turn = self._launches
            self._launches = turn + 1
            try:
                memory = [each.acquire() for each in self._memory]
                for run in self._runs[turn % len(self._runs)]:
                    run()
                del memory
            except Refusal:
                raise
            except Exception as failure:
                raise kernel_failed(failure) from failure

    def _defer(self, work: Deferred, stream: Stream) -> None:
        try:
            batch = Batch([*self._kept, *(each.acquire() for each in self._memory)])
        except Exception as failure:
            raise kernel_failed(failure) from failure
        with LOCK:
            start = predecessors(stream)
            if self.latest is not None and not self.latest.done:
                start = (*start, self.latest)
            tasks: list[Task] = []
            for step, action in zip(self.steps, self._actions, strict=True):
                waits = tuple(tasks[each] for each in step.waits) or start
                if isinstance(step.payload, EventWait):
                    waits = (*waits, *(step.payload.event.work or ()))
                task = work.add(action, batch, waits, step.serial)
                if isinstance(step.payload, EventRecord):
                    mark(step.payload.event, (task,))
                tasks.append(task)
            self.latest = work.add(None, batch, tasks or start)
            advance(stream, self.latest)


def mark(event: Event, tasks: tuple[Task, ...]) -> None:
    """An event record node ran, or will have run once `tasks` are done."""
    event.captured = None
    event.work = tasks
    event.stamp = Stamp()


def _reach(event: Event) -> None:
    if policy.deferred is None:
        mark(event, ())
    event.stamp()


def action_of(payload: Payload | None) -> Action | None:
    """What a node does when it runs; None for one that only orders others."""
    if isinstance(payload, KernelCall):
        return payload.kernel.run
    if isinstance(payload, Fill | Copy):
        return payload
    if isinstance(payload, HostCall):
        return host_action(payload.function, payload.user_data)
    if isinstance(payload, EventRecord):
        return functools.partial(_reach, payload.event)
    return None


def host_action(function: int, user_data: int) -> Callable[[], None]:
    """A call of a C function with one pointer, as host nodes and `cudaLaunchHostFunc` make it."""
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)
    return lambda: call(user_data)


def same_shape(old: Sequence[FrozenNode], new: Sequence[FrozenNode]) -> bool:
    """Whether `new` has the nodes of `old` in their order, with their edges, other parameters aside."""
    return len(old) == len(new) and all(
        mine.kind == theirs.kind
        and set(mine.waits) == set(theirs.waits)
        and same_shape(mine.body or (), theirs.body or ())
        for mine, theirs in zip(old, new, strict=True)
    )


def find_body(nodes: Sequence[FrozenNode], key: int) -> tuple[FrozenNode, ...] | None:
    """What the child graph node of that key holds, at any depth; None for a key of another node."""
    for node in nodes:
        if node.key == key:
            return node.body
        if node.body is not None and (body := find_body(node.body, key)) is not None:
            return body
    return None


executables: HandleTable[Executable] = HandleTable()


def find_executable(handle: Any) -> Executable:
    """The executable behind a handle.  Refuses a stale or foreign one with cudaErrorInvalidValue."""
    executable = executables.find(handle)
    if executable is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return executable
