"""Captures: which stream records into which template, what is prohibited meanwhile, how it ends."""

from __future__ import annotations

import threading
from itertools import count
from typing import Any

from reference_impl.runtime.bindings import cudaError_t, cudaStreamCaptureMode
from reference_impl.runtime.errors import Refusal
from reference_impl.runtime.streams import Event, Stream
from reference_impl.runtime.templates import Node, Payload, Template, ancestors

GLOBAL = cudaStreamCaptureMode.cudaStreamCaptureModeGlobal
THREAD_LOCAL = cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
RELAXED = cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed

_ids = count(1)


class Thread(threading.local):
    """What a thread brings into captures: its interaction mode, and an identity that is never reused."""

    def __init__(self) -> None:
        self.mode: Any = GLOBAL
        self.token = object()


thread = Thread()


class Capture:
    """One capture sequence: the streams in it, each with the nodes that its next node depends on.

    `valid` turns False when a call breaks a rule; `ended` turns True when the streams leave.  `attached` is what the
    device keeps with the capture, for as long as that lasts.
    """

    def __init__(self, origin: Stream, mode: Any, template: Template | None = None) -> None:
        self.identity = next(_ids)
        self.origin = origin
        self.mode = mode
        self.token = thread.token
        self.borrowed = template is not None
        self.template = template or Template()
        self.template.capturing = True
        self.valid = True
        self.ended = False
        self.attached: Any = None
        self.streams: dict[Stream, tuple[Node, ...]] = {}
        # What destroyed streams of the capture left behind still has to be joined.
        self.orphans: list[Node] = []
        live.append(self)

    def join(self, stream: Stream, nodes: tuple[Node, ...]) -> None:
        """Let `stream` wait for `nodes`; it enters the capture if it is not in it yet."""
        stream.capture = self
        self.streams[stream] = tuple(dict.fromkeys((*self.streams.get(stream, ()), *nodes)))

    def append(self, stream: Stream, payload: Payload) -> Node:
        """Record a node behind what `stream` waits for."""
        alive = self.template.nodes
        waits = tuple([each for each in self.streams[stream] if each.handle in alive])
        node = self.template.add(payload, waits)
        self.streams[stream] = (node,)
        return node

    def invalidate(self) -> None:
        """A rule was broken: what was recorded is gone, the streams stay until the capture is ended."""
        if self.valid:
            self.valid = False
            self._drop_template()

    def leave(self, stream: Stream) -> None:
        """`stream` is destroyed while it captures; its capture ends if it began there."""
        if stream is self.origin:
            self.invalidate()
            self.finish()
        else:
            self.orphans.extend(self.streams.pop(stream))
            stream.capture = None

    def finish(self) -> None:
        """All streams leave."""
        streams, self.streams = self.streams, {}
        for stream in streams:
            stream.capture = None
        self.orphans = []
        self.attached = None
        self.ended = True
        live.remove(self)

    def unjoined(self) -> bool:
        """Whether a forked stream holds work that the origin does not wait for."""
        joined = ancestors(self.streams[self.origin])
        forked = [node for nodes in self.streams.values() for node in nodes]
        return any(node not in joined for node in (*forked, *self.orphans) if node.handle in self.template.nodes)

    def _drop_template(self) -> None:
        self.template.capturing = False
        if not self.borrowed:
            self.template.destroy()


live: list[Capture] = []
"""Captures that were begun and not ended, the invalidated ones included."""


def begin(stream: Stream, mode: Any, template: Template | None = None, nodes: tuple[Node, ...] = ()) -> None:
    """`cudaStreamBeginCapture`, or into an existing template behind `nodes`."""
    if stream.legacy:
        raise Refusal(cudaError_t.cudaErrorStreamCaptureUnsupported)
    if stream.capture is not None:
        raise Refusal(cudaError_t.cudaErrorIllegalState)
    Capture(stream, mode, template).join(stream, nodes)


