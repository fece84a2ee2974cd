"""Blocks under a context manager; one of the kit's own is written around its block."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from conformance.reproducing.specialising.assignments import Assignments
from conformance.reproducing.specialising.decisions import ENDED, NORMAL, Call, Status
from conformance.reproducing.specialising.endings import plain_body
from conformance.reproducing.specialising.syntax import place_of
from conformance.reproducing.values import Again, Function, NotInline, Scope, Value

#: Context managers that let every error pass.
_PASSING = (
    ".stream",
    ".graph",
    "no_grad",
    "inference_mode",
    "autocast",
    "catch_warnings",
    "ThreadPoolExecutor",
    "ExitStack",
)


class Contexts(Assignments):
    """Writes blocks under context managers."""

    def _with_statement(self, node: ast.With, scope: Scope) -> Status:
        return self._with(node.items, node.body, scope)

    def _with(self, items: Sequence[ast.withitem], body: Sequence[ast.stmt], scope: Scope) -> Status:
        if not items:
            return self._block(body, scope)
        item, rest = items[0], items[1:]
        manager = self._manager(item.context_expr, scope)
        if isinstance(manager, tuple):
            function, arguments, keywords = manager
            place = place_of(function.node)
            if place not in self.decisions.called and place not in self._active:
                return self._inline_manager(function, arguments, keywords, item, rest, body, scope)
            value: Value = self._called(function, arguments, keywords)
        else:
            value = manager
        node = self.lift(value)
        target = None
        out: list[ast.stmt] = []
        catching = self._suppresses(node)
        if item.optional_vars is not None:
            target = self._pattern(item.optional_vars, scope)
        self._catching += catching
        # A block of this kind is run once, whatever it is.
        with self._into(out):
            status = self._with(rest, body, scope)
        self._catching -= catching
        if catching and status is not NORMAL and self._calls[-1].inline:
            raise NotInline
        if len(out) == 1 and isinstance(out[0], ast.With) and rest:
            inner = out[0]
            self._emit(ast.With([ast.withitem(node, target), *inner.items], inner.body))
        else:
            self._emit(ast.With([ast.withitem(node, target)], out or [ast.Pass()]))
        return NORMAL if catching and status is ENDED else status

    def _suppresses(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and not ast.unparse(node.func).endswith(_PASSING)

    def _manager(self, node: ast.expr, scope: Scope) -> Any:
        """A context manager: one of the kit's own with its arguments, or an expression."""
        if isinstance(node, ast.Call):
            function = self._expression(node.func, scope)
            found = self._callable(function)
            if isinstance(found, Function):
                arguments, keywords = self._arguments(node, scope)
                if found.context:
                    return found, arguments, keywords
                if isinstance(found.node, ast.FunctionDef) and len(plain_body(found.node)) <= 12:
                    inner = self._tail(found)
                    if inner is not None:
                        bound = self._bound(found, arguments, keywords)
                        call = Call(found, inline=True)
                        inner_scope = self._scope(found, bound, call)
                        return self._tail_manager(plain_body(found.node), inner_scope)
                return self.call(found, arguments, keywords)
            return self._apply(function, *self._arguments(node, scope), wanted=True)
        return self._expression(node, scope)

    def _tail(self, function: Function) -> bool | None:
        """Whether a function does nothing but choose the context manager that it returns."""
        node = function.node
        assert isinstance(node, ast.FunctionDef)
        simple = (ast.Return, ast.If, ast.Assign, ast.AnnAssign, ast.Expr)
        return True if all(isinstance(entry, simple) for entry in plain_body(node)) else None

    def _tail_manager(self, body: Sequence[ast.stmt], scope: Scope) -> Any:
        for place, entry in enumerate(body):
            if isinstance(entry, ast.Return):
                assert entry.value is not None
                return self._manager(entry.value, scope)
            if isinstance(entry, ast.If):
                truth = self._truth(self._expression(entry.test, scope))
                if truth is None:
                    raise NotInline
                return self._tail_manager([*(entry.body if truth else entry.orelse), *body[place + 1 :]], scope)
            if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name) and entry.value is not None:
                following = body[place + 1 :]
                last = following[0] if following else None
                if isinstance(last, ast.Return) and ast.unparse(last.value or last) == entry.target.id:
                    return self._manager(entry.value, scope)
            self._statement(entry, scope)
        raise NotInline

    def _inline_manager(
        self,
        function: Function,
        arguments: list[Value],
        keywords: dict[str, Value],
        item: ast.withitem,
        rest: Sequence[ast.withitem],
        body: Sequence[ast.stmt],
        scope: Scope,
    ) -> Status:
        place = place_of(function.node)
        cells = self._current_cells

        def around(value: Value) -> Status:
            before, self._current_cells = self._current_cells, cells
            self._active.remove(place)
            try:
                if item.optional_vars is not None:
                    self._bind(item.optional_vars, value, scope)
                return self._with(rest, body, scope)
            finally:
                self._active.append(place)
                self._current_cells = before

        bound = self._bound(function, arguments, keywords)
        call = Call(function, inline=True, around=around)
        self._active.append(place)
        try:
            inner = self._scope(function, bound, call)
            self._calls.append(call)
            try:
                self._body(function, inner, call)
            except NotInline:
                if call.yielded is None or call.yielded is NORMAL:
                    raise Again("called", place) from None
                raise
            finally:
                self._calls.pop()
        finally:
            self._active.remove(place)
        if call.yielded is None:
            raise NotInline
        if call.yielded is not ENDED:
            kept = [cell.value for cell in cells]
            self._let_go(call, [value for value in (*kept, *bound.values(), call.yielded) if isinstance(value, Value)])
        return call.yielded
