"""What a name stands for while a test is specialised: something known now, or code for when the script runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any


class Value:
    """What an expression gives."""


@dataclass
class Code(Value):
    """Something that only the script's run knows: an expression of the script."""

    node: ast.expr


@dataclass
class Known(Value):
    """An object that is known now.

    Attributes:
        value: it.
        node: how the script writes it, where that is not by its value.
        imports: what the script imports to write it.
        origin: module and name where it is defined, if it is a definition of the kit's.
    """

    value: Any
    node: ast.expr | None = None
    imports: tuple[str, ...] = ()
    origin: tuple[str, str] | None = None


@dataclass
class Parts(Value):
    """A tuple or a list of known length."""

    parts: list[Value]
    kind: type = tuple


@dataclass
class Table(Value):
    """A dictionary with known keys."""

    entries: dict[Any, Value]


@dataclass
class Cell:
    """A variable of a function, or an attribute of an object.

    Attributes:
        key: which one it is, in whatever call.
        name: that it is called by.
        level: how many blocks of the script were open when it came to be.
        value: what it stands for, ``None`` before it stands for anything.
        home: the function of the script that it is a variable of.
        read_later: whether a function of the script took it for what it was at one time.
    """

    key: tuple[Any, ...]
    name: str
    level: int
    home: int
    value: Value | None = None
    pinned: str | None = None
    read_later: bool = False


@dataclass
class Scope:
    """The variables of one call, the variables around it, and the names of its module."""

    cells: dict[str, Cell]
    outer: Scope | None
    names: dict[str, Any]
    module: str

    def find(self, name: str) -> Cell | None:
        """The variable of that name, in this call or around it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.cells:
                return scope.cells[name]
            scope = scope.outer
        return None


@dataclass
class Function(Value):
    """A function of the kit's whose text is known.

    Attributes:
        node: its text.
        scope: the variables around it.
        defaults: of its parameters.
        context: whether it is a context manager written as a generator.
        owner: the class that it is a method of.
        receiver: the object that it is a method of.
    """

    node: ast.FunctionDef | ast.Lambda
    scope: Scope
    defaults: dict[str, Value] = field(default_factory=dict)
    context: bool = False
    owner: type | None = None
    receiver: Value | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "call"


@dataclass
class Instance(Value):
    """An object of a class of the kit's, whose attributes are variables of the script."""

    cls: type
    cells: dict[str, Cell] = field(default_factory=dict)


class Unwritable(Exception):
    """There is no script for this."""


class NeedsStatements(Exception):
    """What is written where there is room for an expression alone takes statements."""


class NotInline(Exception):
    """A function that cannot be written where it is called."""


class Again(Exception):
    """A decision was wrong: specialise once more, with this one.

    Attributes:
        kind: of the decision.
        key: what it is about.
    """

    def __init__(self, kind: str, key: Any) -> None:
        super().__init__(kind, key)
        self.kind, self.key = kind, key
