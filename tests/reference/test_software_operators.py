"""Operators on the software device: a replay calls just the captured one, and gives eager's bits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

import reference_impl as ref
from reference_impl.devices import bindings, trials

aten = torch.ops.aten

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
)
NUMBERS = (True, 3, 2**53 + 1, 0.1, 0.0, -0.0, float("inf"), float("nan"), 1 / 3, 2.5 + 1j)
ELEMENTWISE: dict[str, Callable[[torch.Tensor, Any], torch.Tensor]] = {
    "add": lambda x, number: x + number,
    "subtract": lambda x, number: number - x,
    "multiply": lambda x, number: x * number,
    "divide": lambda x, number: x / number,
    "divide a number": lambda x, number: number / x,
    "in place": lambda x, number: x.mul_(number),
    "alpha": lambda x, number: torch.add(x, x, alpha=number),
    "where": lambda x, number: torch.where(x == x, x, number),  # noqa: PLR0124  # for its NaN
    "out": lambda x, number: torch.mul(x, number, out=torch.empty(0, dtype=torch.result_type(x, number))),
}


def bits(tensor: torch.Tensor) -> list[int]:
    return tensor.contiguous().view(-1).view(torch.uint8).tolist()


def replayed(program: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> torch.Tensor:
    """What `program` gives on `inputs` in the second replay of a capture made with other values."""
    static = [torch.zeros_like(each) for each in inputs]
    graph = ref.CUDAGraph()
    with ref.graph(graph):
        out = program(*static)
    for _ in range(2):
        for target, source in zip(static, inputs, strict=True):
            target.copy_(source)
        graph.replay()
    return out.clone()


@pytest.mark.parametrize("shape", [(5,), ()], ids=["vector", "no-dimensions"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_numbers_among_the_arguments(name: str, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """Dtype and bits are eager's, for each kind of number with each kind of tensor."""
    program = ELEMENTWISE[name]
    torch.manual_seed(7)
    x = torch.randint(0, 2, shape).bool() if dtype == torch.bool else (torch.randn(shape) * 3).to(dtype)
    for number in NUMBERS:
        try:
            expected = program(x.clone(), number)
        except RuntimeError:  # no such operator: nothing to replay
            continue
        actual = replayed(lambda tensor, number=number: program(tensor, number), x)
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), number
        assert bits(actual) == bits(expected), number


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(3),
        lambda: torch.zeros(3, dtype=torch.int16),
        lambda: torch.full((2, 3), -2.5),
        lambda: torch.full((2, 3), True),
        lambda: torch.ones_like(torch.empty(4, 2).t()),
        lambda: torch.zeros_like(torch.empty(4, dtype=torch.complex64)),
        lambda: torch.full_like(torch.empty(3), 7),
        lambda: torch.empty(3).new_full((2,), 5),
        lambda: torch.empty(3).new_ones((2,)),
        lambda: torch.arange(3, 9, 2),
    ],
)
def test_factories_fill_in_every_replay(make: Callable[[], torch.Tensor]) -> None:
    expected, graph = make(), ref.CUDAGraph()
    with ref.graph(graph):
        out = make()
    for _ in range(2):
        out.fill_(1 if expected.is_complex() else 9)
        graph.replay()
        assert (out.dtype, out.stride()) == (expected.dtype, expected.stride())
        assert out.tolist() == expected.tolist()


def test_marks_for_a_profiler_are_no_nodes() -> None:
    graph, x = ref.CUDAGraph(keep_graph=True), torch.zeros(3)
    with ref.graph(graph), torch.profiler.record_function("step"):
        x.add_(1)
    assert ref.cudart().cudaGraphGetNodes(graph.raw_cuda_graph())[2] == 1


def test_an_operator_that_returns_no_tensor() -> None:
    x, y, graph = torch.zeros(3), torch.zeros(4), ref.CUDAGraph()
    with ref.graph(graph):
        answers = [aten.is_same_size(x, y), aten.is_same_size(x, x), x.is_set_to(x), x.is_set_to(y)]
        x.add_(1)
    assert answers == [False, True, True, False]
    graph.replay()
    assert x.tolist() == [1.0] * 3


def test_outcomes_follow_the_default_dtype() -> None:
    """The same call gives another dtype where the default is another."""
    x, graph = torch.arange(3), ref.CUDAGraph()
    for dtype in (torch.float32, torch.float64):
        torch.set_default_dtype(dtype)
        try:
            with ref.graph(graph):
                half, ones = x / 2, torch.ones(2)
        finally:
            torch.set_default_dtype(torch.float32)
        assert half.dtype == ones.dtype == dtype
        graph.replay()
        assert half.tolist() == [0.0, 0.5, 1.0]
        graph.reset()


