"""Whether what ended a script is what its test said; runs and the self-check judge scripts by this one function."""

from __future__ import annotations

import re

from conformance.records.result import TestResult
from conformance.reproducing.turns import is_own_promise
from conformance.text import published, visible

#: Characters of what an exception says that are looked for in what is kept of a result.
_SAID_LIMIT = 200


def shows(result: TestResult, kind: str, message: str) -> bool:
    """Whether an exception says what the test said that came to `result`.

    Args:
        result: of the test, with its script.
        kind: the name of the exception; empty for what ended the process, which says nothing.
        message: what it said.
    """
    text = visible(message)
    said = _plain(text)
    if not kind:
        return False
    if result.expected is not None and _plain(result.expected).removesuffix("…") in said:
        return True
    if kind == "AssertionError" and is_own_promise(result.reproducer or "", message):
        return True
    # An ordinary call of a script raises what it raised in the test.
    first = _plain(text.partition("\n")[0])[:_SAID_LIMIT]
    told = _plain(f"{result.seen or ''}\n{result.message}\n{result.left_behind or ''}")
    if kind == "AssertionError":
        return bool(first) and first.removeprefix("the current stream is ") in told
    return kind in told and first in told


def _plain(text: str) -> str:
    """A text without what differs from run to run: numbers, addresses and how its lines are broken."""
    return " ".join(re.sub(r"0x[0-9a-f]+|\d+", "#", published(text)).split())
