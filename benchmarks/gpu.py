"""Host time of the reference on a GPU against torch.cuda.CUDAGraph and against the bare call of the runtime.

    python benchmarks/gpu.py

All in one process, in alternating rounds, with a wait between rounds, so that no launch waits for a full queue.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from measuring import medians

import reference_impl as ref

ROUNDS, CALLS = 200, 20
HOOKS = 16


def microseconds(call: Callable[[], object], times: int) -> float:
    """Time of one call, without the work that it gives to the GPU."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    took = (time.perf_counter() - start) / times * 1e6
    torch.cuda.synchronize()
    return took


def of_nodes(cls: Any, count: int, **settings: Any) -> Any:
    """A graph of `cls` with `count` kernels on the capturing stream."""
    x = torch.zeros(8, device="cuda")
    graph, stream = cls(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        graph.capture_begin(**settings)
        for _ in range(count):
            x.add_(1)
        graph.capture_end()
    graph.keeps = x
    return graph


def of_inputs(cls: Any, count: int) -> Any:
    """A graph that checks the lives of `count` inputs and runs few kernels."""
    inputs = [torch.zeros(1, device="cuda") for _ in range(count)]
    graph, stream = cls(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        graph.capture_begin(check_input_liveness=True)
        torch._foreach_add_(inputs, 1.0)
        graph.capture_end()
    graph.keeps = inputs
    return graph


class Native(torch.cuda.CUDAGraph):
    """The native class, whose objects can hold on to their tensors."""


def replays(nodes: int) -> tuple[float, float, float]:
    """Microseconds of a replay of that many nodes: the reference, native, the bare launch from Python."""
    from cuda.bindings import runtime

    mine, native = of_nodes(ref.CUDAGraph, nodes), of_nodes(Native, nodes)
    executable = runtime.cudaGraphExec_t(mine.raw_cuda_graph_exec())
    stream = runtime.cudaStream_t(torch.cuda.current_stream().cuda_stream)
    bare = functools.partial(runtime.cudaGraphLaunch, executable, stream)
    calls = mine.replay, native.replay, bare
    reference, theirs, launch = medians(*calls, rounds=ROUNDS, times=CALLS, measure=microseconds)
    return reference, theirs, launch


def replay_against_native() -> float:
    """The worst of 1, 100 and 1,000 nodes."""
    return max(reference / native for reference, native, _ in map(replays, (1, 100, 1_000)))


def replay_against_launch() -> float:
    """The worst of 1, 100 and 1,000 nodes."""
    return max(reference / bare for reference, _, bare in map(replays, (1, 100, 1_000)))


def replay_with_hooks() -> float:
    """What each of sixteen hooks adds to a replay, as a multiple of calling it from a loop."""

    def hook(_graph: object) -> None:
        """Does nothing."""

    plain, hooked = of_nodes(ref.CUDAGraph, 1), of_nodes(ref.CUDAGraph, 1)
    functions = [hook] * HOOKS
    for each in functions:
        hooked.register_replay_start_hook(each)

    def called() -> None:
        for each in functions:
            each(plain)

    compared = plain.replay, hooked.replay, called
    without, with_hooks, calls = medians(*compared, rounds=ROUNDS, times=CALLS, measure=microseconds)
    return (with_hooks - without) / calls


def liveness(count: int) -> float:
    """A replay that checks that many inputs, against the native class's."""
    mine, native = of_inputs(ref.CUDAGraph, count), of_inputs(Native, count)
    reference, theirs = medians(mine.replay, native.replay, rounds=50, times=5, measure=microseconds)
    return reference / theirs


def liveness_against_native() -> float:
    """The worst of 10, 1,000 and 10,000 inputs."""
    return max(liveness(count) for count in (10, 1_000, 10_000))


def ends(cls: Any, rounds: int = ROUNDS) -> tuple[float, float]:
    """Median microseconds of capture_end and of reset, of a graph with ten nodes."""
    x, stream = torch.zeros(8, device="cuda"), torch.cuda.Stream()
    graph, end, reset = cls(keep_graph=True), [], []
    with torch.cuda.stream(stream):
        for _ in range(rounds):
            torch.cuda.synchronize()
            graph.capture_begin()
            for _ in range(10):
                x.add_(1)
            start = time.perf_counter()
            graph.capture_end()
            middle = time.perf_counter()
            graph.reset()
            end.append(middle - start)
            reset.append(time.perf_counter() - middle)
    return statistics.median(end) * 1e6, statistics.median(reset) * 1e6


def ends_against_native() -> float:
    """The worse of capture_end and reset, each the median of three interleaved series."""
    series = [(ends(ref.CUDAGraph), ends(Native)) for _ in range(3)]
    return max(statistics.median(mine[at] / native[at] for mine, native in series) for at in (0, 1))


def main() -> None:
    ref.use_device("cuda")
    print(f"torch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}; microseconds")
    for nodes in (1, 100, 1_000):
        mine, native, bare = replays(nodes)
        print(f"replay of {nodes} nodes: {mine:.2f}, native {native:.2f}, bare launch {bare:.2f}")
    print(f"each of {HOOKS} hooks: {replay_with_hooks():.2f} calls")
    for name, (end, reset) in (("reference", ends(ref.CUDAGraph)), ("native", ends(Native))):
        print(f"{name}: capture_end {end:.1f}, reset {reset:.1f}")
    if "check_input_liveness" in (torch.cuda.CUDAGraph.capture_begin.__doc__ or ""):
        for count in (10, 1_000, 10_000):
            print(f"liveness of {count} inputs: {liveness(count):.2f} of native")


if __name__ == "__main__":
    main()
