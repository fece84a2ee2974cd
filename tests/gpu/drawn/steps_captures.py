"""Steps on captures, streams and events, and the work that streams are given."""

from __future__ import annotations

from tests.gpu.recorder import COPY, native

from .player import MODES, POST, SUCCESS, Player
from .step import step


@step
def begin(p: Player, stream: int, mode: str) -> None:
    p.call("cudaStreamBeginCapture", p.stream(stream), MODES[mode])


@step
def begin_to(p: Player, stream: int, mode: str, graph: int, node: int) -> None:
    """Into a template, behind one of its nodes where it has one."""
    target = p.graph(graph)
    waits = [p.node(target, node)] if p.nodes(target) else None
    p.call("cudaStreamBeginCaptureToGraph", p.stream(stream), target, waits, None, len(waits or ()), MODES[mode])


@step
def end(p: Player, stream: int, aside: bool) -> None:
    p.made(p.call("cudaStreamEndCapture", p.stream(stream), aside=aside))


@step
def capture_info(p: Player, stream: int) -> None:
    queue = p.stream(stream)
    p.call("cudaStreamGetCaptureInfo", queue, graph=p.captured(queue))


@step
def is_capturing(p: Player, stream: int, aside: bool) -> None:
    p.call("cudaStreamIsCapturing", p.stream(stream), aside=aside)


@step
def depend(p: Player, stream: int, graph: int, node: int, flags: int) -> None:
    """On a node of the template that the stream captures into, or of another one."""
    queue = p.stream(stream)
    target = p.graph(graph) if graph < 4 else p.captured(queue)
    waits = [p.node(target, node)] if p.nodes(target) else None
    p.call("cudaStreamUpdateCaptureDependencies", queue, waits, None, len(waits or ()), flags)


@step
def exchange(p: Player, mode: str) -> None:
    p.call("cudaThreadExchangeStreamCaptureMode", MODES[mode])


# -- work --------------------------------------------------------------------------------------------------------------


@step
def kernel(p: Player, stream: int) -> None:
    p.kernel(p.stream(stream))


@step
def fill(p: Player, stream: int, value: int, aside: bool) -> None:
    queue = p.stream(stream)
    p.work("cudaMemsetAsync", p.slot(), value, 0 if value == 9 else 16, queue, stream=queue, aside=aside)


@step
def fill_rows(p: Player, stream: int, value: int, pitch: int) -> None:
    queue = p.stream(stream)
    p.work("cudaMemset2DAsync", p.slot(), pitch, value, 8, 2, queue, stream=queue)


@step
def copy(p: Player, stream: int, start: int, size: int) -> None:
    queue = p.stream(stream)
    p.work("cudaMemcpyAsync", p.slot(), p.pattern(start), size, COPY, queue, stream=queue)


@step
def host_call(p: Player, stream: int, function: bool) -> None:
    queue = p.stream(stream)
    address = POST if function else 0
    p.work("cudaLaunchHostFunc", queue, native.cudaHostFn_t(init_value=address), p.called.address, stream=queue)


@step
def launch(p: Player, executable: int, stream: int, aside: bool) -> None:
    queue = p.stream(stream)
    p.work("cudaGraphLaunch", p.launchable(executable), queue, stream=queue, aside=aside)


@step
def upload(p: Player, executable: int, stream: int) -> None:
    queue = p.stream(stream)
    p.work("cudaGraphUpload", p.launchable(executable), queue, stream=queue)


# -- events ------------------------------------------------------------------------------------------------------------


@step
def record(p: Player, event: int, stream: int) -> None:
    queue = p.stream(stream)
    p.work("cudaEventRecord", p.event(event), queue, stream=queue)


@step
def record_with_flags(p: Player, event: int, stream: int, flags: int) -> None:
    queue = p.stream(stream)
    p.work("cudaEventRecordWithFlags", p.event(event, spare=False), queue, flags, stream=queue)


@step
def wait(p: Player, stream: int, event: int) -> None:
    p.call("cudaStreamWaitEvent", p.stream(stream), p.event(event), 0)


@step
def wait_with_flags(p: Player, stream: int, event: int, flags: int) -> None:
    p.call("cudaStreamWaitEvent", p.stream(stream), p.event(event, spare=False), flags)


@step
def query_event(p: Player, event: int, aside: bool) -> None:
    p.call("cudaEventQuery", p.event(event), aside=aside)


@step
def synchronize_event(p: Player, event: int) -> None:
    p.call("cudaEventSynchronize", p.event(event))


@step
def elapsed(p: Player, event: int, later: int) -> None:
    p.call("cudaEventElapsedTime", p.event(event), p.event(later))


@step
def create_event(p: Player, flags: int) -> None:
    results = p.call("cudaEventCreateWithFlags", flags) if flags else p.call("cudaEventCreate")
    if results[0] == SUCCESS:
        p.spare_events.append(results[1])


@step
def destroy_event(p: Player) -> None:
    """One that was created; the null handle where there is none."""
    p.call("cudaEventDestroy", p.spare_events.pop() if p.spare_events else p.event(-1))


# -- streams -----------------------------------------------------------------------------------------------------------


@step
def create_stream(p: Player, flags: int, priority: int) -> None:
    if priority:
        results = p.call("cudaStreamCreateWithPriority", flags, priority)
    else:
        results = p.call("cudaStreamCreateWithFlags", flags) if flags else p.call("cudaStreamCreate")
    if results[0] == SUCCESS:
        p.streams.append(results[1])


@step
def destroy_stream(p: Player, stream: int) -> None:
    queue = p.stream(stream)
    if p.call("cudaStreamDestroy", queue)[0] == SUCCESS:
        p.streams.remove(queue)


@step
def query_stream(p: Player, stream: int, aside: bool) -> None:
    p.call("cudaStreamQuery", p.stream(stream), aside=aside)


@step
def synchronize_stream(p: Player, stream: int, aside: bool) -> None:
    p.call("cudaStreamSynchronize", p.stream(stream), aside=aside)


@step
def synchronize_device(p: Player) -> None:
    p.call("cudaDeviceSynchronize")


@step
def stream_facts(p: Player, stream: int) -> None:
    for name in ("Id", "Flags", "Priority", "Device"):
        p.call(f"cudaStreamGet{name}", p.stream(stream))
