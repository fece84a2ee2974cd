"""Captures of the XPU's class, which knows no modes: what the device can do at any time is no error in them."""

from __future__ import annotations

import threading

import reference_impl.xpu as ref


def test_raw_allocation_of_any_thread() -> None:
    runtime = ref.cudart()
    codes: list[int] = []

    def allocate() -> None:
        code, pointer = runtime.cudaMalloc(1024)
        codes.append(int(code))
        runtime.cudaFree(pointer)

    x, graph = ref.tensor([1.0, 2.0]), ref.XPUGraph()
    with ref.graph(graph):
        y = x + x
        allocate()
        other = threading.Thread(target=allocate)
        other.start()
        other.join()
    graph.replay()
    assert codes == [0, 0]
    assert y.tolist() == [2.0, 4.0]
