# ruff: noqa: N802, N803 - the names are CUDA's
"""CUDA's calls to begin, end and steer a capture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reference_impl.runtime import captures
from reference_impl.runtime.bindings import cudaError_t, cudaStreamCaptureMode, cudaStreamUpdateCaptureDependenciesFlags
from reference_impl.runtime.errors import Refusal, Results, api
from reference_impl.runtime.results import template_handle
from reference_impl.runtime.streams import find_stream
from reference_impl.runtime.templates import find_nodes, find_template, require_default_edges

_SET = int(cudaStreamUpdateCaptureDependenciesFlags.cudaStreamSetCaptureDependencies)


def _mode(mode: Any) -> Any:
    try:
        return cudaStreamCaptureMode(mode)
    except ValueError:
        raise Refusal(cudaError_t.cudaErrorInvalidValue) from None


@api()
def cudaStreamBeginCapture(stream: Any, mode: Any) -> None:
    """Record what comes on a stream into a new template, instead of running it."""
    captures.begin(find_stream(stream), _mode(mode))


@api()
def cudaStreamBeginCaptureToGraph(
    stream: Any,
    graph: Any,
    dependencies: Sequence[Any] | None,
    dependencyData: Sequence[Any] | None,
    numDependencies: int,
    mode: Any,
) -> None:
    """Record what comes on a stream into an existing template, behind some of its nodes."""
    require_default_edges(dependencyData)
    template = find_template(graph)
    nodes = find_nodes(dependencies, numDependencies)
    if template.capturing or any(node.template is not template for node in nodes):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    captures.begin(find_stream(stream), _mode(mode), template, tuple(nodes))


@api(1)
def cudaStreamEndCapture(stream: Any) -> Results:
    """End the capture that began on a stream; the template, which the caller owns."""
    return (template_handle(captures.end(find_stream(stream))),)


@api()
def cudaStreamUpdateCaptureDependencies(
    stream: Any,
    dependencies: Sequence[Any] | None,
    dependencyData: Sequence[Any] | None,
    numDependencies: int,
    flags: int,
) -> None:
    """Add to, or with cudaStreamSetCaptureDependencies replace, what the next node depends on."""
    queue = find_stream(stream)
    capture = captures.of(queue)
    if capture is None:
        raise Refusal(cudaError_t.cudaErrorIllegalState)
    require_default_edges(dependencyData)
    nodes = find_nodes(dependencies, numDependencies)
    if int(flags) not in (0, _SET) or any(node.template is not capture.template for node in nodes):
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    before = () if int(flags) == _SET else capture.streams[queue]
    capture.streams[queue] = tuple(dict.fromkeys((*before, *nodes)))


@api(1)
def cudaThreadExchangeStreamCaptureMode(mode: Any) -> Results:
    """Set how far captures restrict the calling thread; returns the mode it had."""
    before, captures.thread.mode = captures.thread.mode, _mode(mode)
    return (before,)
