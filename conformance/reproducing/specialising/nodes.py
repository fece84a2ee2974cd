"""Nodes of syntax of the specialiser's own."""

from __future__ import annotations

import ast

from conformance.reproducing.values import Value


class Turn(ast.stmt):
    """A turn of a loop, written after the one before."""

    def __init__(self, target: ast.expr, part: Value, body: list[ast.stmt]) -> None:
        super().__init__()
        self.target, self.part, self.body = target, part, body


class Given(ast.expr):
    """A value in the place of an expression."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class Appended(ast.expr):
    """An element that is appended to a list."""

    def __init__(self, owner: Value, element: ast.expr) -> None:
        super().__init__()
        self.owner, self.element = owner, element
