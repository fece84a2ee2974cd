"""Comprehensions: written as they are, turn by turn, or as a loop."""

from __future__ import annotations

import ast
from typing import Any

from conformance.reproducing.specialising.displays import Displays
from conformance.reproducing.specialising.judging import is_plain
from conformance.reproducing.specialising.nodes import Appended, Given
from conformance.reproducing.specialising.syntax import is_trivial, names_in, place_of
from conformance.reproducing.values import (
    Again,
    Code,
    Known,
    NeedsStatements,
    NotInline,
    Parts,
    Scope,
    Table,
    Unwritable,
    Value,
)
from conformance.reproducing.walking import walk


class Comprehensions(Displays):
    """Writes comprehensions."""

    def _listcomp_expression(self, node: ast.ListComp, scope: Scope) -> Value:
        return self._comprehension(node, scope)

    def _setcomp_expression(self, node: ast.SetComp, scope: Scope) -> Value:
        return self._comprehension(node, scope)

    def _generatorexp_expression(self, node: ast.GeneratorExp, scope: Scope) -> Value:
        return self._comprehension(node, scope)

    def _dictcomp_expression(self, node: ast.DictComp, scope: Scope) -> Value:
        return self._comprehension(node, scope)

    def _comprehension(self, node: Any, scope: Scope) -> Value:
        first = self._expression(node.generators[0].iter, scope)
        mark, names = len(self._log), set(self._names)
        try:
            # In two steps: with what it takes written before it, or turn by turn.
            if self._prefers_turns(node, first) or place_of(node) in self.decisions.unrolled:
                return self._turn_by_turn(node, first, scope)
            with self._into(None):
                return self._written_comprehension(node, first, scope)
        except (NeedsStatements, Unwritable, NotInline, Again) as trouble:
            if isinstance(trouble, Again) and trouble.kind != "real":
                raise
            self._rollback(mark)
            self._names = names
            if self._elements(first) is None or self._out is None:
                if isinstance(trouble, NeedsStatements) and self._out is not None:
                    return self._as_loop(node, first, scope)
                raise
            return self._turn_by_turn(node, first, scope)

    def _as_loop(self, node: Any, first: Value, scope: Scope) -> Value:
        """A list that takes statements to compute, as a loop."""
        if not isinstance(node, ast.ListComp | ast.GeneratorExp):
            raise NeedsStatements
        name = self._fresh("values")
        self._calls[-1].owned[name] = None
        self._assign(name, ast.List([], ast.Load()))
        inner = self._inner_scope(node, scope)
        result = Code(ast.Name(name, ast.Load()))
        body: list[ast.stmt] = [ast.Expr(Appended(result, node.elt))]
        for generator in reversed(node.generators):
            for condition in reversed(generator.ifs):
                body = [ast.If(condition, body, [])]
            loop = ast.For(generator.target, generator.iter, body, [], lineno=0)
            loop.place = place_of(node)  # type: ignore[attr-defined]
            body = [loop]
        outermost = body[0]
        assert isinstance(outermost, ast.For)
        outermost.iter = Given(first)
        self._block(body, inner)
        return result

    def _prefers_turns(self, node: Any, first: Value) -> bool:
        if len(node.generators) > 1 or (isinstance(node, ast.GeneratorExp) and self._out is None):
            return False
        parts = self._elements(first)
        if parts is None:
            return False
        return any(not self._is_liftable(part) for part in parts)

    def _inner_scope(self, node: Any, scope: Scope) -> Scope:
        names = [
            part.id for generator in node.generators for part in walk(generator.target) if isinstance(part, ast.Name)
        ]
        inner = Scope({}, scope, scope.names, scope.module)
        for name in names:
            inner.cells[name] = self._cell((place_of(node), name), name)
        return inner

    def _turn_by_turn(self, node: Any, first: Value, scope: Scope) -> Value:
        generator = node.generators[0]
        parts = self._elements(first)
        if parts is None or len(node.generators) > 1 or len(parts) > 40:
            raise Unwritable("a comprehension")
        values: list[Value] = []
        keys: list[Any] = []
        inner = self._inner_scope(node, scope)
        for part in parts:
            self._bind(generator.target, part, inner)
            truths = [self._truth(self._expression(condition, inner)) for condition in generator.ifs]
            if None in truths:
                raise Unwritable("a condition of a comprehension")
            if not all(truths):
                continue
            if isinstance(node, ast.DictComp):
                key, value = self._in_order([node.key, node.value], inner)
                if not isinstance(key, Known):
                    raise Unwritable("a key of a comprehension")
                keys.append(key.value)
                values.append(value)
            else:
                value = self._expression(node.elt, inner)
                if isinstance(value, Code) and not is_trivial(value.node):
                    value = self._temporary("value", value.node)
                values.append(value)
        if isinstance(node, ast.DictComp):
            return Table(dict(zip(keys, values, strict=True)))
        if all(isinstance(value, Known) and is_plain(value.value) for value in values):
            return Known([value.value for value in values if isinstance(value, Known)])
        if isinstance(node, ast.SetComp):
            return Code(ast.Set([self.lift(value) for value in values]))
        return self._listed(values) if isinstance(node, ast.ListComp) else Parts(values, list)

    def _written_comprehension(self, node: Any, first: Value, scope: Scope) -> Value:
        inner = self._inner_scope(node, scope)
        self._level += 1
        generators: list[ast.comprehension] = []
        loops = list(self._loops)
        try:
            for place, generator in enumerate(node.generators):
                iterated = first if place == 0 else self._expression(generator.iter, inner)
                target = self._comprehension_target(generator.target, inner)
                parts = self._elements(iterated)
                if parts is not None and len(node.generators) == 1 and len(parts) <= 12:
                    names = names_in(target)
                    self._loops.append((place_of(node), names))
                lifted = self.lift(iterated)
                conditions = []
                for condition in generator.ifs:
                    test = self._expression(condition, inner)
                    if self._truth(test) is not True:
                        conditions.append(self.lift(test))
                generators.append(ast.comprehension(target, lifted, conditions, 0))
            if isinstance(node, ast.DictComp):
                key, value = self._in_order([node.key, node.value], inner)
                return Code(ast.DictComp(self.lift(key), self.lift(value), generators))
            element = self.lift(self._expression(node.elt, inner))
            kind: Any = type(node)
            return Code(kind(element, generators))
        finally:
            self._level -= 1
            self._loops = loops

    def _comprehension_target(self, target: ast.expr, scope: Scope) -> ast.expr:
        if isinstance(target, ast.Tuple | ast.List):
            return ast.Tuple([self._comprehension_target(entry, scope) for entry in target.elts], ast.Store())
        if isinstance(target, ast.Starred):
            return ast.Starred(self._comprehension_target(target.value, scope), ast.Store())
        assert isinstance(target, ast.Name)
        name = self._fresh(target.id)
        scope.cells[target.id].value = Code(ast.Name(name, ast.Load()))
        return ast.Name(name, ast.Store())
