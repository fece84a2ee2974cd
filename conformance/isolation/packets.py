"""Messages between the controller and its zygote: one packet each, with open files where they are needed."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any

_SIZE = 1 << 20
_FILES = 2


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends, each of which keeps packets whole."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SIZE)
    return ends


def send(end: socket.socket, message: dict[str, Any], files: Sequence[int] = ()) -> None:
    """Send plain values, and `files` for the other end to have, too.

    Raises:
        OSError: the other end is gone.
    """
    socket.send_fds(end, [json.dumps(message).encode()], list(files))


def receive(end: socket.socket) -> dict[str, Any]:
    """Wait for a message.

    Raises:
        EOFError: the other end is gone.
        OSError: likewise, or it takes too long.
        ValueError: it is no message.
    """
    return receive_with_files(end)[0]


def receive_with_files(end: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Wait for a message and the files that come with it; raises as `receive` does."""
    content, files, _, _ = socket.recv_fds(end, _SIZE, _FILES)
    if not content:
        raise EOFError
    message = json.loads(content)
    if not isinstance(message, dict):
        raise ValueError("no message")  # noqa: TRY004 - as for any other garbage
    return message, files
