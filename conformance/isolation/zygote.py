"""The zygote as the controller reaches it: a process that forks workers, which are ready at once."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import execnet
from execnet.gateway_base import Popen2IO, get_execmodel

from conformance.isolation import packets
from conformance.isolation.host import Host

#: Seconds for an answer of a process that does nothing but answer.
_ANSWER_S = 10.0
#: Seconds for a process that has been sent SIGKILL.
_END_S = 5.0
#: Where the exit status stands in what Linux says of a process, behind its name.
_EXIT_CODE = 49
_START = "import sys; sys.path[:] = {path!r}; from conformance.isolation.zygote_process import main; main({descriptor})"


class Zygote:
    """A process that forks workers, if it turns out that it can be forked.

    Args:
        host: this machine.
        path: where modules are looked for.
        arguments: of the session.
        workerinput: what pytest-xdist gives a worker.
        timeout: seconds to import and collect.

    Attributes:
        unfit: why it cannot be forked; ``None`` while that is not known.
    """

    def __init__(
        self, host: Host, path: Sequence[str], arguments: Sequence[str], workerinput: Mapping[str, Any], timeout: float
    ) -> None:
        self.unfit: str | None = None
        self._ready = False
        self._silent = False
        self._host = host
        self._folder = host.make_folder()
        self._until = time.monotonic() + timeout
        self._end, theirs = packets.pair()
        self._end.settimeout(_ANSWER_S)
        with theirs, host.marking(self._folder):
            source = _START.format(path=list(path), descriptor=theirs.fileno())
            self._popen = subprocess.Popen(  # noqa: S603 - this interpreter
                [sys.executable, "-u", "-c", source],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        order = {"arguments": list(arguments), "workerinput": dict(workerinput)}
        with self._trouble():
            packets.send(self._end, {**order, "folder": self._folder, "parent": os.getpid()})

    def is_ready(self) -> bool:
        """Whether it can fork now."""
        if self.unfit is None and not self._ready and self._has_answered():
            with self._trouble():
                self.unfit = packets.receive(self._end)["unfit"]
                self._ready = self.unfit is None
        return self._ready and self.unfit is None

    def _has_answered(self) -> bool:
        if time.monotonic() > self._until:
            self.unfit = "it took too long to start"
        return bool(select.select([self._end], [], [], 0)[0])

    def fork(self, folder: str, identity: str) -> ForkIO | None:
        """A new worker with that folder and that name; ``None`` when there is none."""
        (their_reader, writer), (reader, their_writer) = os.pipe(), os.pipe()
        forked: list[int] = []
        with self._trouble():
            request = {"do": "fork", "folder": folder, "id": identity}
            packets.send(self._end, request, [their_reader, their_writer])
            pid = packets.receive(self._end)["pid"]
            forked += [] if pid is None else [int(pid)]
        for descriptor in (their_reader, their_writer):
            os.close(descriptor)
        if forked:
            return ForkIO(writer, reader, Fork(self, forked[0]))
        os.close(reader)
        os.close(writer)
        return None

    def poll(self, pid: int) -> tuple[bool, int | None]:
        """Whether a fork has ended, and its exit status, negative for a signal."""
        answers: list[tuple[bool, int | None]] = []
        if not self._silent:
            with self._trouble():
                packets.send(self._end, {"do": "poll", "pid": pid})
                answer = packets.receive(self._end)
                answers.append((bool(answer["ended"]), answer["code"]))
        return answers[0] if answers else seen_from_outside(pid)

    def end(self) -> None:
        """End it, and with it every fork of it that still runs."""
        self.unfit = self.unfit or "it has ended"
        self._end.close()
        self._popen.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_END_S)
        self._host.end_marked(self._folder)
        self._host.remove_folder(self._folder)

    @contextlib.contextmanager
    def _trouble(self) -> Iterator[None]:
        """Whatever goes wrong with it, workers can be started without it."""
        try:
            yield
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            # A late answer would be taken for that to another question.
            self._silent = True
            self.unfit = self.unfit or f"it does not answer ({type(error).__name__})"


def seen_from_outside(pid: int) -> tuple[bool, int | None]:
    """Whether a process has ended that is no child of this one, and its exit status while its parent has not asked."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return True, None
    if fields[0] != "Z":
        return False, None
    return True, os.waitstatus_to_exitcode(int(fields[_EXIT_CODE]))


class Fork:
    """A process that the zygote has forked, with as much of `subprocess.Popen` as a gateway and a worker need."""

    def __init__(self, zygote: Zygote, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._zygote = zygote

    def poll(self) -> int | None:
        """The exit status once it has ended; with the zygote, its forks are ended by SIGKILL."""
        if self.returncode is None:
            ended, code = self._zygote.poll(self.pid)
            if ended:
                self.returncode = -signal.SIGKILL if code is None else code
        return self.returncode


class ForkIO(Popen2IO):
    """The connection to a fork."""

    def __init__(self, writer: int, reader: int, popen: Fork) -> None:
        super().__init__(os.fdopen(writer, "wb"), os.fdopen(reader, "rb"), get_execmodel("thread"))
        self.popen = popen

    def wait(self) -> int | None:
        """The exit status of a fork that the controller has done with."""
        return self.popen.returncode

    def kill(self) -> None:
        """Nothing: the controller has ended it."""


class ForkGateway(execnet.Gateway):
    """A gateway to a fork, in which what a gateway would have to send runs already."""

    def remote_exec(self, source: object, **_: object) -> Any:  # noqa: ARG002 - it is there
        """The channel that the fork has opened at its end."""
        return self.newchannel()

    def _rinfo(self, update: bool = False) -> Any:  # noqa: ARG002 - pytest-xdist asks, and nobody reads it
        return None
