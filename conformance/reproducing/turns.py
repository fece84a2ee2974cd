"""How often a script does what it does."""

from __future__ import annotations

import re

#: A failure may need what went before it in the same process.
TURNS = 3
#: Where each turn has an order of its own, one of them may be what breaks it.
ORDERS = 20

_TURN = re.compile(r"\bturn\b")
_LOOP = re.compile(r"^for (?:_|turn) in range\((\d+)\):", re.MULTILINE)


def loop_over(setup: str) -> str:
    """The line in front of what a script does; its `setup` may use the number of the ``turn``."""
    if _TURN.search(setup):
        return f"for turn in range({ORDERS}):  # each has an order of its own, and one may be what breaks it"
    return f"for _ in range({TURNS}):  # what an earlier capture leaves may be what breaks a later one"


def turns_of(script: str) -> int:
    """How many turns a script has at most."""
    return max((int(count) for count in _LOOP.findall(script)), default=TURNS)


def is_own_promise(script: str, message: str) -> bool:
    """Whether a script in which orders differ says `message` itself: in another order another check may come first."""
    first = message.partition("\n")[0]
    return turns_of(script) == ORDERS and first.startswith("expected: ") and first.removeprefix("expected: ") in script
