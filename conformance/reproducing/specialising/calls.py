"""Calls of whatever, and objects of the kit's classes."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from conformance.reproducing.sources import is_copied
from conformance.reproducing.specialising.computing import COMPUTED, Computing
from conformance.reproducing.specialising.judging import NONE, Computed, Member, Observe, has_text, is_hashable
from conformance.reproducing.specialising.syntax import home_of, is_pure, is_trivial, parsed
from conformance.reproducing.values import Code, Function, Instance, Known, Scope, Table, Unwritable, Value

SPECIAL = {
    ("conformance.checks", "expect"): "_expect",
    ("conformance.reproducing.words", "expect_equal"): "_expect_equal",
    ("conformance.checks", "fail"): "_fail",
    ("conformance.adapter.settings", "given"): "_given",
    ("conformance.adapter.settings", "expect_none"): "_expect_none",
}

SPECIAL_BUILTINS = {getattr: "_getattr", hasattr: "_hasattr", functools.partial: "_partial"}


class Calls(Computing):
    """Writes calls."""

    def _call_expression(self, node: ast.Call, scope: Scope) -> Value:
        return self._call(node, scope, wanted=True)

    def _call(self, node: ast.Call, scope: Scope, *, wanted: bool) -> Value:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "super" or (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Call)
            and ast.unparse(node.func.value.func) == "super"
        ):
            return self._super(node, scope)
        function = self._expression(node.func, scope)
        if isinstance(function, Code) and not is_trivial(function.node):
            length = len(self._out) if self._out is not None else 0
            arguments, keywords = self._arguments(node, scope)
            if self._out is not None and len(self._out) > length and not is_pure(function.node):
                late = self._out[length:]
                del self._out[length:]
                if isinstance(function.node, ast.Attribute):
                    owner = self._temporary("value", function.node.value)
                    function = self.attribute(owner, function.node.attr)
                else:
                    function = self._temporary("function", function.node)
                self._out += late
        else:
            arguments, keywords = self._arguments(node, scope)
        return self._apply(function, arguments, keywords, wanted=wanted)

    def _arguments(self, node: ast.Call, scope: Scope) -> tuple[list[Value], dict[str, Value]]:
        nodes = [
            *(entry.value if isinstance(entry, ast.Starred) else entry for entry in node.args),
            *(keyword.value for keyword in node.keywords),
        ]
        values = self._in_order(nodes, scope)
        arguments: list[Value] = []
        keywords: dict[str, Value] = {}
        for entry, value in zip(node.args, values, strict=False):
            if not isinstance(entry, ast.Starred):
                arguments.append(value)
                continue
            parts = self._spread(value)
            if parts is None:
                arguments.append(Code(ast.Starred(self.lift(value), ast.Load())))
            else:
                arguments += parts
        for keyword, value in zip(node.keywords, values[len(node.args) :], strict=True):
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, Table):
                keywords |= value.entries
            elif isinstance(value, Known) and isinstance(value.value, Mapping):
                keywords |= {name: Known(entry) for name, entry in value.value.items()}
            else:
                keywords[f"**{len(keywords)}"] = value
        return arguments, keywords

    def _spread(self, value: Value) -> list[Value] | None:
        """The arguments that a starred one stands for, if they are known."""
        if isinstance(value, Code) and isinstance(value.node, ast.List):
            entries = value.node.elts
            if not any(isinstance(entry, ast.Starred) for entry in entries):
                return [Known(e.value) if isinstance(e, ast.Constant) else Code(e) for e in entries]
        return self._elements(value)

    def _super(self, node: ast.Call, scope: Scope) -> Value:
        function = self._calls[-1].function
        assert isinstance(node.func, ast.Attribute)
        cell = scope.find("self")
        receiver = None if cell is None else cell.value
        if function is None or function.owner is None:
            raise Unwritable("super")
        arguments, keywords = self._arguments(node, scope)
        if isinstance(receiver, Instance):
            order = receiver.cls.__mro__
            for cls in order[order.index(function.owner) + 1 :]:
                if node.func.attr in vars(cls):
                    static = vars(cls)[node.func.attr]
                    if not isinstance(static, FunctionType):
                        return NONE
                    inner = self._function(static, receiver=receiver, owner=cls)
                    return self.call(inner, arguments, keywords)
            return NONE
        if isinstance(receiver, Known) and receiver.value is self.adapter:
            order = type(self.adapter).__mro__
            for cls in order[order.index(function.owner) + 1 :]:
                if node.func.attr in vars(cls):
                    inner = self._function(vars(cls)[node.func.attr], receiver=receiver, owner=cls)
                    return self.call(inner, arguments, keywords)
        called = ast.Attribute(ast.Call(ast.Name("super", ast.Load()), [], []), node.func.attr, ast.Load())
        return self._written_call(called, arguments, keywords)

    def _apply(self, function: Value, arguments: list[Value], keywords: dict[str, Value], *, wanted: bool) -> Value:
        """A call of whatever."""
        if isinstance(function, Observe):
            for value in arguments:
                self._drop(value)
            return NONE
        if isinstance(function, Computed):
            return self._computed(function.function, arguments, keywords)
        if isinstance(function, Member):
            return self._member_call(function, arguments, keywords)
        found = self._callable(function)
        if isinstance(found, Function):
            special = SPECIAL.get((home_of(found.node), found.name))
            if special is not None:
                return getattr(self, special)(arguments, keywords)  # type: ignore[no-any-return]
            if any(name.startswith("**") for name in keywords):
                return self._called(found, arguments, keywords)
            return self.call(found, arguments, keywords, wanted=wanted)
        if isinstance(found, Known):
            special = SPECIAL_BUILTINS.get(found.value) if is_hashable(found.value) else None
            if special is not None:
                done: Value | None = getattr(self, special)(arguments, keywords)
                if done is not None:
                    return done
            if isinstance(found.value, type) and is_copied(found.value.__module__):
                return self._construct(found.value, arguments, keywords)
            if is_hashable(found.value) and found.value in COMPUTED:
                done = self._computed_builtin(found.value, arguments, keywords)
                if done is not None:
                    return done
            bound_to = getattr(found.value, "__self__", None)
            if isinstance(bound_to, str | int | tuple):
                return self._method_of_plain(bound_to, found.value.__name__, arguments, keywords)
            if found.value is self.adapter.graph_class:
                found = Code(parsed("Graph"))
        return self._written_call(self.lift(found), arguments, keywords)

    def _written_call(self, node: ast.expr, arguments: list[Value], keywords: dict[str, Value]) -> Code:
        written: list[ast.expr] = []
        for value in arguments:
            if isinstance(value, Code) and isinstance(value.node, ast.Starred):
                written.append(value.node)
            elif not self._is_adapter(value):
                written.append(self.lift(value))
        renamed = self._renamed.get(node.id, {}) if isinstance(node, ast.Name) else {}
        named = [
            ast.keyword(None if name.startswith("**") else renamed.get(name, name), self.lift(value))
            for name, value in keywords.items()
            if not self._is_adapter(value)
        ]
        return Code(ast.Call(node, written, named))

    def _construct(self, cls: type, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """An object of a class of the kit's."""
        if self._is_real(cls):
            return self._written_call(self._lift_class(cls), arguments, keywords)
        instance = Instance(cls)
        if dataclasses.is_dataclass(cls) and "__init__" in vars(cls) and not has_text(cls, "__init__"):
            fields = [entry for entry in dataclasses.fields(cls) if entry.init]
            given = dict(zip((entry.name for entry in fields), arguments, strict=False)) | keywords
            for entry in dataclasses.fields(cls):
                if entry.name in given:
                    value = given[entry.name]
                elif entry.default is not dataclasses.MISSING:
                    value = Known(entry.default)
                elif entry.default_factory is not dataclasses.MISSING:
                    value = self._fresh_default(entry.default_factory)
                else:
                    raise Unwritable(f"{cls.__name__}.{entry.name}")
                self._set(self._attribute_cell(instance, entry.name), value, parameter=True)
            if hasattr(cls, "__post_init__"):
                self.call(self._function(cls.__post_init__, receiver=instance, owner=cls), [], {})
            return instance
        start = inspect.getattr_static(cls, "__init__")
        if isinstance(start, FunctionType):
            owner = next(kind for kind in cls.__mro__ if "__init__" in vars(kind))
            self.call(self._function(start, receiver=instance, owner=owner), arguments, keywords, wanted=False)
        return instance

    def _fresh_default(self, factory: Any) -> Value:
        if factory in (list, dict, set):
            return Code(ast.parse({list: "[]", dict: "{}", set: "set()"}[factory], mode="eval").body)
        return self._apply(Known(factory), [], {}, wanted=True)

    def _is_real(self, cls: type) -> bool:
        if cls in self.decisions.real or issubclass(cls, BaseException | tuple | enum.Enum):
            return True
        if any(
            not is_copied(base.__module__) and base.__module__ not in ("builtins", "typing") for base in cls.__mro__
        ):
            return True
        names = {name for base in cls.__mro__[:-1] if is_copied(base.__module__) for name in vars(base)}
        data = {"__init__", "__eq__", "__hash__", "__repr__", "__setattr__", "__delattr__", "__replace__"}
        special = {name for name in names if name.startswith("__") and has_text(cls, name)} - data
        return bool(special - {"__str__", "__post_init__", "__annotations__"})
