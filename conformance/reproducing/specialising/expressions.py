"""Names, attributes, and members of the adapter."""

# ruff: noqa: ARG002
from __future__ import annotations

import ast
import builtins
import enum
import inspect
import sys
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.adapter.device_module import CompletedModule, GenericModule, stands_in
from conformance.reproducing import words
from conformance.reproducing.sources import imports_of, is_copied, is_own, unwrapped
from conformance.reproducing.specialising.calls import Calls
from conformance.reproducing.specialising.judging import NONE, PLAIN, Computed, Member, as_node, is_plain, static_home
from conformance.reproducing.specialising.nodes import Appended, Given
from conformance.reproducing.specialising.syntax import is_pure, parsed
from conformance.reproducing.values import (
    Code,
    Function,
    Instance,
    Known,
    NotInline,
    Parts,
    Scope,
    Table,
    Unwritable,
    Value,
)

WORDED = {
    "tensor": "def tensor(self, data, dtype=None):\n    return {}",
    "pinned": "def pinned(self, data, dtype=None):\n    return {}",
    "read": "def read(self, tensor):\n    self.synchronize()\n    return {}",
}


class Expressions(Calls):
    """Writes expressions."""

    def _expression(self, node: ast.expr, scope: Scope) -> Value:
        if isinstance(node, Given):
            return node.value
        if isinstance(node, Appended):
            element = self.lift(self._expression(node.element, scope))
            return self._written_call(ast.Attribute(self.lift(node.owner), "append", ast.Load()), [Code(element)], {})
        if isinstance(node, ast.Yield):
            raise NotInline
        method = getattr(self, f"_{type(node).__name__.lower()}_expression", None)
        if method is None:
            raise Unwritable(type(node).__name__)
        return method(node, scope)  # type: ignore[no-any-return]

    def _in_order(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Value]:
        """Several expressions, computed in this order."""
        values: list[Value] = []
        for node in nodes:
            length = len(self._out) if self._out is not None else 0
            value = self._expression(node, scope)
            if self._out is not None and len(self._out) > length:
                late: list[ast.stmt] = self._out[length:]
                del self._out[length:]
                for place, earlier in enumerate(values):
                    if isinstance(earlier, Code) and not is_pure(earlier.node):
                        if isinstance(earlier.node, ast.Starred):
                            raise NotInline
                        values[place] = self._temporary("value", earlier.node)
                self._out += late
            values.append(value)
        return values

    def _constant_expression(self, node: ast.Constant, scope: Scope) -> Value:
        return Known(node.value)

    def _name_expression(self, node: ast.Name, scope: Scope) -> Value:
        cell = scope.find(node.id)
        if cell is not None:
            return self._get(cell, node.id)
        return self._global(scope.names, scope.module, node.id)

    def _global(self, names: Mapping[str, Any], module: str, name: str) -> Value:
        if name not in names:
            if hasattr(builtins, name):
                return Known(getattr(builtins, name), ast.Name(name, ast.Load()))
            raise Unwritable(f"the name {name}")
        value = names[name]
        if isinstance(value, Value):
            return value
        if isinstance(value, FunctionType) and name in words.CHECKS and is_copied(value.__module__):
            value = words.CHECKS[name] if value.__name__ == name else value
        if isinstance(value, ModuleType):
            line = imports_of(module).get(name, f"import {value.__name__}") if module else f"import {value.__name__}"
            return Known(value, ast.Name(name, ast.Load()), (line,))
        if isinstance(value, FunctionType | type) and is_copied(value.__module__):
            return Known(value)
        line = imports_of(module).get(name, "") if module else ""
        if line and not is_copied(line.split()[1]):
            return Known(value, ast.Name(name, ast.Load()), (line,))
        home = module
        if line:  # from another module of the kit
            home = line.split()[1]
            original = line.split()[3]
            return self._global(vars(sys.modules[home]), home, original)
        if is_own(home) and not is_plain(value):
            raise Unwritable(f"{name}, which the adapter's module has to itself")
        return Known(value, None, (), (home, name) if home else None)

    def _attribute_expression(self, node: ast.Attribute, scope: Scope) -> Value:
        return self.attribute(self._expression(node.value, scope), node.attr)

    def attribute(self, owner: Value, name: str) -> Value:
        """An attribute of a value."""
        if isinstance(owner, Code):
            if name in {"impl", "_impl"}:
                return Known(self.adapter)
            return Code(ast.Attribute(self.lift(owner), name, ast.Load()))
        if isinstance(owner, Instance):
            return self._attribute_of_instance(owner, name)
        if isinstance(owner, Known):
            return self._attribute_of_known(owner, name)
        if isinstance(owner, Parts | Table):
            return Member(owner, name)
        if isinstance(owner, Function):
            if name == "__name__":
                return Known(owner.name)
            return Code(ast.Attribute(self.lift(owner), name, ast.Load()))
        raise Unwritable(f"{name} of {owner!r}")

    def _attribute_of_known(self, owner: Known, name: str) -> Value:
        value = owner.value
        if value is self.adapter:
            return self._member(name)
        if isinstance(value, CompletedModule):
            if stands_in(value, name):
                return self._attribute_of_known(Known(value.generic), name)
            own = value.own
            return self._attribute_of_known(Known(own, parsed(own.__name__), (f"import {own.__name__}",)), name)
        if isinstance(value, ModuleType):
            if not hasattr(value, name):
                return Code(ast.Attribute(self.lift(owner), name, ast.Load()))
            found = getattr(value, name)
            if is_copied(value.__name__):
                return self._global(vars(value), value.__name__, name)
            node = ast.Attribute(as_node(owner), name, ast.Load())
            return Known(found, node, owner.imports or (f"import {value.__name__}",))
        if owner.node is not None and not isinstance(value, str):
            if isinstance(value, type) and issubclass(value, enum.Enum):
                return Known(getattr(value, name), ast.Attribute(owner.node, name, ast.Load()), owner.imports)
            return Code(ast.Attribute(self.lift(owner), name, ast.Load()))
        if isinstance(value, type) and value is self.adapter.graph_class:
            return Code(ast.Attribute(self.lift(owner), name, ast.Load()))
        kind = value if isinstance(value, type) else type(value)
        if is_copied(kind.__module__) and not issubclass(kind, enum.Enum | BaseException):
            if name in getattr(value, "__dict__", {}) and not isinstance(value, type):
                return Known(vars(value)[name])
            static = inspect.getattr_static(value, name)
            changing = type(static) in (list, dict, set)
            if isinstance(value, type) and (changing or not is_copied(static_home(value, name))):
                return Code(ast.Attribute(self.lift(owner), name, ast.Load()))
            if isinstance(static, property):
                assert static.fget is not None
                return self.call(self._function(static.fget, receiver=owner, owner=kind), [], {})
            if isinstance(static, FunctionType) and not isinstance(value, type):
                found_function = unwrapped(static)
                if found_function is not None:
                    inner, context = found_function
                    return self._function(inner, context=context, receiver=owner, owner=kind)
            return Known(getattr(value, name))
        if isinstance(value, type) and issubclass(value, enum.Enum):
            return Known(getattr(value, name))
        plain = isinstance(value, PLAIN) or type(value) in (tuple, range, frozenset) or isinstance(value, enum.Enum)
        if plain and not hasattr(value, name):  # in a branch that a value of this kind never takes
            return Code(ast.Attribute(self.lift(owner), name, ast.Load()))
        if plain or isinstance(value, torch.device | torch.dtype):
            return Known(getattr(value, name))
        if isinstance(value, FunctionType) and name == "__name__":
            return Known(value.__name__)
        if type(value) in (dict, list, set) or isinstance(value, Mapping):
            return Member(owner, name)
        return Code(ast.Attribute(self.lift(owner), name, ast.Load()))

    def _attribute_of_instance(self, owner: Instance, name: str) -> Value:
        if name in owner.cells:
            return self._get(owner.cells[name], name)
        if name == "__class__":
            return Known(owner.cls)
        try:
            static = inspect.getattr_static(owner.cls, name)
        except AttributeError:
            raise Unwritable(f"{owner.cls.__name__}.{name}") from None
        kind = next(cls for cls in owner.cls.__mro__ if name in vars(cls))
        if isinstance(static, property):
            assert static.fget is not None
            return self.call(self._function(static.fget, receiver=owner, owner=kind), [], {})
        if isinstance(static, staticmethod):
            return Known(static.__func__)
        if isinstance(static, FunctionType):
            found = unwrapped(static)
            if found is not None:
                inner, context = found
                return self._function(inner, context=context, receiver=owner, owner=kind)
        return Known(static)

    def _member(self, name: str) -> Value:
        """A member of the adapter."""
        adapter = self.adapter
        me = Known(adapter)
        if name == "graph_class":
            return Code(parsed("Graph"))
        if name in ("module", "_module") and not self.imported:
            module: Any = getattr(adapter, "module", None)
            if isinstance(module, ModuleType):
                return Known(module, parsed(module.__name__), (f"import {module.__name__}",))
            if isinstance(module, CompletedModule | GenericModule):
                return Known(module)  # whose functions are the module's own, or written out
            raise Unwritable("an adapter without a device module")
        if name == "device":
            return Known(adapter.device)
        if name == "runtime" and not self.imported:
            runtime = adapter.runtime
            if isinstance(runtime, ModuleType):
                self.imports[f"import {runtime.__name__} as runtime"] = None
                self._names.add("runtime")
                return Known(runtime, parsed("runtime"), (f"import {runtime.__name__} as runtime",))
            return NONE if runtime is None else Code(parsed(f"{self._module}.cudart()"))
        if name in (
            "dialect",
            "revision",
            "name",
            "needs_side_stream",
            "default_mode",
            "has_reset",
            "seed",
            "visible_devices",
        ):
            return Known(getattr(adapter, name))
        if name == "capabilities":
            return Known(dict(adapter.capabilities))
        if self.imported:
            return Code(ast.Attribute(ast.Name("impl", ast.Load()), name, ast.Load()))
        if name in ("owes", "why_without", "need_reset", "has_own", "need_own"):
            return Computed(getattr(adapter, name))
        if name in adapter.script_words and name in WORDED:
            text = WORDED[name].format(adapter.script_words[name])
            node = ast.parse(text).body[0]
            assert isinstance(node, ast.FunctionDef)
            node.lineno = -len(name)
            names = {"torch": torch, "backend": adapter.module, "_NONE": None}
            scope = Scope({}, None, {**names, "backend": self._member("module"), "torch": self._torch()}, "")
            return Function(node, scope, self._defaults(node, scope), receiver=me, owner=Adapter)
        kinds = [cls for cls in type(adapter).__mro__ if is_copied(cls.__module__) and name in vars(cls)]
        if not kinds and name in vars(adapter):
            value = vars(adapter)[name]
            if is_plain(value) or isinstance(value, ModuleType | type | FunctionType):
                return Known(value)
            raise Unwritable(f"{name} of the adapter")
        if not kinds:
            raise AttributeError(name)
        static = vars(kinds[0])[name]
        if name in words.MEMBERS and kinds[0].__module__.startswith("conformance.adapter."):
            static = words.MEMBERS[name]
        if isinstance(static, property):
            assert static.fget is not None
            return self.call(self._function(static.fget, receiver=me, owner=kinds[0]), [], {})
        found = unwrapped(static)
        if found is None:
            return Known(static)
        inner, context = found
        return self._function(inner, context=context, receiver=me, owner=kinds[0])

    def _torch(self) -> Known:
        return Known(torch, parsed("torch"), ("import torch",))
