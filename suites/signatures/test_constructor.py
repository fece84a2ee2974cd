"""What the constructors take."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.signatures.programs import BY_KEYWORD, expect_parameter, parameters_of
from suites.support.captures import capture_into, replay
from suites.support.handles import expect_no_handle


def _expect_works(impl: Adapter, graph: Any) -> None:
    x = impl.full(37, 0.0)
    capture_into(impl, graph, lambda: x.add_(1.0))
    replay(impl, graph, times=3)
    expect_equal(impl, x, 3.0, "a graph constructed with documented arguments captures and replays")


@requirement("signatures.constructor-defaults")
def test_without_arguments(impl: Adapter) -> None:
    """The class is called with nothing."""
    for parameter in parameters_of(impl.graph_class) or ():
        expect(
            parameter.default is not parameter.empty, "every constructor argument may be left out", f"not {parameter}"
        )
    _expect_works(impl, expect_no_raise("a graph is constructed without arguments", impl.graph_class))


@requirement("signatures.construction")
def test_type(impl: Adapter) -> None:
    """What comes back is an instance of the class that was called."""
    graph = impl.graph_class()
    expect(
        isinstance(graph, impl.graph_class), "calling the class gives an instance of it", f"a {type(graph).__name__}"
    )


KEEP: dict[str, Callable[[Any, bool], Any]] = {
    "keyword": lambda graph_class, keep: graph_class(keep_graph=keep),
    "position": lambda graph_class, keep: graph_class(keep),
}


@pytest.mark.parametrize("switch", ["off", "on"])
@pytest.mark.parametrize("way", KEEP)
@requirement("signatures.keep-graph")
def test_keep_graph(impl: Adapter, way: str, switch: str) -> None:
    """keep_graph is taken either way, first."""
    expect_parameter(impl.graph_class, "the constructor", "keep_graph", position=0)
    graph = expect_no_raise(
        f"the constructor takes keep_graph by {way}", lambda: KEEP[way](impl.graph_class, switch == "on")
    )
    _expect_works(impl, graph)


@requirement("signatures.keep-graph-default")
def test_keep_graph_default(impl: Adapter) -> None:
    """A graph made without keep_graph does not keep its template."""
    expect_parameter(impl.graph_class, "the constructor", "keep_graph", default=False)
    graph = impl.graph_class()
    _expect_works(impl, graph)
    if impl.owes("raw_handles"):
        expect_no_handle("without keep_graph the template is gone after capture_end", lambda: impl.raw_graph(graph))


@requirement("signatures.unknown-arguments-refused")
def test_unknown_argument(impl: Adapter) -> None:
    """An argument that is not documented is refused, not ignored."""
    expect_raises("the constructor refuses an unknown argument", lambda: impl.graph_class(no_such_argument=True))


def _token(impl: Adapter) -> Any:
    graph = impl.new_graph()
    _expect_works(impl, graph)
    return graph, graph.pool()


@requirement("signatures.accelerator-pool")
def test_accelerator_pool(impl: Adapter) -> None:
    """A pool is taken by keyword, None included."""
    expect_parameter(impl.graph_class, "the constructor", "pool", default=None, kinds=BY_KEYWORD)
    _holder, token = _token(impl)
    for pool in (token, None):
        graph = expect_no_raise("the constructor takes pool by keyword", partial(impl.graph_class, pool=pool))
        _expect_works(impl, graph)


@requirement("signatures.accelerator-pool")
def test_accelerator_pool_by_position(impl: Adapter) -> None:
    """A pool is not taken by position."""
    _holder, token = _token(impl)
    expect_raises("the constructor takes pool by keyword only", lambda: impl.graph_class(False, token))


@requirement("signatures.accelerator-mode")
def test_accelerator_mode(impl: Adapter) -> None:
    """capture_error_mode is taken by keyword; "default" is one of its values, and what is used without it."""
    expect_parameter(impl.graph_class, "the constructor", "capture_error_mode", default="default", kinds=BY_KEYWORD)
    graph = expect_no_raise(
        "the constructor takes capture_error_mode by keyword", lambda: impl.graph_class(capture_error_mode="default")
    )
    _expect_works(impl, graph)


@requirement("signatures.accelerator-mode")
def test_accelerator_mode_by_position(impl: Adapter) -> None:
    """capture_error_mode is not taken by position."""
    expect_raises(
        "the constructor takes pool and capture_error_mode by keyword only",
        lambda: impl.graph_class(False, None, "default"),
    )
