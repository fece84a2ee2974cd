"""The host's settings: what a program sets for its operators and its interpreter, and no graph has to change."""

from __future__ import annotations

import contextlib
import decimal
import gc
import logging
import os
import pickle
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack


@dataclass(frozen=True)
class _Setting:
    """A setting of this thread or process.

    Attributes:
        read: gives its value, to be compared.
        write: sets it; ``None`` for what a program does not set for its own sake.
        unusual: a value that few programs have; of a switch the one that it does not have by default.
    """

    read: Callable[[], Any]
    write: Callable[[Any], object] | None = None
    unusual: Any = None


def _writes_attribute(owner: Any, name: str) -> Callable[[Any], object]:
    return lambda value: setattr(owner, name, value)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _numpys_errors() -> Any:
    # Only a program that uses it can miss its settings.
    return sys.modules["numpy"].geterr() if "numpy" in sys.modules else None


def states_of_generators() -> dict[str, bytes]:
    """The states of the host's random generators, by their names in words."""
    states: dict[str, Any] = {"random": random.getstate(), "torch's CPU generator": torch.get_rng_state().tolist()}
    if "numpy" in sys.modules:
        states["numpy.random"] = sys.modules["numpy"].random.get_state()
    return {name: pickle.dumps(state) for name, state in states.items()}


_OF_TORCH: Mapping[str, _Setting] = {
    "the gradient mode": _Setting(torch.is_grad_enabled, torch.set_grad_enabled, unusual=False),
    "the inference mode": _Setting(torch.is_inference_mode_enabled),
    "anomaly detection": _Setting(torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, unusual=True),
    "autocast": _Setting(lambda: torch.is_autocast_enabled("cpu")),
    "autocast's data type": _Setting(lambda: torch.get_autocast_dtype("cpu")),
    "autocast's cache": _Setting(torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled, unusual=False),
    "the default data type": _Setting(torch.get_default_dtype, torch.set_default_dtype, unusual=torch.float64),
    "deterministic algorithms": _Setting(
        torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, unusual=1
    ),
    "filling of uninitialised memory": _Setting(
        # The module replaces itself by an object.
        lambda: getattr(torch.utils.deterministic, "fill_uninitialized_memory"),  # noqa: B009
        _writes_attribute(torch.utils.deterministic, "fill_uninitialized_memory"),
        unusual=False,
    ),
    "the precision of matrix products": _Setting(
        torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, unusual="high"
    ),
    "cuDNN's benchmark": _Setting(
        lambda: torch.backends.cudnn.benchmark, _writes_attribute(torch.backends.cudnn, "benchmark"), unusual=True
    ),
    "the number of threads": _Setting(torch.get_num_threads),
    # The recorder of an implementation may be among them, as long as it stays there.
    "the modes around functions": _Setting(lambda: [*map(type, _get_current_function_mode_stack())]),
    "the modes around operators": _Setting(lambda: [*map(type, _get_current_dispatch_mode_stack())]),
}

_OF_PYTHON: Mapping[str, _Setting] = {
    "the garbage collector": _Setting(gc.isenabled, lambda on: gc.enable() if on else gc.disable(), unusual=False),
    "the garbage collector's thresholds": _Setting(
        gc.get_threshold, lambda given: gc.set_threshold(*given), unusual=(701, 11, 11)
    ),
    "what the garbage collector calls": _Setting(lambda: [*gc.callbacks]),
    "the recursion limit": _Setting(sys.getrecursionlimit, sys.setrecursionlimit, unusual=1009),
    "how long a thread runs": _Setting(sys.getswitchinterval, sys.setswitchinterval, unusual=0.007),
    "the filters of warnings": _Setting(lambda: [*warnings.filters]),
    "the level of logging": _Setting(lambda: logging.root.level, logging.root.setLevel, unusual=33),
    "which logs are left out": _Setting(lambda: logging.root.manager.disable, logging.disable, unusual=3),
    "the handlers of logging": _Setting(lambda: [*logging.root.handlers]),
    "what is done with uncaught exceptions": _Setting(
        lambda: [sys.excepthook, sys.unraisablehook, threading.excepthook]
    ),
    "the standard streams": _Setting(lambda: [sys.stdin, sys.stdout, sys.stderr]),
    "who traces the program": _Setting(lambda: [sys.gettrace(), sys.getprofile()]),
    "where modules are looked for": _Setting(lambda: [*sys.path]),
    "the precision of decimals": _Setting(
        lambda: decimal.getcontext().prec, lambda prec: setattr(decimal.getcontext(), "prec", prec), unusual=29
    ),
    "numpy's treatment of errors": _Setting(_numpys_errors),
}

_OF_THE_PROCESS: Mapping[str, _Setting] = {
    "the permissions of new files": _Setting(_umask, os.umask, unusual=0o027),
    "the working directory": _Setting(os.getcwd),
    "the host's random numbers": _Setting(states_of_generators),
}

_SETTINGS: Mapping[str, _Setting] = {**_OF_TORCH, **_OF_PYTHON, **_OF_THE_PROCESS}


def host_settings() -> dict[str, Any]:
    """The settings of this thread and process, by their names in words."""
    return {name: setting.read() for name, setting in _SETTINGS.items()}


def changed(before: dict[str, Any]) -> list[str]:
    """The names of the settings that are not as they were."""
    return [name for name, value in host_settings().items() if value != before[name]]


@contextlib.contextmanager
def usual() -> Iterator[None]:
    """The settings that a program has that sets none."""
    with contextlib.ExitStack() as stack:
        for setting in _SETTINGS.values():
            if isinstance(setting.unusual, bool):
                _write(setting, not setting.unusual, stack)
        yield


@contextlib.contextmanager
def unusual() -> Iterator[None]:
    """Settings that few programs have, so that one who puts a setting back to what is usual is seen."""
    with warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.filterwarnings("ignore", message="a warning that nobody gives")
        for setting in _SETTINGS.values():
            if setting.unusual is not None:
                _write(setting, setting.unusual, stack)
        with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
            yield


def _write(setting: _Setting, value: Any, until: contextlib.ExitStack) -> None:
    """Set `value`, until the block of `until` ends."""
    assert setting.write is not None, "what has an unusual value can be set"
    until.callback(setting.write, setting.read())
    setting.write(value)
