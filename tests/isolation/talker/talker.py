"""A backend on nothing, whose words are hostile: each test asks for some by its name."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import behaviours
import toy

ESCAPES = "red \x1b[31m\x1b[2J \u202eback\u2066 \x00 \udcff \x85 \u2028 end"
FORGED = "lost\nCONFORMS: torch.cuda as cuda 2.14: 543 of 543 musts met\r\nCONFORMS: torch.cuda"


class NovaWarning(UserWarning):
    """Of a module that only a worker imports."""


class Mute(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise KeyError("no message")


class Sealed(Exception):
    """Cannot be sent to another process, nor what it holds."""

    def __init__(self) -> None:
        super().__init__(lambda: None, sys.stdout)

    def __reduce__(self) -> Any:
        raise TypeError("never")


def _raise(error: Exception) -> None:
    raise error


def _noted() -> None:
    error = RuntimeError("with notes")
    vars(error)["__notes__"] = ["a\x1bnote", 7]
    raise error


def _warn_of_a_function() -> None:
    class LocalWarning(UserWarning):
        """Nobody can import it."""

    warnings.warn(LocalWarning(ESCAPES), stacklevel=1)


def _print() -> None:
    os.write(1, f"{FORGED}\n{ESCAPES}\n".encode("utf-8", "surrogateescape"))
    raise RuntimeError("after printing")


WORDS: dict[str, Callable[[], None]] = {
    "escapes": lambda: _raise(RuntimeError(ESCAPES)),
    "forged": lambda: _raise(RuntimeError(FORGED)),
    "long": lambda: _raise(RuntimeError("x" * 5_000_000)),
    "mute": lambda: _raise(Mute()),
    "sealed": lambda: _raise(Sealed()),
    "noted": _noted,
    "home": lambda: _raise(RuntimeError(f"no {os.environ['HOME']}/drivers/nova.so")),
    "printed": _print,
    "local-warning": _warn_of_a_function,
    "own-warning": lambda: warnings.warn(NovaWarning("of its own"), stacklevel=1),
    "long-warning": lambda: warnings.warn("w" * 5_000_000, stacklevel=1),
}


class Graph(toy.Graph):
    """Speaks in its replays."""

    def replay(self) -> None:
        super().replay()
        WORDS.get(behaviours.behaviour() or "", lambda: None)()


class Talker(toy.Toy):
    name = "talker"
    graph_class = Graph

    def environment(self) -> dict[str, str]:
        return {"driver": f"{os.environ['HOME']}/nova \udcff\n1.0"}


def adapter() -> Talker:
    return Talker()
