"""What a process has besides its memory: what a fork of it would lack, or would share with it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_SELF = Path("/proc/self")


@dataclass(frozen=True)
class Footprint:
    """What this process has at one moment, as Linux says it.

    Attributes:
        threads: those of the kernel, which know of threads that Python has never heard of.
        files: the open descriptors, each with what it is of; a device is a file, too.
        mappings: the ranges of memory that it shares with others.
        children: the ids of the processes that it has started.
    """

    threads: int
    files: frozenset[tuple[str, str]]
    mappings: frozenset[str]
    children: frozenset[str]

    @classmethod
    def now(cls) -> Footprint:
        """What there is now.

        Raises:
            OSError: this machine does not say.
        """
        tasks = [task.name for task in (_SELF / "task").iterdir()]
        return cls(len(tasks), _files(), _mappings(), frozenset().union(*map(_children, tasks)))

    def growth(self, later: Footprint) -> str | None:
        """Why a process that had this and has `later` now cannot be forked; ``None`` when it can."""
        if later.threads > 1:
            return f"{later.threads} threads run"
        opened = later.files - self.files
        if opened:
            return f"{min(target for _, target in opened)} is open"
        if later.mappings - self.mappings:
            return "memory is shared with others"
        return "a process was started" if later.children - self.children else None


def _files() -> frozenset[tuple[str, str]]:
    files = set()
    for entry in os.listdir(_SELF / "fd"):  # noqa: PTH208 - with iterdir the folder's own descriptor would stay open
        try:
            files.add((entry, os.readlink(_SELF / "fd" / entry)))  # noqa: PTH115 - what it names need not be a path
        except OSError:  # the one that the folder was listed with
            continue
    return frozenset((entry, target) for entry, target in files if target != os.devnull)  # which keeps nothing


def _mappings() -> frozenset[str]:
    lines = (_SELF / "maps").read_text(encoding="utf-8", errors="replace").splitlines()
    return frozenset(line for line in lines if line.split()[1].endswith("s"))


def _children(task: str) -> frozenset[str]:
    try:
        return frozenset((_SELF / "task" / task / "children").read_text(encoding="ascii").split())
    except OSError:  # not every kernel says
        return frozenset()
