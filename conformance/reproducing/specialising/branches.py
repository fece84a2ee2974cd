"""Conditions and handlers: blocks of which one is run."""

# ruff: noqa: SIM102
from __future__ import annotations

import ast
from typing import Any

from conformance.checks import NotConforming
from conformance.errors import ConformanceError
from conformance.reproducing.specialising.contexts import Contexts
from conformance.reproducing.specialising.decisions import ENDED, NORMAL, Status
from conformance.reproducing.specialising.endings import leaves, raises_on
from conformance.reproducing.specialising.judging import is_own, is_same
from conformance.reproducing.specialising.syntax import is_pure, negation_of, noun_for
from conformance.reproducing.values import Again, Code, Known, NotInline, Parts, Scope, Unwritable, Value


class Never:
    pass


NEVER = Never()


class Branches(Contexts):
    """Writes branches."""

    def _if(self, node: ast.If, test: Value, scope: Scope) -> Status:
        condition = self.lift(test)
        first: list[ast.stmt] = []
        second: list[ast.stmt] = []
        mark = len(self._log)
        with self._deeper(first):
            one = self._block(node.body, scope)
        set_in_first = self._rollback(mark)
        with self._deeper(second):
            other = self._block(node.orelse, scope)
        set_in_second = self._rollback(mark)
        for key, (cell, value) in {**set_in_first, **set_in_second}.items():
            both = key in set_in_first and key in set_in_second
            if both and one is not ENDED and other is not ENDED:
                if not is_same(set_in_first[key][1], set_in_second[key][1]):
                    raise Again("pinned", cell.key)
            final = value
            if key in set_in_first and other is ENDED:
                final = set_in_first[key][1]
            self._log.append((cell, cell.value))
            cell.value = final
        status = self._joined([(one, first), (other, second)])
        if first or second:
            if not first and second:
                condition, first, second = negation_of(condition), second, []
            self._emit(ast.If(condition, first or [ast.Pass()], second))
        elif not is_pure(condition):
            self._emit(ast.Expr(condition))
        return status

    def _joined(self, arms: list[tuple[Status, list[ast.stmt]]]) -> Status:
        """How blocks end of which one is run."""
        going = [(status, out) for status, out in arms if status is not ENDED]
        if not going:
            return ENDED
        statuses = [status for status, _ in going]
        if all(status is NORMAL for status in statuses):
            return NORMAL
        if any(status is NORMAL for status in statuses):
            raise NotInline
        return self._merged(going)

    def _merged(self, arms: list[tuple[Value, list[ast.stmt]]]) -> Value:
        values = [value for value, _ in arms]
        if all(is_same(values[0], value) for value in values):
            return values[0]
        if len(values) == 1:
            return values[0]
        if all(isinstance(value, Parts) for value in values):
            lengths = {len(value.parts) for value in values if isinstance(value, Parts)}
            if len(lengths) == 1:
                columns = [
                    self._merged([(value.parts[place], out) for value, out in arms if isinstance(value, Parts)])
                    for place in range(lengths.pop())
                ]
                return Parts(columns)
        function = self._calls[-1].function
        name = self._fresh(noun_for(function.name) if function is not None else "value")
        for value, out in arms:
            with self._into(out):
                self._assign(name, self.lift(value))
        self._calls[-1].owned[name] = None
        return Code(ast.Name(name, ast.Load()))

    def _try(self, node: ast.Try, scope: Scope) -> Status:
        handlers = [(entry, self._caught_kinds(entry, scope)) for entry in node.handlers]
        handlers = [(entry, kinds) for entry, kinds in handlers if kinds is not NEVER]
        if not self._catching:
            # Nothing that is raised is caught: what puts things right before it goes on is for nobody.
            handlers = [(entry, kinds) for entry, kinds in handlers if not raises_on(entry)]
        if not handlers and not node.finalbody:
            return self._block([*node.body, *node.orelse], scope)
        if not handlers and not self._catching and not leaves(ast.Module(node.body, [])):
            status = self._block(node.body, scope)
            if status is not NORMAL:
                if status is ENDED:
                    return status
                after = self._block(node.finalbody, scope)
                return status if after is NORMAL else after
            return self._block([*node.orelse, *node.finalbody], scope)
        body: list[ast.stmt] = []
        orelse: list[ast.stmt] = []
        final: list[ast.stmt] = []
        arms: list[tuple[Status, list[ast.stmt]]] = []
        written: list[ast.ExceptHandler] = []
        mark = len(self._log)
        self._catching += bool(handlers) or bool(node.finalbody)
        with self._deeper(body):
            status = self._block(node.body, scope)
        self._catching -= bool(handlers) or bool(node.finalbody)
        changed = {id(cell): cell for cell, _ in self._log[mark:]}
        if status is NORMAL and node.orelse:
            with self._deeper(orelse):
                status = self._block(node.orelse, scope)
            arms.append((status, orelse))
        else:
            arms.append((status, body))
        for entry, kinds in handlers:
            out: list[ast.stmt] = []
            name = cell = None
            place = len(self._log)
            if entry.name is not None:
                cell = scope.find(entry.name)
                assert cell is not None
                if cell.key in self.decisions.pinned:
                    raise Unwritable("the error of a handler as a variable")
                name = self._fresh(entry.name)
                self._handlers.add(name)
                self._nonnull.add(name)
                cell.value = Code(ast.Name(name, ast.Load()))
            with self._deeper(out):
                ending = self._block(entry.body, scope)
                if isinstance(ending, Code) and name in self._names_in(ending):
                    ending = self._temporary(noun_for(getattr(self._calls[-1].function, "name", "error")), ending.node)
            if name is not None and cell is not None:
                cell.value = None
            for late, _ in self._log[place:]:
                if id(late) in changed and ending is not ENDED and not is_own(late):
                    raise Again("pinned", late.key)
            arms.append((ending, out))
            written.append(ast.ExceptHandler(self.lift(kinds) if kinds is not None else None, name, out))
        self._catching += 1
        with self._deeper(final):
            ended = self._block(node.finalbody, scope)
        self._catching -= 1
        status = self._joined(arms)
        for handler in written:
            handler.body = handler.body or [ast.Pass()]
        if not written and not final:
            assert self._out is not None
            self._out += [*body, *orelse]
        elif body or orelse:
            self._emit(ast.Try(body or [ast.Pass()], written, orelse, final))
        else:
            assert self._out is not None
            self._out += final
        return status if ended is NORMAL else ended

    def _caught_kinds(self, entry: ast.ExceptHandler, scope: Scope) -> Any:
        """What a handler catches; nothing of the kit's is ever raised."""
        if entry.type is None:
            return None
        value = self._expression(entry.type, scope)
        kinds = value.value if isinstance(value, Known) else None
        several = kinds if isinstance(kinds, tuple) else (kinds,)
        if all(isinstance(kind, type) and issubclass(kind, ConformanceError) for kind in several):
            return NEVER
        if kinds is NotConforming and raises_on(entry):
            return NEVER if len(entry.body) == 1 else value
        return value
