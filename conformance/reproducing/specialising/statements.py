"""Statements without blocks, and how a sequence of statements ends."""

# ruff: noqa: ARG002
from __future__ import annotations

import ast
import importlib
from collections.abc import Sequence

from conformance.reproducing.specialising.decisions import ENDED, NORMAL, Call, Status
from conformance.reproducing.specialising.endings import leaves, with_rest, with_rest_of_try, without_continue
from conformance.reproducing.specialising.judging import ENDED_VALUE, NONE
from conformance.reproducing.specialising.loops import Loops
from conformance.reproducing.specialising.nodes import Turn
from conformance.reproducing.specialising.syntax import is_trivial, noun_for, place_of, root_of
from conformance.reproducing.values import Cell, Code, Function, Known, NotInline, Parts, Scope, Table, Unwritable
from conformance.reproducing.walking import copied


class Statements(Loops):
    """Writes statements."""

    def _block(self, body: Sequence[ast.stmt], scope: Scope) -> Status:
        """Write statements; how they end: going on, never, or with the value that they return."""
        rest = list(body)
        while rest:
            node, rest = rest[0], rest[1:]
            inline = self._calls[-1].inline
            if isinstance(node, Turn):
                self._bind(node.target, node.part, scope)
                rest = [*without_continue(node.body), *rest]
                continue
            if isinstance(node, ast.If):
                test = self._expression(node.test, scope)
                truth = self._truth(test)
                if truth is not None:
                    self._drop(test)
                    rest = [*(node.body if truth else node.orelse), *rest]
                    continue
                if rest and inline and leaves(node):
                    node = with_rest(node, rest)
                    rest = []
                status = self._if(node, test, scope)
            elif isinstance(node, ast.Try):
                if rest and inline and leaves(node):
                    node = with_rest_of_try(node, rest)
                    rest = []
                status = self._try(node, scope)
            elif isinstance(node, ast.For):
                status = self._for(node, rest, scope)
                if isinstance(status, list):
                    rest = status
                    continue
            else:
                status = self._statement(node, scope)
            if status is not NORMAL:
                return status
        return NORMAL

    def _statement(self, node: ast.stmt, scope: Scope) -> Status:
        method = getattr(self, f"_{type(node).__name__.lower()}_statement", None)
        if method is None:
            raise Unwritable(f"{type(node).__name__} statement")
        call = self._calls[-1]
        before = set(call.owned)
        with self._looking_at(scope):
            status = method(node, scope)
        # What is handed to the block of a ``with`` is let go of with the manager that made it.
        handed = isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield)
        if status is NORMAL and self._out is not None and not handed:
            self._drop_temporaries(call, before, scope)
        return status

    def _drop_temporaries(self, call: Call, before: set[str], scope: Scope) -> None:
        """Let go of what a statement computed on its way, as its end does."""
        late = [name for name in call.owned if name in self._temporaries and name not in before]
        if not late:
            return
        kept: set[str] = set()
        around: Scope | None = scope
        while around is not None:
            for cell in around.cells.values():
                kept |= self._names_in(cell.value)
            around = around.outer
        dropped = [name for name in late if name not in kept]
        for name in dropped:
            del call.owned[name]
        if dropped:
            self._emit(ast.Delete([ast.Name(name, ast.Del()) for name in dropped]))

    def _pass_statement(self, node: ast.Pass, scope: Scope) -> Status:
        return NORMAL

    def _nonlocal_statement(self, node: ast.Nonlocal, scope: Scope) -> Status:
        return NORMAL

    def _global_statement(self, node: ast.Global, scope: Scope) -> Status:
        raise Unwritable("global")

    def _import_statement(self, node: ast.Import, scope: Scope) -> Status:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            module = importlib.import_module(alias.name if alias.asname else name)
            line = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
            value = Known(module, ast.Name(name, ast.Load()), (line,))
            scope.cells.setdefault(name, self._cell((place_of(node), name), name)).value = value
        return NORMAL

    def _importfrom_statement(self, node: ast.ImportFrom, scope: Scope) -> Status:
        module = importlib.import_module(str(node.module))
        for alias in node.names:
            name = alias.asname or alias.name
            found = self._global(vars(module), str(node.module), alias.name)
            scope.cells.setdefault(name, self._cell((place_of(node), name), name)).value = found
        return NORMAL

    def _expr_statement(self, node: ast.Expr, scope: Scope) -> Status:
        if isinstance(node.value, ast.Constant):
            return NORMAL
        if isinstance(node.value, ast.Yield):
            return self._yield(node.value, scope)
        if isinstance(node.value, ast.YieldFrom):
            self._emit(ast.Expr(ast.YieldFrom(self.lift(self._expression(node.value.value, scope)))))
            return NORMAL
        if isinstance(node.value, ast.Call):
            value = self._call(node.value, scope, wanted=False)
        else:
            value = self._expression(node.value, scope)
        if value is ENDED_VALUE:
            return ENDED
        self._drop(value)
        return NORMAL

    def _yield(self, node: ast.Yield, scope: Scope) -> Status:
        call = self._calls[-1]
        value = NONE if node.value is None else self._expression(node.value, scope)
        if call.around is None:
            self._emit(ast.Expr(ast.Yield(self.lift(value))))
            return NORMAL
        if call.yielded is not None:
            raise NotInline
        call.yielded = NORMAL  # while it is written
        around, call.around = call.around, None
        state = self._calls
        self._calls = self._calls[:-1]
        try:
            call.yielded = around(value)
        finally:
            self._calls = state
            call.around = around
        return NORMAL

    def _delete_statement(self, node: ast.Delete, scope: Scope) -> Status:
        for target in node.targets:
            if isinstance(target, ast.Name):
                cell = scope.find(target.id)
                assert cell is not None
                self._delete(cell, scope)
            elif isinstance(target, ast.Subscript):
                owner, index = self._in_order([target.value, target.slice], scope)
                if isinstance(owner, Table) and isinstance(index, Known):
                    del owner.entries[index.value]
                    continue
                self._emit(ast.Delete([ast.Subscript(self.lift(owner), self.lift(index), ast.Del())]))
            elif isinstance(target, ast.Attribute):
                owner = self._expression(target.value, scope)
                self._emit(ast.Delete([ast.Attribute(self.lift(owner), target.attr, ast.Del())]))
            else:
                raise Unwritable("del")
        return NORMAL

    def _delete(self, cell: Cell, scope: Scope) -> None:
        value, cell.value = cell.value, None
        self._log.append((cell, value))
        kept = {name for other in scope.cells.values() if other is not cell for name in self._names_in(other.value)}
        outer = scope.outer
        while outer is not None:
            kept |= {name for other in outer.cells.values() for name in self._names_in(other.value)}
            outer = outer.outer
        names = [name for name in sorted(self._names_in(value)) if name in self._calls[-1].owned and name not in kept]
        for name in names:
            self._store(name)
        if names:
            deletion = ast.Delete([ast.Name(name, ast.Del()) for name in names])
            deletion.asked = True  # type: ignore[attr-defined]
            self._emit(deletion)
            for name in names:
                self._calls[-1].owned.pop(name, None)

    def _return_statement(self, node: ast.Return, scope: Scope) -> Status:
        call = self._calls[-1]
        value = NONE if node.value is None else self._expression(node.value, scope)
        if value is ENDED_VALUE:
            return ENDED
        if not call.inline:
            if call.function is None or len(self._frames) == 1:  # the test itself
                self._drop(value)
                self._emit(ast.Return(None))
                return ENDED
            self._emit(ast.Return(None if value is NONE else self.lift(value)))
            return ENDED
        if not call.wanted:
            self._drop(value)
            return NONE
        if isinstance(value, Code) and not is_trivial(value.node) and self._out is not None:
            assert call.function is not None
            value = self._temporary(noun_for(call.function.name), value.node)
        elif isinstance(value, Parts | Table) and self._out is not None:
            value = self._settled(value)
            if isinstance(value, Code):
                value = self._temporary("data", value.node)
        return value

    def _raise_statement(self, node: ast.Raise, scope: Scope) -> Status:
        raised = None if node.exc is None else self.lift(self._expression(node.exc, scope))
        cause = None if node.cause is None else self.lift(self._expression(node.cause, scope))
        self._emit(ast.Raise(raised, cause))
        return ENDED

    def _assert_statement(self, node: ast.Assert, scope: Scope) -> Status:
        test = self._expression(node.test, scope)
        if self._truth(test) is True:
            self._drop(test)
            return NORMAL
        message = None if node.msg is None else self.lift(self._expression(node.msg, scope))
        self._emit(ast.Assert(self.lift(test), message))
        return NORMAL

    def _break_statement(self, node: ast.Break, scope: Scope) -> Status:
        self._emit(ast.Break())
        return ENDED

    def _continue_statement(self, node: ast.Continue, scope: Scope) -> Status:
        self._emit(ast.Continue())
        return ENDED

    def _functiondef_statement(self, node: ast.FunctionDef, scope: Scope) -> Status:
        if any(root_of(entry) in ("given", "examples", "settings") for entry in node.decorator_list):
            raise Unwritable("a drawn example")
        context = any(ast.unparse(entry).endswith("contextmanager") for entry in node.decorator_list)
        if node.decorator_list and not context:
            raise Unwritable("a decorated function")
        cell = scope.find(node.name)
        assert cell is not None
        self._log.append((cell, cell.value))
        function = Function(node, scope, self._defaults(node, scope), context)
        if place_of(node) in self.decisions.recursive:
            final = self._receiving(cell)
            self._emit(self._definition(function, final, {}))
        elif cell.key in self.decisions.pinned:
            self._set(cell, function)
        else:
            cell.value = function
        return NORMAL

    def _classdef_statement(self, node: ast.ClassDef, scope: Scope) -> Status:
        cell = scope.find(node.name)
        assert cell is not None
        final = self._receiving(cell)
        self._emit(self._copied_class(object, copied(node), final, scope))
        return NORMAL
