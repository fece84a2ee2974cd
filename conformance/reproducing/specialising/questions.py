"""What is known of a value while it is specialised: whether it is true, what it consists of, which names it needs."""

# ruff: noqa: SIM102
from __future__ import annotations

import ast
import operator as op
from collections.abc import Mapping
from typing import Any

from conformance.reproducing.specialising.judging import computes, is_computable, is_mutable_state, is_plain
from conformance.reproducing.specialising.state import State
from conformance.reproducing.specialising.syntax import gives, names_in
from conformance.reproducing.values import Cell, Code, Function, Instance, Known, Parts, Scope, Table, Value

OPERATORS: dict[type, Any] = {
    ast.Add: op.add,
    ast.Sub: op.sub,
    ast.Mult: op.mul,
    ast.Div: op.truediv,
    ast.FloorDiv: op.floordiv,
    ast.Mod: op.mod,
    ast.Pow: op.pow,
    ast.LShift: op.lshift,
    ast.RShift: op.rshift,
    ast.BitOr: op.or_,
    ast.BitAnd: op.and_,
    ast.BitXor: op.xor,
    ast.MatMult: op.matmul,
    ast.Eq: op.eq,
    ast.NotEq: op.ne,
    ast.Lt: op.lt,
    ast.LtE: op.le,
    ast.Gt: op.gt,
    ast.GtE: op.ge,
}


class Questions(State):
    """Answers to questions about values."""

    def _names_in(self, value: Value | None, seen: set[int] | None = None) -> set[str]:
        """The variables of the script that a value needs."""
        seen = set() if seen is None else seen
        if value is None or id(value) in seen:
            return set()
        seen.add(id(value))
        if isinstance(value, Code):
            return names_in(value.node)
        inner: list[Value | None] = []
        names: set[str] = set()
        cells: list[Cell] = []
        if isinstance(value, Parts):
            inner += value.parts
        elif isinstance(value, Table):
            inner += value.entries.values()
        elif isinstance(value, Instance):
            cells += value.cells.values()
        elif isinstance(value, Function):
            inner += [value.receiver, *value.defaults.values()]
            scope: Scope | None = value.scope
            used = names_in(value.node)
            while scope is not None:
                cells += [cell for name, cell in scope.cells.items() if name in used]
                scope = scope.outer
        for cell in cells:
            if id(cell) not in seen:
                seen.add(id(cell))
                inner.append(cell.value)
                if cell.pinned is not None:
                    names.add(cell.pinned)
        return names.union(*(self._names_in(each, seen) for each in inner)) if inner else names

    def _is_liftable(self, value: Value) -> bool:
        if isinstance(value, Code):
            return True
        if isinstance(value, Known):
            return value.node is not None or is_plain(value.value)
        return isinstance(value, Parts) and all(map(self._is_liftable, value.parts))

    def _is_adapter(self, value: Value) -> bool:
        return isinstance(value, Known) and value.value is self.adapter

    def _truth(self, value: Value) -> bool | None:
        """Whether a value is true, if that is known."""
        if isinstance(value, Known):
            if is_mutable_state(value):
                return None
            return bool(value.value) if is_computable(value.value) or value.value is None else True
        if isinstance(value, Function | Instance):
            return True
        if isinstance(value, Parts):
            return bool(value.parts)
        if isinstance(value, Table):
            return bool(value.entries)
        if isinstance(value, Code) and isinstance(value.node, ast.Constant):
            return bool(value.node.value)
        return None

    def _compared(self, operator: ast.cmpop, left: Value, right: Value) -> bool | None:
        if isinstance(operator, ast.Is | ast.IsNot):
            found = self._identical(left, right)
            return None if found is None else found is isinstance(operator, ast.Is)
        if isinstance(operator, ast.In | ast.NotIn):
            found = self._contained(left, right)
            return None if found is None else found is isinstance(operator, ast.In)
        if not (isinstance(left, Known) and isinstance(right, Known) and computes(left) and computes(right)):
            return None
        return bool(OPERATORS[type(operator)](left.value, right.value))

    def _identical(self, left: Value, right: Value) -> bool | None:
        if isinstance(left, Known) and isinstance(right, Known):
            return left.value is right.value
        if isinstance(left, Known):
            left, right = right, left
        if isinstance(right, Known) and right.value is None:
            if isinstance(left, Function | Instance | Parts | Table):
                return False
            if isinstance(left, Code) and self._is_something(left.node):
                return False
        return None

    def _is_of_runtime(self, value: Value) -> bool:
        """Whether a value is a function of the runtime that the script names."""
        node = value.node if isinstance(value, Known) else None
        return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "runtime"

    def _is_something(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._nonnull or node.id == "Graph"
        return gives(node)

    def _contained(self, left: Value, right: Value) -> bool | None:
        if isinstance(right, Table) and isinstance(left, Known):
            return left.value in right.entries
        if isinstance(left, Known) and isinstance(right, Known) and not is_mutable_state(right):
            if isinstance(right.value, str | tuple | list | set | frozenset | range | Mapping):
                return left.value in right.value
        return None

    def _elements(self, value: Value) -> list[Value] | None:
        """What a sequence consists of, if that is known."""
        if isinstance(value, Parts):
            if any(isinstance(part, Code) and isinstance(part.node, ast.Starred) for part in value.parts):
                return None
            return list(value.parts)
        if isinstance(value, Table):
            return [Known(key) for key in value.entries]
        if isinstance(value, Known) and not is_mutable_state(value):
            if isinstance(value.value, tuple | list | range | Mapping):
                return [Known(part) for part in value.value]
            if isinstance(value.value, set | frozenset):
                return [Known(part) for part in sorted(value.value, key=repr)]
        if isinstance(value, Code) and isinstance(value.node, ast.Tuple):
            if not any(isinstance(entry, ast.Starred) for entry in value.node.elts):
                return [Code(entry) for entry in value.node.elts]
        return None
