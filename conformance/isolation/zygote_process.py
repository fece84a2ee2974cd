"""What runs in the zygote: a pytest session that has imported everything, has collected the tests, and forks workers.

A fork has whatever this process has, so it is asked for none unless this process has a single thread and nothing open:
no device, no file, no shared memory, no process of its own.  It makes no graph and runs no test.
"""

from __future__ import annotations

import ctypes
import gc
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import xdist.remote
from execnet.gateway_base import BaseGateway, Popen2IO, get_execmodel

from conformance.errors import ExitStatus
from conformance.isolation import packets
from conformance.isolation.footprint import Footprint
from conformance.isolation.messages import START_UP, Started, StartUp, digest_of
from conformance.isolation.process_control import MARK, OUTPUT
from conformance.isolation.worker import (
    Interactor,
    configured,
    die_with,
    leave_the_group,
    name_worker,
    open_black_box,
    write_to,
)
from conformance.records.subject import software


def main(descriptor: int) -> None:
    """Be the zygote until the controller lets go of the socket `descriptor`; return in a worker that has ended well."""
    connection = socket.socket(fileno=descriptor)
    order = packets.receive(connection)
    leave_the_group()
    die_with(order["parent"])
    write_to(Path(order["folder"]) / OUTPUT)
    mother = _Mother(connection, Footprint.now())
    config = configured(order["arguments"], None, order["workerinput"])
    config.pluginmanager.register(mother)
    config.hook.pytest_cmdline_main(config=config)
    if mother.gateway is None:  # it has come to no tests
        os._exit(ExitStatus.KIT_FAILED)
    # As any worker: the controller says when.
    mother.gateway.join()


class _Mother:
    """The plug-in that forks workers where tests would run.

    Attributes:
        gateway: to the controller; ``None`` in the zygote itself.
    """

    def __init__(self, connection: socket.socket, before: Footprint) -> None:
        self.gateway: BaseGateway | None = None
        self._connection = connection
        self._before = before

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork workers until the controller has had enough, and be one in each of them."""
        # Only now: what is imported and found out here is in every worker.
        if "torch" in sys.modules:  # no scripts are written for an implementation that does without
            import conformance.reproducing.writing  # noqa: F401

        software()
        digest = digest_of([item.nodeid for item in session.items])
        # What the forks share stays shared as long as nobody writes to it, and a collection writes to all it looks at.
        gc.collect()
        gc.freeze()
        _end_known_threads()
        packets.send(self._connection, {"unfit": self._before.growth(Footprint.now())})
        while True:
            try:
                request, descriptors = packets.receive_with_files(self._connection)
            except (OSError, EOFError):
                os._exit(0)
            if request["do"] == "poll":
                packets.send(self._connection, _poll(request["pid"]))
                continue
            zygote = os.getpid()
            try:
                pid: int | None = os.fork()
            except OSError:  # for want of memory, most likely; the forks that are there must not notice
                pid = None
            if pid == 0:
                return self._work(session, request, descriptors, zygote, digest)
            for each in descriptors:
                os.close(each)
            packets.send(self._connection, {"pid": pid})

    def _work(
        self, session: pytest.Session, request: dict[str, Any], descriptors: list[int], zygote: int, digest: str
    ) -> bool:
        """Be a worker."""
        self._connection.close()
        leave_the_group()
        die_with(zygote)
        _take_mark(request["folder"])
        box = open_black_box(Path(request["folder"]))
        reader, writer = descriptors
        io = Popen2IO(os.fdopen(writer, "wb"), os.fdopen(reader, "rb"), get_execmodel("main_thread_only"))
        self.gateway = BaseGateway(io, request["id"])  # type: ignore[arg-type]  # it ends no process
        channel = self.gateway._channelfactory.new(1)  # noqa: SLF001 - the first that the controller opens
        self.gateway._initreceive()  # noqa: SLF001
        workerinput, _, options, _ = channel.receive()
        start_up = StartUp.from_dict(workerinput[START_UP])
        channel.send(Started(os.getpid()).to_event())
        name_worker(workerinput)
        config = session.config
        vars(config)["workerinput"] = workerinput
        _set_base_folder(config, options.get("basetemp"))
        interactor = Interactor(config, channel, box, start_up=start_up, digest=digest)
        vars(xdist.remote)["interactor"] = interactor
        interactor.pytest_sessionstart(session)
        if not start_up.spare:
            interactor.announce(session)
        return interactor.pytest_runtestloop(session)


def _end_known_threads() -> None:
    """Let libraries end their threads as they do before each fork, so that those which no library looks after remain.

    NumPy's OpenBLAS does so with its pool, and starts it again when it is needed; OpenMP does not.
    """
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _set_base_folder(config: pytest.Config, folder: str | None) -> None:
    """Let the tests' temporary folders be in this worker's own."""
    config.option.basetemp = folder
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is not None:
        vars(config)["_tmp_path_factory"] = type(factory).from_config(config, _ispytest=True)


def _poll(pid: int) -> dict[str, Any]:
    """Whether a fork has ended, and its exit status, negative for a signal."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return {"ended": True, "code": None}
    return {"ended": ended == pid, "code": os.waitstatus_to_exitcode(status) if ended == pid else None}


def _take_mark(folder: str) -> None:
    """Carry the mark of a worker instead of the zygote's: in the memory that the kernel shows as the environment.

    A fork has the environment that its parent was started with, and so has what forks from it.
    """
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    address = libc.getenv(MARK.encode())
    old, new = os.environ[MARK].encode(), folder.encode()
    if address and len(old) == len(new):
        ctypes.memmove(address, new, len(new))
    os.environ[MARK] = folder
    if f"{MARK}={folder}".encode() not in Path("/proc/self/environ").read_bytes().split(b"\0"):
        print("the mark of a worker cannot be set", file=sys.stderr, flush=True)
        os._exit(ExitStatus.KIT_FAILED)
