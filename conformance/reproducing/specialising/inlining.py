"""What a function does, written where it is called."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from conformance.reproducing.specialising.decisions import ENDED, NORMAL, Call
from conformance.reproducing.specialising.endings import is_generator
from conformance.reproducing.specialising.judging import NONE, Named, parts_of
from conformance.reproducing.specialising.syntax import place_of
from conformance.reproducing.specialising.texts import Texts
from conformance.reproducing.values import (
    Again,
    Code,
    Function,
    Instance,
    Known,
    NeedsStatements,
    NotInline,
    Scope,
    Table,
    Unwritable,
    Value,
)


class Inlining(Texts):
    """Writes bodies of functions where they are called."""

    def call(
        self, function: Function, arguments: list[Value], keywords: dict[str, Value], *, wanted: bool = True
    ) -> Value:
        """Write a call of a function of the kit's."""
        place = place_of(function.node)
        if not function.context and place not in self.decisions.called and place not in self._active:
            mark = len(self._log)
            length = len(self._out) if self._out is not None else 0
            before = set(self._names)
            try:
                value = self._inlined(function, self._bound(function, arguments, keywords), wanted=wanted)
            except NotInline:
                raise Again("called", place) from None
            except NeedsStatements:
                if self._out is not None:
                    raise
                self._rollback(mark)
                self._names = before
            else:
                count = self.counts.setdefault(place, [0, 0])
                count[0] += 1
                count[1] = max(count[1], (len(self._out) if self._out is not None else 0) - length)
                return value
        return self._called(function, arguments, keywords)

    def _called(self, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """A call of a function that is written on its own, for those arguments that the script cannot hand over."""
        node = function.node.args
        names = [entry.arg for entry in (*node.posonlyargs, *node.args)]
        if function.receiver is not None:
            names = names[1:]
        bound: dict[str, Value] = {}
        passed: list[ast.expr] = []
        for place, value in enumerate(arguments):
            if place < len(names) and self._stays(value):
                bound[names[place]] = value
            elif isinstance(value, Code) and isinstance(value.node, ast.Starred):
                passed.append(value.node)
            else:
                passed.append(self.lift(value))
        named: dict[str, ast.expr] = {}
        for name, value in keywords.items():
            if self._stays(value):
                bound[name] = value
            else:
                named[name] = self.lift(value)
        if not any(name.startswith("**") for name in named) and not any(isinstance(e, ast.Starred) for e in passed):
            # What every call leaves out is no parameter.
            given = {*names[: len(arguments)], *keywords}
            bound |= {
                name: default
                for name, default in function.defaults.items()
                if name not in given and isinstance(default, Known)
            }
            # What goes by a name of its own is a parameter of that name.
            if node.kwarg is not None:
                every = {*names, *(entry.arg for entry in node.kwonlyargs)}
                bound[node.kwarg.arg] = Named(tuple(name for name in keywords if name not in every))
            if node.vararg is not None and len(arguments) <= len(names):
                bound[node.vararg.arg] = Known(())
        written = self._written_out(function, bound)
        called = ast.Call(
            ast.Name(written, ast.Load()),
            passed,
            [
                ast.keyword(None if key.startswith("**") else self._renamed[written].get(key, key), value)
                for key, value in named.items()
            ],
        )
        return Code(called)

    def _stays(self, value: Value) -> bool:
        """Whether an argument is no object of the script, so that the function is written for it alone."""
        if isinstance(value, Known) and value.node is None and value.origin is None:
            return value.value is self.adapter or value.value is None
        return isinstance(value, Instance)

    def _bound(self, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> dict[str, Value]:
        node = function.node.args
        arguments = list(arguments)
        if function.receiver is not None:
            arguments.insert(0, function.receiver)
        names = [entry.arg for entry in (*node.posonlyargs, *node.args)]
        if any(isinstance(value, Code) and isinstance(value.node, ast.Starred) for value in arguments):
            raise NotInline
        bound: dict[str, Value] = dict(zip(names, arguments, strict=False))
        rest = arguments[len(names) :]
        if node.vararg is not None:
            bound[node.vararg.arg] = parts_of(rest)
        elif rest:
            raise Unwritable(f"too many arguments of {function.name}")
        others: dict[Any, Value] = {}
        keyword_names = {*names, *(entry.arg for entry in node.kwonlyargs)}
        for name, value in keywords.items():
            if name in keyword_names:
                bound[name] = value
            elif node.kwarg is not None:
                others[name] = value
            else:
                raise Unwritable(f"{function.name} takes no {name}")
        for name in (*names, *(entry.arg for entry in node.kwonlyargs)):
            if name not in bound:
                if name not in function.defaults:
                    raise Unwritable(f"{function.name} needs {name}")
                bound[name] = function.defaults[name]
        if node.kwarg is not None:
            bound[node.kwarg.arg] = Table(others)
        return bound

    def _inlined(self, function: Function, bound: dict[str, Value], *, wanted: bool) -> Value:
        """What a function does, written here; what it returns."""
        call = Call(function, inline=True, wanted=wanted)
        place = place_of(function.node)
        self._active.append(place)
        try:
            scope = self._scope(function, bound, call)
            self._calls.append(call)
            try:
                value = self._body(function, scope, call)
            finally:
                self._calls.pop()
        finally:
            self._active.pop()
        self._let_go(call, [value, *bound.values(), function])
        return value

    def _body(self, function: Function, scope: Scope, call: Call) -> Value:
        node = function.node
        if isinstance(node, ast.Lambda):
            return self._expression(node.body, scope)
        if is_generator(node) and call.around is None:
            raise NotInline
        status = self._block(node.body, scope)
        if status is NORMAL:
            return NONE
        if status is ENDED:
            if call.owned and self._catching:
                raise NotInline  # its variables go with what it raises
            return Code(ast.Constant(None))
        return status  # type: ignore[no-any-return]

    def _let_go(self, call: Call, kept: Sequence[Value]) -> None:
        """Let go of what a call made, as its end does; its caller takes what it keeps."""
        names = {name for value in kept for name in self._names_in(value)}
        owner = self._calls[-1]
        # What a call set changes no more after its end, unless an object has it.
        self._changing = {name: late for name, late in self._changing.items() if late or name not in call.owned}
        dropped = [name for name in call.owned if name not in names]
        owner.owned |= {name: None for name in call.owned if name in names}
        if dropped and self._out is not None:
            self._emit(ast.Delete([ast.Name(name, ast.Del()) for name in dropped]))
