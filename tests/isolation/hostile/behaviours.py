"""Ways to misbehave, each of which the backend chooses in the test that is named after it."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import gc
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LIBC = ctypes.CDLL(None)
FOREVER = 10**6


def behaviour() -> str | None:
    """What the running test asks for: its name says it, or it is the one that ``HOSTILE`` names with a behaviour."""
    request, running = os.environ.get("HOSTILE", ""), os.environ.get("PYTEST_CURRENT_TEST", "")
    if "@" in request:
        name, _, test = request.partition("@")
        return name if test in running else None
    match = re.search(r"\[[a-z]+-([a-z0-9-]+)\]", running)
    return match[1] if match is not None and request else None


class Doomed:
    """Garbage in a cycle, so that nothing but a collection ends it."""

    def __init__(self, end: Callable[[], Any]) -> None:
        self.cycle, self.end = self, end

    def __del__(self) -> None:
        self.end()


def forever() -> None:
    while True:
        time.sleep(0.01)


def eat_memory() -> None:
    eaten = []
    while True:
        eaten.append(bytearray(64 << 20))


def write_everywhere(first: int) -> None:
    for descriptor in range(first, 40):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"garbage\n" * 100)


def flood() -> None:
    block = b"a line of errors that says nothing at all\n" * 25_000
    for _ in range(100):
        os.write(2, block)


def ignore_and_hang() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    forever()


def fork_a_sleeper() -> None:
    if os.fork() == 0:
        time.sleep(FOREVER)
        os._exit(0)


def close_what_a_child_keeps() -> None:
    fork_a_sleeper()
    os.closerange(3, 200)


def change_grad_mode() -> None:
    import torch  # only here: the toy does without it, and starts in a fraction of the time

    torch.set_grad_enabled(False)


def change_autocast_cache() -> None:
    import torch

    torch.set_autocast_cache_enabled(False)


def replace_judges() -> None:
    import pytest

    from conformance.records import assessment

    pytest.fail = lambda *_: None
    assessment.assess = lambda *_, **__: None


def break_runner() -> None:
    import pytest

    pytest.TestReport.from_item_and_call = None


def exit_pytest() -> None:
    import pytest

    pytest.exit("enough", returncode=0)


def abort_at_import() -> None:
    import aborts_at_import  # noqa: F401


def _abort() -> None:
    os.abort()


def _exit_3() -> None:
    os._exit(3)


def _hang() -> None:
    forever()


#: What a replay does besides its work.
IN_REPLAY: dict[str, Callable[[], Any]] = {
    "segmentation-fault": lambda: ctypes.string_at(0),
    "abort": os.abort,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit-0": lambda: os._exit(0),
    "exit-77": lambda: os._exit(77),
    "system-exit": lambda: sys.exit(0),
    "pytest-exit": exit_pytest,
    "abort-at-import": abort_at_import,
    "abort-in-destructor": lambda: Doomed(os.abort),
    "abort-at-exit": lambda: atexit.register(_abort),
    "exit-code-at-exit": lambda: atexit.register(_exit_3),
    "hang-at-exit": lambda: atexit.register(_hang),
    "hang-in-python": forever,
    "hang-in-c-with-lock": lambda: re.match(r"(a+)+$", "a" * 60 + "b"),
    "hang-in-c-without-lock": lambda: LIBC.sleep(FOREVER),
    "hang-in-destructor": lambda: Doomed(forever),
    "hang-without-sigterm": ignore_and_hang,
    # A recursion in Python would meet a limit of the interpreter's own in some releases.
    "stack-overflow": faulthandler._stack_overflow,
    "memory-hog": eat_memory,
    "thread-left-running": lambda: threading.Thread(target=forever, name="stray").start(),
    "child-left-running": fork_a_sleeper,
    "garbage-on-stdout": lambda: (print("garbage " * 1000), os.write(1, b"\x00\xff" * 500)),
    "garbage-everywhere": lambda: write_everywhere(3),
    "closed-descriptors": lambda: os.closerange(3, 200),
    "closed-beside-a-child": close_what_a_child_keeps,
    "errors-100-mb": flood,
    "changed-folder": lambda: os.chdir("/"),
    "changed-handler": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    "changed-environment": lambda: os.environ.update(HOME="/nowhere"),
    "changed-recursion-limit": lambda: sys.setrecursionlimit(500),
    "stopped-collector": gc.disable,
    "changed-grad-mode": change_grad_mode,
    "changed-autocast-cache": change_autocast_cache,
    "replaced-judges": replace_judges,
    "broken-runner": break_runner,
}
