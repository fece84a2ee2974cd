"""The warning about a capture of nothing begins with the words that programs filter it by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import reference_impl
import reference_impl.accelerator
import reference_impl.xpu


def with_context(module: Any, kind: type) -> Callable[[], None]:
    def capture() -> None:
        with module.graph(kind()):
            pass

    return capture


def on_a_stream(kind: type) -> Callable[[], None]:
    def capture() -> None:
        with reference_impl.stream(reference_impl.Stream()), kind():
            pass

    return capture


@pytest.mark.parametrize(
    ("capture", "words"),
    [
        (with_context(reference_impl, reference_impl.CUDAGraph), "The CUDA Graph is empty"),
        (with_context(reference_impl.xpu, reference_impl.xpu.XPUGraph), "The XPU Graph is empty"),
        (on_a_stream(reference_impl.accelerator.Graph), "The graph is empty"),
    ],
    ids=["cuda", "xpu", "accelerator"],
)
def test_capture_of_nothing(capture: Callable[[], None], words: str) -> None:
    with pytest.warns(UserWarning, match=f"^{words}"):
        capture()
