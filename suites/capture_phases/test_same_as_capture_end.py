"""A graph that went through both phases is like one that capture_end finished; hooks, edits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, is_refusal
from conformance.markers import requirement
from suites.capture_phases.programs import begun, finished, has_executable
from suites.support.captures import capture_between, capture_into, replay
from suites.support.outcomes import caught
from suites.support.phases import capture_pre, finish
from suites.support.programs import Affine
from suites.support.states import KEEP
from suites.support.template import Template

DTYPES = pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int64], ids=lambda dtype: str(dtype).removeprefix("torch.")
)


@requirement("capture-phases.same-as-capture-end")
@KEEP
@DTYPES
def test_results(impl: Adapter, dtype: torch.dtype, *, keep_graph: bool) -> None:
    """Outputs in the graph's pool have the same values either way, at an address that stays."""
    x = impl.full((3, 5), 0, dtype)
    whole, halves = impl.new_graph(keep_graph), impl.new_graph(keep_graph)
    whole_out = capture_between(impl, whole, lambda: (x * 3 + 1) - x)
    out = capture_pre(impl, halves, lambda: (x * 3 + 1) - x)
    finish(halves, keep_graph=keep_graph)
    impl.synchronize()
    address = out.data_ptr()
    for value in (4, -2, 7):
        x.fill_(value)
        whole_out.fill_(99)
        out.fill_(99)
        replay(impl, whole)
        replay(impl, halves)
        expect_equal(impl, whole_out, value * 2 + 1, "a graph that capture_end finished replays")
        expect_equal(impl, out, value * 2 + 1, "a graph that went through both phases computes the same")
        expect(out.data_ptr() == address, "an output stays where it is", "it moved")


def _answers(impl: Adapter, graph: Any) -> dict[str, str]:
    """What kind of answer the graph gives to each question that changes nothing."""
    questions: dict[str, Callable[[], Any]] = {
        "pool": graph.pool,
        "template's handle": lambda: impl.raw_graph(graph),
        "executable's handle": lambda: impl.raw_exec(graph),
    }
    answers: dict[str, str] = {}
    for name, question in questions.items():
        error = caught(question)
        answers[name] = "answer" if error is None else "refusal" if is_refusal(error) else repr(error)
    return answers


@requirement("capture-phases.same-as-capture-end")
@KEEP
def test_answers(impl: Adapter, *, keep_graph: bool) -> None:
    """Pool and handles are given or refused as after capture_end."""
    whole = impl.new_graph(keep_graph)
    capture_between(impl, whole, Affine(impl).body)
    halves, _ = finished(impl, keep_graph=keep_graph)
    expected, answers = _answers(impl, whole), _answers(impl, halves)
    expect(
        answers == expected,
        f"a graph that went through both phases answers as after capture_end: {expected}",
        f"{answers}",
    )


@requirement("capture-phases.same-as-capture-end")
@KEEP
def test_pool_can_be_shared(impl: Adapter, *, keep_graph: bool) -> None:
    """Another graph captures into the pool of one that went through both phases; both replay."""
    graph, program = finished(impl, keep_graph=keep_graph)
    other, second = impl.new_graph(), Affine(impl, factor=-4.0)
    capture_into(impl, other, second.body, pool=graph.pool())
    program.check(impl, graph, "a graph that went through both phases shares its pool")
    second.check(impl, other, "a graph captures into the pool of one that went through both phases")


@requirement("capture-phases.same-as-capture-end")
@KEEP
def test_both_ways_in_turn(impl: Adapter, *, keep_graph: bool) -> None:
    """One graph ends its captures in either way, with reset() between them."""
    graph = impl.new_graph(keep_graph)
    for turn, way in enumerate(("phases", "whole", "phases", "phases", "whole")):
        program = Affine(impl, factor=turn + 2.0)
        if way == "whole":
            capture_between(impl, graph, program.body)
        else:
            capture_pre(impl, graph, program.body)
            finish(graph, keep_graph=keep_graph)
        impl.synchronize()
        program.check(impl, graph, f"captures of one graph end in either way (capture {turn + 1})")
        expect_no_raise("a graph that went through both phases can be reset", graph.reset)


@requirement("capture-phases.edits-between")
@KEEP
def test_edit_between(impl: Adapter, *, keep_graph: bool) -> None:
    """A node added between the phases runs in every replay."""
    x, flag = impl.full(37, 0.0), impl.full((3, 5), -7.0)
    graph = impl.new_graph(keep_graph)
    capture_pre(impl, graph, lambda: x.fill_(6.0))
    template = Template(impl, graph)
    template.add_memset(flag, 3.0, after=template.leaves())
    finish(graph, keep_graph=keep_graph)
    for _ in range(3):
        x.fill_(1.0)
        flag.fill_(-7.0)
        replay(impl, graph)
        expect_equal(impl, flag, 3.0, "what is added to the template between the phases is in the executable")
        expect_equal(impl, x, 6.0, "an edit leaves the captured work in place")


@requirement("capture-phases.hooks-in-phases", "capture-phases.post-out-of-place")
@KEEP
def test_hooks(impl: Adapter, observe: Callable[[str, Any], None], *, keep_graph: bool) -> None:
    """Records which hooks each phase runs, and whether the second instantiates."""
    graph, log = impl.new_graph(keep_graph), []
    graph.register_capture_end_hook(lambda _: log.append("capture-end"))
    graph.register_post_instantiate_hook(lambda _: log.append("post-instantiate"))
    capture_pre(impl, graph, Affine(impl).body)
    observe("run by capture_end_pre", list(log))
    observe("executable after capture_end_pre", has_executable(impl, graph))
    log.clear()
    caught(graph.capture_end_post)
    observe("run by capture_end_post", list(log))
    observe("executable after capture_end_post", has_executable(impl, graph))


@requirement("capture-phases.dropped-between")
@KEEP
def test_dropped_between(impl: Adapter, *, keep_graph: bool) -> None:
    """Graphs dropped between the phases leave earlier and later graphs as they are."""
    older, program = finished(impl, keep_graph=keep_graph)
    for _ in range(3):
        graph = begun(impl, keep_graph=keep_graph)[0]
        impl.synchronize()
        del graph
    program.check(impl, older, "a graph that was dropped between the phases does no harm to another")
    newer, second = finished(impl, keep_graph=keep_graph)
    second.check(impl, newer, "after a graph was dropped between the phases another one captures")
