"""Graph classes that set what belongs to the program around them, and leave it so."""

from __future__ import annotations

import gc
from typing import Any

import torch

from reference_impl import CUDAGraph
from reference_impl.faults.fault import Faults

FAULTS = Faults("class")


@FAULTS.graph_class("replay.host-settings-kept")
class ReplaySwitchesAutocastOff(CUDAGraph):
    """A replay leaves autocast off, for fear that it might touch the captured work."""

    def replay(self) -> None:
        super().replay()
        torch.set_autocast_enabled("cpu", False)


@FAULTS.graph_class("replay.host-settings-kept")
class ReplayEnablesGradients(CUDAGraph):
    """A replay puts the gradient mode to what is usual, not to what it was."""

    def replay(self) -> None:
        try:
            super().replay()
        finally:
            torch.set_grad_enabled(True)


@FAULTS.graph_class("capture.host-settings-kept")
class CaptureStopsTheGarbageCollector(CUDAGraph):
    """capture_begin stops the garbage collector, and nobody starts it again."""

    def capture_begin(self, *arguments: Any, **settings: Any) -> None:
        gc.disable()
        super().capture_begin(*arguments, **settings)
