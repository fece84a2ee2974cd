"""What a test may change in its process without touching the device: noted before it, restored after it."""

from __future__ import annotations

import contextlib
import functools
import gc
import locale
import logging
import operator
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import _pytest.outcomes
import _pytest.python
import _pytest.reports
import _pytest.runner
import pytest

from conformance import errors, markers
from conformance.records import assessment, claim, record, result, run, verdicts
from conformance.requirements import registry
from conformance.session import judging, outcome
from conformance.waivers import applying

#: Code that decides what becomes of a test.  A test that replaces a part of it could decide for itself.
_JUDGES: tuple[ModuleType | type, ...] = (
    pytest,
    _pytest.outcomes,
    _pytest.python,
    _pytest.reports,
    _pytest.runner,
    pytest.CallInfo,
    pytest.Function,
    pytest.Item,
    pytest.Session,
    pytest.TestReport,
    applying,
    assessment,
    claim,
    errors,
    judging,
    markers,
    outcome,
    record,
    registry,
    result,
    run,
    verdicts,
)

_DESCRIPTORS = (classmethod, staticmethod, property)

#: Below the smallest normal number of 64 bits.
_SUBNORMAL = 1e-310

#: Seconds that a thread which is about to end may take.
_THREAD_GRACE_S = 0.5

#: Those with a name; the others are for libraries to share out among themselves.
_SIGNALS = sorted(set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})

#: Set by pytest and by libraries as they load; no test depends on them.
_HARMLESS_VARIABLES = ("PYTEST_", "KINETO_", "TORCH", "TRITON_", "CUDA_MODULE_LOADING")


