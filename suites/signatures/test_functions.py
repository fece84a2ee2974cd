"""What the functions and context managers around the class take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.errors import Unsupported
from conformance.markers import requirement
from suites.signatures.programs import BY_KEYWORD, EITHER, expect_parameter, parameters_of
from suites.support.blocks import context
from suites.support.captures import replay
from suites.support.modes import need_global_default


def _function(impl: Adapter, name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The device module's own function, or the adapter's in its place."""
    impl.need_own(name)
    function: Callable[..., Any] = getattr(impl.module, name) if impl.has_own(name) else otherwise
    return function


def _by_position(impl: Adapter, name: str) -> Callable[..., Any]:
    """The device module's own function, which takes options by position; an adapter's takes them by name."""
    impl.need_own(name)
    if not impl.has_own(name):
        raise Unsupported(f"the adapter, which alone knows how to call {name}, takes its options by name")
    function: Callable[..., Any] = getattr(impl.module, name)
    return function


@requirement("signatures.graph-pool-handle")
def test_graph_pool_handle(impl: Adapter) -> None:
    """Nothing is passed; something that names a pool comes back."""
    handle = _function(impl, "graph_pool_handle", impl.graph_pool_handle)
    required = [one for one in parameters_of(handle) or () if one.default is one.empty]
    expect(not required, "graph_pool_handle needs no argument", f"its parameters are {required}")
    token = expect_no_raise("graph_pool_handle needs no argument", handle)
    expect(token is not None, "graph_pool_handle gives a token", "None, which names no pool")


# -- graph ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "count"),
    [("position", 0), ("position", 1), ("position", 2), ("keyword", 0)],
    ids=["graph", "graph-pool", "graph-pool-stream", "by-name"],
)
@requirement("signatures.graph-context")
def test_graph(impl: Adapter, way: str, count: int) -> None:
    """The graph first, then pool and stream; None by name, the default, asks for the context manager's own."""
    manager = _function(impl, "graph", impl.capture)
    if impl.has_own("graph"):
        for position, name in enumerate(("pool", "stream"), 1):
            expect_parameter(manager, "the context manager", name, default=None, kinds=EITHER, position=position)
    x, graph = impl.full(37, 0.0), impl.new_graph()
    given = [impl.graph_pool_handle(), impl.new_stream()][:count]

    def block() -> None:
        keywords: dict[str, Any] = {"stream": None, "pool": None} if way == "keyword" else {}
        with context(impl, graph, *given, **keywords):
            x.add_(1.0)

    expect_no_raise(f"the context manager takes pool and stream by {way}", block)
    replay(impl, graph, times=3)
    expect_equal(impl, x, 3.0, "a graph captured with documented arguments replays")


@requirement("signatures.graph-context")
def test_no_graph(impl: Adapter) -> None:
    """The graph may not be left out."""
    manager = _function(impl, "graph", impl.capture)

    def block() -> None:
        with manager():
            pass

    expect_raises("the context manager needs a graph", block)


@pytest.mark.parametrize("settings", [("global",), ("global", False)], ids=["mode", "mode-liveness"])
@requirement("signatures.options-by-position")
def test_graph_options(impl: Adapter, settings: tuple[Any, ...]) -> None:
    """The options of the context manager after the stream, as many as the release documents."""
    if len(settings) > 1 and not impl.owes("liveness"):
        raise Unsupported("the liveness check is not documented here, or declared absent")
    if not impl.owes("capture_modes"):
        raise Unsupported("capture error modes are not documented here, or declared absent")
    manager = _by_position(impl, "graph")
    for position, name in enumerate(("capture_error_mode", "check_input_liveness")[: len(settings)], 3):
        expect_parameter(manager, "the context manager", name, position=position)
    x, graph = impl.full(37, 0.0), impl.new_graph()

    def block() -> None:
        with manager(graph, impl.graph_pool_handle(), impl.new_stream(), *settings):
            x.add_(1.0)

    expect_no_raise("the context manager takes its options by position, in the documented order", block)
    replay(impl, graph, times=3)
    expect_equal(impl, x, 3.0, "a graph captured with documented arguments replays")


@requirement("signatures.graph-context-name")
def test_name_of_the_graph(impl: Adapter, observe: Any) -> None:
    """Records the name of the context manager's first parameter."""
    parameters = parameters_of(_function(impl, "graph", impl.capture)) or ()
    observe("graph_argument", next((one.name for one in parameters), None))


@requirement("signatures.graph-context-mode")
def test_graph_mode(impl: Adapter) -> None:
    """The error mode by name."""
    _expect_setting(impl, "capture_error_mode", impl.default_mode)
    need_global_default(impl)


@requirement("signatures.graph-context-liveness")
def test_graph_liveness(impl: Adapter) -> None:
    """The check of the inputs by name."""
    _expect_setting(impl, "check_input_liveness", False)


