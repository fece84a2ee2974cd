"""What a comparison found, kept small: the first of each kind, and how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class TestChange:
    """What became of one test.

    Attributes:
        test: its name.
        requirements: the ids of what it decides.
        before: its verdict in the old record, or why it has none there.
        after: the same of the new one.
        seen: of a test that regressed, what was seen, on one line.
        command: likewise, what runs just this test again.
    """

    __test__ = False  # pytest would otherwise take the name for a test class

    test: str
    requirements: tuple[str, ...]
    before: str
    after: str
    seen: str = ""
    command: str = ""


@dataclass(frozen=True)
class RequirementChange:
    """What became of one requirement.

    Attributes:
        id: of it.
        level: in the record that was made later, if it is in both.
        text: likewise.
        before: its verdict in the old record, or why it has none there.
        after: the same of the new one.
        differences: what is asked otherwise, each a phrase.
    """

    id: str
    level: str
    text: str
    before: str
    after: str
    differences: tuple[str, ...] = ()


class Found(Generic[_Item]):
    """Things of one kind; those that ask for attention are kept before the others.

    Attributes:
        KEPT: how many are kept.
        count: how many there are.
        musts: how many of them are musts; of tests none.
    """

    KEPT: ClassVar[int] = 50

    def __init__(self) -> None:
        self.count = self.musts = 0
        self._notable: list[_Item] = []
        self._others: list[_Item] = []

    def add(self, item: _Item, *, is_notable: bool = True, is_must: bool = False) -> None:
        """Count one, and keep it if there is room."""
        self.count += 1
        self.musts += is_must
        kept = self._notable if is_notable else self._others
        if len(kept) < self.KEPT:
            kept.append(item)

    @property
    def items(self) -> list[_Item]:
        """Those that are kept."""
        return [*self._notable, *self._others][: self.KEPT]
