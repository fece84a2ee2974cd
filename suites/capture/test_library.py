"""Work that reaches the device through libraries, autocast or custom operators."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise
from conformance.markers import requirement
from suites.support.captures import captured, replay
from suites.support.eager import captured_after_eager, run_eagerly
from suites.support.programs import ramp

_HOST_CALLS: list[str] = []


@torch.library.custom_op("graph_conformance::triple_and_add", mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
def triple_and_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """A functional operator made of ordinary ones."""
    _HOST_CALLS.append("triple_and_add")
    return x * 3.0 + y


@torch.library.custom_op(
    "graph_conformance::accumulate", mutates_args=("total",), schema="(Tensor(a!) total, Tensor x) -> ()"
)
def accumulate(total: torch.Tensor, x: torch.Tensor) -> None:
    """An operator that changes its first argument."""
    _HOST_CALLS.append("accumulate")
    total.add_(x)


PRODUCTS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mm": torch.mm,
    "addmm": lambda a, b: torch.addmm(a[:, :4], a, b, beta=2.0),
    "bmm": lambda a, b: torch.bmm(a.expand(2, 3, 5), b.expand(2, 5, 4)),
    "matvec": lambda a, b: torch.mv(a, b[:, 1]),
}


@pytest.mark.parametrize("kind", PRODUCTS)
@requirement("capture.library-operators")
def test_matrix_product_is_taken(impl: Adapter, kind: str) -> None:
    """A matrix product that runs eagerly is captured."""
    a, b = impl.full((3, 5), 1.0), impl.full((5, 4), 1.0)
    run_eagerly(impl, f"a product ({kind})", lambda: PRODUCTS[kind](a, b))
    expect_no_raise(f"a product ({kind}) is captured", lambda: captured(impl, lambda: PRODUCTS[kind](a, b)))


@pytest.mark.parametrize("kind", PRODUCTS)
@requirement("replay.performs-work")
def test_matrix_product(impl: Adapter, kind: str) -> None:
    """Matrix products of whole numbers are exact in every replay."""
    program = PRODUCTS[kind]
    a, b = impl.full((3, 5), 1.0), impl.full((5, 4), 1.0)
    graph, y = captured_after_eager(impl, f"a product ({kind})", lambda: program(a, b))
    for start in (1, 6, -9):
        now_a, now_b = ramp((3, 5), start), ramp((5, 4), -start)
        a.copy_(impl.tensor(now_a))
        b.copy_(impl.tensor(now_b))
        y.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, y, program(now_a, now_b), f"a replay computes a captured {kind}")


@requirement("capture.library-operators")
def test_network(impl: Adapter) -> None:
    """A module with two linear layers reads its parameters again in every replay."""
    host = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3))
    with torch.no_grad():
        for number, parameter in enumerate(host.parameters()):
            parameter.copy_((ramp(tuple(parameter.shape), number) % 5) - 2.0)
    device = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3)).to(impl.device)
    x = impl.full((4, 5), 0.0)
    with torch.no_grad():
        run_eagerly(impl, "a small network", lambda: device(x))
        graph, y = captured(impl, lambda: device(x))
        for round_, start in enumerate((1, 8, -11)):
            now = ramp((4, 5), start)
            x.copy_(impl.tensor(now))
            for ours, theirs in zip(device.parameters(), host.parameters(), strict=True):
                theirs.add_(float(round_))
                ours.copy_(impl.tensor(theirs.detach()))
            y.fill_(-1.0)
            replay(impl, graph)
            expect_equal(impl, y, host(now), "a replay computes the network with its present parameters")


@pytest.mark.parametrize("cache", ["cache", "no-cache"])
@requirement("capture.autocast")
def test_autocast(impl: Adapter, cache: str) -> None:
    """A product under autocast gives the lower precision, from the present full-precision operands."""
    weight = impl.full((5, 4), 1.0).requires_grad_()
    x = impl.full((3, 5), 1.0)

    def body() -> torch.Tensor:
        with torch.autocast(impl.device.type, dtype=torch.bfloat16, cache_enabled=cache == "cache"):
            return torch.mm(x, weight).detach()

    run_eagerly(impl, "a product under autocast", body)
    graph, y = captured(impl, body)
    expect(y.dtype == torch.bfloat16, "a captured product under autocast has autocast's dtype", f"{y.dtype}")
    for number in (1, 2, 3):
        now_x, now_weight = ramp((3, 5), number) % 4, ramp((5, 4), number) % 5 - 2.0
        x.copy_(impl.tensor(now_x))
        with torch.no_grad():
            weight.copy_(impl.tensor(now_weight))
        y.fill_(-1.0)
        replay(impl, graph)
        # Whole numbers of this size are exact in bfloat16, so the order of summation does not matter.
        expect_equal(impl, y, now_x @ now_weight, "a replay casts and multiplies the present operands")


@requirement("capture.custom-operator")
def test_custom_operator(impl: Adapter) -> None:
    """The result of a custom functional operator is computed by each replay."""
    x, y = impl.full((3, 5), 0.0), impl.full((3, 5), 0.0)
    graph, z = captured(impl, lambda: triple_and_add(x, y) - 1.0)
    for start in (1, 14, -20):
        now_x, now_y = ramp((3, 5), start), ramp((3, 5), 2 * start)
        x.copy_(impl.tensor(now_x))
        y.copy_(impl.tensor(now_y))
        z.fill_(-1.0)
        replay(impl, graph)
        expect_equal(impl, z, now_x * 3.0 + now_y - 1.0, "a replay computes a captured custom operator")


@requirement("capture.custom-operator")
def test_custom_operator_that_mutates(impl: Adapter) -> None:
    """A custom operator's change to its argument is part of each replay, and not of the capture."""
    total, x = impl.full(37, 100.0), impl.full(37, 4.0)
    graph, _ = captured(impl, lambda: accumulate(total, x))
    expect_equal(impl, total, 100.0, "captured work does not run before a replay")
    for count in range(1, 4):
        replay(impl, graph)
        expect_equal(impl, total, 100.0 + 4.0 * count, "a replay repeats a custom operator's change, once")


@requirement("capture.custom-operator")
def test_custom_operator_host_code_is_not_replayed(impl: Adapter) -> None:
    """The Python body of a custom operator runs for the capture and for no replay."""
    x, y = impl.full(37, 2.0), impl.full(37, 5.0)
    _HOST_CALLS.clear()
    graph, z = captured(impl, lambda: triple_and_add(x, y))
    at_capture = len(_HOST_CALLS)
    replay(impl, graph, times=3)
    expect(at_capture > 0, "a custom operator's host code runs when it is captured", "it was not called")
    expect(
        len(_HOST_CALLS) == at_capture,
        "a replay repeats device work only",
        f"the operator's host code ran {len(_HOST_CALLS) - at_capture} more times in 3 replays",
    )
    expect_equal(impl, z, 11.0, "a replay computes a captured custom operator")
