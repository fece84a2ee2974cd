"""What registration returns, and how a hook is taken back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from torch.utils.hooks import RemovableHandle

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise
from conformance.markers import requirement
from suites.hooks.programs import EACH_MOMENT, Rounds
from suites.support.hooks import noting


@requirement("hooks.handle-type")
@EACH_MOMENT
def test_handle_type(impl: Adapter, moment: str) -> None:
    """The handle is of torch's own class."""
    handle = Rounds(impl, moment).register(lambda _: None)
    expect(isinstance(handle, RemovableHandle), "registration returns a RemovableHandle", f"{type(handle)!r}")


@requirement("hooks.handle-removes")
@pytest.mark.parametrize("position", [0, 1, 2], ids=["first", "middle", "last"])
@EACH_MOMENT
def test_removed_hook(impl: Adapter, moment: str, position: int) -> None:
    """A removed hook does not run; the others do, in their order."""
    rounds = Rounds(impl, moment)
    ran: list[Any] = []
    handles = [rounds.register(noting(ran, number)) for number in range(3)]
    handles[position].remove()
    rounds.next()
    expected = [number for number in range(3) if number != position]
    expect(ran == expected, f"after remove() of hook {position} the hooks {expected} run", f"{ran}")


@requirement("hooks.handle-removes")
@EACH_MOMENT
def test_removed_between_rounds(impl: Adapter, moment: str) -> None:
    """A hook that ran once can be removed before it runs again."""
    rounds = Rounds(impl, moment)
    ran: list[Any] = []
    handle = rounds.register(lambda _: ran.append("gone"))
    rounds.next()
    expect(ran == ["gone"], "a registered hook runs", f"{ran}")
    handle.remove()
    rounds.next()
    rounds.next()
    expect(ran == ["gone"], "after remove() the hook runs no more", f"it ran {len(ran) - 1} more times")


@requirement("hooks.handle-removes")
@EACH_MOMENT
def test_registered_after_removal(impl: Adapter, moment: str) -> None:
    """A hook registered after a removal runs, last of all; removing the old handle again does not touch it."""
    rounds = Rounds(impl, moment)
    ran: list[Any] = []
    old = rounds.register(lambda _: ran.append("old"))
    rounds.register(lambda _: ran.append("kept"))
    old.remove()
    rounds.register(lambda _: ran.append("new"))
    old.remove()
    rounds.next()
    expect(ran == ["kept", "new"], "a handle takes back its own hook and no other", f"{ran} ran")


@requirement("hooks.handle-remove-again")
@EACH_MOMENT
def test_removed_twice(impl: Adapter, moment: str) -> None:
    """A second and third remove() do nothing."""
    rounds = Rounds(impl, moment)
    ran: list[Any] = []
    handle = rounds.register(lambda _: ran.append("gone"))
    rounds.register(lambda _: ran.append("kept"))
    for _ in range(3):
        expect_no_raise("remove() can be called again", handle.remove)
    rounds.next()
    expect(ran == ["kept"], "remove() called again takes nothing more away", f"{ran} ran")


@requirement("hooks.handle-remove-again")
@EACH_MOMENT
def test_removed_after_reset(impl: Adapter, moment: str) -> None:
    """remove() after reset() is harmless and effective."""
    rounds = Rounds(impl, moment)
    ran: list[Any] = []
    handle = rounds.register(lambda _: ran.append("gone"))
    rounds.next()
    rounds.graph.reset()
    expect_no_raise("remove() can be called after reset()", handle.remove)
    before = len(ran)
    other = Rounds(impl, moment)
    other.next()
    expect(len(ran) == before, "a removed hook runs no more", f"{len(ran) - before} more calls")


@requirement("hooks.handle-remove-again")
@EACH_MOMENT
def test_removed_after_the_graph(impl: Adapter, moment: str) -> None:
    """remove() after the graph is gone is harmless."""
    rounds = Rounds(impl, moment)
    handle = rounds.register(lambda _: None)
    rounds.next()
    impl.synchronize()
    del rounds
    for _ in range(2):
        expect_no_raise("remove() can be called when the graph is gone", handle.remove)


@requirement("hooks.handle-as-context")
@EACH_MOMENT
def test_handle_in_a_with_statement(impl: Adapter, moment: str) -> None:
    """The hook is registered inside the block and gone after it."""
    rounds = Rounds(impl, moment)
    ran: list[Any] = []
    with rounds.register(lambda _: ran.append("inside")):
        rounds.next()
        expect(ran == ["inside"], "inside the block the hook is registered", f"{ran} ran")
    rounds.next()
    expect(ran == ["inside"], "the end of the block removes the hook", f"{ran} ran")


@requirement("hooks.same-hook-twice")
@EACH_MOMENT
def test_registered_twice(impl: Adapter, moment: str) -> None:
    """Two registrations of one function are two hooks."""
    rounds = Rounds(impl, moment)
    calls: list[Any] = []
    handles = [rounds.register(calls.append) for _ in range(2)]
    rounds.next()
    expect(len(calls) == 2, "a function registered twice runs twice", f"{len(calls)} calls")
    handles[0].remove()
    calls.clear()
    lasting = rounds.next()
    promise = "each handle takes back one registration"
    expect(len(calls) == 1 or not lasting, promise, f"{len(calls)} calls after one remove()")


@requirement("hooks.same-hook-twice")
@EACH_MOMENT
def test_registered_around_another(impl: Adapter, moment: str) -> None:
    """Of a function that is registered before and after another one, the later handle takes the later one back."""
    rounds = Rounds(impl, moment)
    ran: list[str] = []
    same, other = noting(ran, "same"), noting(ran, "other")
    handles = [rounds.register(hook) for hook in (same, other, same)]
    handles[2].remove()
    rounds.next()
    expect(ran == ["same", "other"], "each handle takes back its own registration", f"{ran} ran")


class _Recorder:
    def __init__(self) -> None:
        self.arguments: list[Any] = []

    def __call__(self, graph: Any) -> bool:
        self.arguments.append(graph)
        return False

    def method(self, graph: Any) -> str:
        self.arguments.append(graph)
        return "a value that nobody asked for"

    def with_more(self, more: int, graph: Any) -> int:
        self.arguments.append(graph)
        return more


@requirement("hooks.any-callable")
@pytest.mark.parametrize("kind", ["object", "bound-method", "partial"])
@EACH_MOMENT
def test_any_callable(impl: Adapter, moment: str, kind: str) -> None:
    """An object with __call__, a bound method and a partial are hooks; what they return does not matter."""
    rounds, recorder = Rounds(impl, moment), _Recorder()
    hooks: dict[str, Callable[[Any], Any]] = {
        "object": recorder,
        "bound-method": recorder.method,
        "partial": functools.partial(recorder.with_more, 3),
    }
    rounds.register(hooks[kind])
    expect_no_raise("whatever can be called with the graph is a hook", rounds.next)
    expect(
        len(recorder.arguments) == 1 and recorder.arguments[0] is rounds.graph,
        "a hook of any kind is called with the graph",
        f"called with {recorder.arguments!r}",
    )
    rounds.program.check(impl, rounds.graph, "what a hook returns does not matter")
