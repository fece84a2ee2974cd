"""A backend on nothing, without torch, that misbehaves in the tests that are named after a behaviour."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from conformance.adapter import Adapter

LIBC = ctypes.CDLL(None)
FOREVER = 10**6


def behaviour() -> str | None:
    """The behaviour that the running test is named after, unless this is a clean run."""
    match = re.search(r"\[hostile-([a-z0-9-]+)\]", os.environ.get("PYTEST_CURRENT_TEST", ""))
    if match is None or "HOSTILE" not in os.environ:
        return None
    return match[1]


class Doomed:
    """Garbage in a cycle, so that nothing but a collection ends it."""

    def __init__(self, end: Callable[[], Any]) -> None:
        self.cycle, self.end = self, end

    def __del__(self) -> None:
        self.end()


class Deep:
    def __repr__(self) -> str:
        return repr(self)


def forever() -> None:
    while True:
        time.sleep(0.01)


def overflow() -> None:
    sys.setrecursionlimit(10**8)
    repr(Deep())


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


def replace_judges() -> None:
    import pytest

    from conformance import verdicts

    pytest.fail = lambda *_: None
    verdicts.assess = lambda *_, **__: None


def break_runner() -> None:
    import pytest

    pytest.TestReport.from_item_and_call = None


def exit_pytest() -> None:
    import pytest

    pytest.exit("enough", returncode=0)


def abort_at_import() -> None:
    import aborts_at_import  # noqa: F401


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
    "stack-overflow": overflow,
    "memory-hog": eat_memory,
    "thread-left-running": lambda: threading.Thread(target=forever, name="stray").start(),
    "child-left-running": fork_a_sleeper,
    "garbage-on-stdout": lambda: (print("garbage " * 1000), os.write(1, b"\x00\xff" * 500)),
    "garbage-everywhere": lambda: write_everywhere(3),
    "closed-descriptors": lambda: os.closerange(3, 200),
    "errors-100-mb": flood,
    "changed-folder": lambda: os.chdir("/"),
    "changed-handler": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    "changed-environment": lambda: os.environ.update(HOME="/nowhere"),
    "changed-recursion-limit": lambda: sys.setrecursionlimit(500),
    "replaced-judges": replace_judges,
    "broken-runner": break_runner,
}


def _abort() -> None:
    os.abort()


def _exit_3() -> None:
    os._exit(3)


def _hang() -> None:
    forever()


class Graph:
    def __init__(self, keep_graph: bool = False) -> None:
        self.value = 0
        if behaviour() == "abort-in-constructor":
            os.abort()

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        BACKEND.capturing = True

    def capture_end(self) -> None:
        if behaviour() != "capture-left-open" or self.value:
            BACKEND.capturing = False

    def replay(self) -> None:
        name = behaviour()
        if name in IN_REPLAY:
            IN_REPLAY[name]()
        if name == "sticky-error":
            BACKEND.broken = True
        if name == "wrong-stream":
            BACKEND.current = "another"
        self.value += 1
        if name == "wrong-value":
            self.value += 1

    def reset(self) -> None:
        BACKEND.capturing = False


class Backend(Adapter):
    name = "hostile"
    revision = "2.13"
    graph_class = Graph

    def __init__(self) -> None:
        self.current = "default"
        self.capturing = False
        self.broken = False

    def current_stream(self) -> Any:
        return self.current

    @contextlib.contextmanager
    def stream(self, stream: Any) -> Iterator[None]:
        before, self.current = self.current, stream
        yield
        self.current = before

    def synchronize(self) -> None:
        if self.broken:
            raise RuntimeError("an illegal memory access was encountered")

    def is_current_stream_capturing(self) -> bool:
        return self.capturing

    def full(self, *_: Any) -> Any:
        raise NotImplementedError


BACKEND = Backend()

if os.environ.get("HOSTILE_START") == "abort":
    os.abort()
if os.environ.get("HOSTILE_START") == "exit":
    os._exit(0)
if os.environ.get("HOSTILE_START") == "hang":
    forever()


def adapter() -> Adapter:
    if os.environ.get("HOSTILE_START") == "constructor":
        Backend.new_graph = lambda *_, **__: os.abort()
    return BACKEND
