"""Where the software device sends operators: into the capture of the current stream, of which nothing stays behind."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
import torch

import reference_impl as ref
from reference_impl.devices.software.sinks import SoftwareCapture


def captures() -> list[SoftwareCapture]:
    """What the device keeps of captures, ended ones included."""
    gc.collect()
    return [each for each in gc.get_objects() if type(each) is SoftwareCapture]


def read_on_host() -> None:
    with pytest.raises(ref.HostReadInCapture):
        torch.ones(1).item()


def wait_for_the_device() -> None:
    with pytest.raises(ref.DeviceError):
        ref.synchronize()


def wait_in_another_thread() -> None:
    thread = threading.Thread(target=wait_for_the_device)
    thread.start()
    thread.join()


@pytest.mark.parametrize("spoil", [read_on_host, wait_for_the_device, wait_in_another_thread])
def test_nothing_stays_of_a_spoiled_capture(spoil: Any) -> None:
    """Operators that come after the spoiling call are refused, and the capture is gone once it is ended."""
    assert captures() == []
    x, graph = torch.ones(4), ref.CUDAGraph()
    with ref.stream(ref.Stream()):
        graph.capture_begin()
        x.add_(1)
        spoil()
        for _ in range(2):
            with pytest.raises(ref.DeviceError, match="cudaErrorStreamCaptureInvalidated"):
                x.add_(1)
        assert len(captures()) == 1
        with pytest.raises(ref.DeviceError, match="cudaErrorStreamCaptureInvalidated"):
            graph.capture_end()
        assert captures() == []
        x.add_(1)
    assert x.tolist() == [2.0] * 4


def test_nothing_stays_of_a_capture_by_the_runtime_alone() -> None:
    """Without a graph object operators are captured all the same, from ordinary memory."""
    runtime, stream, x = ref.cudart(), ref.Stream(), torch.ones(4)
    mode = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal
    assert runtime.cudaStreamBeginCapture(stream.cuda_stream, mode) == (0,)
    with ref.stream(stream):
        out = x + 1
        assert len(captures()) == 1
    error, template = runtime.cudaStreamEndCapture(stream.cuda_stream)
    assert (error, captures()) == (0, [])
    executable = runtime.cudaGraphInstantiate(template, 0)[1]
    for value in (5.0, 7.0):
        x.fill_(value)
        assert runtime.cudaGraphLaunch(executable, stream.cuda_stream) == (0,)
        assert out.tolist() == [value + 1] * 4
    assert runtime.cudaGraphExecDestroy(executable) == runtime.cudaGraphDestroy(template) == (0,)


def test_a_forked_stream_reaches_the_same_capture() -> None:
    """A stream that waits for the capture's work takes part in it, and shares what the device keeps of it."""
    x, graph, side = torch.ones(4), ref.CUDAGraph(), ref.Stream()
    with ref.stream(ref.Stream()):
        origin = ref.current_stream()
        graph.capture_begin()
        x.add_(1)
        side.wait_stream(origin)
        with ref.stream(side):
            x.mul_(3)
        assert len(captures()) == 1
        origin.wait_stream(side)
        graph.capture_end()
        assert captures() == []
    graph.replay()
    assert x.tolist() == [6.0] * 4


def test_equality_that_needs_no_values() -> None:
    x, graph = ref.tensor([1.0, 2.0]), ref.CUDAGraph()
    with ref.graph(graph):
        y = x + 1
        assert torch.equal(y, y)
        assert torch.equal(y, y.view(2))
        assert not torch.equal(y, torch.zeros(3))
        assert torch.equal(y[:0], x[:0])
    graph.replay()
    assert y.tolist() == [2.0, 3.0]


def test_equality_that_needs_values() -> None:
    x, graph = ref.tensor([1.0, 2.0]), ref.CUDAGraph()
    for other in (lambda y: y + 0, lambda y: y.flip(0), lambda y: y[:1].expand(2), lambda y: y.view(torch.int32)):
        with pytest.raises(ref.DeviceError, match="Invalidated"), ref.graph(graph):  # noqa: PT012
            y = x + 1
            with pytest.raises(ref.HostReadInCapture):
                torch.equal(y, other(y))
