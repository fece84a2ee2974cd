"""Functions of the kit that are written as functions or lambdas of the script."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.reproducing.specialising.decisions import RESERVED, Call, Frame, Lifted
from conformance.reproducing.specialising.judging import Named
from conformance.reproducing.specialising.lifting import Lifting
from conformance.reproducing.specialising.syntax import is_trivial, no_arguments, parsed, place_of
from conformance.reproducing.values import (
    Again,
    Cell,
    Code,
    Function,
    Instance,
    Known,
    NeedsStatements,
    NotInline,
    Scope,
    Table,
    Value,
)
from conformance.reproducing.walking import copied


class Functions(Lifting):
    """Writes functions."""

    def _as_function(self, function: Function) -> ast.expr:
        """A function as a value."""
        receiver = function.receiver
        names = self._names_in(function)
        for place, targets in self._loops:
            # Each turn makes another one, which goes on with the values of its turn.
            if targets & names and place not in self.decisions.unrolled:
                raise Again("unrolled", place)
        if isinstance(receiver, Code):
            return ast.Attribute(self.lift(receiver), function.name, ast.Load())
        direct = self._handed_on(function)
        if direct is not None:
            return direct
        return self._as_object(function)

    def _as_object(self, function: Function) -> ast.expr:
        """A function that is the same object wherever it is used."""
        place = place_of(function.node)
        known = self._lifted.get(id(function))
        if known is not None and any(self._home.get(known.name) == frame.number for frame in self._frames):
            return ast.Name(known.name, ast.Load())
        if known is not None and place not in self.decisions.shared:
            raise Again("shared", place)
        lambda_node = None if place in self.decisions.shared else self._as_lambda(function)
        name = self._written_out(function, {}) if lambda_node is None else ""
        self._lifted[id(function)] = Lifted(function, name, len(self._log))
        self._log.append((Cell((), "", 0, 0), None))  # so that a later mark is a larger one
        return lambda_node or ast.Name(name, ast.Load())

    def _handed_on(self, function: Function) -> ast.expr | None:
        """What a function without parameters does nothing but call."""
        node = self._as_lambda(function)
        if isinstance(node, ast.Lambda) and not node.args.args and isinstance(node.body, ast.Call):
            called = node.body
            if not called.args and not called.keywords and is_trivial(called.func):
                return called.func
        return None

    def _as_lambda(self, function: Function) -> ast.Lambda | None:
        if function.context or self._is_called(function):
            return None
        mark, names = len(self._log), set(self._names)
        try:
            with self._frame(), self._into(None):
                arguments, scope = self._parameters(function)
                call = Call(function, inline=True)
                self._calls.append(call)
                self._catching += 1
                self._lambdas += 1
                try:
                    value = self._body(function, scope, call)
                    body = self.lift(value)
                finally:
                    self._lambdas -= 1
                    self._catching -= 1
                    self._calls.pop()
            return ast.Lambda(arguments, body)
        except (NeedsStatements, NotInline):
            self._rollback(mark)
            self._names = names
            return None

    @contextlib.contextmanager
    def _frame(self) -> Iterator[Frame]:
        self._numbers += 1
        frame = Frame(self._numbers, self._level)
        self._frames.append(frame)
        self._level += 1
        try:
            yield frame
        finally:
            self._level -= 1
            self._frames.pop()

    def _parameters(
        self, function: Function, bound: Mapping[str, Value] | None = None, *, real: bool = False
    ) -> tuple[ast.arguments, Scope]:
        """The parameters of a function of the script, and the scope in it; `bound` are no parameters any more."""
        given = dict(bound or {})
        node = copied(function.node.args)
        if any(entry.arg == "impl" for entry in (*node.posonlyargs, *node.args, *node.kwonlyargs)):
            given.setdefault("impl", Known(self.adapter))  # no object of the script: what takes it is written for it
        if function.receiver is not None and not real:
            given[(node.posonlyargs + node.args)[0].arg] = function.receiver
        if node.kwarg is not None and isinstance(given.get(node.kwarg.arg), Named):
            named = given[node.kwarg.arg]
            assert isinstance(named, Named)
            node.kwonlyargs += [ast.arg(name) for name in named.names]
            node.kw_defaults += [None] * len(named.names)
        if node.vararg is not None and node.vararg.arg in given:
            node.vararg = None
        taken = [entry for entry in (*node.posonlyargs, *node.args, *node.kwonlyargs) if entry.arg not in given]
        values: dict[str, Value] = dict(given)
        renamed: dict[str, str] = {}
        kwarg = node.kwarg
        if kwarg is not None and kwarg.arg in given:
            node.kwarg = None
        everything = [*taken, *filter(None, (node.vararg, node.kwarg))]
        for entry in everything:
            entry.annotation = None
            renamed[entry.arg] = self._fresh(entry.arg) if not real and not function.context else entry.arg
            self._home[renamed[entry.arg]] = self._frames[-1].number
            values[entry.arg] = Code(ast.Name(renamed[entry.arg], ast.Load()))
            default = function.defaults.get(entry.arg)
            if isinstance(default, Known) and default.value is None:
                self._maybe_none.add(renamed[entry.arg])
        for name, value in list(values.items()):
            if isinstance(value, Named):
                values[name] = Table({entry: values.pop(entry) for entry in value.names})
        arguments = no_arguments()
        arguments.args = [entry for entry in (*node.posonlyargs, *node.args) if entry in taken]
        arguments.kwonlyargs = [entry for entry in node.kwonlyargs if entry in taken]
        defaults = [function.defaults.get(entry.arg) for entry in arguments.args]
        arguments.defaults = [self.lift(value) for value in defaults if value is not None]
        arguments.kw_defaults = [
            None if entry.arg not in function.defaults else self.lift(function.defaults[entry.arg])
            for entry in arguments.kwonlyargs
        ]
        arguments.vararg, arguments.kwarg = node.vararg, node.kwarg
        for entry in everything:
            entry.arg = renamed[entry.arg]
        arguments.renamed = renamed  # type: ignore[attr-defined]  # what calls by name must say
        scope = self._scope(function, values, Call(function, inline=False))
        for name, final in renamed.items():
            if name not in scope.cells:
                continue
            # What assigns a parameter assigns the script's.
            scope.cells[name].pinned = scope.cells[name].pinned or final
        return arguments, scope

    def _definition(
        self, function: Function, name: str, bound: Mapping[str, Value], *, real: bool = False
    ) -> ast.FunctionDef:
        node = function.node
        with self._frame() as frame:
            self._catching += 1
            out: list[ast.stmt] = []
            call = Call(function, inline=False)
            with self._into(out):
                arguments, scope = self._parameters(function, bound, real=real)
                self._renamed[name] = arguments.renamed  # type: ignore[attr-defined]
                self._calls.append(call)
                try:
                    if isinstance(node, ast.Lambda):
                        self._emit(ast.Return(self.lift(self._expression(node.body, scope))))
                    else:
                        self._block(node.body, scope)
                finally:
                    self._calls.pop()
                    self._catching -= 1
        foreign = list(frame.foreign)
        if foreign:
            out.insert(0, ast.Nonlocal(foreign))
            outer = self._frames[-1]
            for entry in foreign:
                if self._home.get(entry) != outer.number:
                    outer.foreign[entry] = None
        decorators: list[ast.expr] = []
        if function.context:
            self.imports["import contextlib"] = None
            decorators = [parsed("contextlib.contextmanager")]
        written = ast.FunctionDef(name, arguments, out or [ast.Pass()], decorators)
        written.type_params = []  # type: ignore[attr-defined]
        return written

    def _written_out(self, function: Function, bound: Mapping[str, Value]) -> str:
        """A function of the script that does what `function` does with these arguments."""
        alone = function.scope.outer is None and not function.scope.cells
        alone = alone and all(isinstance(value, Known | Named) for value in bound.values())
        alone = alone and (function.receiver is None or isinstance(function.receiver, Known))
        key: Any = None
        if alone:
            key = (
                place_of(function.node),
                tuple(
                    (name, id(value.value) if isinstance(value, Known) else value.names)
                    for name, value in bound.items()
                    if isinstance(value, Known | Named)
                ),
                id(function.receiver.value) if isinstance(function.receiver, Known) else None,
            )
            if key in self._written:
                return self._written[key]
        place = place_of(function.node)
        if not alone and place in self._defining:
            if isinstance(function.receiver, Instance):
                raise Again("real", function.receiver.cls)
            raise Again("recursive", place)
        name = self._fresh(function.name)
        if alone:
            self._written[key] = name
            self._home.pop(name)
            state = self._level, self._frames, self._home, self._nonnull, self._maybe_none, self._calls
            names = set(self._names)
            self._frames, self._level, self._home = [Frame(0, 0)], 0, {}
            self._nonnull, self._maybe_none, self._calls = set(), set(), [Call(None, inline=False)]
            self._names &= RESERVED | set(self._written.values()) | set(self._origins.values())
            try:
                with self._into([]):
                    node = self._definition(function, name, bound)
            except BaseException:
                del self._written[key]
                raise
            finally:
                self._level, self._frames, self._home, self._nonnull, self._maybe_none, self._calls = state
                self._names = names | set(self._written.values()) | set(self._origins.values())
            self.functions.append(node)
        elif self._out is None and isinstance(function.receiver, Instance):
            if self._lambdas:
                raise NeedsStatements(function.name)  # a function of its own has room
            raise Again("real", function.receiver.cls)  # there is no room for its definition
        else:
            self._defining.append(place)
            try:
                self._emit(self._definition(function, name, bound))
            finally:
                self._defining.pop()
        return name