def end(stream: Stream) -> Template:
    """`cudaStreamEndCapture`: the recorded template.  Every refusal but Unmatched ends the capture too."""
    capture = stream.capture
    if capture is None:
        raise Refusal(cudaError_t.cudaErrorIllegalState)
    if stream is not capture.origin:
        capture.invalidate()
        raise Refusal(cudaError_t.cudaErrorStreamCaptureUnmatched)
    code = None
    if not capture.valid:
        code = cudaError_t.cudaErrorStreamCaptureInvalidated
    elif capture.mode != RELAXED and capture.token is not thread.token:
        code = cudaError_t.cudaErrorStreamCaptureWrongThread
    elif capture.unjoined():
        code = cudaError_t.cudaErrorStreamCaptureUnjoined
    if code is not None:
        capture.invalidate()
        capture.finish()
        raise Refusal(code)
    capture.template.capturing = False
    capture.finish()
    return capture.template


def of(stream: Stream) -> Capture | None:
    """The capture that work on `stream` is recorded into; None when the work is to be done.

    Refuses work in an invalidated capture, and work on the legacy stream while a blocking stream captures, which would
    make that stream wait for it.
    """
    if stream.legacy:
        refuse_implicit(stream)
        return None
    capture = stream.capture
    if capture is not None and not capture.valid:
        raise Refusal(cudaError_t.cudaErrorStreamCaptureInvalidated)
    return capture


def implicit(stream: Stream) -> list[Capture]:
    """The captures that work on `stream` would implicitly depend on."""
    if not stream.legacy or not live:
        return []
    return [each for each in live if any(member.blocking for member in each.streams)]


def refuse_implicit(stream: Stream) -> None:
    """Refuse use of the legacy stream while blocking streams capture; their captures are invalidated."""
    _refuse(implicit(stream), cudaError_t.cudaErrorStreamCaptureImplicit)


def refuse_unsafe() -> None:
    """Refuse a potentially unsafe call as the thread's mode and the captures under way demand."""
    if not live or thread.mode == RELAXED:
        return
    prohibiting = [
        each
        for each in live
        if (each.mode != RELAXED and each.token is thread.token) or (each.mode == GLOBAL and thread.mode == GLOBAL)
    ]
    _refuse(prohibiting, cudaError_t.cudaErrorStreamCaptureUnsupported)


def refuse_waiting(stream: Stream) -> None:
    """Refuse to wait for or to query a stream: a capturing one always, others where it is unsafe."""
    refuse_implicit(stream)
    if stream.capture is not None:
        _refuse([stream.capture], cudaError_t.cudaErrorStreamCaptureUnsupported)
    refuse_unsafe()


def refuse_any() -> None:
    """Refuse to wait for the device while anything captures, in whichever mode and thread."""
    _refuse(live, cudaError_t.cudaErrorStreamCaptureUnsupported)


def refuse_captured(event: Event) -> None:
    """Refuse to wait for or to query an event that marks captured work, which never runs by itself."""
    if event.captured is not None:
        capture = event.captured[0]
        if capture.ended or not capture.valid:
            raise Refusal(cudaError_t.cudaErrorInvalidValue)
        _refuse([capture], cudaError_t.cudaErrorCapturedEvent)


def wait(stream: Stream, event: Event) -> bool:
    """The part of `cudaStreamWaitEvent` that concerns captures; False when none does."""
    if event.captured is None:
        capture = of(stream)
        if capture is not None and event.work is not None:
            _refuse([capture], cudaError_t.cudaErrorStreamCaptureIsolation)
        return capture is not None
    origin, nodes = event.captured
    if origin.ended or not origin.valid:
        if stream.capture is not None:
            stream.capture.invalidate()
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    if stream.legacy:
        _refuse([origin, *implicit(stream)], cudaError_t.cudaErrorStreamCaptureImplicit)
    joined = of(stream)
    if joined is not None and joined is not origin:
        _refuse([origin, joined], cudaError_t.cudaErrorStreamCaptureMerge)
    alive = origin.template.nodes
    origin.join(stream, tuple(alive[each] for each in nodes if each in alive))
    return True


def _refuse(broken: list[Capture], code: Any) -> None:
    if broken:
        for capture in broken:
            capture.invalidate()
        raise Refusal(code)
