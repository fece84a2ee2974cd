"""A script that runs as it is written, so that it repeats what a test did.

The words of its text are ``impl``, ``torch`` and the functions that the test lets it `use`.  The script of a failure
is specialised from that text, as another is from the source of its test.
"""

from __future__ import annotations

import contextlib
import functools
import textwrap
from collections.abc import Callable
from types import CodeType
from typing import Any

from conformance.adapter import Adapter

_INDENT = "    "
#: Of calls that no other promise is made for.
ORDINARY = "ordinary calls raise nothing"


class Script:
    """Lines of Python, each run when it is written.

    Attributes:
        impl: the implementation under test.
    """

    def __init__(self, impl: Adapter) -> None:
        import torch  # only here: property tests are settled in sessions of nothing that needs it, too

        self.impl = impl
        self._names: dict[str, Any] = {"impl": impl, "torch": torch}
        self._imports: dict[str, None] = {}
        self._parts: list[tuple[int, str]] = []  # with the number of blocks around each
        self._blocks: list[contextlib.AbstractContextManager[Any]] = []

    def __getitem__(self, name: str) -> Any:
        """What the text calls `name`."""
        return self._names[name]

    def use(self, *functions: Callable[..., Any]) -> None:
        """Let the text have these functions of the suites and of `conformance.checks`, by their names."""
        for function in functions:
            self._names[function.__name__] = function
            self._imports[f"from {function.__module__} import {function.__name__}"] = None

    def do(self, *lines: str) -> None:
        """Write these lines, and run them."""
        text = "\n".join(lines)
        self._parts.append((len(self._blocks), text))
        exec(_compiled(text, "exec"), self._names)  # noqa: S102  # the text is the suites' own

    def enter(self, expression: str) -> None:
        """Write and enter a block, ``with expression:``; the lines that follow are inside."""
        self._parts.append((len(self._blocks), f"with {expression}:"))
        block = eval(_compiled(expression, "eval"), self._names)  # noqa: S307  # likewise
        block.__enter__()  # it is left by another call
        self._blocks.append(block)

    def leave(self) -> None:
        """Leave the innermost block."""
        self._blocks.pop().__exit__(None, None, None)

    def close(self) -> None:
        """Leave all blocks that are open, whatever they raise, wait for the device, and let go of everything."""
        while self._blocks:
            with contextlib.suppress(Exception):
                self.leave()
        with contextlib.suppress(Exception):
            self.impl.synchronize()
        self._names.clear()

    def text(self) -> str:
        """The script so far."""
        parts = [textwrap.indent(text, _INDENT * depth) for depth, text in self._parts if text]
        if parts and parts[-1].endswith(":"):  # a block that was entered last has no body yet
            parts.append(_INDENT * (self._parts[-1][0] + 1) + "pass")
        return "\n".join([*self._imports, *parts])


@functools.lru_cache(maxsize=4096)  # examples are alike
def _compiled(text: str, mode: str) -> CodeType:
    return compile(text, "<script>", mode, dont_inherit=True)
