"""What the members of an adapter answer when each is called once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

#: Who is to mend what a member tripped over: whoever wrote the adapter, before any run; whoever wrote the class; or the
#: one of them who knows whether the device has the feature at all.
Whose = Literal["adapter", "class", "declaration"]


@dataclass(frozen=True)
class Answer:
    """One member's answer.

    Attributes:
        member: its name, or a few words for a program of several calls.
        words: what it gave, or what it raised.
        whose: it is to mend; ``None`` when nothing is.
        trouble: what is wrong, where, and what to do about it; empty when nothing is.
    """

    member: str
    words: str
    whose: Whose | None = None
    trouble: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON values."""
        return asdict(self)
