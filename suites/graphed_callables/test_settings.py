"""The arguments besides callables and samples."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import needs, requirement
from suites.graphed_callables.programs import SIZE, gradient_of, leaf
from suites.support.captures import captured, replay
from suites.support.memory import pools_in_use
from suites.support.modes import need_global_default, unsafe_elsewhere
from suites.support.programs import ramp
from suites.support.streams import stream_kept

#: Enough that no block of another capture has room for it.
LARGE = 300_005


def _runs(impl: Adapter, **settings: Any) -> int:
    """How often the source's Python code runs outside captures while it is graphed."""
    calls = []

    def source(x: torch.Tensor) -> torch.Tensor:
        if not impl.is_current_stream_capturing():
            calls.append(1)
        return x * 2.0

    graphed = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),), **settings)
    expect_equal(impl, graphed(leaf(impl, ramp(SIZE, 3))), ramp(SIZE, 3) * 2.0, "the callable computes its results")
    return len(calls)


@requirement("graphed-callables.warmup-iterations")
def test_number_of_warm_ups(impl: Adapter) -> None:
    """Each warm-up iteration is one run of the source that is not captured."""
    runs = {number: _runs(impl, num_warmup_iters=number) for number in (1, 2, 5, 11)}
    expect(
        all(number == count for number, count in runs.items()),
        "num_warmup_iters is the number of runs before the capture",
        f"runs of the source by num_warmup_iters: {runs}",
    )


@requirement("graphed-callables.warmup-iterations")
def test_warm_ups_by_default(impl: Adapter) -> None:
    """Without the argument there are three warm-up iterations."""
    default, three = _runs(impl), _runs(impl, num_warmup_iters=3)
    expect(default == three, "num_warmup_iters is three by default", f"{default} runs, and {three} with three warm-ups")


@pytest.mark.parametrize("kind", ["handle", "graph"])
@requirement("graphed-callables.pool-argument")
def test_pool(impl: Adapter, kind: str) -> None:
    """Callables in a given pool, together with a graph that has its memory there: all stay right, run in order."""
    x = impl.tensor(ramp(SIZE))
    token = impl.graph_pool_handle()
    graph, out = captured(impl, lambda: (x + 1.0) * 7.0, pool=token)
    pool = token if kind == "handle" else graph.pool()
    sources = (lambda x: (x * 2.0) * x, lambda x: x * 3.0 + 1.0)
    first, last = impl.make_graphed_callables(sources, tuple((leaf(impl, ramp(SIZE)),) for _ in sources), pool=pool)
    for start in (2, 40, -9):
        now = ramp(SIZE, start)
        x.copy_(impl.tensor(now))
        replay(impl, graph)
        argument = leaf(impl, now)
        middle = first(argument)
        y = last(middle)
        expect_equal(impl, out, (now + 1.0) * 7.0, "a graph keeps its outputs when callables are in its pool")
        expect_equal(impl, y, now * now * 6.0 + 1.0, "callables in a given pool compute their results")
        (gradient,) = torch.autograd.grad(y.sum(), argument)
        expect_equal(impl, gradient, now * 12.0, "callables in a given pool compute their gradients")


@requirement("graphed-callables.pool-argument-used")
def test_memory_of_the_pool(impl: Adapter) -> None:
    """Callables in one given pool, others in another: then a capture into either opens no further pool.

    Nothing is asked of an implementation whose captures do not follow the hint either.
    """
    hint_followed = _share_a_pool(impl)
    tokens = [impl.graph_pool_handle() for _ in range(2)]
    graphed = [
        impl.make_graphed_callables(_polynomial, (leaf(impl, ramp(LARGE) * 0.0),), pool=token) for token in tokens
    ]
    before = pools_in_use(impl)
    x = impl.full(LARGE, 1.0)
    graphs = [captured(impl, lambda: (x * x + 1.0) * x, pool=token) for token in tokens]
    after = pools_in_use(impl)
    for value in (1.0, 2.0, 3.0):
        for callable_ in graphed:
            promise = "callables in a given pool compute their results"
            expect_equal(impl, callable_(impl.full(LARGE, value).requires_grad_()), value**4 + value**2, promise)
        x.fill_(value)
        for graph, out in graphs:
            replay(impl, graph)
            promise = "a graph keeps its outputs when callables are in its pool"
            expect_equal(impl, out, value**3 + value, promise)
    if hint_followed and before is not None and after is not None:
        promise = "callables take memory of the pool that is passed"
        expect(len(after - before) == 0, promise, f"captures into it take memory of {sorted(after - before)} besides")


