"""A machine in a process of its own, which a program may end, hang or spoil without harm to the others."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeAlias

from . import steps  # noqa: F401 - a process that plays needs them all
from .comparison import Log
from .machines import Machine
from .player import Player
from .step import Program

Make: TypeAlias = Callable[[], Machine]

_START_S = 120
_PLAY_S = 20


def _serve(connection: Connection, make: Make) -> None:
    machine = make()
    connection.send("ready")
    with contextlib.suppress(EOFError):  # nobody asks any more
        while True:
            program, without = connection.recv()
            connection.send(Player(machine, without).play(program))


class Worker:
    """Plays programs in a process, and in a new one after a program that the process did not survive.

    Args:
        make: makes the machine there: a class or function that can be pickled.
        patience: seconds for one program.
        method: how the process starts; a process that has asked for GPUs cannot be forked and then use one.
    """

    def __init__(self, make: Make, patience: float = _PLAY_S, method: str = "spawn") -> None:
        self._make = make
        self._context = multiprocessing.get_context(method)
        self._patience = patience
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None

    def play(self, program: Program, without: frozenset[str] = frozenset()) -> Log:
        """What the machine answers; one line that says so where it does not."""
        connection = self._connection or self._start()
        try:
            connection.send((program, without))
            if not connection.poll(self._patience):
                self.stop()
                return [(0, f"no answer within {self._patience:g} s")]
            log: Log = connection.recv()
        except (EOFError, ConnectionError):
            return [(0, f"the process ended with status {self.stop()}")]
        if _spoilt(log):
            self.stop()
        return log

    def _start(self) -> Connection:
        self._connection, theirs = self._context.Pipe()
        process = self._process = self._context.Process(target=_serve, args=(theirs, self._make), daemon=True)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        if not self._connection.poll(_START_S) or self._connection.recv() != "ready":
            raise RuntimeError(f"the machine did not start within {_START_S} s")
        return self._connection

    def stop(self) -> int | None:
        """End the process; the status that it ended with by itself, or by this."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if process is None or connection is None:
            return None
        connection.close()
        process.join(1)
        process.kill()
        process.join()
        return process.exitcode


def _spoilt(log: Log) -> bool:
    """Whether the device is of no more use: an error that stays shows in the last wait for it."""
    ends = [text for _, text in log if text.startswith("cudaDeviceSynchronize")]
    return ends[-1] != "cudaDeviceSynchronize: cudaSuccess"
