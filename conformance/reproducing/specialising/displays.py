"""Tuples, lists, sets, dictionaries, their elements, and text with values in it."""

# ruff: noqa: SIM102
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.reproducing.specialising.judging import computes, is_mutable_state, is_plain, parts_of
from conformance.reproducing.specialising.operators import Operators
from conformance.reproducing.specialising.syntax import text_of
from conformance.reproducing.values import Again, Code, Function, Instance, Known, Parts, Scope, Table, Value


class Displays(Operators):
    """Writes displays."""

    def _tuple_expression(self, node: ast.Tuple, scope: Scope) -> Value:
        values = self._starred(node.elts, scope)
        if any(isinstance(value, Code) and isinstance(value.node, ast.Starred) for value in values):
            # How many there are is seen when the script runs.
            return Code(ast.Tuple([self.lift(value) for value in values], ast.Load()))
        return parts_of(values)

    def _starred(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Value]:
        inner = [entry.value if isinstance(entry, ast.Starred) else entry for entry in nodes]
        values: list[Value] = []
        for entry, value in zip(nodes, self._in_order(inner, scope), strict=True):
            if not isinstance(entry, ast.Starred):
                values.append(value)
                continue
            parts = self._elements(value)
            if parts is None:
                values.append(Code(ast.Starred(self.lift(value), ast.Load())))
            else:
                values += parts
        return values

    def _list_expression(self, node: ast.List, scope: Scope) -> Value:
        return self._listed(self._starred(node.elts, scope))

    def _listed(self, values: list[Value]) -> Value:
        if any(isinstance(value, Instance) or self._holds_instance(value) for value in values):
            return Parts(values, list)
        return Code(ast.List([self.lift(value) for value in values], ast.Load()))

    def _holds_instance(self, value: Value) -> bool:
        if isinstance(value, Known):
            return callable(value.value) and value.node is None
        return isinstance(value, Function) or (
            isinstance(value, Parts)
            and any(isinstance(part, Instance) or self._holds_instance(part) for part in value.parts)
        )

    def _set_expression(self, node: ast.Set, scope: Scope) -> Value:
        values = self._starred(node.elts, scope)
        if all(isinstance(value, Known) and is_plain(value.value) for value in values):
            return Known({value.value for value in values if isinstance(value, Known)})
        return Code(ast.Set([self.lift(value) for value in values]))

    def _dict_expression(self, node: ast.Dict, scope: Scope) -> Value:
        values = self._in_order(node.values, scope)
        keys = [None if key is None else self._expression(key, scope) for key in node.keys]
        if not keys:
            return Code(ast.Dict([], []))
        entries: dict[Any, Value] = {}
        for key, value in zip(keys, values, strict=True):
            if key is None and isinstance(value, Table):
                entries |= value.entries
            elif isinstance(key, Known) and is_plain(key.value):
                entries[key.value] = value
            else:
                lifted = [None if one is None else self.lift(one) for one in keys]
                return Code(ast.Dict(lifted, [self.lift(one) for one in values]))
        return Table(entries)

    def _subscript_expression(self, node: ast.Subscript, scope: Scope) -> Value:
        owner, index = self._in_order([node.value, node.slice], scope)
        parts = owner.parts if isinstance(owner, Parts) else None
        if isinstance(index, Known):
            if parts is not None and isinstance(index.value, int) and self._elements(owner) is not None:
                # The others go with the statement, unless a variable has them.
                others = [part for part in parts if part is not parts[index.value]]
                self._temporaries |= {name for part in others for name in self._names_in(part)}
                return parts[index.value]
            if isinstance(owner, Table) and index.value in owner.entries:
                return owner.entries[index.value]
            if isinstance(owner, Known) and not is_mutable_state(owner):
                if isinstance(owner.value, str | tuple | list | range | Mapping):
                    found = owner.value[index.value]
                    return Known(found)
        return Code(ast.Subscript(self.lift(owner), self.lift(index), ast.Load()))

    def _slice_expression(self, node: ast.Slice, scope: Scope) -> Value:
        parts = [node.lower, node.upper, node.step]
        present = [part for part in parts if part is not None]
        values = iter(self._in_order(present, scope))
        found = [None if part is None else next(values) for part in parts]
        if all(value is None or isinstance(value, Known) for value in found):
            known = [
                None if value is None else value.value for value in found if value is None or isinstance(value, Known)
            ]
            lifted = [None if value is None else self.lift(value) for value in found]
            return Known(slice(*known), ast.Slice(*lifted))
        return Code(ast.Slice(*[None if value is None else self.lift(value) for value in found]))

    def _joinedstr_expression(self, node: ast.JoinedStr, scope: Scope) -> Value:
        inner = [entry.value for entry in node.values if isinstance(entry, ast.FormattedValue)]
        values = iter(self._in_order(inner, scope))
        parts: list[ast.expr] = []
        for entry in node.values:
            if isinstance(entry, ast.Constant):
                parts.append(entry)
                continue
            assert isinstance(entry, ast.FormattedValue)
            value = next(values)
            if isinstance(value, Instance):
                text = self._computed_builtin(str, [value], {})
                if text is None:
                    raise Again("real", value.cls)
                value = text
            spec = None if entry.format_spec is None else self._expression(entry.format_spec, scope)
            if isinstance(value, Known) and computes(value) and (spec is None or isinstance(spec, Known)):
                conversions: dict[int, Any] = {-1: lambda x: x, 114: repr, 115: str, 97: ascii}
                shown = conversions[entry.conversion](value.value)
                parts.append(ast.Constant(format(shown, spec.value if isinstance(spec, Known) else "")))
                continue
            written: ast.expr | None = None
            if isinstance(spec, Known):
                written = ast.JoinedStr([ast.Constant(spec.value)])
            elif isinstance(spec, Code):
                written = spec.node
            node_ = self.lift(value)
            if isinstance(node_, ast.JoinedStr) and entry.conversion == -1 and written is None:
                parts += node_.values
            else:
                parts.append(ast.FormattedValue(node_, entry.conversion, written))
        return text_of(parts)

    def _lambda_expression(self, node: ast.Lambda, scope: Scope) -> Value:
        return Function(node, scope, self._defaults(node, scope))
