"""Stream objects of the reference: no two live ones stand for one stream."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import reference_impl as ref
from reference_impl.devices.software import streams as software_streams


def test_a_stream_is_taken_once_by_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one thread looks at a stream that nobody has any more, another thread takes it."""
    gc.collect()
    del [ref.Stream() for _ in range(2)][:]
    original, streams = software_streams.runtime.cudaStreamIsCapturing, []

    def and_meanwhile(handle: int) -> tuple[Any, ...]:
        monkeypatch.undo()
        streams.append(ref.Stream())
        return original(handle)

    monkeypatch.setattr(software_streams.runtime, "cudaStreamIsCapturing", and_meanwhile)
    streams.append(ref.Stream())
    assert len({stream.cuda_stream for stream in streams}) == 2
