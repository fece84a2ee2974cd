"""From what a worker left behind to words: how it ended, and what can still be read."""

from __future__ import annotations

import re
import signal
import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.evidence.calls import read_calls
from conformance.isolation.process_control import CALLS, OUTPUT, STACKS
from conformance.text import visible, without_folders
from conformance.tracebacks import short_path

if TYPE_CHECKING:
    from conformance.isolation.worker_process import WorkerProcess

#: Characters kept of a worker's output and of its stacks.
_TEXT_LIMIT = 4000
#: The last calls that the terminal shows; the record has more.
_CALLS_SHOWN = 8

_MACHINERY = re.compile(r'File "(?:[^"]*[/\\](?:_pytest|pluggy|execnet|xdist)[/\\]|<string>)')


@dataclass(frozen=True)
class Ending:
    """How a worker ended.

    Attributes:
        code: its exit status, negative for a signal; ``None`` when it is unknown.
        output: the end of what it printed.
        stacks: what its threads were doing, when it could still say.
        calls: the last calls made on the implementation, oldest first.
        error: what the gateway said.
    """

    code: int | None
    output: str
    stacks: str
    calls: tuple[str, ...]
    error: str | None = None

    @classmethod
    def of(cls, process: WorkerProcess, code: int | None, error: str | None) -> Ending:
        """Gather what a worker left behind."""
        return cls(
            code=code,
            output=_without_folders(_end_of(process.tail(OUTPUT))),
            stacks=_without_folders(_without_machinery(process.tail(STACKS)))[:_TEXT_LIMIT],
            calls=tuple(read_calls(process.tail(CALLS))),
            error=None if error is None else _without_folders(visible(error.strip()))[-_TEXT_LIMIT:],
        )

    @property
    def how(self) -> str:
        """The end in a few words: ``was ended by SIGSEGV``."""
        if self.code is None:
            return "ended without an exit status"
        if self.code < 0:
            return f"was ended by {self.signal}"
        return f"ended with exit status {self.code}"

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended it."""
        if self.code is None or self.code >= 0:
            return None
        try:
            return signal.Signals(-self.code).name
        except ValueError:
            return f"signal {-self.code}"

    def to_dict(self) -> dict[str, Any]:
        """The ending as JSON values, for the record."""
        return {
            "signal": self.signal,
            "exit_status": self.code if self.code is not None and self.code >= 0 else None,
            "output": self.output,
            "stacks": self.stacks,
        }

    def details(self) -> str:
        """All of it, for a person."""
        parts = []
        if self.calls:
            parts.append("last calls:\n" + "\n".join(f"    {call}" for call in self.calls[-_CALLS_SHOWN:]))
        if self.stacks:
            parts.append(f"stacks:\n{_indented(self.stacks)}")
        if self.output:
            parts.append(f"last output:\n{_indented(self.output)}")
        if self.error:
            parts.append(f"the gateway: {self.error}")
        return "\n".join(parts)


def _indented(text: str) -> str:
    """`text` such that no line of it looks like one of the kit's own."""
    return textwrap.indent(text, "    ", lambda _: True)


def _end_of(content: bytes) -> str:
    text = visible(content.decode("utf-8", "replace").strip())
    return text if len(text) <= _TEXT_LIMIT else "…" + text[-_TEXT_LIMIT:]


def _without_machinery(content: bytes) -> str:
    """Stacks without the frames of pytest and of the gateway, which are the same in every test."""
    lines = visible(content.decode("utf-8", "replace").strip()).split("\n")
    return "\n".join(line for line in lines if not _MACHINERY.search(line))


def _without_folders(text: str) -> str:
    """`text` without the folders that things are installed in: a record is published."""
    text = re.sub(r'File "([^"]+)"', lambda match: f'File "{short_path(match[1])}"', text)
    return without_folders(text.replace(f"{sys.prefix}/", ""))
