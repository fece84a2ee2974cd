"""Each variant differs in what it says that it differs in, and the reference is itself again afterwards.

A variant that changed nothing would be accepted by whatever suites.
"""

from __future__ import annotations

import contextlib
import gc
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import reference_impl as ref
from reference_impl import accelerator, xpu
from reference_impl.devices.chosen import device
from reference_impl.graphs.topology import nodes_of
from reference_impl.runtime import captures
from reference_impl.variants import VARIANTS, Variant

BY_NAME: Mapping[str, Variant] = {variant.name: variant for variant in VARIANTS}

TESTED: dict[str, Callable[[Any], bool]] = {}


def of(name: str) -> Callable[[Callable[[Any], bool]], Callable[[Any], bool]]:
    """Note what tells the variant `name`: it is given what the variant's context gives, and says what it sees."""

    def note(differs: Callable[[Any], bool]) -> Callable[[Any], bool]:
        TESTED[name] = differs
        return differs

    return note


@contextlib.contextmanager
def capturing(graph: Any, stream: Any = None) -> Iterator[None]:
    """A capture of `graph` on a stream of its own, which is left whatever becomes of it."""
    with ref.stream(ref.Stream() if stream is None else stream):
        graph.capture_begin()
        try:
            yield
        finally:
            if ref.is_current_stream_capturing():
                graph.capture_end()


def captured(graph: Any, body: Callable[[], object] = lambda: torch.ones(3)) -> Any:
    """`graph`, with the work of `body` in it."""
    with capturing(graph):
        body()
    return graph


