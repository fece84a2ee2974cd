"""The state of the default generator, saved and restored by a program whose draws wait or are captured."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import reference_impl as ref

SESSIONS = pytest.mark.parametrize("seed", [None, 0, 1, 2], ids=["synchronous", "session-0", "session-1", "session-2"])
REENTRANT = pytest.mark.parametrize("reentrant", [False, True], ids=["non-reentrant", "reentrant"])


def session(seed: int | None) -> Any:
    return contextlib.nullcontext() if seed is None else ref.session(seed)


def noisy(x: torch.Tensor) -> torch.Tensor:
    """Draws twice; its gradient tells what was drawn."""
    return x * torch.sigmoid(torch.randn(5)) * torch.nn.functional.dropout(x, 0.5)


def step(x: torch.Tensor, *, reentrant: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A draw, a checkpointed module with draws, and a draw again; and the gradient of the module's output."""
    before = torch.rand(3)
    y = checkpoint(noisy, x, use_reentrant=reentrant, preserve_rng_state=True)
    between = torch.rand(3)
    y.sum().backward()
    assert x.grad is not None
    return y.detach(), x.grad, before + 2 * between + 4 * torch.rand(3)


def eager(number: int, *, reentrant: bool) -> list[list[torch.Tensor]]:
    """What `number` steps give, one after another."""
    ref.manual_seed(42)
    steps = []
    for turn in range(number):
        x = (torch.arange(5.0) + turn).requires_grad_()
        steps.append([each.clone() for each in step(x, reentrant=reentrant)])
    return steps


@REENTRANT
@SESSIONS
def test_checkpointing_outside_of_captures(seed: int | None, *, reentrant: bool) -> None:
    expected = eager(3, reentrant=reentrant)
    with session(seed):
        found = [[ref.read(each) for each in results] for results in eager(3, reentrant=reentrant)]
    for here, there in zip(found, expected, strict=True):
        for one, other in zip(here, there, strict=True):
            assert torch.equal(one, other)


@REENTRANT
@SESSIONS
def test_checkpointing_in_a_capture(seed: int | None, *, reentrant: bool) -> None:
    expected = eager(4, reentrant=reentrant)
    with session(seed):
        x, graph = torch.arange(5.0).requires_grad_(), ref.CUDAGraph()
        with ref.graph(graph):
            outputs = step(x, reentrant=reentrant)
        ref.manual_seed(42)
        for turn, results in enumerate(expected):
            with torch.no_grad():
                x.copy_(torch.arange(5.0) + turn)
            graph.replay()
            for one, other in zip(outputs, results, strict=True):
                assert torch.equal(ref.read(one), other)


def test_draws_in_between_are_where_they_would_be() -> None:
    def body(out: list[torch.Tensor]) -> None:
        out.append(torch.rand(2))
        with torch.random.fork_rng(devices=[]):
            out.append(torch.rand(2))
            inner = torch.get_rng_state()
            out.append(torch.rand(2))
            torch.set_rng_state(inner)
            out.append(torch.rand(2))
        out.append(torch.rand(2))

    expected: list[torch.Tensor] = []
    torch.manual_seed(7)
    body(expected)
    body(expected)
    graph, found = ref.CUDAGraph(), list[torch.Tensor]()
    with ref.graph(graph):
        body(found)
    torch.manual_seed(7)
    for turn in range(2):
        graph.replay()
        for one, other in zip(found, expected[5 * turn : 5 * turn + 5], strict=True):
            assert torch.equal(one, other)


def test_saving_the_state_of_pending_draws() -> None:
    torch.manual_seed(3)
    torch.rand(4)
    state, expected = torch.get_rng_state(), torch.rand(4)
    with ref.session(1):
        torch.manual_seed(3)
        torch.rand(4)
        saved = torch.get_rng_state()
        x = torch.rand(4)
        torch.set_rng_state(saved)
        y = torch.rand(4)
        assert saved.numpy().tolist() == state.tolist()
        assert torch.equal(ref.read(x), expected)
        assert torch.equal(ref.read(y), expected)


def refused(call: Callable[[], object]) -> None:
    """Assert that `call` is refused in a capture, which is none the worse for it."""
    torch.manual_seed(5)
    expected = torch.rand(2)
    graph = ref.CUDAGraph()
    with ref.graph(graph):
        x = torch.rand(2)
        with pytest.raises(ref.GraphError, match="before the capture, or before a replay"):
            call()
    torch.manual_seed(5)
    graph.replay()
    assert torch.equal(x, expected)


def test_a_state_from_outside_is_refused() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    refused(lambda: torch.set_rng_state(state))


@pytest.mark.parametrize("place", [torch, torch.random, ref], ids=["torch", "torch.random", "reference"])
def test_another_seed_is_refused(place: Any) -> None:
    refused(lambda: place.manual_seed(6))


def test_the_same_seed_changes_nothing() -> None:
    torch.manual_seed(5)
    expected = torch.rand(4)
    graph = ref.CUDAGraph()
    with ref.graph(graph):
        torch.manual_seed(5)
        x = torch.rand(2)
        torch.manual_seed(5)
        y = torch.rand(2)
    torch.manual_seed(5)
    graph.replay()
    assert torch.equal(torch.cat([x, y]), expected)


def test_a_copy_of_a_state_that_was_just_read_changes_nothing() -> None:
    torch.manual_seed(5)
    expected = torch.rand(4)
    graph = ref.CUDAGraph()
    with ref.graph(graph):
        x = torch.rand(2)
        torch.set_rng_state(torch.from_numpy(torch.get_rng_state().numpy().copy()))
        y = torch.rand(2)
    torch.manual_seed(5)
    graph.replay()
    assert torch.equal(torch.cat([x, y]), expected)


def test_pytorch_has_its_own_functions_back() -> None:
    places = [(place, name) for place in (torch, torch.random) for name in ("get_rng_state", "set_rng_state")]
    own = [getattr(place, name) for place, name in places]
    with ref.session(1):
        graph = ref.CUDAGraph()
        with ref.graph(graph):
            torch.rand(2)
        assert [getattr(place, name) for place, name in places] != own
    assert [getattr(place, name) for place, name in places] == own
