"""Calls that are computed now, and the kit's checks as the script says them."""

# ruff: noqa: ARG002, SIM102
from __future__ import annotations

import ast
import inspect
import itertools
from types import FunctionType, ModuleType
from typing import Any

from conformance.adapter.device_module import CompletedModule, GenericModule
from conformance.errors import ConformanceError
from conformance.reproducing import words
from conformance.reproducing.specialising.inlining import Inlining
from conformance.reproducing.specialising.judging import (
    ENDED_VALUE,
    NONE,
    Member,
    is_computable,
    is_mutable_state,
    is_number,
    is_plain,
    name_of,
)
from conformance.reproducing.specialising.syntax import is_trivial, joined_text, no_arguments, parsed
from conformance.reproducing.values import Code, Function, Instance, Known, Parts, Scope, Table, Unwritable, Value

#: Builtins that are computed now when all their arguments are known.
COMPUTED = {
    *(abs, all, any, bool, dict, divmod, enumerate, float, frozenset, int, isinstance, issubclass, len, list, max, min),
    *(range, repr, reversed, round, set, sorted, str, sum, tuple, zip, callable, itertools.pairwise),
}


class Computing(Inlining):
    """Computes what builtins and methods of known values give; writes checks."""

    def _method_of_plain(self, owner: Any, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        plain = [value.value for value in arguments if isinstance(value, Known) and is_plain(value.value)]
        if len(plain) == len(arguments) and all(isinstance(value, Known) for value in keywords.values()):
            named = {key: value.value for key, value in keywords.items() if isinstance(value, Known)}
            return Known(getattr(owner, name)(*plain, **named))
        return self._written_call(ast.Attribute(self.lift(Known(owner)), name, ast.Load()), arguments, keywords)

    def _computed(self, function: Any, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        if not all(isinstance(value, Known) for value in (*arguments, *keywords.values())):
            raise Unwritable(f"what {function.__name__} is asked is not known")
        plain = [value.value for value in arguments if isinstance(value, Known)]
        try:
            result = function(*plain, **{key: value.value for key, value in keywords.items()})  # type: ignore[attr-defined]
        except ConformanceError as error:
            raise Unwritable(str(error)) from None
        return result if isinstance(result, Value) else Known(result)

    def _computed_builtin(self, function: Any, arguments: list[Value], keywords: dict[str, Value]) -> Value | None:
        if function is isinstance:
            return self._isinstance(arguments)
        if function is callable:
            value = arguments[0]
            return Known(True) if isinstance(value, Function | Known) else None
        if function in (tuple, list) and len(arguments) == 1:
            parts = self._elements(arguments[0])
            if parts is not None and not all(isinstance(part, Known) for part in parts):
                return Parts(parts, function)
        if function is len and isinstance(arguments[0], Parts | Table):
            value = arguments[0]
            return Known(len(value.parts if isinstance(value, Parts) else value.entries))
        if function in (enumerate, zip, reversed) and any(not isinstance(value, Known) for value in arguments):
            return self._rows(function, arguments, keywords)
        if function is str and isinstance(arguments[0], Instance):
            text = inspect.getattr_static(arguments[0].cls, "__str__")
            if isinstance(text, FunctionType):
                return self.call(self._function(text, receiver=arguments[0], owner=arguments[0].cls), [], {})
        if function is dict and not arguments and any(not isinstance(value, Known) for value in keywords.values()):
            return None if any(name.startswith("**") for name in keywords) else Table(dict(keywords))
        everything = (*arguments, *keywords.values())
        if not all(isinstance(value, Known) and not is_mutable_state(value) for value in everything):
            return None
        plain = [value.value for value in arguments if isinstance(value, Known)]
        named = {key: value.value for key, value in keywords.items() if isinstance(value, Known)}
        if not all(is_computable(value) for value in plain) or any(callable(value) for value in named.values()):
            return None
        result = function(*plain, **named)
        if function in (enumerate, zip, reversed, itertools.pairwise):
            result = list(result)
        if function in (list, set, dict) and not arguments:
            return None
        return Known(result)

    def _rows(self, function: Any, arguments: list[Value], keywords: dict[str, Value]) -> Value | None:
        columns = [self._elements(value) for value in arguments]
        if any(column is None for column in columns):
            return None
        known = [column for column in columns if column is not None]
        if function is reversed:
            return Parts(known[0][::-1], list)
        if function is enumerate:
            known.insert(0, [Known(number) for number in range(len(known[0]))])
        return Parts([Parts(list(row)) for row in zip(*known, strict=False)], list)

    def _isinstance(self, arguments: list[Value]) -> Value | None:
        value, kinds = arguments
        if isinstance(value, Instance) and isinstance(kinds, Known):
            return Known(issubclass(value.cls, kinds.value))
        if isinstance(value, Known) and isinstance(kinds, Known) and value.node is None:
            return Known(isinstance(value.value, kinds.value))
        if name_of(value) in self._handlers and isinstance(kinds, Known) and kinds.value is Exception:
            return Known(True)
        if isinstance(value, Parts) and isinstance(kinds, Known):
            return Known(issubclass(value.kind, kinds.value))
        return None

    def _member_call(self, member: Member, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        owner, name = member.owner, member.name
        if isinstance(owner, Known):
            if name == "pop" and len(arguments) == 2 and isinstance(arguments[0], Known):
                if arguments[0].value not in owner.value:
                    return arguments[1]
            if name in ("get", "index", "count", "items", "keys", "values", "copy") and all(
                isinstance(value, Known) for value in (*arguments, *keywords.values())
            ):
                plain = [value.value for value in arguments if isinstance(value, Known)]
                result = getattr(owner.value, name)(*plain)
                return Known(list(result) if name in ("items", "keys", "values") else result)
            node = ast.Attribute(self.lift(owner), name, ast.Load())
            return self._written_call(node, arguments, keywords)
        if isinstance(owner, Table):
            key = arguments[0].value if arguments and isinstance(arguments[0], Known) else None
            if name == "pop" and key is not None:
                return owner.entries.pop(key, arguments[1] if len(arguments) > 1 else NONE)
            if name == "get" and key is not None:
                return owner.entries.get(key, arguments[1] if len(arguments) > 1 else NONE)
            if name == "items":
                return Parts([Parts([Known(key), value]) for key, value in owner.entries.items()], list)
            if name == "keys":
                return Known(list(owner.entries))
            if name == "values":
                return Parts(list(owner.entries.values()), list)
        node = ast.Attribute(self.lift(owner), name, ast.Load())
        return self._written_call(node, arguments, keywords)

    def _expect(self, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        condition, promise, seen = [*arguments, *keywords.values()]
        if self._truth(condition) is True:
            self._drop(condition)
            return NONE
        self._emit(ast.Assert(self.lift(condition), self._message(promise, seen)))
        return NONE

    def _expect_equal(self, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        expected = arguments[2] if len(arguments) > 2 else None
        number = isinstance(expected, Known) and type(expected.value) in (int, float)
        number = number or (isinstance(expected, Code) and is_number(expected.node, self._numeric))
        function = words.expect_number if number else words.expect_equal
        return self.call(self._function(function), arguments, keywords, wanted=False)

    def _message(self, promise: Value, seen: Value) -> ast.expr:
        return joined_text([Known("expected: "), promise, Known("\nseen: "), seen], self.lift)

    def _fail(self, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        promise, seen = [*arguments, *keywords.values()]
        self._emit(ast.Raise(ast.Call(parsed("AssertionError"), [self._message(promise, seen)], []), None))
        return ENDED_VALUE

    def _given(self, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        given = {name: e for name, e in keywords.items() if not (isinstance(e, Known) and e.value is None)}
        if any(name_of(value) in self._maybe_none for value in given.values()):
            settings = ast.Dict([ast.Constant(name) for name in given], [self.lift(value) for value in given.values()])
            text = "{name: value for name, value in settings.items() if value is not None}"
            filtered = parsed(text)
            assert isinstance(filtered, ast.DictComp)
            filtered.generators[0].iter = ast.Call(ast.Attribute(settings, "items", ast.Load()), [], [])
            return Code(filtered)
        return Table(given)

    def _expect_none(self, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        return NONE

    def _getattr(self, arguments: list[Value], keywords: dict[str, Value]) -> Value | None:
        owner, name = arguments[:2]
        if not isinstance(name, Known):
            if isinstance(owner, Instance) or (isinstance(owner, Known) and owner.value is self.adapter):
                raise Unwritable("an attribute whose name is not known")
            return None
        if len(arguments) == 2:
            return self.attribute(owner, name.value)
        if isinstance(owner, Known) and owner.value is self.adapter:
            return self.attribute(owner, name.value) if hasattr(self.adapter, name.value) else arguments[2]
        if isinstance(owner, Known) and isinstance(owner.value, ModuleType):
            return self.attribute(owner, name.value) if hasattr(owner.value, name.value) else arguments[2]
        if isinstance(owner, Known) and (owner.node is None or owner.value is None):
            return self.attribute(owner, name.value) if hasattr(owner.value, name.value) else arguments[2]
        if isinstance(owner, Known) and isinstance(owner.value, type) and owner.value is not self.adapter.graph_class:
            return self.attribute(owner, name.value) if hasattr(owner.value, name.value) else arguments[2]
        return None

    def _hasattr(self, arguments: list[Value], keywords: dict[str, Value]) -> Value | None:
        owner, name = arguments
        if isinstance(owner, Known) and isinstance(name, Known):
            if owner.value is self.adapter or isinstance(owner.value, ModuleType | CompletedModule | GenericModule):
                return Known(hasattr(owner.value, name.value))
        return None

    def _partial(self, arguments: list[Value], keywords: dict[str, Value]) -> Value | None:
        function = self._callable(arguments[0])
        if not isinstance(function, Function) or any(name.startswith("**") for name in keywords):
            return None
        names = {"call": function, **{f"given_{place}": value for place, value in enumerate(arguments[1:])}}
        cells = {name: self._cell(("partial", name), name) for name in (*names, *keywords)}
        node = ast.Call(
            ast.Name("call", ast.Load()),
            [ast.Name(name, ast.Load()) for name in names if name != "call"],
            [ast.keyword(name, ast.Name(name, ast.Load())) for name in keywords],
        )
        for name, value in {**names, **keywords}.items():
            if isinstance(value, Code) and not is_trivial(value.node):
                cells[name].value = self._temporary(name, value.node)
            else:
                cells[name].value = value
        inner = ast.Lambda(no_arguments(), node)
        inner.place = ("partial", id(inner))  # type: ignore[attr-defined]
        return Function(inner, Scope(cells, None, {}, ""))
