"""What is done to a worker's process and files on the machine that the worker runs on.

The module imports the standard library only, since its source also runs at the other end of a gateway.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

#: The files that a worker leaves behind, in a folder of its own.
OUTPUT = "output"
STACKS = "stacks"
CALLS = "calls"

#: In the environment of a worker and of all that it starts: the folder that is the worker's alone.
MARK = "GRAPH_CONFORMANCE_WORKER"

TAIL = 64 << 10
#: How often to look for what a worker started, and how long to wait between: it may be starting more meanwhile.
_LOOKS = 100
_LOOK_S = 0.01
#: A worker's output may grow to this before all but its tail is dropped.
OUTPUT_LIMIT = 4 << 20


def make_folder() -> str:
    """A new folder for what a worker leaves behind."""
    return tempfile.mkdtemp(prefix="graph-conformance-")


def remove_folder(folder: str) -> None:
    """Remove such a folder."""
    shutil.rmtree(folder, ignore_errors=True)


def tail(path: str, limit: int = TAIL) -> bytes:
    """The last bytes of a file; nothing when there is none."""
    try:
        with Path(path).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - limit))
            return file.read(limit)
    except OSError:
        return b""


def bound(path: str) -> None:
    """Keep a file that is being appended to from filling the disk."""
    try:
        if Path(path).stat().st_size > OUTPUT_LIMIT:
            end = tail(path)
            os.truncate(path, 0)
            with Path(path).open("ab") as file:
                file.write(end)
    except OSError:
        return


def send_signal(pid: int, name: str, group: bool) -> None:
    """Send a signal to a process, and with `group` to its process group, once it leads one."""
    number = getattr(signal, name)
    try:
        if group and os.getpgid(pid) == pid:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except OSError:  # it is gone
        return


def set_mark(folder: str | None) -> None:
    """Let what this process starts from now on carry the mark of the worker with that folder, or none."""
    if folder is None:
        os.environ.pop(MARK, None)
    else:
        os.environ[MARK] = folder


def end_marked(folder: str) -> None:
    """Send SIGKILL to every process that carries the mark of the worker with that folder, wherever it has gone.

    A session or a group of its own does not hide a process, nor does the end of its parent.  What was started with an
    environment of its own has no mark, and what belongs to another user cannot be looked at.
    """
    for _ in range(_LOOKS):
        pids = _marked(f"{MARK}={folder}".encode())
        if not pids:
            return
        for pid in pids:
            send_signal(pid, "SIGKILL", group=False)
        time.sleep(_LOOK_S)


def _marked(mark: bytes) -> list[int]:
    """The processes with that line in the environment that they were started with; none where there is no /proc."""
    pids = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in file.read_bytes().split(b"\0"):
                pids.append(int(file.parent.name))
        except OSError:  # it is gone, or another user's
            continue
    return pids


def share(devices: Sequence[str]) -> bool:
    """Note that this process is on `devices` until it ends; whether another process has noted the same of one.

    The note is an advisory lock that everybody shares.  Only who is alone can have it alone for a moment, and what
    keeps it from being asked for, such as the file of a user who lets nobody read it, keeps nobody from the device.
    """
    for device in devices:
        if device in _ON:
            continue
        name = f"graph-conformance-{hashlib.sha256(device.encode()).hexdigest()[:16]}.lock"
        try:
            file = _open(f"{tempfile.gettempdir()}/{name}")
        except OSError:
            continue
        _ON[device] = not _lock(file, fcntl.LOCK_EX)
        _lock(file, fcntl.LOCK_SH)
    return any(_ON.get(device, False) for device in devices)


#: The devices that this process is on, and whether another process was on it then; the open files have the locks.
_ON: dict[str, bool] = {}


def _open(path: str) -> int:
    """Open a file for its lock alone: nothing is read, nothing is written, and no link is followed."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CREAT, 0o644)


def _lock(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:  # another process has it
        return False
    return True


def exit_code(pid: int) -> tuple[bool, int | None]:
    """Whether a child has ended, and its exit status, negative for a signal; its parent can still ask for it."""
    try:
        status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:  # it is gone, and its parent has asked already
        return True, None
    if status is None:
        return False, None
    return True, status.si_status if status.si_code == os.CLD_EXITED else -status.si_status


_CALLS: dict[str, Callable[..., object]] = {
    call.__name__: call
    for call in (make_folder, remove_folder, tail, bound, send_signal, set_mark, end_marked, share, exit_code)
}

if __name__ == "__channelexec__":
    for request in channel:  # type: ignore[name-defined]  # noqa: F821 - execnet puts it there
        channel.send(_CALLS[request[0]](*request[1:]))  # type: ignore[name-defined]  # noqa: F821
