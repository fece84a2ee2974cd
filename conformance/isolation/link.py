"""The parent's end of a worker: its gateway, its process, and what it left behind."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import Any

import execnet
import pytest
from xdist.workermanage import Marker, NodeManager, WorkerController

from conformance.isolation import hands


class Hands:
    """Calls the functions of `conformance.isolation.hands` on the machine of a worker.

    Args:
        gateway: to that machine, or ``None`` when it is this one.
    """

    def __init__(self, gateway: Any = None) -> None:
        self._channel = None if gateway is None else gateway.remote_exec(hands)

    def make_folder(self) -> str:
        return str(self._call("make_folder"))

    def remove_folder(self, folder: str) -> None:
        self._call("remove_folder", folder)

    def tail(self, path: str) -> bytes:
        found = self._call("tail", path)
        return found if isinstance(found, bytes) else b""

    def bound(self, path: str) -> None:
        self._call("bound", path)

    def send_signal(self, pid: int, name: str, *, group: bool) -> None:
        self._call("send_signal", pid, name, group)

    def exit_code(self, pid: int) -> tuple[bool, int | None]:
        found = self._call("exit_code", pid)
        return (bool(found[0]), found[1]) if isinstance(found, tuple) else (True, None)

    def _call(self, name: str, *arguments: object) -> object:
        if self._channel is None:
            found: object = getattr(hands, name)(*arguments)
            return found
        try:
            self._channel.send((name, *arguments))
            answer: object = self._channel.receive(timeout=10)
        except (OSError, EOFError):  # the machine is gone, and with it what could be done there
            return None
        return answer


class Links(NodeManager):  # type: ignore[misc]  # xdist ships no types
    """Makes workers, on this machine or behind gateways.

    A gateway that is no local process gets a process of the kit's own at its far end, which starts the workers there
    and can end them: what a worker blocks, it cannot block.
    """

    def __init__(self, config: pytest.Config, specs: list[str]) -> None:
        super().__init__(config, [execnet.XSpec(spec) for spec in specs], defaultchdir="")
        self._hands: dict[str, Hands] = {}
        self._local = Hands()

    def make(self, slot: int, variables: dict[str, str], putevent: Any) -> Link:
        """Start a worker at the place number `slot`.

        Raises:
            Exception: whatever execnet raises when it cannot.
        """
        given = self.specs[slot]
        python = f"//python={given.python}" if given.python and not given.ssh else ""
        via = given.via if given.popen else self._proxy(given)
        through = f"//via={via}" if via else ""
        spec = execnet.XSpec(f"popen//execmodel=main_thread_only{python}{through}")
        self.group.allocate_id(spec)
        gateway = self.group.makegateway(spec)
        self.config.hook.pytest_xdist_newgateway(gateway=gateway)
        there = self._hands.get(via or "", self._local)
        told = {
            "directory": given.chdir or (str(self.config.invocation_params.dir) if via else None),
            "same_python": not python and not via,
            "variables": {**(given.env or {}), **variables},
        }
        return Link(self, gateway, self.config, putevent, there, told)

    def _proxy(self, given: Any) -> str:
        """The name of the kit's own process at the far end of a gateway."""
        name = f"host-{given.id}"
        if name not in self._hands:
            text = "//".join(part for part in str(given).split("//") if not part.startswith(("id=", "execmodel=")))
            gateway = self.group.makegateway(execnet.XSpec(f"{text}//id={name}//execmodel=thread"))
            self._hands[name] = Hands(gateway)
        return name

    def _getrsyncdirs(self) -> list[Any]:
        # The kit is installed where it runs, or its checkout is at the same place.
        return []


class Link(WorkerController):  # type: ignore[misc]  # xdist ships no types
    """One worker process."""

    def __init__(
        self,
        links: Links,
        gateway: Any,
        config: pytest.Config,
        putevent: Any,
        hands_there: Hands,
        told: dict[str, Any],
    ) -> None:
        super().__init__(links, gateway, config, putevent)
        self.hands = hands_there
        self.folder = hands_there.make_folder()
        self.pid: int | None = None
        #: Negative for a signal.
        self.exit_code: int | None = None
        popen = self._popen
        if popen is not None:
            self.pid = popen.pid
        self.workerinput["conformance"] = {
            **told,
            "folder": self.folder,
            "parent": os.getpid() if popen is not None else None,
        }

    @property
    def _popen(self) -> subprocess.Popen[bytes] | None:
        found: subprocess.Popen[bytes] | None = getattr(self.gateway._io, "popen", None)  # noqa: SLF001
        return found

    def process_from_remote(self, eventcall: Any) -> None:
        """Pass on what the worker says; runs in the gateway's own thread."""
        if eventcall is Marker.END:
            error = self.channel._getremoteerror()  # noqa: SLF001
            self._down = True
            self.notify_inproc("ended", node=self, error=None if error is None else str(error))
            return
        name, values = eventcall
        if name.startswith("conformance_"):
            self.notify_inproc(name.removeprefix("conformance_"), node=self, **values)
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
        ended, self.exit_code = self.hands.exit_code(self.pid)
        return ended

    def send_signal(self, name: str, *, group: bool = False) -> None:
        """Send the process a signal, and with `group` everything that it started."""
        if self.pid is not None:
            self.hands.send_signal(self.pid, name, group=group)

    def tail(self, name: str) -> bytes:
        """The end of one of the files that the worker writes."""
        return self.hands.tail(f"{self.folder}/{name}")

    def bound(self, name: str) -> None:
        """Keep such a file small."""
        self.hands.bound(f"{self.folder}/{name}")

    def clear(self) -> None:
        """Let go of what is left of a worker that has ended."""
        self.hands.remove_folder(self.folder)
        with contextlib.suppress(OSError, EOFError):  # nobody is there to say goodbye to
            self.gateway.exit()
        # Its process is no more, so that nothing at the session's end need wait for it.
        with contextlib.suppress(ValueError):
            self.nodemanager.group._gateways_to_join.remove(self.gateway)  # noqa: SLF001