def _share_a_pool(impl: Adapter) -> bool:
    """Whether the allocator's snapshot has two captures into one pool in one pool."""
    token, x = impl.graph_pool_handle(), impl.full(LARGE, 1.0)
    graphs = []
    seen = []
    for _ in range(2):
        graphs.append(captured(impl, lambda: (x * x + 1.0) * x, pool=token))
        seen.append(pools_in_use(impl))
    return seen[0] is not None and seen[0] == seen[1]


def _polynomial(x: torch.Tensor) -> torch.Tensor:
    return (x * x + 1.0) * x * x


@requirement("graphed-callables.pool-argument")
def test_pool_outlives_its_graph(impl: Adapter) -> None:
    """The callables keep the pool after the graph that it came from is gone."""
    graph, out = _captured_square(impl)
    graphed = impl.make_graphed_callables(lambda x: x * x, (leaf(impl, ramp(SIZE)),), pool=graph.pool())
    impl.synchronize()
    graph.reset()
    del graph, out
    impl.empty_cache()
    others = [impl.full(SIZE, -1.0) for _ in range(8)]
    for start in (2, 40, -9):
        y = graphed(leaf(impl, ramp(SIZE, start)))
        expect_equal(impl, y, ramp(SIZE, start).square(), "callables keep the pool that they were captured into")
    for other in others:
        expect_equal(impl, other, -1.0, "callables write to no memory but their own")


def _captured_square(impl: Adapter) -> tuple[Any, torch.Tensor]:
    x = impl.tensor(ramp(SIZE))
    graph, out = captured(impl, lambda: x * x)
    return graph, out


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
@requirement("graphed-callables.capture-error-mode")
def test_capture_error_mode(impl: Adapter, mode: str) -> None:
    """Each documented mode is taken, and the callable works."""
    graphed = impl.make_graphed_callables(lambda x: x * x, (leaf(impl, ramp(SIZE)),), capture_error_mode=mode)
    for start in (2, 40, -9):
        x = leaf(impl, ramp(SIZE, start))
        y = graphed(x)
        expect_equal(impl, y, ramp(SIZE, start).square(), "a callable graphed in this mode computes its results")
        (gradient,) = torch.autograd.grad(y.sum(), x)
        expect_equal(impl, gradient, ramp(SIZE, start) * 2.0, "a callable graphed in this mode computes its gradients")


@pytest.mark.parametrize("mode", ["relaxed", "global", None], ids=["relaxed", "global", "default"])
@requirement("graphed-callables.mode-passed-on")
@needs("raw_allocation")
def test_mode_of_the_captures(impl: Adapter, mode: str | None) -> None:
    """A callable that makes an unsafe call in its capture is graphed in relaxed, and refused in global, the default."""
    settings = {} if mode is None else {"capture_error_mode": mode}
    if mode is None:
        need_global_default(impl)

    def source(x: torch.Tensor) -> torch.Tensor:
        if impl.is_current_stream_capturing():
            impl.unsafe_call()
        return x * x

    def make() -> Any:
        return impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),), **settings)

    if mode != "relaxed":
        with stream_kept(impl):
            expect_raises("in the mode global, the default, an unsafe call of the callable is an error", make)
        return
    graphed = expect_no_raise("in the mode relaxed an unsafe call of the callable is no error", make)
    for start in (3, -8, 21):
        y = graphed(leaf(impl, ramp(SIZE, start)))
        expect_equal(impl, y, ramp(SIZE, start).square(), "a callable graphed in this mode computes its results")