def refused(call: Callable[[], object]) -> str:
    """The kind and the text of what `call` raises, or nothing."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__mro__} {error}"
    return ""


@of("exceptions-of-the-vendor")
def own_exceptions(_: Any) -> bool:
    texts = [refused(ref.CUDAGraph().replay)]
    with contextlib.suppress(Exception), capturing(ref.CUDAGraph()):
        texts.append(refused(ref.synchronize))
    return all("Vendor" in text and "RuntimeError" not in text for text in texts)


@of("messages-in-chinese")
def chinese(_: Any) -> bool:
    texts = [refused(ref.CUDAGraph().replay)]
    with contextlib.suppress(RuntimeError), capturing(ref.CUDAGraph()):
        texts.append(refused(ref.synchronize))
    return all("错误" in text or "图对象" in text for text in texts)


@of("silent-empty-capture")
def no_warning(_: Any) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        captured(ref.CUDAGraph(), lambda: None)
    return not caught


@of("refusal-keeps-the-capture")
def goes_on(_: Any) -> bool:
    x, graph = torch.zeros(3), ref.CUDAGraph()
    with contextlib.suppress(RuntimeError), capturing(graph):
        with pytest.raises(RuntimeError):
            ref.synchronize()
        x.add_(1)
    with contextlib.suppress(RuntimeError):
        graph.replay()
    return x.tolist() == [1.0] * 3


@of("one-capture-at-a-time")
def one_at_a_time(_: Any) -> bool:
    with capturing(ref.CUDAGraph()), ref.stream(ref.Stream()):
        second = ref.CUDAGraph(keep_graph=True)  # instantiating it would be refused
        return "one capture" in refused(lambda: captured(second))


@of("second-instantiate-does-nothing")
def second_instantiate(_: Any) -> bool:
    return not any(refused(captured(graph()).instantiate) for graph in (ref.CUDAGraph, xpu.XPUGraph, accelerator.Graph))


@of("failed-instantiate-loses-the-old-executable")
def loses_the_old(cls: Any) -> bool:
    graph = captured((cls or ref.CUDAGraph)(keep_graph=True), lambda: (torch.ones(3), torch.ones(5)))
    graph.instantiate()
    first, second = nodes_of(ref.cudart(), graph.raw_cuda_graph())
    for pair in ((first, second), (second, first)):
        ref.cudart().cudaGraphAddDependencies(graph.raw_cuda_graph(), [pair[0]], [pair[1]], None, 1)
    assert refused(graph.instantiate)
    return bool(refused(graph.raw_cuda_graph_exec))


def graphed(module: Any) -> Any:
    return ref.make_graphed_callables(module, (torch.ones(4, 3),))


@of("modules-are-copied")
def copies(_: Any) -> bool:
    module = torch.nn.Linear(3, 2)
    return graphed(module) is not module


@of("arguments-are-not-checked")
def broadcasts(_: Any) -> bool:
    return not refused(lambda: graphed(torch.nn.Linear(3, 2))(torch.ones(1, 3)))


@of("final-class")
def final(_: Any) -> bool:
    return all(refused(lambda cls=cls: type("Own", (cls,), {})) for cls in (ref.CUDAGraph, xpu.XPUGraph))


@of("no-reset")
def without_reset(_: Any) -> bool:
    return not hasattr(xpu.XPUGraph(), "reset")


@of("settings-of-the-constructor")
def constructed(cls: Any) -> bool:
    graph = (cls or accelerator.Graph)(pool=(0, 9))
    captured(graph)
    return bool(refused(lambda: setattr(graph, "graph_pool", (0, 8)))) and graph.pool() == (0, 9)


@of("accelerator-as-its-page-lists-it")
def as_listed(stated: Any) -> bool:
    cls = stated["graph_class"] if stated else accelerator.Graph
    module = stated["module"] if stated else accelerator
    return not any(map(hasattr, (cls, cls(), module), ("reset", "graph_pool", "graph_pool_handle")))


@of("replay-is-an-operator")
def is_an_operator(_: Any) -> bool:
    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            seen.append(func.name())
            return func(*args, **(kwargs or {}))

    x = torch.zeros(3)
    graph = captured(ref.CUDAGraph(), lambda: x.add_(1))
    with Watch():
        graph.replay()
    assert x.tolist() == [1.0] * 3
    return seen == ["reference_variants::replay"]


@of("reset-drops-hooks")
def drops_hooks(cls: Any) -> bool:
    graph, calls = (cls or ref.CUDAGraph)(), []
    graph.register_capture_end_hook(calls.append)
    graph.reset()
    captured(graph)
    return not calls


@of("deletion-spoils-captures")
def deletion_spoils(cls: Any) -> bool:
    finished = [captured((cls or ref.CUDAGraph)())]
    graph = ref.CUDAGraph()
    return "CaptureInvalidated" in refused(lambda: captured(graph, finished.clear))


@of("neighbours-fused")
def fused(_: Any) -> bool:
    x = torch.zeros(3)
    graph = captured(ref.CUDAGraph(keep_graph=True), lambda: x.add_(1).mul_(2).add_(x))
    graph.replay()
    assert x.tolist() == [4.0] * 3
    return len(nodes_of(ref.cudart(), graph.raw_cuda_graph())) == 1


@of("captures-hold-their-inputs")
def holds_inputs(_: Any) -> bool:
    inputs = [ref.tensor([1.0] * 4096)]
    graph = captured(ref.CUDAGraph(), lambda: inputs[0] + 1)
    before = ref.memory_allocated()
    inputs.clear()
    held = ref.memory_allocated() == before
    graph.reset()
    assert ref.memory_allocated() < before
    return held


@of("tokens-equal-to-nothing")
def unequal_tokens(_: Any) -> bool:
    token = ref.graph_pool_handle()
    return token != token  # noqa: PLR0124  # not even it and itself


@of("tokens-that-cannot-be-compared")
def loud_tokens(_: Any) -> bool:
    token = captured(ref.CUDAGraph()).pool()
    return "compared" in refused(lambda: token == token) and "hash" in refused(lambda: {token})  # noqa: PLR0124


@of("usable-token-before-the-capture")
def early_token(_: Any) -> bool:
    graph = ref.CUDAGraph()
    if refused(graph.pool):
        return False
    token = graph.pool()
    return captured(graph).pool() == token


def pools_of_two() -> tuple[Any, Any, int]:
    """The token that a second capture was given, the one that it reports, and how many pools the two captures use."""
    pools = device().allocator.pools  # type: ignore[attr-defined]
    before = set(pools())
    first, second = captured(ref.CUDAGraph()), ref.CUDAGraph()
    with ref.stream(ref.Stream()):
        second.capture_begin(first.pool())
        torch.ones(3)
        second.capture_end()
    return first.pool(), second.pool(), len({pool for pool in set(pools()) - before if ranges(pool)})


def ranges(pool: Any) -> Any:
    """The addresses of one pool."""
    return device().allocator.ranges([pool])  # type: ignore[attr-defined]


@of("pool-hint-not-followed")
def own_pool(_: Any) -> bool:
    given, reported, number = pools_of_two()
    return bool(given != reported) and number == 2


@of("pool-hint-not-taken")
def own_memory(_: Any) -> bool:
    given, reported, number = pools_of_two()
    return bool(given == reported) and number == 2


@of("no-cuda-runtime")
def no_runtime(stated: Any) -> bool:
    return bool(stated) and stated["runtime"] is None


@of("no-user-objects")
def no_user_objects(stated: Any) -> bool:
    return bool(stated) and not hasattr(stated["runtime"], "cudaUserObjectCreate")


@of("no-graph-pool-handle")
def no_handles(stated: Any) -> bool:
    return bool(stated) and not hasattr(stated["module"], "graph_pool_handle")


@of("three-streams")
def three(_: Any) -> bool:
    streams = [ref.Stream() for _ in range(9)]
    return len(set(streams)) == 3


@of("four-streams")
def four(_: Any) -> bool:
    streams = [ref.Stream() for _ in range(9)]
    return len(set(streams)) == 4


@of("default-stream-captures")
def default_captures(_: Any) -> bool:
    x, graph = torch.zeros(3), ref.CUDAGraph()
    if refused(lambda: captured_on_default(graph, x)):
        return False
    graph.replay()
    return x.tolist() == [1.0] * 3


def captured_on_default(graph: Any, x: torch.Tensor) -> None:
    with capturing(graph, ref.default_stream()):
        x.add_(1)


@of("fresh-stream-for-each-block")
def fresh_streams(_: Any) -> bool:
    blocks = [ref.graph(ref.CUDAGraph()) for _ in range(2)]
    return blocks[0].capture_stream != blocks[1].capture_stream


def beside_a_capture() -> tuple[str, list[float], list[float]]:
    """What ending a capture raises that other work ran beside, what that work had done, and what a replay adds."""
    with ref.session(1):
        x, y, graph = ref.tensor([0.0]), ref.tensor([0.0]), ref.CUDAGraph()
        ref.synchronize()
        other = ref.Stream()

        def body() -> None:
            x.add_(1)
            with ref.stream(other):
                y.add_(1)

        ended = refused(lambda: captured(graph, body))
        ref.synchronize()
        before = ref.read(y).tolist()
        with contextlib.suppress(RuntimeError):
            graph.replay()
        ref.synchronize()
        return ended, before, ref.read(y).tolist()


@of("work-outside-spoils-captures")
def spoils(_: Any) -> bool:
    ended, before, after = beside_a_capture()
    return bool(ended) and (before, after) == ([1.0], [1.0])


@of("work-outside-is-captured")
def is_captured(_: Any) -> bool:
    ended, before, after = beside_a_capture()
    return not ended and (before, after) == ([0.0], [1.0])


@of("memory-stays-reserved")
def stays_reserved(_: Any) -> bool:
    x = ref.empty([1 << 20])
    peak = ref.memory_reserved()
    del x
    ref.empty_cache()
    return ref.memory_reserved() >= peak


@of("blocks-free-nothing")
def frees_nothing(_: Any) -> bool:
    x = ref.empty([1 << 20])
    peak = ref.memory_reserved()
    del x
    with ref.graph(ref.CUDAGraph()):
        torch.ones(3)
    return ref.memory_reserved() >= peak


@pytest.fixture(autouse=True, scope="module")
def small_heap() -> Iterator[None]:
    """Let each collection here pass over what was there before."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty")
@pytest.mark.parametrize("name", TESTED)
def test_differs_and_comes_off(name: str) -> None:
    differs = TESTED[name]
    gc.collect()
    ref.empty_cache()
    with BY_NAME[name].apply() as given:
        assert differs(given)
    gc.collect()
    assert not captures.live
    assert not differs(None)


@pytest.mark.parametrize("module", ["devices", "pools", "refusals"])
def test_none_is_forgotten(module: str) -> None:
    variants = __import__(f"reference_impl.variants.{module}", fromlist=["VARIANTS"]).VARIANTS
    assert {variant.name for variant in variants} <= set(TESTED)