def _expect_setting(impl: Adapter, name: str, default: Any) -> None:
    """Reject unless the context manager takes `name`, with this default, and captures."""
    impl.need_own("graph")
    if impl.has_own("graph"):
        manager = _function(impl, "graph", impl.capture)
        kinds = (*EITHER, *BY_KEYWORD)
        expect_parameter(manager, "the context manager", name, default=default, kinds=kinds)
    x, graph = impl.full(37, 0.0), impl.new_graph()
    renamed = {"capture_error_mode": "mode", "check_input_liveness": "liveness"}

    def block() -> None:
        with impl.capture(graph, **{renamed[name]: default}):
            x.add_(1.0)

    expect_no_raise(f"the context manager takes {name} by name", block)
    replay(impl, graph, times=3)
    expect_equal(impl, x, 3.0, "a graph captured with documented arguments replays")


# -- make_graphed_callables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["position", "keyword", "both"])
@requirement("signatures.graphed-callables")
def test_make_graphed_callables(impl: Adapter, way: str) -> None:
    """Callables and samples either way, in this order."""
    make = _function(impl, "make_graphed_callables", impl.make_graphed_callables)
    for position, name in enumerate(("callables", "sample_args")):
        expect_parameter(make, "make_graphed_callables", name, position=position)
    source, samples = _double, (impl.full(37, 1.0).requires_grad_(),)
    calls: dict[str, Callable[[], Any]] = {
        "position": lambda: make(source, samples),
        "keyword": lambda: make(sample_args=samples, callables=source),
        "both": lambda: make(source, sample_args=samples),
    }
    graphed = expect_no_raise(f"make_graphed_callables takes its arguments by {way}", calls[way])
    for value in (2.0, -5.0, 7.0):
        y = graphed(impl.full(37, value).requires_grad_())
        expect_equal(impl, y, value * 2.0, "a callable graphed with documented arguments computes its results")


@pytest.mark.parametrize("missing", ["callables", "sample_args"])
@requirement("signatures.graphed-callables")
def test_missing_argument(impl: Adapter, missing: str) -> None:
    """Neither may be left out."""
    make = _function(impl, "make_graphed_callables", impl.make_graphed_callables)
    arguments = {"callables": _double, "sample_args": (impl.full(37, 1.0).requires_grad_(),)}
    del arguments[missing]
    expect_raises(f"make_graphed_callables needs {missing}", lambda: make(**arguments))


@requirement("signatures.options-by-position")
def test_options_of_make_graphed_callables(impl: Adapter) -> None:
    """Five warm-ups, unused inputs allowed, and a pool, after the samples."""
    if not impl.owes("graphed_callables"):
        raise Unsupported("graphed callables are not documented here, or declared absent")
    make = _by_position(impl, "make_graphed_callables")
    warm_ups = []

    def source(x: Any, _unused: Any) -> Any:
        if not impl.is_current_stream_capturing():
            warm_ups.append(x)
        return x * 2.0

    samples = tuple(impl.full(37, 1.0).requires_grad_() for _ in range(2))
    promise = "make_graphed_callables takes its options by position, in the documented order"
    graphed = expect_no_raise(promise, lambda: make(source, samples, 5, True, impl.graph_pool_handle()))
    expect(len(warm_ups) == 5, promise, f"{len(warm_ups)} warm-ups instead of 5")
    for value in (2.0, -5.0, 7.0):
        y = graphed(impl.full(37, value).requires_grad_(), samples[1])
        expect_equal(impl, y, value * 2.0, "a callable graphed with documented arguments computes its results")


def _double(x: Any) -> Any:
    return x * 2.0


@requirement("signatures.graphed-callables-warm-up")
def test_num_warmup_iters(impl: Adapter) -> None:
    """The number of warm-up iterations."""
    _expect_graphed_with(impl, "num_warmup_iters", 3)


@requirement("signatures.graphed-callables-unused")
def test_allow_unused_input(impl: Adapter) -> None:
    """The permission to have inputs without influence."""
    _expect_graphed_with(impl, "allow_unused_input", False)


@requirement("signatures.graphed-callables-pool")
def test_pool(impl: Adapter) -> None:
    """The pool of all captures."""
    _expect_graphed_with(impl, "pool", None)


def _expect_graphed_with(impl: Adapter, name: str, default: Any) -> None:
    """Reject unless make_graphed_callables takes the setting by name, with this default."""
    make = _function(impl, "make_graphed_callables", impl.make_graphed_callables)
    if impl.has_own("make_graphed_callables"):
        expect_parameter(make, "make_graphed_callables", name, default=default, kinds=(*EITHER, *BY_KEYWORD))
    samples = (impl.full(37, 1.0).requires_grad_(),)
    graphed = expect_no_raise(f"make_graphed_callables takes {name}", lambda: make(_double, samples, **{name: default}))
    for value in (2.0, -5.0, 7.0):
        y = graphed(impl.full(37, value).requires_grad_())
        expect_equal(impl, y, value * 2.0, "a callable graphed with documented arguments computes its results")
