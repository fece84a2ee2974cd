"""The host's settings: what a program sets for its operators and its interpreter, and no graph has to change."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from typing import Any

import torch


def host_settings() -> dict[str, Any]:
    """The settings of this thread and process, by their names in words."""
    return {
        "the gradient mode": torch.is_grad_enabled(),
        "the inference mode": torch.is_inference_mode_enabled(),
        "anomaly detection": torch.is_anomaly_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "autocast's data type": torch.get_autocast_dtype("cpu"),
        "autocast's cache": torch.is_autocast_cache_enabled(),
        "the default data type": torch.get_default_dtype(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "the precision of matrix products": torch.get_float32_matmul_precision(),
        "the number of threads": torch.get_num_threads(),
        "the host's random numbers": tuple(torch.get_rng_state().tolist()),
        "the garbage collector": gc.isenabled(),
        "the garbage collector's thresholds": gc.get_threshold(),
        "the recursion limit": sys.getrecursionlimit(),
    }


def changed(before: dict[str, Any]) -> list[str]:
    """The names of the settings that are not as they were."""
    return [name for name, value in host_settings().items() if value != before[name]]


@contextlib.contextmanager
def usual() -> Iterator[None]:
    """The settings that a program has that sets none."""
    yield


@contextlib.contextmanager
def unusual() -> Iterator[None]:
    """Settings that few programs have, so that one who puts a setting back to what is usual is seen."""
    collected, precision, thresholds = gc.isenabled(), torch.get_float32_matmul_precision(), gc.get_threshold()
    dtype = torch.get_default_dtype()
    gc.disable()
    gc.set_threshold(701, 11, 11)
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("high")
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
        torch.set_default_dtype(dtype)
        gc.set_threshold(*thresholds)
        if collected:
            gc.enable()
