"""The text of a function of the kit, with the variables around it."""

from __future__ import annotations

import ast
from types import FunctionType, MethodType
from typing import Any

from conformance.reproducing.sources import node_of, unwrapped
from conformance.reproducing.specialising.functions import Functions
from conformance.reproducing.values import Cell, Function, Known, Scope, Unwritable, Value


class Texts(Functions):
    """Finds the texts of functions."""

    def _defaults(self, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> dict[str, Value]:
        positional = [*node.args.posonlyargs, *node.args.args]
        pairs: list[tuple[ast.arg, ast.expr | None]] = []
        if node.args.defaults:
            pairs += zip(positional[-len(node.args.defaults) :], node.args.defaults, strict=True)
        pairs += zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        return {entry.arg: self._expression(default, scope) for entry, default in pairs if default is not None}

    def _function(
        self,
        function: Any,
        *,
        context: bool = False,
        receiver: Value | None = None,
        owner: type | None = None,
    ) -> Function:
        try:
            node = node_of(function)
        except LookupError:
            raise Unwritable(f"the text of {function.__qualname__}") from None
        scope = Scope({}, None, function.__globals__, function.__module__)
        if function.__closure__:
            inner = {}
            for name, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True):
                try:
                    content = cell.cell_contents
                except ValueError:
                    raise Unwritable(name) from None
                if name == "__class__":
                    continue
                inner[name] = Cell((id(cell), name), name, 0, self._frames[-1].number, Known(content))
            if inner:
                scope = Scope(inner, scope, scope.names, scope.module)
        defaults: dict[str, Value] = {}
        positional = [*node.args.posonlyargs, *node.args.args]
        if function.__defaults__:
            for entry, value in zip(positional[-len(function.__defaults__) :], function.__defaults__, strict=True):
                defaults[entry.arg] = self._default(function, value)
        for key, value in (function.__kwdefaults__ or {}).items():
            defaults[key] = self._default(function, value)
        return Function(node, scope, defaults, context, owner, receiver)

    def _default(self, function: FunctionType, value: Any) -> Known:
        """A default; an object that is nothing but itself goes by its name."""
        if type(value) is object:
            for name, other in function.__globals__.items():
                if other is value:
                    return Known(value, None, (), (function.__module__, name))
        return Known(value)

    def _of_known(self, known: Known) -> Function:
        found = unwrapped(known.value)
        if found is None:
            raise Unwritable(repr(known.value))
        inner, context = found
        return self._function(inner, context=context)

    def _callable(self, value: Value) -> Value:
        """A function of the kit's as one whose text is known; anything else as it is."""
        if isinstance(value, Known) and isinstance(value.value, FunctionType) and unwrapped(value.value) is not None:
            return self._of_known(value)
        if isinstance(value, Known) and isinstance(value.value, MethodType):
            owner = value.value.__self__
            if owner is self.adapter:
                return self._member(value.value.__name__)
            found = unwrapped(value.value.__func__)
            if found is not None:
                return self._function(found[0], context=found[1], receiver=Known(owner), owner=type(owner))
        return value