def test_outcomes_tell_values_and_types_of_arguments_apart() -> None:
    x, graph = torch.arange(6).view(2, 3), ref.CUDAGraph()
    programs = (
        lambda: x.sum(0),
        lambda: x.sum(1),
        lambda: x.sum([0, 1]),
        lambda: x.sum(0, keepdim=True),
        lambda: x + 1,
        lambda: x + 1.0,
        lambda: x + True,
        lambda: torch.cat([x, x]),
        lambda: torch.cat([x, x], 1),
        lambda: torch.cat([x, x.t().reshape(2, 3)]),
        lambda: x.to(torch.float64),
        lambda: x.to(torch.float32),
        lambda: x.clone(memory_format=torch.contiguous_format),
        lambda: x.t().clone(),
    )
    for program in programs:
        expected = program()
        with ref.graph(graph):
            out = program()
        graph.replay()
        assert (out.dtype, out.stride()) == (expected.dtype, expected.stride())
        assert out.tolist() == expected.tolist()
        graph.reset()


def test_targets_of_two_sizes() -> None:
    """A call whose out= tensor has to be resized is another kind of call than one whose tensor fits."""
    x = torch.arange(4.0)
    for size in (0, 4, 0):
        target, graph = torch.full((size,), 9.0), ref.CUDAGraph()
        with ref.graph(graph):
            torch.add(x, 1, out=target)
        graph.replay()
        assert target.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_tensor_that_is_two_arguments() -> None:
    x, y, graph = torch.arange(3.0), torch.ones(3), ref.CUDAGraph()
    with ref.graph(graph):
        twice, sum_, same = x + x, x + y, torch.add(x, y, out=x)
    assert same is x
    graph.replay()
    assert (twice.tolist(), sum_.tolist(), x.tolist()) == ([0.0, 2.0, 4.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


def test_known_outcomes_are_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_known", {})
    monkeypatch.setattr(trials, "_MOST_KNOWN", 5)
    x, graph = torch.zeros(3), ref.CUDAGraph()
    with ref.graph(graph):
        outs = [x + number for number in range(12)]
    assert len(trials._known) <= 5
    graph.replay()
    assert [out.tolist() for out in outs] == [[float(number)] * 3 for number in range(12)]


def test_two_threads_capture_the_same_program() -> None:
    results: dict[int, list[float]] = {}

    def work(number: int) -> None:
        x, graph = torch.full((3,), float(number)), ref.CUDAGraph()
        with ref.stream(ref.Stream()):
            graph.capture_begin(capture_error_mode="thread_local")
            out = (x * 2 + 1).relu()
            graph.capture_end()
            for _ in range(20):
                graph.replay()
        results[number] = out.tolist()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: [2.0 * number + 1] * 3 for number in range(8)}


# -- PyTorch's own functions ------------------------------------------------------------------------------------------


def test_the_function_that_calls_the_operator() -> None:
    x, out = torch.randn(3), torch.empty(3)
    assert bindings.quickest(aten.add.out, (x, x), {"out": out}, lambda: out) is torch.add
    found = bindings.quickest(aten.add_.Tensor, (x, x), {}, lambda: x)
    assert found is torch._C.TensorBase.add_


def test_a_function_that_hands_on_other_arguments_is_not_taken() -> None:
    """The binding of mse_loss has another default for the reduction than the operator has."""
    x, loss = torch.randn(3), torch.empty(())
    overload = aten.mse_loss.default
    assert bindings.quickest(overload, (x, x), {}, lambda: loss) is overload._op


def test_an_operator_of_somebody_else_is_called_as_it_is() -> None:
    overload = torch.ops.prims.add.default
    x = torch.randn(3)
    assert bindings.quickest(overload, (x, x), {}, lambda: x) is overload._op


def test_a_search_runs_nothing_and_shows_nothing_to_the_users_modes() -> None:
    seen: list[str] = []

    class Functions(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.zeros(3)
    with Functions():
        bindings._search(aten.add_.Tensor, (x, x), {}, x)
        bindings._search(aten.fill_.Scalar, (x, 5.0), {}, x)
    assert seen == []
    assert x.tolist() == [0.0] * 3
