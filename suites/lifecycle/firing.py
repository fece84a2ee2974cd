"""Hooks: several on one graph, in order, as often as they are due, with what they see, change and raise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from suites.lifecycle.scenarios import Scenarios, added
from suites.support.captures import capture_between, replay
from suites.support.hooks import MOMENTS, HookFailed, noting, raising, register
from suites.support.outcomes import caught, in_words, related
from suites.support.streams import stream_kept
from suites.support.template import Template

if TYPE_CHECKING:
    import torch

#: Names of hooks, in the order of their registration; the second "b" is the same function again.
NAMES = ["c", "a", "b", "b"]


def hooks_run_in_order(
    impl: Adapter, graph: Any, tensor: torch.Tensor, number: int, *, keep: bool, handles: bool
) -> None:
    """Register hooks of both moments, capture, instantiate in every way, remove hooks, and capture again."""
    log: list[Any] = []
    executables: list[int] = []
    registered: dict[str, list[Any]] = {}
    for moment in MOMENTS:
        hooks = {name: noting(log, (moment, name)) for name in NAMES}
        registered[moment] = [register(graph, moment, hooks[name]) for name in NAMES]
        for handle in registered[moment]:
            fine = callable(getattr(handle, "remove", None))
            expect(fine, "registering a hook returns a handle whose remove() deregisters it", f"{handle!r}")
    if handles:
        register(graph, MOMENTS[1], lambda graph: executables.append(impl.raw_exec(graph)))

    def ran(names: list[str], *moments: str) -> None:
        promise = "hooks run in the order of their registration, each as often as it is registered, when they are due"
        due = [(moment, name) for moment in moments for name in names]
        expect(log == due, promise, f"{log} instead of {due}")
        log.clear()
        if handles and MOMENTS[1] in moments:
            now = impl.raw_exec(graph)
            promise = "a post-instantiate hook finds the fresh executable by its handle"
            expect(executables[-1:] == [now], promise, f"the hook read {executables[-1:]}, and afterwards it is {now}")

    end, instantiated = MOMENTS
    capture_between(impl, graph, lambda: tensor.add_(number))
    ran(NAMES, end, *([] if keep else [instantiated]))
    replay(impl, graph)
    ran(NAMES, *([instantiated] if keep else []))
    replay(impl, graph)
    ran(NAMES)
    for moment in MOMENTS:
        registered[moment][0].remove()
    if keep:
        graph.instantiate()
        ran(NAMES[1:], instantiated)
    graph.reset()
    for moment in MOMENTS:
        for handle in registered[moment][1:]:
            handle.remove()
    capture_between(impl, graph, lambda: tensor.add_(number))
    log_after = list(log)
    expect(not log_after, "a hook that was removed does not run", f"{log_after}")
    graph.reset()


def hook_edits(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int) -> None:
    """A capture-end hook adds a node to the template; the executable has it."""
    flag = impl.full(37, -7.0)

    def edit(graph: Any) -> None:
        template = Template(impl, graph)
        template.add_memset(flag, 3.0, after=template.leaves())

    handle = graph.register_capture_end_hook(edit)
    capture_between(impl, graph, lambda: tensor.add_(number))
    replay(impl, graph)
    expect_equal(impl, flag, 3.0, "the executable is made after the capture-end hooks, from what they leave")
    handle.remove()
    graph.reset()


class Firing(Scenarios):
    """Graphs with several hooks."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """Graphs with and without keep_graph are captured and replayed with hooks."""
        cell = self.cell(pick)
        handles = self.impl.owes("raw_handles")
        for keep in (flag, not flag):
            graph = self.vacant(keep=keep)
            self.step(hooks_run_in_order, graph, cell, number, keep=keep, handles=handles)
            self.did(added(cell, number), 2)
        if self.impl.runtime is not None and self.impl.owes("template_editing"):
            self.step(hook_edits, self.vacant(keep=flag), cell, number)
            self.did(added(cell, number))


def hooks_raise(impl: Adapter, graph: Any, tensor: torch.Tensor, number: int, *, keep: bool) -> None:
    """Hooks of each moment raise; whoever made the call that ran them learns of it, and the graph captures again."""
    for moment in MOMENTS:
        handle = register(graph, moment, raising)

        def happen() -> None:
            capture_between(impl, graph, lambda: tensor.add_(number))
            if keep:
                graph.instantiate()

        with stream_kept(impl):
            error = caught(happen)
        reached = any(isinstance(one, HookFailed) for one in related(error))
        expect(reached, "what a hook raises reaches the caller of the call that ran it", in_words(error))
        expect(not impl.is_current_stream_capturing(), "a hook that raises leaves no capture open", "one is open")
        handle.remove()
        expect_no_raise("a graph whose hook raised can be reset", graph.reset)
    capture_between(impl, graph, lambda: tensor.add_(number))


class RaisingHooks(Scenarios):
    """Graphs whose hooks raise."""

    def scenario(self, pick: int, number: int, *, flag: bool) -> None:
        """A graph's hooks raise, and it is as good as any afterwards."""
        cell, graph = self.cell(pick), self.vacant(keep=flag)
        self.step(hooks_raise, graph, cell, number, keep=flag)
        self.holds(graph, added(cell, number))