@requirement("graphed-callables.mode-of-other-threads")
def test_mode_and_other_threads(impl: Adapter) -> None:
    """A callable for which another thread makes an unsafe call in its capture is graphed in the mode thread_local."""
    elsewhere = unsafe_elsewhere(impl)

    def source(x: torch.Tensor) -> torch.Tensor:
        if impl.is_current_stream_capturing():
            elsewhere()
        return x * x

    graphed = expect_no_raise(
        "in the mode thread_local another thread's unsafe call is no error",
        lambda: impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),), capture_error_mode="thread_local"),
    )
    for start in (3, -8, 21):
        y = graphed(leaf(impl, ramp(SIZE, start)))
        expect_equal(impl, y, ramp(SIZE, start).square(), "a callable graphed in this mode computes its results")


@requirement("graphed-callables.autocast-cache-refused")
def test_autocast_with_cache(impl: Adapter) -> None:
    """Under autocast that caches, graphing raises and leaves no capture open."""
    with torch.autocast(impl.device.type, dtype=torch.bfloat16, cache_enabled=True):
        expect_raises(
            "under autocast with its cache enabled graphing is refused",
            lambda: impl.make_graphed_callables(torch.nn.Linear(5, 3).to(impl.device), (impl.tensor(ramp((2, 5))),)),
        )
    expect(not impl.is_current_stream_capturing(), "a refusal leaves no capture open", "one is open")


@requirement("graphed-callables.autocast-without-cache")
def test_autocast_without_cache(impl: Adapter) -> None:
    """Under autocast that does not cache, the graphed layer computes in the lower precision."""
    weight = ramp((3, 5), -7)
    layer = torch.nn.Linear(5, 3, bias=False)
    with torch.no_grad():
        layer.weight.copy_(weight)
    with torch.autocast(impl.device.type, dtype=torch.bfloat16, cache_enabled=False):
        module = impl.make_graphed_callables(layer.to(impl.device), (impl.tensor(ramp((2, 5))),))
        for start in (1, -4, 2):
            layer.zero_grad(set_to_none=True)
            now = (ramp((2, 5), start) % 4.0) - 1.0
            y = module(impl.tensor(now))
            expect(y.dtype is torch.bfloat16, "a layer graphed under autocast computes in its precision", f"{y.dtype}")
            # Whole numbers below 256 are exact in bfloat16.
            expect_equal(impl, y, now @ weight.t(), "a layer graphed under autocast computes its results")
            y.float().sum().backward()
            promise = "a layer graphed under autocast has gradients"
            expect_equal(impl, gradient_of(layer.weight, promise), now.sum(0).expand(3, 5), promise)


@requirement("graphed-callables.autocast-without-cache")
def test_layers_in_a_row_under_autocast(impl: Adapter) -> None:
    """Two layers graphed together under autocast: the second is given what the first makes, in the lower precision."""
    weights = [ramp((5, 5), -7) % 3.0 - 1.0, ramp((3, 5), -4) % 3.0 - 1.0]
    layers = [torch.nn.Linear(5, size, bias=False) for size in (5, 3)]
    with torch.no_grad():
        for layer, weight in zip(layers, weights, strict=True):
            layer.weight.copy_(weight)
    samples = (impl.tensor(ramp((2, 5))), impl.full((2, 5), 1.0, torch.bfloat16).requires_grad_())
    with torch.autocast(impl.device.type, dtype=torch.bfloat16, cache_enabled=False):
        first, second = impl.make_graphed_callables(
            tuple(layer.to(impl.device) for layer in layers), tuple((sample,) for sample in samples)
        )
        for start in (1, -4, 2):
            for layer in layers:
                layer.zero_grad(set_to_none=True)
            now = (ramp((2, 5), start) % 4.0) - 1.0
            y = second(first(impl.tensor(now)))
            expect(y.dtype is torch.bfloat16, "layers graphed under autocast compute in its precision", f"{y.dtype}")
            # Whole numbers below 256 are exact in bfloat16.
            expect_equal(impl, y, now @ weights[0].t() @ weights[1].t(), "they compute in turn")
            y.float().sum().backward()
            promise = "layers in a row that are graphed under autocast have gradients"
            inner = now.sum(0) @ weights[0].t()
            expect_equal(impl, gradient_of(layers[1].weight, promise), inner.expand(3, 5), promise)
            outer = weights[1].sum(0)[:, None] * now.sum(0)
            expect_equal(impl, gradient_of(layers[0].weight, promise), outer, promise)
