"""The standard streams as a command uses them, whoever reads them."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

_NUMBERS = {"stdout": 1, "stderr": 2}


class _Patient(io.FileIO):
    """A stream whose reader may leave: what nobody takes any more is dropped, and the command comes to its own end."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            return memoryview(data).nbytes


@contextlib.contextmanager
def patient_streams() -> Iterator[None]:
    """Let the standard streams be closed or read in part, and take any text, inside a ``with`` block."""
    _fill_closed_descriptors()
    before = {name: getattr(sys, name) for name in _NUMBERS}
    own = {name: _patient(number, before[name]) for name, number in _NUMBERS.items() if _is_standard(name)}
    vars(sys).update(own)
    try:
        yield
    finally:
        vars(sys).update(before)
        for stream in own.values():
            with contextlib.suppress(OSError):  # such as a full disk, of which nobody could be told
                stream.flush()


def _is_standard(name: str) -> bool:
    """Whether a stream is the one that the process began with, or none because that was closed."""
    stream = getattr(sys, name)
    return stream is None or (isinstance(stream, io.TextIOWrapper) and stream is getattr(sys, f"__{name}__"))


def _patient(number: int, stream: TextIO | None) -> TextIO:
    raw = _Patient(number, "w", closefd=False)
    at_once = number == _NUMBERS["stderr"] or raw.isatty()
    encoding = "utf-8" if stream is None else stream.encoding
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=at_once)


def _fill_closed_descriptors() -> None:
    """Keep files that are opened later from becoming a standard stream."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= max(_NUMBERS.values()):
        os.set_inheritable(descriptor, True)
        descriptor = os.dup(descriptor)
    os.close(descriptor)
