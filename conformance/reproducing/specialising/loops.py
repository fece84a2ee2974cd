"""Loops: as they are, or one turn after the other."""

# ruff: noqa: SIM102
from __future__ import annotations

import ast
from typing import Any

from conformance.reproducing.specialising.branches import Branches
from conformance.reproducing.specialising.decisions import NORMAL, Status
from conformance.reproducing.specialising.endings import assigned_by, breaks, contains
from conformance.reproducing.specialising.judging import holds_none, is_own
from conformance.reproducing.specialising.nodes import Turn
from conformance.reproducing.specialising.syntax import names_in, negation_of, place_of
from conformance.reproducing.values import Again, Known, NeedsStatements, NotInline, Parts, Scope, Unwritable, Value


class Loops(Branches):
    """Writes loops."""

    def _for(self, node: ast.For, rest: list[ast.stmt], scope: Scope) -> Any:
        """A loop; or, unrolled, what is to be written instead of it and of the rest."""
        place = place_of(node)
        if isinstance(node.iter, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in node.iter.elts):
            iterated: Value = Parts(self._in_order(node.iter.elts, scope), list)
        else:
            iterated = self._expression(node.iter, scope)
        parts = self._elements(iterated)
        if parts is not None and not node.orelse and not breaks(node.body):
            unroll = len(parts) <= 1 or place in self.decisions.unrolled
            unroll = unroll or any(not self._is_liftable(part) or holds_none(part) for part in parts)
            if unroll:
                if len(parts) > 40:
                    raise Unwritable("a long loop over what is known")
                return [*(Turn(node.target, part, node.body) for part in parts), *rest]
        if any(contains(entry, ast.Return) for entry in node.body) and self._calls[-1].inline:
            raise NotInline
        out: list[ast.stmt] = []
        orelse: list[ast.stmt] = []
        if self._out is None:
            raise NeedsStatements
        length, mark = len(self._out), len(self._log)
        iterator = self.lift(iterated)
        names = set(self._names)
        try:
            self._level += 1
            try:
                target = self._pattern(node.target, scope)
                names_of_turn = names_in(target)
                if isinstance(target, ast.Name) and parts is not None:
                    if all(isinstance(part, Known) and type(part.value) in (int, float) for part in parts):
                        self._numeric.add(target.id)
                if parts is not None and not breaks(node.body) and len(parts) <= 12:
                    self._loops.append((place, names_of_turn))
                with self._into(out):
                    self._block(node.body, scope)
                    # What one turn leaves the next one finds.
                with self._into(orelse):
                    self._block(node.orelse, scope)
            finally:
                self._level -= 1
                self._loops = [entry for entry in self._loops if entry[0] != place]
        except (Unwritable, NotInline):
            if parts is None or node.orelse or breaks(node.body) or len(parts) > 12:
                raise
            self._rollback(mark)
            del self._out[length:]
            self._names = names
            raise Again("unrolled", place) from None
        self._emit(ast.For(target, iterator, out or [ast.Pass()], orelse, lineno=0))
        return NORMAL

    def _while_statement(self, node: ast.While, scope: Scope) -> Status:
        if any(contains(entry, ast.Return) for entry in node.body) and self._calls[-1].inline:
            raise NotInline
        out: list[ast.stmt] = []
        self._level += 1
        try:
            # What the loop sets its condition must see.
            for name in assigned_by(node.body):
                cell = scope.find(name)
                if cell is not None and cell.value is not None and not is_own(cell):
                    if cell.key not in self.decisions.pinned:
                        raise Again("pinned", cell.key)
            try:
                with self._into(None):
                    test = self._expression(node.test, scope)
            except NeedsStatements:
                with self._into(out):
                    late = self._expression(node.test, scope)
                    self._emit(ast.If(negation_of(self.lift(late)), [ast.Break()], []))
                test = Known(True)
            if self._truth(test) is False:
                return NORMAL
            with self._into(out):
                self._block(node.body, scope)
        finally:
            self._level -= 1
        if node.orelse:
            raise NotInline
        self._emit(ast.While(self.lift(test), out or [ast.Pass()], []))
        return NORMAL
