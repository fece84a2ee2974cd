"""The machine that a worker runs on, as the controller reaches it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from conformance.isolation import process_control


class Host:
    """Calls the functions of `conformance.isolation.process_control` on the machine of a worker.

    Args:
        gateway: to that machine, or ``None`` when it is this one.
    """

    def __init__(self, gateway: Any = None) -> None:
        self._channel = None if gateway is None else gateway.remote_exec(process_control)

    def make_folder(self) -> str:
        return str(self._call("make_folder"))

    def remove_folder(self, folder: str) -> None:
        self._call("remove_folder", folder)

    def tail(self, path: str) -> bytes:
        content = self._call("tail", path)
        return content if isinstance(content, bytes) else b""

    def bound(self, path: str) -> None:
        self._call("bound", path)

    def send_signal(self, pid: int, name: str, *, group: bool) -> None:
        self._call("send_signal", pid, name, group)

    @contextlib.contextmanager
    def marking(self, folder: str) -> Iterator[None]:
        """Mark what is started there inside a ``with`` block as the worker with that folder, and all that it starts."""
        self._call("set_mark", folder)
        try:
            yield
        finally:
            self._call("set_mark", None)

    def end_marked(self, folder: str) -> None:
        self._call("end_marked", folder)

    def share(self, devices: tuple[str, ...]) -> bool:
        return bool(self._call("share", devices))

    def exit_code(self, pid: int) -> tuple[bool, int | None]:
        answer = self._call("exit_code", pid)
        return (bool(answer[0]), answer[1]) if isinstance(answer, tuple) else (True, None)

    def _call(self, name: str, *arguments: object) -> object:
        answer: object
        if self._channel is None:
            answer = getattr(process_control, name)(*arguments)
            return answer
        try:
            self._channel.send((name, *arguments))
            answer = self._channel.receive(timeout=10)
        except (OSError, EOFError):  # the machine is gone, and with it what could be done there
            return None
        return answer
