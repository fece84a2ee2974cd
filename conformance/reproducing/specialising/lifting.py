"""How the script writes a value: constants, imports, classes that are written out."""

from __future__ import annotations

import ast
import contextlib
import enum
import functools
import inspect
import math
import re
import sys
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType, UnionType
from typing import Any

import torch

from conformance.checks import NotConforming
from conformance.errors import ConformanceError, Unsupported
from conformance.reproducing.sources import assigned_in, class_node, decorated_in, is_copied, is_own, unwrapped
from conformance.reproducing.specialising.decisions import Call, Frame
from conformance.reproducing.specialising.judging import PLAIN, Member, is_abstract, is_empty, is_mutable_state
from conformance.reproducing.specialising.syntax import assignment, parsed
from conformance.reproducing.specialising.variables import Variables
from conformance.reproducing.values import (
    Again,
    Code,
    Function,
    Instance,
    Known,
    Parts,
    Scope,
    Table,
    Unwritable,
    Value,
)
from conformance.reproducing.walking import copied

ERRORS = ("ZeroDivisionError", "ProcessLookupError", "StopAsyncIteration", "EOFError")

INTERRUPTIONS = ("KeyboardInterrupt", "GeneratorExit")


class Lifting(Variables):
    """Writes values as expressions of the script."""

    def lift(self, value: Value) -> ast.expr:
        """How the script writes a value.

        Raises:
            Unwritable: it cannot.
        """
        if isinstance(value, Code):
            return copied(value.node)
        if isinstance(value, Known):
            return self._lift_known(value)
        if isinstance(value, Parts):
            parts = [self.lift(part) for part in value.parts]
            return ast.Tuple(parts, ast.Load()) if value.kind is tuple else ast.List(parts, ast.Load())
        if isinstance(value, Table):
            keys: list[ast.expr | None] = [self._lift_known(Known(key)) for key in value.entries]
            return ast.Dict(keys, [self.lift(entry) for entry in value.entries.values()])
        if isinstance(value, Function):
            return self._as_function(value)
        if isinstance(value, Member):
            return ast.Attribute(self.lift(value.owner), value.name, ast.Load())
        if isinstance(value, Instance):
            raise Again("real", value.cls)
        raise Unwritable(repr(value))

    def _lift_known(self, known: Known) -> ast.expr:
        value = known.value
        if value is self.adapter:
            if self.imported:
                return ast.Name("impl", ast.Load())
            raise Unwritable("the adapter is no object of the script")
        if known.node is not None:
            self.imports |= dict.fromkeys(known.imports)
            return copied(known.node)
        if isinstance(value, float) and not math.isfinite(value):
            return parsed(f"float({str(value)!r})")
        if isinstance(value, bool | int | float | complex | str | bytes) and not isinstance(value, enum.Enum):
            return ast.Constant(value) if type(value) in PLAIN else parsed(repr(value))
        if value is None or value is Ellipsis:
            return ast.Constant(value)
        if isinstance(value, UnionType):
            kinds = [self._lift_known(Known(kind)) for kind in value.__args__]
            return functools.reduce(lambda one, other: ast.BinOp(one, ast.BitOr(), other), kinds)
        if isinstance(value, inspect._ParameterKind):  # noqa: SLF001  # what Parameter's constants are
            self.imports["import inspect"] = None
            return parsed(f"inspect.Parameter.{value.name}")
        if isinstance(value, torch.dtype):
            return parsed(str(value))
        if isinstance(value, torch.device):
            return ast.Constant(str(value))
        if isinstance(value, torch.Size):
            return self._lift_known(Known(tuple(value)))
        if type(value) in (tuple, list, set):
            return self._display(value, known)
        if type(value) is range:
            return parsed(re.sub(r"\(0, (?=-?\d+\)$)", "(", repr(value)))
        if type(value) is dict:
            keys: list[ast.expr | None] = [self._lift_known(Known(key)) for key in value]
            return ast.Dict(keys, [self._lift_known(Known(entry)) for entry in value.values()])
        if isinstance(value, ModuleType):
            self.imports[f"import {value.__name__}"] = None
            return parsed(value.__name__)
        if isinstance(value, FunctionType) and unwrapped(value) is not None:
            return self._as_function(self._of_known(known))
        if isinstance(value, MethodType) and not isinstance(value.__self__, type):
            return ast.Attribute(self.lift(Known(value.__self__)), value.__name__, ast.Load())
        if isinstance(value, type):
            return self._lift_class(value)
        if known.origin is not None:
            return ast.Name(self._constant(*known.origin), ast.Load())
        found = self._import_of(value)
        if found is not None:
            return found
        if is_copied(type(value).__module__) and not getattr(value, "__dict__", True):
            # One of the kit's that holds nothing is like any other one.
            return ast.Call(ast.Name(self._class(type(value)), ast.Load()), [], [])
        raise Unwritable(repr(value))

    def _display(self, value: Any, known: Known) -> ast.expr:
        if type(value) is not tuple and known.origin is not None and is_mutable_state(known):
            return ast.Name(self._constant(*known.origin), ast.Load())
        if not value and type(value) is set:
            return parsed("set()")
        parts = [self._lift_known(Known(part)) for part in value]
        if type(value) is set:
            return ast.Set(sorted(parts, key=ast.unparse))
        return ast.Tuple(parts, ast.Load()) if type(value) is tuple else ast.List(parts, ast.Load())

    def _import_of(self, value: Any) -> ast.expr | None:
        """Something public of another package."""
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str) and not is_copied(module) and "<" not in name:
            if module == "builtins":
                return parsed(name)
            own = name.rpartition(".")[2]
            if getattr(torch, own, None) is value:
                return parsed(f"torch.{own}")
            self.imports[f"import {module}"] = None
            return parsed(f"{module}.{name}")
        return None

    def _lift_class(self, cls: type) -> ast.expr:
        if cls is NotConforming:
            return parsed("AssertionError")
        if issubclass(cls, ConformanceError | Unsupported):  # the script ends with its words, and nothing catches that
            return parsed("SystemExit")
        if cls is self.adapter.graph_class:
            return parsed("Graph")
        if is_copied(cls.__module__) and is_empty(cls):
            # One of Python's that no implementation raises, for each of the test's own.
            kinds = ERRORS if issubclass(cls, Exception) else INTERRUPTIONS
            if cls not in self._errors:
                used = [kind for kind in self._errors.values() if kind in kinds]
                self._errors[cls] = kinds[len(used)]
            return parsed(self._errors[cls])
        if is_own(cls.__module__) and cls.__module__ == self.adapter.graph_class.__module__:
            raise Unwritable(f"{cls!r}, which the class under test may know")
        if is_copied(cls.__module__):
            return ast.Name(self._class(cls), ast.Load())
        found = self._import_of(cls)
        if found is None:
            raise Unwritable(repr(cls))
        return found

    def _constant(self, module: str, name: str) -> str:
        """A name at the top of a module, as one of the script's."""
        if (module, name) not in self._origins:
            final = self._origins[module, name] = self._fresh(name)
            self._home.pop(final)
            scope = Scope({}, None, vars(sys.modules[module]), module)
            with self._at_top():
                self._at_the_top_of(module, name, final, scope)
        return self._origins[module, name]

    def _at_the_top_of(self, module: str, name: str, final: str, scope: Scope) -> None:
        node = assigned_in(module).get(name)
        if node is not None:
            lifted = self.lift(self._expression(node, scope))
            self.constants.append(assignment(final, lifted))
            return
        made = decorated_in(module).get(name)
        if made is None:
            raise Unwritable(f"{module}.{name}")
        written = self._definition(Function(made, scope, self._defaults(made, scope)), final, {}, real=True)
        written.decorator_list = [self.lift(self._expression(entry, scope)) for entry in made.decorator_list]
        self.functions.append(written)

    @contextlib.contextmanager
    def _at_top(self) -> Iterator[None]:
        state = self._level, self._frames, self._catching
        self._numbers += 1
        self._frames = [Frame(self._numbers, 0)]
        self._level, self._catching = 0, 1
        self._calls.append(Call(None, inline=False))
        try:
            with self._into(self.constants):
                yield
        finally:
            self._calls.pop()
            self._level, self._frames, self._catching = state

    def _class(self, cls: type) -> str:
        """A class of the kit's, written out."""
        if cls in self._written:
            return self._written[cls]
        try:
            return self._written_class(cls)
        except BaseException:
            self._written.pop(cls, None)
            raise

    def _written_class(self, cls: type) -> str:
        try:
            node = copied(class_node(cls))
        except LookupError:
            raise Unwritable(repr(cls)) from None
        final = self._written[cls] = self._fresh(cls.__name__)
        self._home.pop(final)
        scope = Scope({}, None, vars(sys.modules[cls.__module__]), cls.__module__)
        with self._at_top():
            self.functions.append(self._copied_class(cls, node, final, scope))
        return final

    def _copied_class(self, cls: type, node: ast.ClassDef, name: str, scope: Scope) -> ast.ClassDef:
        """A class as it is, with what its methods do specialised."""
        bases = [self._expression(base, scope) for base in node.bases]
        node.bases = [self.lift(base) for base in bases if not is_abstract(base)]
        node.decorator_list = [self.lift(self._expression(entry, scope)) for entry in node.decorator_list]
        body: list[ast.stmt] = []
        for entry in node.body:
            if isinstance(entry, ast.FunctionDef):
                body.append(self._method(cls, entry, scope))
            elif isinstance(entry, ast.AnnAssign):
                entry.annotation = ast.Name("object", ast.Load())
                if entry.value is not None:
                    entry.value = self.lift(self._expression(entry.value, scope))
                body.append(entry)
            elif isinstance(entry, ast.Assign):
                entry.value = self.lift(self._expression(entry.value, scope))
                body.append(entry)
        node.name, node.body = name, body or [ast.Pass()]
        return node

    def _method(self, cls: type, node: ast.FunctionDef, scope: Scope) -> ast.stmt:
        decorators = [
            entry if isinstance(entry, ast.Name) else self.lift(self._expression(entry, scope))
            for entry in node.decorator_list
        ]
        function = Function(node, scope, self._defaults(node, scope), owner=cls)
        written = self._definition(function, node.name, {}, real=True)
        written.decorator_list = decorators
        return written
