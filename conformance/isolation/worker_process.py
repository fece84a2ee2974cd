"""A worker process as the controller reaches it: the connection, the process, and the files that it leaves behind."""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from xdist.workermanage import Marker, NodeManager, WorkerController

from conformance.isolation import messages
from conformance.isolation.messages import Message, StartUp
from conformance.isolation.zygote import ForkGateway

if TYPE_CHECKING:
    from conformance.isolation.host import Host

#: Seconds for a process that was ended to be gone.
_END_S = 5.0


class WorkerProcess(WorkerController):  # type: ignore[misc]  # xdist ships no types
    """One worker process.

    Args:
        launcher: that launches it.
        gateway: whose process becomes the worker.
        config: of the session.
        putevent: takes each event in, as its name and its values.
        host: the machine that it runs on.
        start_up: what it starts with.

    Attributes:
        forked: whether it is a fork, and no fresh interpreter.
    """

    def __init__(
        self,
        launcher: NodeManager,
        gateway: Any,
        config: pytest.Config,
        putevent: Any,
        host: Host,
        start_up: StartUp,
    ) -> None:
        super().__init__(launcher, gateway, config, putevent)
        self.forked = isinstance(gateway, ForkGateway)
        self._host = host
        self._folder = start_up.folder
        popen = self._popen
        self.pid: int | None = None if popen is None else popen.pid
        #: Negative for a signal.
        self.exit_code: int | None = None
        self.workerinput[messages.START_UP] = start_up.to_dict()

    @property
    def _popen(self) -> subprocess.Popen[bytes] | None:
        popen: subprocess.Popen[bytes] | None = getattr(self.gateway._io, "popen", None)  # noqa: SLF001
        return popen

    def send(self, message: Message) -> None:
        """Send one of the kit's own messages."""
        name, values = message.to_event()
        self.sendcommand(name, **values)

    def process_from_remote(self, eventcall: Any) -> None:
        """Pass on what the worker says; runs in the gateway's own thread."""
        if eventcall is Marker.END:
            error = self.channel._getremoteerror()  # noqa: SLF001
            self._down = True
            self.notify_inproc("hung_up", node=self, error=None if error is None else str(error))
        elif messages.is_own(eventcall[0]):
            self.notify_inproc("message", node=self, event=eventcall)
        else:
            super().process_from_remote(eventcall)

    def has_ended(self) -> bool:
        """Whether the process is no more; then `exit_code` is known, as far as it can be."""
        popen = self._popen
        if popen is not None:
            self.exit_code = popen.poll()
            return self.exit_code is not None
        if self.pid is None:  # it has not even come far enough to say
            return self._down
        # Through the kit's own process over there: waiting through the gateway would keep it from anything else.
        ended, self.exit_code = self._host.exit_code(self.pid)
        return ended

    def send_signal(self, name: str, *, group: bool = False) -> None:
        """Send the process a signal, and with `group` its process group."""
        if self.pid is not None:
            self._host.send_signal(self.pid, name, group=group)

    def share(self, devices: tuple[str, ...]) -> bool:
        """Note for the session that it is on `devices` of the worker's machine; whether another one is on any."""
        return self._host.share(devices)

    def tail(self, name: str) -> bytes:
        """The end of one of the files that the worker writes."""
        return self._host.tail(f"{self._folder}/{name}")

    def bound(self, name: str) -> None:
        """Keep such a file small."""
        self._host.bound(f"{self._folder}/{name}")

    def clear(self) -> None:
        """Let go of what is left of a worker that has ended; what its tests started must not outlive it."""
        self._host.end_marked(self._folder)
        self._host.remove_folder(self._folder)
        with contextlib.suppress(OSError, EOFError):  # the other end may be gone
            self.gateway.exit()
        popen = self._popen
        if isinstance(popen, subprocess.Popen):  # else it is a fork, and another process's child
            with contextlib.suppress(subprocess.TimeoutExpired):
                popen.wait(_END_S)
        # Its process is no more, so that nothing at the session's end need wait for it.
        with contextlib.suppress(ValueError):
            self.nodemanager.group._gateways_to_join.remove(self.gateway)  # noqa: SLF001
