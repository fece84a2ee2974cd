"""Captures, replays and resets in a loop leave nothing behind."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._C import _len_torch_dispatch_stack

import reference_impl as ref
from reference_impl import runtime as software

from .programs import mlp_step


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


def counts() -> dict[str, Any]:
    gc.collect()
    ref.empty_cache()
    return {
        **software.live_counts(),
        "threads": threading.active_count(),
        "modes": _len_torch_dispatch_stack(),
        "allocated": ref.memory_allocated(),
        "reserved": ref.memory_reserved(),
    }


def capture_and_reset() -> None:
    x = torch.ones(7)
    graph = ref.CUDAGraph(keep_graph=True)
    with ref.graph(graph, stream=ref.Stream(), check_input_liveness=True):
        y = x * 2
    graph.instantiate()
    graph.replay()
    assert y.tolist() == [2.0] * 7
    graph.reset()


def capture_and_drop() -> None:
    x = torch.ones(7)
    graph = ref.CUDAGraph()
    with ref.graph(graph):
        x.add_(1)
    graph.replay()


def spoil() -> None:
    graph = ref.CUDAGraph()
    x = torch.ones(7)
    with pytest.raises(RuntimeError), ref.graph(graph, check_input_liveness=True):
        (x + 1).sum().item()


def abandon() -> None:
    graph = ref.CUDAGraph()
    with ref.stream(ref.Stream()):
        graph.capture_begin(check_input_liveness=True)
        torch.ones(7).add_(1)
        graph.reset()
        assert not ref.is_current_stream_capturing()


def abandon_by_dropping() -> None:
    graph = ref.CUDAGraph()
    with ref.stream(ref.Stream()):
        graph.capture_begin()
        torch.ones(7).add_(1)
        del graph
        assert not ref.is_current_stream_capturing()


def in_threads() -> None:
    both = threading.Barrier(2)

    def body() -> None:  # without the context manager, whose synchronize disturbs other threads' captures
        graph = ref.CUDAGraph()
        with ref.stream(ref.Stream()):
            both.wait()  # there are two streams at a time, however fast the first thread is
            graph.capture_begin(capture_error_mode="thread_local")
            torch.ones(7).add_(1)
            graph.capture_end()
            graph.replay()

    threads = [threading.Thread(target=body) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("once", [capture_and_reset, capture_and_drop, spoil, abandon, abandon_by_dropping, in_threads])
def test_two_hundred_captures_leave_nothing(once: Callable[[], None]) -> None:
    for _ in range(5):
        once()
    before = counts()
    for _ in range(200):
        once()
    assert counts() == before


def test_ten_thousand_replays_stay_flat() -> None:
    program = mlp_step(8, 8)
    graph = ref.CUDAGraph()
    with ref.graph(graph):
        program.step()
    for _ in range(500):
        graph.replay()
    before, memory = counts(), resident_bytes()
    for _ in range(10_000):
        graph.replay()
    assert counts() == before
    assert resident_bytes() - memory < 2 << 20