@dataclass(frozen=True)
class _Setting:
    """A setting of a whole process, or of its main thread."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


_OF_THE_SYSTEM = tuple(
    setting
    for needed, setting in (
        (
            "sched_getaffinity",
            _Setting(
                "the processors of the program",
                lambda: os.sched_getaffinity(0),
                lambda given: os.sched_setaffinity(0, given),
            ),
        ),
        (
            "pthread_sigmask",
            _Setting(
                "which signals are blocked",
                lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()),
                lambda given: signal.pthread_sigmask(signal.SIG_SETMASK, given),
            ),
        ),
    )
    if hasattr(os, needed) or hasattr(signal, needed)
)

_OF_PYTHON = (
    _Setting("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    _Setting("the garbage collector's switch", gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    _Setting("how long one thread runs before another", sys.getswitchinterval, sys.setswitchinterval),
    _Setting(
        "the handler of uncaught exceptions", lambda: sys.excepthook, functools.partial(setattr, sys, "excepthook")
    ),
    _Setting("what logging leaves out", lambda: logging.root.manager.disable, logging.disable),
    _Setting("the locale", lambda: locale.setlocale(locale.LC_ALL), lambda was: locale.setlocale(locale.LC_ALL, was)),
    _Setting("the permissions of new files", _umask, os.umask),
    *_OF_THE_SYSTEM,
)


def _settings() -> tuple[_Setting, ...]:
    torch = sys.modules.get("torch")
    return _OF_PYTHON if torch is None else _OF_PYTHON + _of_torch(torch)


@functools.cache
def _of_torch(torch: ModuleType) -> tuple[_Setting, ...]:
    return (
        _Setting("torch's grad mode", torch.is_grad_enabled, torch.set_grad_enabled),
        _Setting("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
        _Setting("autocast's cache", torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
        _Setting(
            "torch's debug mode for deterministic algorithms",
            torch.get_deterministic_debug_mode,
            torch.set_deterministic_debug_mode,
        ),
        _Setting("torch's anomaly detection", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
        _Setting("the flushing of small numbers to zero", _flushes_to_zero, torch.set_flush_denormal),
    )


def _flushes_to_zero() -> bool:
    return _SUBNORMAL * len("1") == 0.0


@dataclass(frozen=True)
class ProcessState:
    """A process as it was at one moment."""

    folder: str
    variables: Mapping[str, str]
    handlers: Mapping[int, Any]
    settings: Mapping[str, Any]
    threads: frozenset[threading.Thread]
    judges: tuple[Mapping[str, Any], ...]

    @classmethod
    def now(cls) -> ProcessState:
        return cls(
            folder=_folder(),
            variables=dict(os.environ),
            handlers=_handlers(),
            settings={setting.name: setting.read() for setting in _settings()},
            threads=frozenset(threading.enumerate()),
            judges=tuple(dict(vars(judge)) for judge in _JUDGES),
        )

    def restore(self) -> list[str]:
        """Undo what has changed since; in words, each change that a program around a graph would suffer from.

        Threads are waited for a little, and cannot be undone.
        """
        parts: tuple[Callable[[], list[str]], ...] = (
            self._restore_judges,
            self._restore_folder,
            self._restore_variables,
            self._restore_handlers,
            self._restore_settings,
            self._join_threads,
        )
        return [change for part in parts for change in part()]

    def _restore_judges(self) -> list[str]:
        changes = []
        for judge, before in zip(_JUDGES, self.judges, strict=True):
            now = dict(vars(judge))
            # Nearly always nothing has changed, and this runs after every test.
            if now.keys() == before.keys() and all(map(operator.is_, now.values(), before.values())):
                continue
            for name, value in before.items():
                if now.get(name) is not value and (callable(value) or isinstance(value, _DESCRIPTORS)):
                    setattr(judge, name, value)
                    changes.append(f"{judge.__name__}.{name} was replaced")
        return changes

    def _restore_folder(self) -> list[str]:
        now = _folder()
        if now == self.folder:
            return []
        with contextlib.suppress(OSError):  # the folder itself may be gone, which the message then says
            os.chdir(self.folder)
        return ["the working directory was changed"]

    def _restore_variables(self) -> list[str]:
        now = dict(os.environ)
        if now == self.variables:
            return []
        changed = {name for name, _ in now.items() ^ self.variables.items() if not name.startswith(_HARMLESS_VARIABLES)}
        for name in changed:
            if name in self.variables:
                os.environ[name] = self.variables[name]
            else:
                del os.environ[name]
        return [f"the environment variable {name} was changed" for name in sorted(changed)]

    def _restore_handlers(self) -> list[str]:
        changes = []
        for number, handler in _handlers().items():
            before = self.handlers.get(number)
            if handler is before or handler == before:
                continue
            changes.append(f"the handler of {signal.Signals(number).name} was replaced")
            # A handler that was not installed from Python shows as None, and cannot be installed again from here.
            if before is not None and threading.current_thread() is threading.main_thread():
                signal.signal(number, before)
        return changes

    def _restore_settings(self) -> list[str]:
        changes = []
        for setting in _settings():
            now = setting.read()
            # A library that was loaded meanwhile has no earlier value.
            before = self.settings.get(setting.name, now)
            if now != before:
                setting.write(before)
                changes.append(f"{setting.name} was changed to {now}")
        return changes

    def _join_threads(self) -> list[str]:
        # A daemon thread promises not to be in the way; libraries start theirs at any first use.
        threads = [thread for thread in set(threading.enumerate()) - self.threads if not thread.daemon]
        until = time.monotonic() + _THREAD_GRACE_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        return [f"the thread {thread.name!r} was left running" for thread in threads if thread.is_alive()]


@contextlib.contextmanager
def put_back() -> Iterator[None]:
    """Undo at the block's end what it changed in the process.

    Around what an implementation is tried with before the first test: what each of its captures sets would otherwise
    be set already when a test looks, and no test would see it change.
    """
    before = ProcessState.now()
    try:
        yield
    finally:
        before.restore()


def changed_judges(before: ProcessState) -> list[str]:
    """Which parts of the test runner have been replaced since `before`."""
    return before._restore_judges()  # noqa: SLF001 - the same module's class


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a string is all that is needed, and this runs around every test
    except OSError:
        return "a folder that is gone"


def _handlers() -> dict[int, Any]:
    return {int(number): signal.getsignal(number) for number in _SIGNALS}
