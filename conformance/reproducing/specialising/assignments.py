"""Assignments, and everything that they may be to."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from conformance.reproducing.specialising.comprehensions import Comprehensions
from conformance.reproducing.specialising.decisions import ENDED, NORMAL, Status
from conformance.reproducing.specialising.judging import ENDED_VALUE, name_of
from conformance.reproducing.specialising.syntax import is_trivial
from conformance.reproducing.values import (
    Again,
    Cell,
    Code,
    Instance,
    Known,
    NotInline,
    Parts,
    Scope,
    Table,
    Unwritable,
    Value,
)
from conformance.reproducing.walking import copied


class Assignments(Comprehensions):
    """Writes assignments."""

    def _assign_statement(self, node: ast.Assign, scope: Scope) -> Status:
        if any(isinstance(target, ast.Name) and target.id == "__tracebackhide__" for target in node.targets):
            return NORMAL
        if isinstance(node.value, ast.Yield):
            raise NotInline
        value = self._expression(node.value, scope)
        if value is ENDED_VALUE:
            return ENDED
        if len(node.targets) > 1 and isinstance(value, Code) and not is_trivial(value.node):
            value = self._temporary("value", value.node)
        for target in node.targets:
            self._bind(target, value, scope)
        return NORMAL

    def _annassign_statement(self, node: ast.AnnAssign, scope: Scope) -> Status:
        if node.value is not None:
            self._bind(node.target, self._expression(node.value, scope), scope)
        return NORMAL

    def _augassign_statement(self, node: ast.AugAssign, scope: Scope) -> Status:
        target = copied(node.target)
        target.ctx = ast.Load()
        old, value = self._in_order([target, node.value], scope)
        if isinstance(old, Known) and isinstance(value, Known) and type(old.value) in (int, float, str, tuple):
            self._bind(node.target, self._binary(node.op, old, value), scope)
            return NORMAL
        if isinstance(node.target, ast.Name):
            cell = scope.find(node.target.id)
            assert cell is not None
            if isinstance(cell.value, Code) and isinstance(cell.value.node, ast.Name):
                name = cell.value.node.id
                self._store(name)
                self._emit(ast.AugAssign(ast.Name(name, ast.Store()), node.op, self.lift(value)))
                return NORMAL
            self._bind(node.target, Code(ast.BinOp(self.lift(old), node.op, self.lift(value))), scope)
            return NORMAL
        place = self._place_of(node.target, scope)
        if place is None:
            assert isinstance(node.target, ast.Attribute)
            owner = self._expression(node.target.value, scope)
            assert isinstance(owner, Instance)
            cell = self._attribute_cell(owner, node.target.attr)
            if cell.key not in self.decisions.pinned:
                raise Again("pinned", cell.key)  # what was read of it before stays as it was
            if isinstance(old, Code) and isinstance(old.node, ast.Name):
                self._store(old.node.id)
                self._emit(ast.AugAssign(ast.Name(old.node.id, ast.Store()), node.op, self.lift(value)))
            else:
                self._bind(node.target, Code(ast.BinOp(self.lift(old), node.op, self.lift(value))), scope)
            return NORMAL
        self._emit(ast.AugAssign(place, node.op, self.lift(value)))  # type: ignore[arg-type]
        return NORMAL

    def _place_of(self, node: ast.expr, scope: Scope) -> ast.expr | None:
        """An attribute or an element of an object of the script, to be assigned; ``None`` of one that is not."""
        if isinstance(node, ast.Attribute):
            owner = self._expression(node.value, scope)
            if isinstance(owner, Instance):
                return None
            return ast.Attribute(self.lift(owner), node.attr, ast.Store())
        assert isinstance(node, ast.Subscript)
        owner, index = self._in_order([node.value, node.slice], scope)
        return ast.Subscript(self.lift(owner), self.lift(index), ast.Store())

    def _bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Assign a value to whatever."""
        if isinstance(target, ast.Name):
            cell = scope.find(target.id)
            if cell is None:
                raise Unwritable(f"{target.id} of a module is assigned")
            self._set(cell, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value, scope)
        elif isinstance(target, ast.Attribute):
            owner = self._expression(target.value, scope)
            if isinstance(owner, Instance):
                self._set(self._attribute_cell(owner, target.attr), value)
            elif not self._is_adapter(value):
                node = ast.Attribute(self.lift(owner), target.attr, ast.Store())
                self._emit(ast.Assign([node], self.lift(value), lineno=0))
        elif isinstance(target, ast.Subscript):
            owner, index = self._in_order([target.value, target.slice], scope)
            if isinstance(owner, Table) and isinstance(index, Known):
                owner.entries[index.value] = value
                return
            if isinstance(owner, Table):
                raise Again("pinned", self._key_of(target.value, scope))
            place = ast.Subscript(self.lift(owner), self.lift(index), ast.Store())
            self._emit(ast.Assign([place], self.lift(value), lineno=0))
        else:
            raise Unwritable(f"assignment to {type(target).__name__}")

    def _key_of(self, node: ast.expr, scope: Scope) -> Any:
        cell = scope.find(node.id) if isinstance(node, ast.Name) else None
        if cell is None:
            raise Unwritable(ast.unparse(node))
        return cell.key

    def _unpack(self, targets: Sequence[ast.expr], value: Value, scope: Scope) -> None:
        parts = self._elements(value)
        starred = next((place for place, entry in enumerate(targets) if isinstance(entry, ast.Starred)), None)
        if parts is not None:
            if starred is None:
                if len(parts) != len(targets):
                    raise Unwritable("unpacking")
            else:
                after = len(targets) - starred - 1
                middle = parts[starred : len(parts) - after]
                parts = [*parts[:starred], Parts(middle, list), *parts[len(parts) - after :]]
                targets = [entry.value if isinstance(entry, ast.Starred) else entry for entry in targets]
            # The values are all computed before any is assigned.
            parts = [
                self._temporary("value", part.node)
                if isinstance(part, Code) and not is_trivial(part.node) and len(parts) > 1 and not simple
                else part
                for part in parts
                for simple in [all(isinstance(entry, ast.Name) for entry in targets)]
            ]
            assigned: set[str] = set()
            for at, target in enumerate(targets):
                if self._names_in(parts[at]) & assigned:
                    parts[at] = self._temporary("value", self.lift(parts[at]))
                cell = scope.find(target.id) if isinstance(target, ast.Name) else None
                if cell is not None and cell.pinned is not None:
                    assigned.add(cell.pinned)
            for target, part in zip(targets, parts, strict=True):
                self._bind(target, part, scope)
            return
        places: list[ast.expr] = []
        node = self.lift(value)
        for entry in targets:
            inner = entry.value if isinstance(entry, ast.Starred) else entry
            place: ast.expr
            if isinstance(inner, ast.Name):
                cell = scope.find(inner.id)
                assert cell is not None
                place = ast.Name(self._receiving(cell), ast.Store())
            elif isinstance(inner, ast.Tuple | ast.List):
                place = self._pattern(inner, scope)
            else:
                found = self._place_of(inner, scope)
                if found is None:
                    assert isinstance(inner, ast.Attribute)
                    owner = self._expression(inner.value, scope)
                    assert isinstance(owner, Instance)
                    place = ast.Name(self._receiving(self._attribute_cell(owner, inner.attr)), ast.Store())
                else:
                    place = found
            places.append(ast.Starred(place, ast.Store()) if isinstance(entry, ast.Starred) else place)
        self._emit(ast.Assign([ast.Tuple(places, ast.Store())], node, lineno=0))

    def _pattern(self, target: ast.expr, scope: Scope) -> ast.expr:
        """A target whose variables the script assigns."""
        if isinstance(target, ast.Tuple | ast.List):
            return ast.Tuple([self._pattern(entry, scope) for entry in target.elts], ast.Store())
        if isinstance(target, ast.Starred):
            return ast.Starred(self._pattern(target.value, scope), ast.Store())
        if isinstance(target, ast.Name):
            cell = scope.find(target.id)
            assert cell is not None
            return ast.Name(self._receiving(cell), ast.Store())
        raise NotInline

    def _receiving(self, cell: Cell) -> str:
        """The variable of the script that a statement assigns for a variable of the test."""
        pinned = cell.key in self.decisions.pinned
        if not pinned:
            if cell.home != self._frames[-1].number or cell.read_later:
                raise Again("pinned", cell.key)
            own = isinstance(cell.value, Code) and name_of(cell.value) == cell.pinned
            if self._level > cell.level and cell.value is not None and not own:
                raise Again("pinned", cell.key)
        if cell.pinned is None:
            cell.pinned = self._fresh(cell.name)
        self._calls[-1].owned[cell.pinned] = None
        self._store(cell.pinned)
        value = Code(ast.Name(cell.pinned, ast.Load()))
        self._log.append((cell, cell.value))
        cell.value = value
        return cell.pinned
