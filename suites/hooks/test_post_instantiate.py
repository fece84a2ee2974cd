"""Post-instantiate hooks: when they run and what they see."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import NotConforming, expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.hooks.programs import EACH_MOMENT, NUMBERS, expect_all_called, register_returning
from suites.support.captures import capture_between, captured, replay
from suites.support.handles import launch
from suites.support.hooks import noting, register
from suites.support.needs import need_capability
from suites.support.programs import Affine, Counter
from suites.support.states import KEEP
from suites.support.template import Template

ONCE = "a post-instantiate hook runs once after each instantiation"


@requirement("hooks.post-instantiate-argument")
@pytest.mark.parametrize("by", ["capture-end", "instantiate", "first-replay"])
def test_called_with_the_graph(impl: Adapter, by: str) -> None:
    """The hook gets the very graph, whatever instantiates it."""
    graph = impl.new_graph(keep_graph=by != "capture-end")
    arguments: list[Any] = []
    graph.register_post_instantiate_hook(arguments.append)
    capture_between(impl, graph, Counter(impl).body)
    if by == "instantiate":
        graph.instantiate()
    elif by == "first-replay":
        replay(impl, graph)
    expect(bool(arguments), "an instantiation runs the hook", "it did not run")
    fine = all(one is graph for one in arguments)
    expect(fine, "a post-instantiate hook is called with its graph", f"called with {arguments!r}")


@requirement("hooks.post-instantiate-argument")
@KEEP
def test_what_hooks_return(impl: Adapter, *, keep_graph: bool) -> None:
    """Whatever one hook returns, those after it are called, and with the graph."""
    graph = impl.new_graph(keep_graph)
    arguments = register_returning(graph, "post-instantiate")
    capture_between(impl, graph, Counter(impl).body)
    if keep_graph:
        graph.instantiate()
    expect_all_called(graph, arguments)


@requirement("hooks.post-instantiate-each-time")
def test_no_instantiation(impl: Adapter) -> None:
    """A template that cannot be instantiated runs no hook; once it is repaired, instantiate() does."""
    need_capability(impl, "template_editing")
    x, flag = impl.full(37, 0.0), impl.full(37, -7.0)
    graph, _ = captured(impl, lambda: x.add_(1), keep_graph=True)
    calls: list[Any] = []
    graph.register_post_instantiate_hook(calls.append)
    template = Template(impl, graph)
    leaf = template.leaves()[0]
    node = template.add_memset(flag, 3.0, after=[leaf])
    try:
        template.link(node, leaf)
    except NotConforming:
        return  # the runtime refused the edge that closes a circle: no template cannot be instantiated
    expect_raises("a template that cannot be instantiated is refused", graph.instantiate)
    expect(not calls, "a post-instantiate hook runs after instantiations, and none took place", f"{len(calls)} calls")
    template.unlink(node, leaf)
    graph.instantiate()
    expect(len(calls) == 1, ONCE, f"{len(calls)} calls")


@requirement("hooks.post-instantiate-order")
@KEEP
def test_order_of_registration(impl: Adapter, *, keep_graph: bool) -> None:
    """Hooks run in the order in which they were registered, after each instantiation."""
    graph = impl.new_graph(keep_graph)
    ran: list[Any] = []
    for number in NUMBERS:
        graph.register_post_instantiate_hook(noting(ran, number))
    capture_between(impl, graph, Counter(impl).body)
    rounds = 1
    if keep_graph:
        rounds = 2
        graph.instantiate()
        graph.instantiate()
    expect(
        ran == [*NUMBERS] * rounds,
        "post-instantiate hooks run in the order of registration",
        f"{ran} after {rounds} instantiations",
    )


@requirement("hooks.post-instantiate-at-capture-end")
@KEEP
def test_capture_end(impl: Adapter, *, keep_graph: bool) -> None:
    """capture_end runs the hook exactly where it instantiates."""
    graph = impl.new_graph(keep_graph)
    calls: list[Any] = []
    graph.register_post_instantiate_hook(calls.append)
    capture_between(impl, graph, Counter(impl).body)
    expected = 0 if keep_graph else 1
    expect(
        len(calls) == expected, f"with keep_graph={keep_graph} capture_end runs it {expected} times", f"{len(calls)}"
    )
    if not keep_graph:
        replay(impl, graph, 3)
        expect(len(calls) == 1, "a replay of an instantiated graph instantiates nothing", f"{len(calls)} calls")


@requirement("hooks.post-instantiate-each-time")
def test_each_instantiate(impl: Adapter) -> None:
    """Every instantiate() call runs the hook; replays between them do not."""
    counter = Counter(impl)
    calls: list[Any] = []
    graph = impl.new_graph(keep_graph=True)
    graph.register_post_instantiate_hook(calls.append)
    capture_between(impl, graph, counter.body)
    for turn in range(1, 5):
        graph.instantiate()
        expect(len(calls) == turn, ONCE, f"{len(calls)} calls after {turn} instantiations")
        replay(impl, graph, 2)
        expect(len(calls) == turn, "replays of an instantiated graph run no post-instantiate hook", "they ran it")
    counter.expect_runs(8, "each replay runs the captured work once")


@requirement("hooks.post-instantiate-each-time")
def test_registered_late(impl: Adapter) -> None:
    """A hook registered between two instantiations runs after the second and not for the first."""
    graph, _ = captured(impl, Counter(impl).body, keep_graph=True)
    graph.instantiate()
    calls: list[Any] = []
    graph.register_post_instantiate_hook(calls.append)
    expect(not calls, "a hook runs after instantiations that come later", "registration ran it")
    graph.instantiate()
    expect(len(calls) == 1, ONCE, f"{len(calls)} calls after one instantiation since the registration")


@requirement("hooks.post-instantiate-lazy")
def test_first_replay(impl: Adapter) -> None:
    """The replay that instantiates runs the hook, once; the replays after it do not."""
    counter = Counter(impl)
    calls: list[Any] = []
    graph = impl.new_graph(keep_graph=True)
    graph.register_post_instantiate_hook(calls.append)
    capture_between(impl, graph, counter.body)
    for turn in range(1, 4):
        replay(impl, graph)
        expect(len(calls) == 1, "the first replay instantiates, later ones do not", f"{len(calls)} by replay {turn}")
    counter.expect_runs(3, "each replay runs the captured work once")


@requirement("hooks.post-instantiate-executable")
@pytest.mark.parametrize("by", ["capture-end", "instantiate", "first-replay"])
def test_executable_can_be_read(impl: Adapter, by: str) -> None:
    """The handle read in the hook is the one read afterwards."""
    graph = impl.new_graph(keep_graph=by != "capture-end")
    handles: list[Any] = []
    graph.register_post_instantiate_hook(lambda graph: handles.append(impl.raw_exec(graph)))
    promise = "in a post-instantiate hook the executable's handle can be read"
    expect_no_raise(promise, lambda: capture_between(impl, graph, Counter(impl).body))
    if by == "instantiate":
        expect_no_raise(promise, graph.instantiate)
    elif by == "first-replay":
        expect_no_raise(promise, graph.replay)
    after = impl.raw_exec(graph)
    expect(handles == [after], "the executable that a hook sees is the graph's new one", f"{handles}, then {after}")


@requirement("hooks.post-instantiate-executable")
def test_executable_of_each_instantiation(impl: Adapter) -> None:
    """Each call sees the executable of its own instantiation."""
    graph = impl.new_graph(keep_graph=True)
    handles: list[Any] = []
    graph.register_post_instantiate_hook(lambda graph: handles.append(impl.raw_exec(graph)))
    capture_between(impl, graph, Counter(impl).body)
    for turn in range(1, 5):
        graph.instantiate()
        after = impl.raw_exec(graph)
        expect(
            len(handles) == turn and handles[-1] == after,
            "the executable that a hook sees is the graph's new one",
            f"{handles}, then {after}",
        )


@requirement("hooks.post-instantiate-executable-fresh")
def test_executable_has_the_edits(impl: Adapter) -> None:
    """Launched by the handle that the hook read, the executable does what the edited template says."""
    x, flag = impl.full(37, 0.0), impl.full(37, -7.0)
    graph = impl.new_graph(keep_graph=True)
    handles: list[Any] = []
    graph.register_post_instantiate_hook(lambda graph: handles.append(impl.raw_exec(graph)))
    capture_between(impl, graph, lambda: x.add_(1))
    graph.instantiate()
    Template(impl, graph).add_memset(flag, 3.0)
    graph.instantiate()
    for turn in range(1, 4):
        flag.fill_(-7.0)
        launch(impl, handles[-1])
        expect_equal(impl, flag, 3.0, "the executable that a hook sees after a re-instantiation is the new one")
        expect_equal(impl, x, float(turn), "a launch runs the captured work once")


@requirement("hooks.results-unchanged")
@EACH_MOMENT
@KEEP
def test_results(impl: Adapter, moment: str, *, keep_graph: bool) -> None:
    """A graph with hooks computes what it would compute without."""
    program, graph = Affine(impl), impl.new_graph(keep_graph)
    for _ in range(3):
        register(graph, moment, lambda _: None)
    capture_between(impl, graph, program.body)
    program.check(impl, graph, "hooks that only look change nothing about what replays compute")
    if keep_graph:
        graph.instantiate()
        program.check(impl, graph, "hooks that only look change nothing about what replays compute")
