"""A test and all that it calls as one straight program, specialised to what is known when it is written.

The dialect, the capabilities, the parameters and most arguments are known: what depends on them alone is computed now,
branches that they close are left out, and the kit's helpers are written where they are called.  What is left is what
the test does to the implementation.
"""

# ruff: noqa: ARG002, SIM102  # handlers are called alike; conditions are asked in the order in which they may be
from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import dataclasses
import enum
import functools
import inspect
import itertools
import math
import operator as op
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, MethodType, ModuleType, UnionType
from typing import Any

import torch

from conformance.adapter import Adapter
from conformance.checks import NotConforming
from conformance.errors import ConformanceError
from conformance.reproducing import words
from conformance.reproducing.sources import assigned_in, class_node, imports_of, is_copied, node_of, unwrapped
from conformance.reproducing.values import (
    Again,
    Cell,
    Code,
    Function,
    Instance,
    Known,
    NeedsStatements,
    NotInline,
    Parts,
    Scope,
    Table,
    Unwritable,
    Value,
)

#: Builtins that are computed now when all their arguments are known.
_COMPUTED = {
    *(abs, all, any, bool, dict, divmod, enumerate, float, frozenset, int, isinstance, issubclass, len, list, max, min),
    *(range, repr, reversed, round, set, sorted, str, sum, tuple, zip, callable, itertools.pairwise),
}
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
_NONE = Known(None)
#: Calls that give something else than ``None``.
_GIVES = {
    *("Stream", "Event", "Graph", "MemPool", "current_stream", "default_stream", "graph_pool_handle", "tensor"),
    *("full", "as_tensor", "arange", "pool", "Path", "zeros", "ones", "empty", "float", "int", "str", "len"),
}
_NORMAL, _ENDED = object(), object()
_ERRORS = ("ZeroDivisionError", "ProcessLookupError", "StopAsyncIteration", "EOFError")
_INTERRUPTIONS = ("KeyboardInterrupt", "GeneratorExit")
#: Names that mean something in every script.
_RESERVED = {
    *("Graph", "reproduce", "torch", "runtime", "contextlib", "warnings", "gc", "Path", "tempfile", "nn", "copy")
}

Status = Any


@dataclasses.dataclass
class Decisions:
    """What turned out while specialising.

    Attributes:
        pinned: variables of the script's own, for it alone knows what they are.
        real: classes that are written out.
        called: functions that are written once and called.
        unrolled: loops whose turns are written one after the other.
    """

    pinned: set[Any] = dataclasses.field(default_factory=set)
    real: set[Any] = dataclasses.field(default_factory=set)
    called: set[Any] = dataclasses.field(default_factory=set)
    unrolled: set[Any] = dataclasses.field(default_factory=set)

    def add(self, again: Again) -> None:
        """Take up what was found out."""
        chosen = getattr(self, again.kind)
        if again.key in chosen:
            raise Unwritable(f"{again.kind}: {again.key}")
        chosen.add(again.key)


@dataclasses.dataclass
class _Frame:
    """A function of the script.

    Attributes:
        number: tells it from others.
        level: blocks that were open where it begins.
        foreign: variables of the functions around it that it assigns.
    """

    number: int
    level: int
    foreign: dict[str, None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class _Call:
    """A call that is being specialised.

    Attributes:
        function: that is called.
        inline: whether it is written where it is called.
        owned: variables of the script that it made.
        around: what is written in the place of a ``yield``.
        wanted: whether anybody looks at what it returns.
        loops: how many loops of its own are open.
    """

    function: Function | None
    inline: bool
    owned: dict[str, None] = dataclasses.field(default_factory=dict)
    around: Callable[[Value], Status] | None = None
    yielded: Status = None
    wanted: bool = True


class Specialiser:
    """Writes one program.

    Args:
        adapter: of the implementation.
        module: the name of its device module, as the script has it.
        decisions: made so far.
    """

    def __init__(self, adapter: Adapter, decisions: Decisions) -> None:
        self.adapter = adapter
        self.decisions = decisions
        self.imports: dict[str, None] = {}
        self.constants: list[ast.stmt] = []
        self.functions: list[ast.stmt] = []
        self.counts: dict[Any, list[int]] = {}
        self._out: list[ast.stmt] | None = []
        self._names: set[str] = set(_RESERVED)
        self._level = 0
        self._catching = 0
        self._frames = [_Frame(0, 0)]
        self._numbers = 0
        self._home: dict[str, int] = {}
        self._calls: list[_Call] = []
        self._log: list[tuple[Cell, Value | None]] = []
        self._origins: dict[tuple[str, str], str] = {}
        self._written: dict[Any, str] = {}
        self._active: list[Any] = []
        self._defining: list[Any] = []
        self._loops: list[tuple[Any, set[str]]] = []
        self._nonnull: set[str] = set()
        self._maybe_none: set[str] = set()
        self._temporaries: set[str] = set()
        self._handlers: set[str] = set()
        self.better: dict[str, str] = {}
        self._current_cells: list[Cell] = []
        self._errors: dict[type, str] = {}
        module = getattr(adapter, "module", None)
        self._module = module.__name__ if isinstance(module, ModuleType) else None

    # -- the whole ----------------------------------------------------------------------------------------------------

    def of_function(self, function: Callable[..., Any], arguments: dict[str, Value]) -> list[ast.stmt]:
        """The program of a test."""
        known = self._function(function, context=False)
        return self._program(known, known.node.body, arguments)  # type: ignore[arg-type]

    def of_steps(self, body: list[ast.stmt], names: dict[str, Any]) -> list[ast.stmt]:
        """The program of steps."""
        scope = Scope({}, None, names, "")
        node = ast.FunctionDef("steps", _no_arguments(), body, [])
        return self._program(Function(node, scope), body, {})

    def _program(self, function: Function, body: list[ast.stmt], arguments: dict[str, Value]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        self._out = out
        call = _Call(function, inline=False)
        scope = self._scope(function, arguments, call)
        self._calls.append(call)
        self._block(body, scope)
        return out

    # -- names --------------------------------------------------------------------------------------------------------

    def _fresh(self, name: str) -> str:
        name = name.strip("_") or "value"
        final, number = name, 1
        while final in self._names or final in vars(builtins):
            number += 1
            final = f"{name}_{number}"
        self._names.add(final)
        self._home[final] = self._frames[-1].number
        return final

    def _emit(self, node: ast.stmt) -> None:
        if self._out is None:
            raise NeedsStatements
        self._out.append(node)

    def _assign(self, name: str, node: ast.expr) -> None:
        self._store(name)
        self._emit(_assignment(name, node))

    def _store(self, name: str) -> None:
        frame = self._frames[-1]
        if self._home.get(name, frame.number) != frame.number:
            frame.foreign[name] = None

    def _temporary(self, name: str, node: ast.expr) -> Code:
        final = self._fresh(name)
        self._assign(final, node)
        if _gives(node):
            self._nonnull.add(final)
        self._calls[-1].owned[final] = None
        self._temporaries.add(final)
        return Code(ast.Name(final, ast.Load()))

    @contextlib.contextmanager
    def _into(self, out: list[ast.stmt] | None) -> Iterator[None]:
        before, self._out = self._out, out
        try:
            yield
        finally:
            self._out = before

    # -- variables ----------------------------------------------------------------------------------------------------

    def _scope(self, function: Function, arguments: Mapping[str, Value], call: _Call) -> Scope:
        node = function.node
        scope = Scope({}, function.scope, function.scope.names, function.scope.module)
        body = node.body if isinstance(node, ast.FunctionDef) else []
        foreign = {name for entry in _own_nodes(body) for name in _foreign_names(entry)}
        names = [name for name in _assigned(body) if name not in foreign]
        for name in dict.fromkeys([*arguments, *names]):
            scope.cells[name] = self._cell((_place(node), name), name)
        self._calls.append(call)
        for name, value in arguments.items():
            self._set(scope.cells[name], value, parameter=True)
            default = function.defaults.get(name)
            final = _name_of(scope.cells[name].value)
            # What is given for a parameter that may be None is something else.
            if isinstance(default, Known) and default.value is None and final is not None:
                if final not in self._maybe_none:
                    self._nonnull.add(final)
        self._calls.pop()
        return scope

    def _cell(self, key: tuple[Any, ...], name: str) -> Cell:
        return Cell(key, name, self._level, self._frames[-1].number)

    def _set(self, cell: Cell, value: Value, *, parameter: bool = False) -> None:
        """Let a variable stand for a value."""
        if isinstance(value, Known) and value.value is self.adapter:
            cell.value = value  # the same everywhere
            return
        if cell.key in self.decisions.pinned:
            node = self.lift(value)
            if cell.pinned is None:
                cell.pinned = self._fresh(cell.name)
                self._calls[-1].owned[cell.pinned] = None
            self._assign(cell.pinned, node)
            if isinstance(node, ast.Constant) and node.value is None:
                self._maybe_none.add(cell.pinned)
            cell.value = Code(ast.Name(cell.pinned, ast.Load()))
            return
        if cell.home != self._frames[-1].number or (cell.read_later and not _same(cell.value, value)):
            raise Again("pinned", cell.key)
        if self._level > cell.level and cell.value is not None and not _same(cell.value, value):
            raise Again("pinned", cell.key)
        if isinstance(value, Parts | Table):
            value = self._settled(value)
        if isinstance(value, Code) and not _is_trivial(value.node):
            if not (parameter and _is_member(value.node)):
                value = self._named(cell, value.node)
        elif isinstance(value, Code) and isinstance(value.node, ast.Name) and not parameter:
            name = value.node.id
            if (
                name in self._calls[-1].owned and any(name == _name_of(other.value) for other in self._siblings(cell))
            ) or name in self._handlers:
                value = self._named(cell, value.node)
        self._log.append((cell, cell.value))
        cell.value = value
        known_as = _name_of(value)
        if (
            known_as is not None
            and re.fullmatch(r"(result|value)(_\d+)?", known_as)
            and cell.name not in ("result", "value")
        ):
            self.better.setdefault(known_as, cell.name.strip("_"))

    def _settled(self, value: Value) -> Value:
        """A value all of whose parts are computed."""
        if isinstance(value, Code) and not _is_trivial(value.node) and not isinstance(value.node, ast.Starred):
            return self._temporary("value", value.node)
        if isinstance(value, Parts):
            return Parts([self._settled(part) for part in value.parts], value.kind)
        if isinstance(value, Table) and any(_is_open(entry) for entry in value.entries.values()):
            if any(isinstance(entry, Function | Instance) for entry in value.entries.values()):
                return Table({key: self._settled(entry) for key, entry in value.entries.items()})
            return Code(self.lift(value))
        return value

    def _siblings(self, cell: Cell) -> list[Cell]:
        return [entry for entry in self._current_cells if entry is not cell]

    def _named(self, cell: Cell, node: ast.expr) -> Code:
        """A variable of the script for what `node` gives; the one that it has already, if it has one."""
        name = cell.pinned
        if name is None:
            name = cell.pinned = self._fresh(cell.name)
        self._calls[-1].owned[name] = None
        self._assign(name, node)
        self._nonnull.discard(name)
        if _gives(node) or (isinstance(node, ast.Name) and node.id in self._nonnull):
            self._nonnull.add(name)
        return Code(ast.Name(name, ast.Load()))

    def _get(self, cell: Cell, name: str) -> Value:
        if cell.value is None:
            if cell.key in self.decisions.pinned and cell.pinned is not None:
                return Code(ast.Name(cell.pinned, ast.Load()))
            if cell.home != self._frames[-1].number:
                # A function of the script that is written before what it refers to.
                raise Again("pinned", cell.key) if cell.key not in self.decisions.pinned else Unwritable(name)
            raise Unwritable(f"{name} before it stands for anything")
        if cell.home != self._frames[-1].number:
            cell.read_later = True
        return cell.value

    def _rollback(self, mark: int) -> dict[int, tuple[Cell, Value | None]]:
        """Undo what was set since; what that was."""
        latest: dict[int, tuple[Cell, Value | None]] = {}
        while len(self._log) > mark:
            cell, value = self._log.pop()
            latest.setdefault(id(cell), (cell, cell.value))
            cell.value = value
        return latest

    # -- as an expression of the script -------------------------------------------------------------------------------

    def lift(self, value: Value) -> ast.expr:
        """How the script writes a value.

        Raises:
            Unwritable: it cannot.
        """
        if isinstance(value, Code):
            return copy.deepcopy(value.node)
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
        if isinstance(value, _Member):
            return ast.Attribute(self.lift(value.owner), value.name, ast.Load())
        if isinstance(value, Instance):
            raise Again("real", value.cls)
        raise Unwritable(repr(value))

    def _lift_known(self, known: Known) -> ast.expr:
        value = known.value
        if value is self.adapter:
            raise Unwritable("the adapter is no object of the script")
        if known.node is not None:
            self.imports |= dict.fromkeys(known.imports)
            return copy.deepcopy(known.node)
        if isinstance(value, float) and not math.isfinite(value):
            return _parsed(f"float({str(value)!r})")
        if isinstance(value, bool | int | float | complex | str | bytes) and not isinstance(value, enum.Enum):
            return ast.Constant(value) if type(value) in _PLAIN else _parsed(repr(value))
        if value is None or value is Ellipsis:
            return ast.Constant(value)
        if isinstance(value, UnionType):
            kinds = [self._lift_known(Known(kind)) for kind in value.__args__]
            return functools.reduce(lambda one, other: ast.BinOp(one, ast.BitOr(), other), kinds)
        if isinstance(value, inspect._ParameterKind):  # noqa: SLF001  # what Parameter's constants are
            self.imports["import inspect"] = None
            return _parsed(f"inspect.Parameter.{value.name}")
        if isinstance(value, torch.dtype):
            return _parsed(str(value))
        if isinstance(value, torch.device):
            return ast.Constant(str(value))
        if isinstance(value, torch.Size):
            return self._lift_known(Known(tuple(value)))
        if type(value) in (tuple, list, set):
            return self._display(value, known)
        if type(value) is range:
            return _parsed(re.sub(r"\(0, (?=-?\d+\)$)", "(", repr(value)))
        if type(value) is dict:
            keys: list[ast.expr | None] = [self._lift_known(Known(key)) for key in value]
            return ast.Dict(keys, [self._lift_known(Known(entry)) for entry in value.values()])
        if isinstance(value, ModuleType):
            self.imports[f"import {value.__name__}"] = None
            return _parsed(value.__name__)
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
        raise Unwritable(repr(value))

    def _display(self, value: Any, known: Known) -> ast.expr:
        if not value and type(value) is set:
            return _parsed("set()")
        if type(value) is not tuple and known.origin is not None and _is_mutable_state(known):
            return ast.Name(self._constant(*known.origin), ast.Load())
        parts = [self._lift_known(Known(part)) for part in value]
        if type(value) is set:
            return ast.Set(sorted(parts, key=ast.unparse))
        return ast.Tuple(parts, ast.Load()) if type(value) is tuple else ast.List(parts, ast.Load())

    def _import_of(self, value: Any) -> ast.expr | None:
        """Something public of another package."""
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str) and not is_copied(module) and "<" not in name:
            if module == "builtins":
                return _parsed(name)
            own = name.rpartition(".")[2]
            if getattr(torch, own, None) is value:
                return _parsed(f"torch.{own}")
            self.imports[f"import {module}"] = None
            return _parsed(f"{module}.{name}")
        return None

    def _lift_class(self, cls: type) -> ast.expr:
        if cls is NotConforming:
            return _parsed("AssertionError")
        if issubclass(cls, ConformanceError):
            return _parsed("SystemExit")
        if cls is self.adapter.graph_class:
            return _parsed("Graph")
        if is_copied(cls.__module__) and _is_empty(cls):
            # One of Python's that no implementation raises, for each of the test's own.
            kinds = _ERRORS if issubclass(cls, Exception) else _INTERRUPTIONS
            if cls not in self._errors:
                used = [kind for kind in self._errors.values() if kind in kinds]
                self._errors[cls] = kinds[len(used)]
            return _parsed(self._errors[cls])
        if is_copied(cls.__module__):
            return ast.Name(self._class(cls), ast.Load())
        found = self._import_of(cls)
        if found is None:
            raise Unwritable(repr(cls))
        return found

    def _constant(self, module: str, name: str) -> str:
        """A name at the top of a module, as one of the script's."""
        if (module, name) not in self._origins:
            node = assigned_in(module).get(name)
            if node is None:
                raise Unwritable(f"{module}.{name}")
            final = self._origins[module, name] = self._fresh(name)
            self._home.pop(final)
            import sys

            scope = Scope({}, None, vars(sys.modules[module]), module)
            with self._at_top():
                value = self._expression(node, scope)
                lifted = self.lift(value)
            self.constants.append(_assignment(final, lifted))
        return self._origins[module, name]

    @contextlib.contextmanager
    def _at_top(self) -> Iterator[None]:
        state = self._level, self._frames, self._catching
        self._numbers += 1
        self._frames = [_Frame(self._numbers, 0)]
        self._level, self._catching = 0, 1
        self._calls.append(_Call(None, inline=False))
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
            node = copy.deepcopy(class_node(cls))
        except LookupError:
            raise Unwritable(repr(cls)) from None
        final = self._written[cls] = self._fresh(cls.__name__)
        self._home.pop(final)
        import sys

        scope = Scope({}, None, vars(sys.modules[cls.__module__]), cls.__module__)
        with self._at_top():
            bases = [self._expression(base, scope) for base in node.bases]
            node.bases = [self.lift(base) for base in bases if not _is_abstract(base)]
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
        node.name, node.body = final, body or [ast.Pass()]
        self.functions.append(node)
        return final

    def _method(self, cls: type, node: ast.FunctionDef, scope: Scope) -> ast.stmt:
        decorators = list(node.decorator_list)
        function = Function(node, scope, self._defaults(node, scope), owner=cls)
        written = self._definition(function, node.name, {}, real=True)
        written.decorator_list = decorators
        return written

    # -- functions of the script --------------------------------------------------------------------------------------

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
        lambda_node = self._as_lambda(function)
        if lambda_node is not None:
            return lambda_node
        return ast.Name(self._written_out(function, {}), ast.Load())

    def _handed_on(self, function: Function) -> ast.expr | None:
        """What a function without parameters does nothing but call."""
        node = self._as_lambda(function)
        if isinstance(node, ast.Lambda) and not node.args.args and isinstance(node.body, ast.Call):
            called = node.body
            if not called.args and not called.keywords and _is_trivial(called.func):
                return called.func
        return None

    def _as_lambda(self, function: Function) -> ast.Lambda | None:
        if function.context or self._is_called(function):
            return None
        mark, names = len(self._log), set(self._names)
        try:
            with self._frame(), self._into(None):
                arguments, scope = self._parameters(function)
                call = _Call(function, inline=True)
                self._calls.append(call)
                self._catching += 1
                try:
                    value = self._body(function, scope, call)
                    body = self.lift(value)
                finally:
                    self._catching -= 1
                    self._calls.pop()
            return ast.Lambda(arguments, body)
        except (NeedsStatements, NotInline):
            self._rollback(mark)
            self._names = names
            return None

    @contextlib.contextmanager
    def _frame(self) -> Iterator[_Frame]:
        self._numbers += 1
        frame = _Frame(self._numbers, self._level)
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
        node = copy.deepcopy(function.node.args)
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
        for name, value in list(values.items()):
            if isinstance(value, Named):
                values[name] = Table({entry: values.pop(entry) for entry in value.names})
        arguments = _no_arguments()
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
        scope = self._scope(function, values, _Call(function, inline=False))
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
            call = _Call(function, inline=False)
            with self._into(out):
                arguments, scope = self._parameters(function, bound, real=real)
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
            decorators = [_parsed("contextlib.contextmanager")]
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
                _place(function.node),
                tuple(
                    (name, id(value.value) if isinstance(value, Known) else value.names)
                    for name, value in bound.items()
                    if isinstance(value, Known | Named)
                ),
                id(function.receiver.value) if isinstance(function.receiver, Known) else None,
            )
            if key in self._written:
                return self._written[key]
        place = _place(function.node)
        if not alone and place in self._defining:
            if isinstance(function.receiver, Instance):
                raise Again("real", function.receiver.cls)
            raise Unwritable(f"{function.name} calls itself")
        name = self._fresh(function.name)
        if alone:
            self._written[key] = name
            self._home.pop(name)
            state = self._level, self._frames, self._home, self._nonnull, self._maybe_none, self._calls
            names = set(self._names)
            self._frames, self._level, self._home = [_Frame(0, 0)], 0, {}
            self._nonnull, self._maybe_none, self._calls = set(), set(), [_Call(None, inline=False)]
            self._names &= _RESERVED | set(self._written.values()) | set(self._origins.values())
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
        else:
            self._defining.append(place)
            try:
                self._emit(self._definition(function, name, bound))
            finally:
                self._defining.pop()
        return name

    def _is_called(self, function: Function) -> bool:
        return _place(function.node) in self.decisions.called

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(
        self, function: Function, arguments: list[Value], keywords: dict[str, Value], *, wanted: bool = True
    ) -> Value:
        """Write a call of a function of the kit's."""
        place = _place(function.node)
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
            [ast.keyword(None if key.startswith("**") else key, value) for key, value in named.items()],
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
            bound[node.vararg.arg] = _parts(rest)
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
        call = _Call(function, inline=True, wanted=wanted)
        place = _place(function.node)
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
        self._let_go(call, [value, *bound.values(), *([function.receiver] if function.receiver else [])])
        return value

    def _body(self, function: Function, scope: Scope, call: _Call) -> Value:
        node = function.node
        if isinstance(node, ast.Lambda):
            return self._expression(node.body, scope)
        if _is_generator(node) and call.around is None:
            raise NotInline
        status = self._block(node.body, scope)
        if status is _NORMAL:
            return _NONE
        if status is _ENDED:
            return Code(ast.Constant(None))
        return status  # type: ignore[no-any-return]

    def _let_go(self, call: _Call, kept: Sequence[Value]) -> None:
        """Let go of what a call made, as its end does; its caller takes what it keeps."""
        names = {name for value in kept for name in self._names_in(value)}
        owner = self._calls[-1]
        dropped = [name for name in call.owned if name not in names]
        owner.owned |= {name: None for name in call.owned if name in names}
        if dropped and self._out is not None:
            self._emit(ast.Delete([ast.Name(name, ast.Del()) for name in dropped]))

    def _names_in(self, value: Value | None, seen: set[int] | None = None) -> set[str]:
        """The variables of the script that a value needs."""
        seen = set() if seen is None else seen
        if value is None or id(value) in seen:
            return set()
        seen.add(id(value))
        if isinstance(value, Code):
            return {part.id for part in ast.walk(value.node) if isinstance(part, ast.Name)}
        inner: list[Value | None] = []
        names: set[str] = set()
        cells: list[Cell] = []
        if isinstance(value, Parts):
            inner += value.parts
        elif isinstance(value, Table):
            inner += value.entries.values()
        elif isinstance(value, Instance):
            cells += value.cells.values()
        elif isinstance(value, Function):
            inner += [value.receiver, *value.defaults.values()]
            scope: Scope | None = value.scope
            used = {part.id for part in ast.walk(value.node) if isinstance(part, ast.Name)}
            while scope is not None:
                cells += [cell for name, cell in scope.cells.items() if name in used]
                scope = scope.outer
        for cell in cells:
            if id(cell) not in seen:
                seen.add(id(cell))
                inner.append(cell.value)
                if cell.pinned is not None:
                    names.add(cell.pinned)
        return names.union(*(self._names_in(each, seen) for each in inner)) if inner else names

    # -- statements ---------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt], scope: Scope) -> Status:
        """Write statements; how they end: going on, never, or with the value that they return."""
        rest = list(body)
        while rest:
            node, rest = rest[0], rest[1:]
            inline = self._calls[-1].inline
            if isinstance(node, _Turn):
                self._bind(node.target, node.part, scope)
                rest = [*_without_continue(node.body), *rest]
                continue
            if isinstance(node, ast.If):
                test = self._expression(node.test, scope)
                truth = self._truth(test)
                if truth is not None:
                    self._drop(test)
                    rest = [*(node.body if truth else node.orelse), *rest]
                    continue
                if rest and inline and _leaves(node):
                    node = _with_rest(node, rest)
                    rest = []
                status = self._if(node, test, scope)
            elif isinstance(node, ast.Try):
                if rest and inline and _leaves(node):
                    node = _with_rest_of_try(node, rest)
                    rest = []
                status = self._try(node, scope)
            elif isinstance(node, ast.For):
                status = self._for(node, rest, scope)
                if isinstance(status, list):
                    rest = status
                    continue
            else:
                status = self._statement(node, scope)
            if status is not _NORMAL:
                return status
        return _NORMAL

    def _statement(self, node: ast.stmt, scope: Scope) -> Status:
        method = getattr(self, f"_{type(node).__name__.lower()}_statement", None)
        if method is None:
            raise Unwritable(f"{type(node).__name__} statement")
        call = self._calls[-1]
        before = set(call.owned)
        with self._looking_at(scope):
            status = method(node, scope)
        if status is _NORMAL and self._out is not None:
            self._drop_temporaries(call, before, scope)
        return status

    def _drop_temporaries(self, call: _Call, before: set[str], scope: Scope) -> None:
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

    @contextlib.contextmanager
    def _looking_at(self, scope: Scope) -> Iterator[None]:
        before, self._current_cells = self._current_cells, list(scope.cells.values())
        try:
            yield
        finally:
            self._current_cells = before

    def _pass_statement(self, node: ast.Pass, scope: Scope) -> Status:
        return _NORMAL

    def _nonlocal_statement(self, node: ast.Nonlocal, scope: Scope) -> Status:
        return _NORMAL

    def _global_statement(self, node: ast.Global, scope: Scope) -> Status:
        raise Unwritable("global")

    def _import_statement(self, node: ast.Import, scope: Scope) -> Status:
        import importlib

        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            module = importlib.import_module(alias.name if alias.asname else name)
            line = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
            value = Known(module, ast.Name(name, ast.Load()), (line,))
            scope.cells.setdefault(name, self._cell((_place(node), name), name)).value = value
        return _NORMAL

    def _importfrom_statement(self, node: ast.ImportFrom, scope: Scope) -> Status:
        import importlib

        module = importlib.import_module(str(node.module))
        for alias in node.names:
            name = alias.asname or alias.name
            found = self._global(vars(module), str(node.module), alias.name)
            scope.cells.setdefault(name, self._cell((_place(node), name), name)).value = found
        return _NORMAL

    def _expr_statement(self, node: ast.Expr, scope: Scope) -> Status:
        if isinstance(node.value, ast.Constant):
            return _NORMAL
        if isinstance(node.value, ast.Yield):
            return self._yield(node.value, scope)
        if isinstance(node.value, ast.YieldFrom):
            self._emit(ast.Expr(ast.YieldFrom(self.lift(self._expression(node.value.value, scope)))))
            return _NORMAL
        if isinstance(node.value, ast.Call):
            value = self._call(node.value, scope, wanted=False)
        else:
            value = self._expression(node.value, scope)
        if value is _ENDED_VALUE:
            return _ENDED
        self._drop(value)
        return _NORMAL

    def _drop(self, value: Value) -> None:
        """Compute something that nobody looks at."""
        if isinstance(value, Code) and not _is_pure(value.node):
            self._emit(ast.Expr(value.node))
        elif isinstance(value, Parts):
            for part in value.parts:
                self._drop(part)

    def _yield(self, node: ast.Yield, scope: Scope) -> Status:
        call = self._calls[-1]
        value = _NONE if node.value is None else self._expression(node.value, scope)
        if call.around is None:
            self._emit(ast.Expr(ast.Yield(self.lift(value))))
            return _NORMAL
        if call.yielded is not None:
            raise NotInline
        call.yielded = _NORMAL  # while it is written
        around, call.around = call.around, None
        state = self._calls
        self._calls = self._calls[:-1]
        try:
            call.yielded = around(value)
        finally:
            self._calls = state
            call.around = around
        return _NORMAL

    def _assign_statement(self, node: ast.Assign, scope: Scope) -> Status:
        if any(isinstance(target, ast.Name) and target.id == "__tracebackhide__" for target in node.targets):
            return _NORMAL
        if isinstance(node.value, ast.Yield):
            raise NotInline
        value = self._expression(node.value, scope)
        if value is _ENDED_VALUE:
            return _ENDED
        if len(node.targets) > 1 and isinstance(value, Code) and not _is_trivial(value.node):
            value = self._temporary("value", value.node)
        for target in node.targets:
            self._bind(target, value, scope)
        return _NORMAL

    def _annassign_statement(self, node: ast.AnnAssign, scope: Scope) -> Status:
        if node.value is not None:
            self._bind(node.target, self._expression(node.value, scope), scope)
        return _NORMAL

    def _augassign_statement(self, node: ast.AugAssign, scope: Scope) -> Status:
        target = copy.deepcopy(node.target)
        target.ctx = ast.Load()
        old, value = self._in_order([target, node.value], scope)
        if isinstance(old, Known) and isinstance(value, Known) and type(old.value) in (int, float, str, tuple):
            self._bind(node.target, self._binary(node.op, old, value), scope)
            return _NORMAL
        if isinstance(node.target, ast.Name):
            cell = scope.find(node.target.id)
            assert cell is not None
            if isinstance(cell.value, Code) and isinstance(cell.value.node, ast.Name):
                name = cell.value.node.id
                self._store(name)
                self._emit(ast.AugAssign(ast.Name(name, ast.Store()), node.op, self.lift(value)))
                return _NORMAL
            self._bind(node.target, Code(ast.BinOp(self.lift(old), node.op, self.lift(value))), scope)
            return _NORMAL
        place = self._place_of(node.target, scope)
        if place is None:
            assert isinstance(node.target, ast.Attribute)
            if isinstance(old, Code) and isinstance(old.node, ast.Name):
                self._store(old.node.id)
                self._emit(ast.AugAssign(ast.Name(old.node.id, ast.Store()), node.op, self.lift(value)))
            else:
                self._bind(node.target, Code(ast.BinOp(self.lift(old), node.op, self.lift(value))), scope)
            return _NORMAL
        self._emit(ast.AugAssign(place, node.op, self.lift(value)))  # type: ignore[arg-type]
        return _NORMAL

    def _place_of(self, node: ast.expr, scope: Scope) -> ast.expr | None:
        """An attribute or an element of an object of the script, to be assigned; ``None`` of one that is not."""
        if isinstance(node, ast.Attribute):
            owner = self._expression(node.value, scope)
            if isinstance(owner, Instance):
                return None
            return ast.Attribute(self.lift(owner), node.attr, ast.Store())
        assert isinstance(node, ast.Subscript)
        owner, index = self._in_order([node.value, node.slice], scope)
        return ast.Subscript(self.lift(owner), self.lift(index), ast.Store())

    def _bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Assign a value to whatever."""
        if isinstance(target, ast.Name):
            cell = scope.find(target.id)
            if cell is None:
                raise Unwritable(f"{target.id} of a module is assigned")
            self._set(cell, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value, scope)
        elif isinstance(target, ast.Attribute):
            owner = self._expression(target.value, scope)
            if isinstance(owner, Instance):
                self._set(self._attribute_cell(owner, target.attr), value)
            elif not self._is_adapter(value):
                node = ast.Attribute(self.lift(owner), target.attr, ast.Store())
                self._emit(ast.Assign([node], self.lift(value), lineno=0))
        elif isinstance(target, ast.Subscript):
            owner, index = self._in_order([target.value, target.slice], scope)
            if isinstance(owner, Table) and isinstance(index, Known):
                owner.entries[index.value] = value
                return
            if isinstance(owner, Table):
                raise Again("pinned", self._key_of(target.value, scope))
            place = ast.Subscript(self.lift(owner), self.lift(index), ast.Store())
            self._emit(ast.Assign([place], self.lift(value), lineno=0))
        else:
            raise Unwritable(f"assignment to {type(target).__name__}")

    def _key_of(self, node: ast.expr, scope: Scope) -> Any:
        cell = scope.find(node.id) if isinstance(node, ast.Name) else None
        if cell is None:
            raise Unwritable(ast.unparse(node))
        return cell.key

    def _unpack(self, targets: Sequence[ast.expr], value: Value, scope: Scope) -> None:
        parts = self._elements(value)
        starred = next((place for place, entry in enumerate(targets) if isinstance(entry, ast.Starred)), None)
        if parts is not None:
            if starred is None:
                if len(parts) != len(targets):
                    raise Unwritable("unpacking")
            else:
                after = len(targets) - starred - 1
                middle = parts[starred : len(parts) - after]
                parts = [*parts[:starred], Parts(middle, list), *parts[len(parts) - after :]]
                targets = [entry.value if isinstance(entry, ast.Starred) else entry for entry in targets]
            # The values are all computed before any is assigned.
            parts = [
                self._temporary("value", part.node)
                if isinstance(part, Code) and not _is_trivial(part.node) and len(parts) > 1 and not simple
                else part
                for part in parts
                for simple in [all(isinstance(entry, ast.Name) for entry in targets)]
            ]
            for target, part in zip(targets, parts, strict=True):
                self._bind(target, part, scope)
            return
        places: list[ast.expr] = []
        node = self.lift(value)
        for entry in targets:
            inner = entry.value if isinstance(entry, ast.Starred) else entry
            place: ast.expr
            if isinstance(inner, ast.Name):
                cell = scope.find(inner.id)
                assert cell is not None
                place = ast.Name(self._receiving(cell), ast.Store())
            elif isinstance(inner, ast.Tuple | ast.List):
                place = self._pattern(inner, scope)
            else:
                found = self._place_of(inner, scope)
                if found is None:
                    assert isinstance(inner, ast.Attribute)
                    owner = self._expression(inner.value, scope)
                    assert isinstance(owner, Instance)
                    place = ast.Name(self._receiving(self._attribute_cell(owner, inner.attr)), ast.Store())
                else:
                    place = found
            places.append(ast.Starred(place, ast.Store()) if isinstance(entry, ast.Starred) else place)
        self._emit(ast.Assign([ast.Tuple(places, ast.Store())], node, lineno=0))

    def _pattern(self, target: ast.expr, scope: Scope) -> ast.expr:
        """A target whose variables the script assigns."""
        if isinstance(target, ast.Tuple | ast.List):
            return ast.Tuple([self._pattern(entry, scope) for entry in target.elts], ast.Store())
        if isinstance(target, ast.Starred):
            return ast.Starred(self._pattern(target.value, scope), ast.Store())
        if isinstance(target, ast.Name):
            cell = scope.find(target.id)
            assert cell is not None
            return ast.Name(self._receiving(cell), ast.Store())
        raise NotInline

    def _receiving(self, cell: Cell) -> str:
        """The variable of the script that a statement assigns for a variable of the test."""
        pinned = cell.key in self.decisions.pinned
        if not pinned:
            if cell.home != self._frames[-1].number or cell.read_later:
                raise Again("pinned", cell.key)
            own = isinstance(cell.value, Code) and _name_of(cell.value) == cell.pinned
            if self._level > cell.level and cell.value is not None and not own:
                raise Again("pinned", cell.key)
        if cell.pinned is None:
            cell.pinned = self._fresh(cell.name)
        self._calls[-1].owned[cell.pinned] = None
        self._store(cell.pinned)
        value = Code(ast.Name(cell.pinned, ast.Load()))
        self._log.append((cell, cell.value))
        cell.value = value
        return cell.pinned

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
        return _NORMAL

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
        value = _NONE if node.value is None else self._expression(node.value, scope)
        if value is _ENDED_VALUE:
            return _ENDED
        if not call.inline:
            if call.function is None or len(self._frames) == 1:  # the test itself
                self._drop(value)
                self._emit(ast.Return(None))
                return _ENDED
            self._emit(ast.Return(None if value is _NONE else self.lift(value)))
            return _ENDED
        if not call.wanted:
            self._drop(value)
            return _NONE
        if isinstance(value, Code) and not _is_trivial(value.node) and self._out is not None:
            assert call.function is not None
            value = self._temporary(_noun(call.function.name), value.node)
        elif isinstance(value, Parts | Table) and self._out is not None:
            value = self._settled(value)
            if isinstance(value, Code):
                value = self._temporary("data", value.node)
        return value

    def _raise_statement(self, node: ast.Raise, scope: Scope) -> Status:
        raised = None if node.exc is None else self.lift(self._expression(node.exc, scope))
        cause = None if node.cause is None else self.lift(self._expression(node.cause, scope))
        self._emit(ast.Raise(raised, cause))
        return _ENDED

    def _assert_statement(self, node: ast.Assert, scope: Scope) -> Status:
        test = self._expression(node.test, scope)
        if self._truth(test) is True:
            self._drop(test)
            return _NORMAL
        message = None if node.msg is None else self.lift(self._expression(node.msg, scope))
        self._emit(ast.Assert(self.lift(test), message))
        return _NORMAL

    def _break_statement(self, node: ast.Break, scope: Scope) -> Status:
        self._emit(ast.Break())
        return _ENDED

    def _continue_statement(self, node: ast.Continue, scope: Scope) -> Status:
        self._emit(ast.Continue())
        return _ENDED

    def _functiondef_statement(self, node: ast.FunctionDef, scope: Scope) -> Status:
        if any(_root(entry) in ("given", "examples", "settings") for entry in node.decorator_list):
            raise Unwritable("a drawn example")
        context = any(ast.unparse(entry).endswith("contextmanager") for entry in node.decorator_list)
        if node.decorator_list and not context:
            raise Unwritable("a decorated function")
        cell = scope.find(node.name)
        assert cell is not None
        self._log.append((cell, cell.value))
        function = Function(node, scope, self._defaults(node, scope), context)
        if cell.key in self.decisions.pinned:
            self._set(cell, function)
        else:
            cell.value = function
        return _NORMAL

    def _classdef_statement(self, node: ast.ClassDef, scope: Scope) -> Status:
        raise Unwritable("a class in a function")

    def _defaults(self, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> dict[str, Value]:
        positional = [*node.args.posonlyargs, *node.args.args]
        pairs: list[tuple[ast.arg, ast.expr | None]] = []
        if node.args.defaults:
            pairs += zip(positional[-len(node.args.defaults) :], node.args.defaults, strict=True)
        pairs += zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        return {entry.arg: self._expression(default, scope) for entry, default in pairs if default is not None}

    # -- statements with blocks ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _deeper(self, out: list[ast.stmt]) -> Iterator[None]:
        self._level += 1
        try:
            with self._into(out):
                yield
        finally:
            self._level -= 1

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
            if both and one is not _ENDED and other is not _ENDED:
                if not _same(set_in_first[key][1], set_in_second[key][1]):
                    raise Again("pinned", cell.key)
            final = value
            if key in set_in_first and other is _ENDED:
                final = set_in_first[key][1]
            self._log.append((cell, cell.value))
            cell.value = final
        status = self._joined([(one, first), (other, second)])
        if first or second:
            if not first and second:
                condition, first, second = _negated(condition), second, []
            self._emit(ast.If(condition, first or [ast.Pass()], second))
        elif not _is_pure(condition):
            self._emit(ast.Expr(condition))
        return status

    def _joined(self, arms: list[tuple[Status, list[ast.stmt]]]) -> Status:
        """How blocks end of which one is run."""
        going = [(status, out) for status, out in arms if status is not _ENDED]
        if not going:
            return _ENDED
        statuses = [status for status, _ in going]
        if all(status is _NORMAL for status in statuses):
            return _NORMAL
        if any(status is _NORMAL for status in statuses):
            raise NotInline
        return self._merged(going)

    def _merged(self, arms: list[tuple[Value, list[ast.stmt]]]) -> Value:
        values = [value for value, _ in arms]
        if all(_same(values[0], value) for value in values):
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
        name = self._fresh(_noun(function.name) if function is not None else "value")
        for value, out in arms:
            with self._into(out):
                self._assign(name, self.lift(value))
        self._calls[-1].owned[name] = None
        return Code(ast.Name(name, ast.Load()))

    def _try(self, node: ast.Try, scope: Scope) -> Status:
        handlers = [(entry, self._caught_kinds(entry, scope)) for entry in node.handlers]
        handlers = [(entry, kinds) for entry, kinds in handlers if kinds is not _NEVER]
        if not self._catching:
            # Nothing that is raised is caught: what puts things right before it goes on is for nobody.
            handlers = [(entry, kinds) for entry, kinds in handlers if not _raises_on(entry)]
        if not handlers and not node.finalbody:
            return self._block([*node.body, *node.orelse], scope)
        if not handlers and not self._catching and not _leaves(ast.Module(node.body, [])):
            status = self._block(node.body, scope)
            if status is not _NORMAL:
                if status is _ENDED:
                    return status
                after = self._block(node.finalbody, scope)
                return status if after is _NORMAL else after
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
        if status is _NORMAL and node.orelse:
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
                    ending = self._temporary(_noun(getattr(self._calls[-1].function, "name", "error")), ending.node)
            if name is not None and cell is not None:
                cell.value = None
            for late, _ in self._log[place:]:
                if id(late) in changed and ending is not _ENDED and not _is_pinned_value(late):
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
        return status if ended is _NORMAL else ended

    def _caught_kinds(self, entry: ast.ExceptHandler, scope: Scope) -> Any:
        """What a handler catches; nothing of the kit's is ever raised."""
        if entry.type is None:
            return None
        value = self._expression(entry.type, scope)
        kinds = value.value if isinstance(value, Known) else None
        several = kinds if isinstance(kinds, tuple) else (kinds,)
        if all(isinstance(kind, type) and issubclass(kind, ConformanceError) for kind in several):
            return _NEVER
        if kinds is NotConforming and _raises_on(entry):
            return _NEVER if len(entry.body) == 1 else value
        return value

    def _with_statement(self, node: ast.With, scope: Scope) -> Status:
        return self._with(node.items, node.body, scope)

    def _with(self, items: Sequence[ast.withitem], body: Sequence[ast.stmt], scope: Scope) -> Status:
        if not items:
            return self._block(body, scope)
        item, rest = items[0], items[1:]
        manager = self._manager(item.context_expr, scope)
        if isinstance(manager, tuple):
            function, arguments, keywords = manager
            place = _place(function.node)
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
        if catching and status is not _NORMAL and self._calls[-1].inline:
            raise NotInline
        if len(out) == 1 and isinstance(out[0], ast.With) and rest:
            inner = out[0]
            self._emit(ast.With([ast.withitem(node, target), *inner.items], inner.body))
        else:
            self._emit(ast.With([ast.withitem(node, target)], out or [ast.Pass()]))
        return _NORMAL if catching and status is _ENDED else status

    def _suppresses(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and not ast.unparse(node.func).endswith((".stream", ".graph", "no_grad"))

    def _manager(self, node: ast.expr, scope: Scope) -> Any:
        """A context manager: one of the kit's own with its arguments, or an expression."""
        if isinstance(node, ast.Call):
            function = self._expression(node.func, scope)
            found = self._callable(function)
            if isinstance(found, Function):
                arguments, keywords = self._arguments(node, scope)
                if found.context:
                    return found, arguments, keywords
                if isinstance(found.node, ast.FunctionDef) and len(_plain_body(found.node)) <= 12:
                    inner = self._tail(found)
                    if inner is not None:
                        bound = self._bound(found, arguments, keywords)
                        call = _Call(found, inline=True)
                        inner_scope = self._scope(found, bound, call)
                        return self._tail_manager(_plain_body(found.node), inner_scope)
                return self.call(found, arguments, keywords)
            return self._apply(function, *self._arguments(node, scope), wanted=True)
        return self._expression(node, scope)

    def _tail(self, function: Function) -> bool | None:
        """Whether a function does nothing but choose the context manager that it returns."""
        node = function.node
        assert isinstance(node, ast.FunctionDef)
        simple = (ast.Return, ast.If, ast.Assign, ast.AnnAssign, ast.Expr)
        return True if all(isinstance(entry, simple) for entry in _plain_body(node)) else None

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
        place = _place(function.node)
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
        call = _Call(function, inline=True, around=around)
        self._active.append(place)
        try:
            inner = self._scope(function, bound, call)
            self._calls.append(call)
            try:
                self._body(function, inner, call)
            except NotInline:
                if call.yielded is None or call.yielded is _NORMAL:
                    raise Again("called", place) from None
                raise
            finally:
                self._calls.pop()
        finally:
            self._active.remove(place)
        if call.yielded is None:
            raise NotInline
        if call.yielded is not _ENDED:
            kept = [cell.value for cell in cells]
            self._let_go(call, [value for value in (*kept, *bound.values(), call.yielded) if isinstance(value, Value)])
        return call.yielded

    # -- loops --------------------------------------------------------------------------------------------------------

    def _for(self, node: ast.For, rest: list[ast.stmt], scope: Scope) -> Any:
        """A loop; or, unrolled, what is to be written instead of it and of the rest."""
        place = _place(node)
        if isinstance(node.iter, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in node.iter.elts):
            iterated: Value = Parts(self._in_order(node.iter.elts, scope), list)
        else:
            iterated = self._expression(node.iter, scope)
        parts = self._elements(iterated)
        if parts is not None and not node.orelse and not _breaks(node.body):
            unroll = len(parts) <= 1 or place in self.decisions.unrolled
            unroll = unroll or any(not self._is_liftable(part) for part in parts)
            if unroll:
                if len(parts) > 40:
                    raise Unwritable("a long loop over what is known")
                return [*(_Turn(node.target, part, node.body) for part in parts), *rest]
        if any(_contains(entry, ast.Return) for entry in node.body) and self._calls[-1].inline:
            raise NotInline
        out: list[ast.stmt] = []
        orelse: list[ast.stmt] = []
        if self._out is None:
            raise NeedsStatements
        length, mark = len(self._out), len(self._log)
        iterator = self.lift(iterated)
        names = set(self._names)
        try:
            self._level += 1
            try:
                target = self._pattern(node.target, scope)
                names_of_turn = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
                if parts is not None and not _breaks(node.body) and len(parts) <= 12:
                    self._loops.append((place, names_of_turn))
                with self._into(out):
                    self._block(node.body, scope)
                    # What one turn leaves the next one finds.
                with self._into(orelse):
                    self._block(node.orelse, scope)
            finally:
                self._level -= 1
                self._loops = [entry for entry in self._loops if entry[0] != place]
        except (Unwritable, NotInline):
            if parts is None or node.orelse or _breaks(node.body) or len(parts) > 12:
                raise
            self._rollback(mark)
            del self._out[length:]
            self._names = names
            raise Again("unrolled", place) from None
        self._emit(ast.For(target, iterator, out or [ast.Pass()], orelse, lineno=0))
        return _NORMAL

    def _is_liftable(self, value: Value) -> bool:
        if isinstance(value, Code):
            return True
        if isinstance(value, Known):
            return value.node is not None or _is_plain(value.value)
        return isinstance(value, Parts) and all(map(self._is_liftable, value.parts))

    def _while_statement(self, node: ast.While, scope: Scope) -> Status:
        if any(_contains(entry, ast.Return) for entry in node.body) and self._calls[-1].inline:
            raise NotInline
        out: list[ast.stmt] = []
        self._level += 1
        try:
            # What the loop sets its condition must see.
            for name in _assigned(node.body):
                cell = scope.find(name)
                if cell is not None and cell.value is not None and not _is_own(cell):
                    if cell.key not in self.decisions.pinned:
                        raise Again("pinned", cell.key)
            try:
                with self._into(None):
                    test = self._expression(node.test, scope)
            except NeedsStatements:
                with self._into(out):
                    late = self._expression(node.test, scope)
                    self._emit(ast.If(_negated(self.lift(late)), [ast.Break()], []))
                test = Known(True)
            if self._truth(test) is False:
                return _NORMAL
            with self._into(out):
                self._block(node.body, scope)
        finally:
            self._level -= 1
        if node.orelse:
            raise NotInline
        self._emit(ast.While(self.lift(test), out or [ast.Pass()], []))
        return _NORMAL

    # -- expressions --------------------------------------------------------------------------------------------------

    def _expression(self, node: ast.expr, scope: Scope) -> Value:
        if isinstance(node, _Value):
            return node.value
        if isinstance(node, _Appended):
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
                    if isinstance(earlier, Code) and not _is_pure(earlier.node):
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
            import sys

            home = line.split()[1]
            original = line.split()[3]
            return self._global(vars(sys.modules[home]), home, original)
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
            return _Member(owner, name)
        if isinstance(owner, Function):
            if name == "__name__":
                return Known(owner.name)
            return Code(ast.Attribute(self.lift(owner), name, ast.Load()))
        raise Unwritable(f"{name} of {owner!r}")

    def _attribute_of_known(self, owner: Known, name: str) -> Value:
        value = owner.value
        if value is self.adapter:
            return self._member(name)
        if isinstance(value, ModuleType):
            if not hasattr(value, name):
                return Code(ast.Attribute(self.lift(owner), name, ast.Load()))
            found = getattr(value, name)
            if is_copied(value.__name__):
                return self._global(vars(value), value.__name__, name)
            node = ast.Attribute(_as_node(owner), name, ast.Load())
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
        plain = isinstance(value, _PLAIN) or type(value) in (tuple, range, frozenset) or isinstance(value, enum.Enum)
        if plain or isinstance(value, torch.device | torch.dtype):
            return Known(getattr(value, name))
        if isinstance(value, FunctionType) and name == "__name__":
            return Known(value.__name__)
        if type(value) in (dict, list, set) or isinstance(value, Mapping):
            return _Member(owner, name)
        return Code(ast.Attribute(self.lift(owner), name, ast.Load()))

    def _attribute_cell(self, owner: Instance, name: str) -> Cell:
        if name not in owner.cells:
            owner.cells[name] = self._cell((owner.cls, name), name)
        return owner.cells[name]

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

    # -- the adapter --------------------------------------------------------------------------------------------------

    def _member(self, name: str) -> Value:
        """A member of the adapter."""
        adapter = self.adapter
        me = Known(adapter)
        if name == "graph_class":
            return Code(_parsed("Graph"))
        if name in ("module", "_module"):
            module: Any = adapter.module  # type: ignore[attr-defined]
            return Known(module, _parsed(module.__name__), (f"import {module.__name__}",))
        if name == "device":
            return Known(adapter.device)
        if name == "runtime":
            runtime = adapter.runtime
            if isinstance(runtime, ModuleType):
                self.imports[f"import {runtime.__name__} as runtime"] = None
                self._names.add("runtime")
                return Known(runtime, _parsed("runtime"), (f"import {runtime.__name__} as runtime",))
            return _NONE if runtime is None else Code(_parsed(f"{self._module}.cudart()"))
        if name in ("dialect", "revision", "name", "needs_side_stream", "has_reset", "seed", "visible_devices"):
            return Known(getattr(adapter, name))
        if name == "capabilities":
            return Known(dict(adapter.capabilities))
        if name in ("owes", "need_reset"):
            return _Computed(getattr(adapter, name))
        if name in adapter.script_words and name in _WORDED:
            text = _WORDED[name].format(adapter.script_words[name])
            node = ast.parse(text).body[0]
            assert isinstance(node, ast.FunctionDef)
            node.lineno = -len(name)
            names = {"torch": torch, "backend": adapter.module, "_NONE": None}  # type: ignore[attr-defined]
            scope = Scope({}, None, {**names, "backend": self._member("module"), "torch": self._torch()}, "")
            return Function(node, scope, self._defaults(node, scope), receiver=me, owner=Adapter)
        kinds = [cls for cls in type(adapter).__mro__ if is_copied(cls.__module__) and name in vars(cls)]
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
        return Known(torch, _parsed("torch"), ("import torch",))

    # -- functions and classes of the kit -----------------------------------------------------------------------------

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
                defaults[entry.arg] = Known(value)
        for key, value in (function.__kwdefaults__ or {}).items():
            defaults[key] = Known(value)
        return Function(node, scope, defaults, context, owner, receiver)

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
        if isinstance(function, Code) and not _is_trivial(function.node):
            length = len(self._out) if self._out is not None else 0
            arguments, keywords = self._arguments(node, scope)
            if self._out is not None and len(self._out) > length and not _is_pure(function.node):
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
            parts = self._elements(value)
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
                        return _NONE
                    inner = self._function(static, receiver=receiver, owner=cls)
                    return self.call(inner, arguments, keywords)
            return _NONE
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
            return _NONE
        if isinstance(function, _Computed):
            return self._computed(function.function, arguments, keywords)
        if isinstance(function, _Member):
            return self._member_call(function, arguments, keywords)
        found = self._callable(function)
        if isinstance(found, Function):
            special = _SPECIAL.get((_home(found.node), found.name))
            if special is not None:
                return getattr(self, special)(arguments, keywords)  # type: ignore[no-any-return]
            if any(name.startswith("**") for name in keywords):
                return self._called(found, arguments, keywords)
            return self.call(found, arguments, keywords, wanted=wanted)
        if isinstance(found, Known):
            special = _SPECIAL_BUILTINS.get(found.value) if _is_hashable(found.value) else None
            if special is not None:
                done: Value | None = getattr(self, special)(arguments, keywords)
                if done is not None:
                    return done
            if isinstance(found.value, type) and is_copied(found.value.__module__):
                return self._construct(found.value, arguments, keywords)
            if _is_hashable(found.value) and found.value in _COMPUTED:
                done = self._computed_builtin(found.value, arguments, keywords)
                if done is not None:
                    return done
            bound_to = getattr(found.value, "__self__", None)
            if isinstance(bound_to, str | int | tuple):
                return self._method_of_plain(bound_to, found.value.__name__, arguments, keywords)
            if found.value is self.adapter.graph_class:
                found = Code(_parsed("Graph"))
        return self._written_call(self.lift(found), arguments, keywords)

    def _written_call(self, node: ast.expr, arguments: list[Value], keywords: dict[str, Value]) -> Code:
        written: list[ast.expr] = []
        for value in arguments:
            if isinstance(value, Code) and isinstance(value.node, ast.Starred):
                written.append(value.node)
            elif not self._is_adapter(value):
                written.append(self.lift(value))
        named = [
            ast.keyword(None if name.startswith("**") else name, self.lift(value))
            for name, value in keywords.items()
            if not self._is_adapter(value)
        ]
        return Code(ast.Call(node, written, named))

    def _is_adapter(self, value: Value) -> bool:
        return isinstance(value, Known) and value.value is self.adapter

    def _method_of_plain(self, owner: Any, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        plain = [value.value for value in arguments if isinstance(value, Known) and _is_plain(value.value)]
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
        return Known(result)

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
        if not all(isinstance(value, Known) for value in (*arguments, *keywords.values())):
            return None
        plain = [value.value for value in arguments if isinstance(value, Known)]
        named = {key: value.value for key, value in keywords.items() if isinstance(value, Known)}
        if not all(_is_computable(value) for value in plain) or any(callable(value) for value in named.values()):
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
        if _name_of(value) in self._handlers and isinstance(kinds, Known) and kinds.value is Exception:
            return Known(True)
        if isinstance(value, Parts) and isinstance(kinds, Known):
            return Known(issubclass(value.kind, kinds.value))
        return None

    def _member_call(self, member: _Member, arguments: list[Value], keywords: dict[str, Value]) -> Value:
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
                return owner.entries.pop(key, arguments[1] if len(arguments) > 1 else _NONE)
            if name == "get" and key is not None:
                return owner.entries.get(key, arguments[1] if len(arguments) > 1 else _NONE)
            if name == "items":
                return Parts([Parts([Known(key), value]) for key, value in owner.entries.items()], list)
            if name == "keys":
                return Known(list(owner.entries))
            if name == "values":
                return Parts(list(owner.entries.values()), list)
        node = ast.Attribute(self.lift(owner), name, ast.Load())
        return self._written_call(node, arguments, keywords)

    def _construct(self, cls: type, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """An object of a class of the kit's."""
        if self._is_real(cls):
            return self._written_call(self._lift_class(cls), arguments, keywords)
        instance = Instance(cls)
        if dataclasses.is_dataclass(cls) and "__init__" in vars(cls) and not _has_text(cls, "__init__"):
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
        special = {name for name in names if name.startswith("__") and _has_text(cls, name)} - data
        return bool(special - {"__str__", "__post_init__", "__annotations__"})

    # -- what the kit's own functions are in a script -----------------------------------------------------------------

    def _expect(self, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        condition, promise, seen = [*arguments, *keywords.values()]
        if self._truth(condition) is True:
            self._drop(condition)
            return _NONE
        self._emit(ast.Assert(self.lift(condition), self._message(promise, seen)))
        return _NONE

    def _message(self, promise: Value, seen: Value) -> ast.expr:
        return _joined_text([Known("expected: "), promise, Known("\nseen: "), seen], self.lift)

    def _fail(self, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        promise, seen = [*arguments, *keywords.values()]
        self._emit(ast.Raise(ast.Call(_parsed("AssertionError"), [self._message(promise, seen)], []), None))
        return _ENDED_VALUE

    def _given(self, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        return Table(
            {name: value for name, value in keywords.items() if not (isinstance(value, Known) and value.value is None)}
        )

    def _expect_none(self, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        return _NONE

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
            if owner.value is self.adapter or isinstance(owner.value, ModuleType):
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
            if isinstance(value, Code) and not _is_trivial(value.node):
                cells[name].value = self._temporary(name, value.node)
            else:
                cells[name].value = value
        inner = ast.Lambda(_no_arguments(), node)
        inner.place = ("partial", id(inner))  # type: ignore[attr-defined]
        return Function(inner, Scope(cells, None, {}, ""))

    # -- operators ----------------------------------------------------------------------------------------------------

    def _truth(self, value: Value) -> bool | None:
        """Whether a value is true, if that is known."""
        if isinstance(value, Known):
            if _is_mutable_state(value):
                return None
            return bool(value.value) if _is_computable(value.value) or value.value is None else True
        if isinstance(value, Function | Instance):
            return True
        if isinstance(value, Parts):
            return bool(value.parts)
        if isinstance(value, Table):
            return bool(value.entries)
        if isinstance(value, Code) and isinstance(value.node, ast.Constant):
            return bool(value.node.value)
        return None

    def _unaryop_expression(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self._expression(node.operand, scope)
        if isinstance(node.op, ast.Not):
            truth = self._truth(value)
            if truth is not None and not (isinstance(value, Code) and not _is_pure(value.node)):
                return Known(not truth)
            return Code(_negated(self.lift(value)))
        if isinstance(value, Known) and isinstance(value.value, int | float):
            operators: Any = {ast.USub: lambda x: -x, ast.UAdd: lambda x: +x, ast.Invert: lambda x: ~x}
            return Known(operators[type(node.op)](value.value))
        return Code(ast.UnaryOp(node.op, self.lift(value)))

    def _binop_expression(self, node: ast.BinOp, scope: Scope) -> Value:
        left, right = self._in_order([node.left, node.right], scope)
        return self._binary(node.op, left, right)

    def _binary(self, operator: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left, Known) and isinstance(right, Known) and _computes(left) and _computes(right):
            return Known(_OPERATORS[type(operator)](left.value, right.value))
        if isinstance(operator, ast.Add):
            one, other = self._elements(left), self._elements(right)
            if one is not None and other is not None and not _is_text(left) and not _is_text(right):
                if any(isinstance(part, Parts | Function | Instance) for part in (*one, *other)):
                    return Parts([*one, *other], tuple if _kind(left) is tuple else list)
        return Code(ast.BinOp(self.lift(left), operator, self.lift(right)))

    def _boolop_expression(self, node: ast.BoolOp, scope: Scope) -> Value:
        wanted = isinstance(node.op, ast.And)
        value = self._expression(node.values[0], scope)
        for place, following in enumerate(node.values[1:], 1):
            truth = self._truth(value)
            if truth is not None and not (isinstance(value, Code) and not _is_pure(value.node)):
                if truth is not wanted:
                    return value
                value = self._expression(following, scope)
                continue
            out: list[ast.stmt] = []
            rest = ast.BoolOp(node.op, node.values[place:]) if len(node.values) - place > 1 else following
            if self._out is None:
                other = self._expression(rest, scope)
            else:
                with self._deeper(out):
                    other = self._expression(rest, scope)
            if out:
                name = self._fresh("holds")
                self._calls[-1].owned[name] = None
                self._assign(name, self.lift(value))
                condition: ast.expr = ast.Name(name, ast.Load())
                out.append(_assignment(name, self.lift(other)))
                self._emit(ast.If(condition if wanted else _negated(condition), out, []))
                return Code(ast.Name(name, ast.Load()))
            if isinstance(other, Known) and isinstance(other.value, bool) and other.value is wanted:
                return value
            return Code(_bool_operation(node.op, self.lift(value), self.lift(other)))
        return value

    def _compare_expression(self, node: ast.Compare, scope: Scope) -> Value:
        values = self._in_order([node.left, *node.comparators], scope)
        if len(values) == 2:
            known = self._compared(node.ops[0], values[0], values[1])
            if known is not None:
                return Known(known)
        elif all(isinstance(value, Known) and _computes(value) for value in values):
            results = [self._compared(op, a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False)]
            if None not in results:
                return Known(all(results))
        lifted = [self.lift(value) for value in values]
        return Code(ast.Compare(lifted[0], node.ops, lifted[1:]))

    def _compared(self, operator: ast.cmpop, left: Value, right: Value) -> bool | None:
        if isinstance(operator, ast.Is | ast.IsNot):
            found = self._identical(left, right)
            return None if found is None else found is isinstance(operator, ast.Is)
        if isinstance(operator, ast.In | ast.NotIn):
            found = self._contained(left, right)
            return None if found is None else found is isinstance(operator, ast.In)
        if not (isinstance(left, Known) and isinstance(right, Known) and _computes(left) and _computes(right)):
            return None
        return bool(_OPERATORS[type(operator)](left.value, right.value))

    def _identical(self, left: Value, right: Value) -> bool | None:
        if isinstance(left, Known) and isinstance(right, Known):
            return left.value is right.value
        if isinstance(left, Known):
            left, right = right, left
        if isinstance(right, Known) and right.value is None:
            if isinstance(left, Function | Instance | Parts | Table):
                return False
            if isinstance(left, Code) and self._is_something(left.node):
                return False
        return None

    def _is_something(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._nonnull or node.id == "Graph"
        return _gives(node)

    def _contained(self, left: Value, right: Value) -> bool | None:
        if isinstance(right, Table) and isinstance(left, Known):
            return left.value in right.entries
        if isinstance(left, Known) and isinstance(right, Known) and not _is_mutable_state(right):
            if isinstance(right.value, str | tuple | list | set | frozenset | range | Mapping):
                return left.value in right.value
        return None

    def _ifexp_expression(self, node: ast.IfExp, scope: Scope) -> Value:
        test = self._expression(node.test, scope)
        truth = self._truth(test)
        if truth is not None and not (isinstance(test, Code) and not _is_pure(test.node)):
            return self._expression(node.body if truth else node.orelse, scope)
        first: list[ast.stmt] = []
        second: list[ast.stmt] = []
        if self._out is None:
            one, other = self._expression(node.body, scope), self._expression(node.orelse, scope)
        else:
            with self._deeper(first):
                one = self._expression(node.body, scope)
            with self._deeper(second):
                other = self._expression(node.orelse, scope)
        if not first and not second:
            return Code(ast.IfExp(self.lift(test), self.lift(one), self.lift(other)))
        name = self._fresh("value")
        self._calls[-1].owned[name] = None
        first.append(_assignment(name, self.lift(one)))
        second.append(_assignment(name, self.lift(other)))
        self._emit(ast.If(self.lift(test), first, second))
        return Code(ast.Name(name, ast.Load()))

    def _namedexpr_expression(self, node: ast.NamedExpr, scope: Scope) -> Value:
        value = self._expression(node.value, scope)
        self._bind(node.target, value, scope)
        return self._expression(ast.Name(node.target.id, ast.Load()), scope)

    # -- displays -----------------------------------------------------------------------------------------------------

    def _tuple_expression(self, node: ast.Tuple, scope: Scope) -> Value:
        return _parts(self._starred(node.elts, scope))

    def _starred(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Value]:
        inner = [entry.value if isinstance(entry, ast.Starred) else entry for entry in nodes]
        values: list[Value] = []
        for entry, value in zip(nodes, self._in_order(inner, scope), strict=True):
            if not isinstance(entry, ast.Starred):
                values.append(value)
                continue
            parts = self._elements(value)
            if parts is None:
                values.append(Code(ast.Starred(self.lift(value), ast.Load())))
            else:
                values += parts
        return values

    def _list_expression(self, node: ast.List, scope: Scope) -> Value:
        return self._listed(self._starred(node.elts, scope))

    def _listed(self, values: list[Value]) -> Value:
        if any(isinstance(value, Instance) or self._holds_instance(value) for value in values):
            return Parts(values, list)
        return Code(ast.List([self.lift(value) for value in values], ast.Load()))

    def _holds_instance(self, value: Value) -> bool:
        if isinstance(value, Known):
            return callable(value.value) and value.node is None
        return isinstance(value, Function) or (
            isinstance(value, Parts)
            and any(isinstance(part, Instance) or self._holds_instance(part) for part in value.parts)
        )

    def _set_expression(self, node: ast.Set, scope: Scope) -> Value:
        values = self._starred(node.elts, scope)
        if all(isinstance(value, Known) and _is_plain(value.value) for value in values):
            return Known({value.value for value in values if isinstance(value, Known)})
        return Code(ast.Set([self.lift(value) for value in values]))

    def _dict_expression(self, node: ast.Dict, scope: Scope) -> Value:
        values = self._in_order(node.values, scope)
        keys = [None if key is None else self._expression(key, scope) for key in node.keys]
        if not keys:
            return Code(ast.Dict([], []))
        entries: dict[Any, Value] = {}
        for key, value in zip(keys, values, strict=True):
            if key is None and isinstance(value, Table):
                entries |= value.entries
            elif isinstance(key, Known) and _is_plain(key.value):
                entries[key.value] = value
            else:
                lifted = [None if one is None else self.lift(one) for one in keys]
                return Code(ast.Dict(lifted, [self.lift(one) for one in values]))
        return Table(entries)

    def _elements(self, value: Value) -> list[Value] | None:
        """What a sequence consists of, if that is known."""
        if isinstance(value, Parts):
            if any(isinstance(part, Code) and isinstance(part.node, ast.Starred) for part in value.parts):
                return None
            return list(value.parts)
        if isinstance(value, Table):
            return [Known(key) for key in value.entries]
        if isinstance(value, Known) and not _is_mutable_state(value):
            if isinstance(value.value, tuple | list | range | Mapping):
                return [Known(part) for part in value.value]
            if isinstance(value.value, set | frozenset):
                return [Known(part) for part in sorted(value.value, key=repr)]
        if isinstance(value, Code) and isinstance(value.node, ast.Tuple):
            if not any(isinstance(entry, ast.Starred) for entry in value.node.elts):
                return [Code(entry) for entry in value.node.elts]
        return None

    def _subscript_expression(self, node: ast.Subscript, scope: Scope) -> Value:
        owner, index = self._in_order([node.value, node.slice], scope)
        parts = owner.parts if isinstance(owner, Parts) else None
        if isinstance(index, Known):
            if parts is not None and isinstance(index.value, int) and self._elements(owner) is not None:
                return parts[index.value]
            if isinstance(owner, Table) and index.value in owner.entries:
                return owner.entries[index.value]
            if isinstance(owner, Known) and not _is_mutable_state(owner):
                if isinstance(owner.value, str | tuple | list | range | Mapping):
                    found = owner.value[index.value]
                    return Known(found)
        return Code(ast.Subscript(self.lift(owner), self.lift(index), ast.Load()))

    def _slice_expression(self, node: ast.Slice, scope: Scope) -> Value:
        parts = [node.lower, node.upper, node.step]
        present = [part for part in parts if part is not None]
        values = iter(self._in_order(present, scope))
        found = [None if part is None else next(values) for part in parts]
        if all(value is None or isinstance(value, Known) for value in found):
            known = [
                None if value is None else value.value for value in found if value is None or isinstance(value, Known)
            ]
            lifted = [None if value is None else self.lift(value) for value in found]
            return Known(slice(*known), ast.Slice(*lifted))
        return Code(ast.Slice(*[None if value is None else self.lift(value) for value in found]))

    def _joinedstr_expression(self, node: ast.JoinedStr, scope: Scope) -> Value:
        inner = [entry.value for entry in node.values if isinstance(entry, ast.FormattedValue)]
        values = iter(self._in_order(inner, scope))
        parts: list[ast.expr] = []
        for entry in node.values:
            if isinstance(entry, ast.Constant):
                parts.append(entry)
                continue
            assert isinstance(entry, ast.FormattedValue)
            value = next(values)
            if isinstance(value, Instance):
                text = self._computed_builtin(str, [value], {})
                assert text is not None
                value = text
            spec = None if entry.format_spec is None else self._expression(entry.format_spec, scope)
            if isinstance(value, Known) and _computes(value) and (spec is None or isinstance(spec, Known)):
                conversions: dict[int, Any] = {-1: lambda x: x, 114: repr, 115: str, 97: ascii}
                shown = conversions[entry.conversion](value.value)
                parts.append(ast.Constant(format(shown, spec.value if isinstance(spec, Known) else "")))
                continue
            written: ast.expr | None = None
            if isinstance(spec, Known):
                written = ast.JoinedStr([ast.Constant(spec.value)])
            elif isinstance(spec, Code):
                written = spec.node
            node_ = self.lift(value)
            if isinstance(node_, ast.JoinedStr) and entry.conversion == -1 and written is None:
                parts += node_.values
            else:
                parts.append(ast.FormattedValue(node_, entry.conversion, written))
        return _text(parts)

    def _lambda_expression(self, node: ast.Lambda, scope: Scope) -> Value:
        return Function(node, scope, self._defaults(node, scope))

    # -- comprehensions -----------------------------------------------------------------------------------------------

    def _listcomp_expression(self, node: ast.ListComp, scope: Scope) -> Value:
        return self._comprehension(node, scope)

    def _setcomp_expression(self, node: ast.SetComp, scope: Scope) -> Value:
        return self._comprehension(node, scope)

    def _generatorexp_expression(self, node: ast.GeneratorExp, scope: Scope) -> Value:
        return self._comprehension(node, scope)

    def _dictcomp_expression(self, node: ast.DictComp, scope: Scope) -> Value:
        return self._comprehension(node, scope)

    def _comprehension(self, node: Any, scope: Scope) -> Value:
        first = self._expression(node.generators[0].iter, scope)
        mark, names = len(self._log), set(self._names)
        try:
            # In two steps: with what it takes written before it, or turn by turn.
            if self._prefers_turns(node, first):
                return self._turn_by_turn(node, first, scope)
            with self._into(None):
                return self._written_comprehension(node, first, scope)
        except (NeedsStatements, Unwritable, NotInline, Again) as trouble:
            if isinstance(trouble, Again) and trouble.kind != "real":
                raise
            self._rollback(mark)
            self._names = names
            if self._elements(first) is None or self._out is None:
                if isinstance(trouble, NeedsStatements) and self._out is not None:
                    return self._as_loop(node, first, scope)
                raise
            return self._turn_by_turn(node, first, scope)

    def _as_loop(self, node: Any, first: Value, scope: Scope) -> Value:
        """A list that takes statements to compute, as a loop."""
        if not isinstance(node, ast.ListComp | ast.GeneratorExp):
            raise NeedsStatements
        name = self._fresh("values")
        self._calls[-1].owned[name] = None
        self._assign(name, ast.List([], ast.Load()))
        inner = self._inner_scope(node, scope)
        result = Code(ast.Name(name, ast.Load()))
        body: list[ast.stmt] = [ast.Expr(_Appended(result, node.elt))]
        for generator in reversed(node.generators):
            for condition in reversed(generator.ifs):
                body = [ast.If(condition, body, [])]
            loop = ast.For(generator.target, generator.iter, body, [], lineno=0)
            loop.place = _place(node)  # type: ignore[attr-defined]
            body = [loop]
        outermost = body[0]
        assert isinstance(outermost, ast.For)
        outermost.iter = _Value(first)
        self._block(body, inner)
        return result

    def _prefers_turns(self, node: Any, first: Value) -> bool:
        if len(node.generators) > 1 or (isinstance(node, ast.GeneratorExp) and self._out is None):
            return False
        parts = self._elements(first)
        if parts is None:
            return False
        return any(not self._is_liftable(part) for part in parts)

    def _inner_scope(self, node: Any, scope: Scope) -> Scope:
        names = [
            part.id
            for generator in node.generators
            for part in ast.walk(generator.target)
            if isinstance(part, ast.Name)
        ]
        inner = Scope({}, scope, scope.names, scope.module)
        for name in names:
            inner.cells[name] = self._cell((_place(node), name), name)
        return inner

    def _turn_by_turn(self, node: Any, first: Value, scope: Scope) -> Value:
        generator = node.generators[0]
        parts = self._elements(first)
        if parts is None or len(node.generators) > 1 or len(parts) > 40:
            raise Unwritable("a comprehension")
        values: list[Value] = []
        keys: list[Any] = []
        inner = self._inner_scope(node, scope)
        for part in parts:
            self._bind(generator.target, part, inner)
            truths = [self._truth(self._expression(condition, inner)) for condition in generator.ifs]
            if None in truths:
                raise Unwritable("a condition of a comprehension")
            if not all(truths):
                continue
            if isinstance(node, ast.DictComp):
                key, value = self._in_order([node.key, node.value], inner)
                if not isinstance(key, Known):
                    raise Unwritable("a key of a comprehension")
                keys.append(key.value)
                values.append(value)
            else:
                value = self._expression(node.elt, inner)
                if isinstance(value, Code) and not _is_trivial(value.node):
                    value = self._temporary("value", value.node)
                values.append(value)
        if isinstance(node, ast.DictComp):
            return Table(dict(zip(keys, values, strict=True)))
        if all(isinstance(value, Known) and _is_plain(value.value) for value in values):
            return Known([value.value for value in values if isinstance(value, Known)])
        if isinstance(node, ast.SetComp):
            return Code(ast.Set([self.lift(value) for value in values]))
        return self._listed(values) if isinstance(node, ast.ListComp) else Parts(values, list)

    def _written_comprehension(self, node: Any, first: Value, scope: Scope) -> Value:
        inner = self._inner_scope(node, scope)
        self._level += 1
        generators: list[ast.comprehension] = []
        try:
            for place, generator in enumerate(node.generators):
                iterated = first if place == 0 else self._expression(generator.iter, inner)
                target = self._comprehension_target(generator.target, inner)
                lifted = self.lift(iterated)
                conditions = []
                for condition in generator.ifs:
                    test = self._expression(condition, inner)
                    if self._truth(test) is not True:
                        conditions.append(self.lift(test))
                generators.append(ast.comprehension(target, lifted, conditions, 0))
            if isinstance(node, ast.DictComp):
                key, value = self._in_order([node.key, node.value], inner)
                return Code(ast.DictComp(self.lift(key), self.lift(value), generators))
            element = self.lift(self._expression(node.elt, inner))
            kind: Any = type(node)
            return Code(kind(element, generators))
        finally:
            self._level -= 1

    def _comprehension_target(self, target: ast.expr, scope: Scope) -> ast.expr:
        if isinstance(target, ast.Tuple | ast.List):
            return ast.Tuple([self._comprehension_target(entry, scope) for entry in target.elts], ast.Store())
        if isinstance(target, ast.Starred):
            return ast.Starred(self._comprehension_target(target.value, scope), ast.Store())
        assert isinstance(target, ast.Name)
        name = self._fresh(target.id)
        scope.cells[target.id].value = Code(ast.Name(name, ast.Load()))
        return ast.Name(name, ast.Store())


@dataclasses.dataclass
class _Member(Value):
    """A method of something whose content is known."""

    owner: Value
    name: str


@dataclasses.dataclass
class Named(Value):
    """Arguments that go by names which a function takes whatever they are."""

    names: tuple[str, ...]


@dataclasses.dataclass
class _Computed(Value):
    """A function that is called now."""

    function: Any


class _Never:
    pass


_NEVER = _Never()
_ENDED_VALUE = Code(ast.Constant(None))
_WORDED = {
    "tensor": "def tensor(self, data, dtype=None):\n    return {}",
    "pinned": "def pinned(self, data, dtype=None):\n    return {}",
    "read": "def read(self, tensor):\n    self.synchronize()\n    return {}",
}


@dataclasses.dataclass
class Observe(Value):
    """The function that notes what is not judged, which a script leaves out."""


class _Turn(ast.stmt):
    """A turn of a loop, written after the one before."""

    def __init__(self, target: ast.expr, part: Value, body: list[ast.stmt]) -> None:
        super().__init__()
        self.target, self.part, self.body = target, part, body


class _Value(ast.expr):
    """A value in the place of an expression."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class _Appended(ast.expr):
    """An element that is appended to a list."""

    def __init__(self, owner: Value, element: ast.expr) -> None:
        super().__init__()
        self.owner, self.element = owner, element


_SPECIAL = {
    ("conformance.checks", "expect"): "_expect",
    ("conformance.checks", "fail"): "_fail",
    ("conformance.adapter.settings", "given"): "_given",
    ("conformance.adapter.settings", "expect_none"): "_expect_none",
}
_OPERATORS: dict[type, Any] = {
    ast.Add: op.add,
    ast.Sub: op.sub,
    ast.Mult: op.mul,
    ast.Div: op.truediv,
    ast.FloorDiv: op.floordiv,
    ast.Mod: op.mod,
    ast.Pow: op.pow,
    ast.LShift: op.lshift,
    ast.RShift: op.rshift,
    ast.BitOr: op.or_,
    ast.BitAnd: op.and_,
    ast.BitXor: op.xor,
    ast.MatMult: op.matmul,
    ast.Eq: op.eq,
    ast.NotEq: op.ne,
    ast.Lt: op.lt,
    ast.LtE: op.le,
    ast.Gt: op.gt,
    ast.GtE: op.ge,
}
_SPECIAL_BUILTINS = {getattr: "_getattr", hasattr: "_hasattr", functools.partial: "_partial"}


# -- about syntax -----------------------------------------------------------------------------------------------------


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _assignment(name: str, node: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], node, lineno=0)


def _no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def _home(node: ast.AST) -> str:
    return getattr(node, "home", "")


def _place(node: ast.AST) -> Any:
    """Which part of which text a node is, in whatever copy."""
    own = getattr(node, "place", None)
    return own or (_home(node), getattr(node, "lineno", 0), getattr(node, "col_offset", 0), type(node).__name__)


def _own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    for node in body:
        yield node
        if isinstance(node, _Turn):
            yield from _own_nodes(node.body)
        elif not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield from _own_nodes(list(ast.iter_child_nodes(node)))


def _assigned(body: Sequence[ast.stmt]) -> list[str]:
    names: dict[str, None] = {}
    inside: set[int] = set()
    for node in _own_nodes(body):
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            inside |= {id(part) for generator in node.generators for part in ast.walk(generator.target)}
    for node in _own_nodes(body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del) and id(node) not in inside:
            names[node.id] = None
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            names |= dict.fromkeys([node.name] if node.name is not None else [])
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name.partition(".")[0]): None for alias in node.names}
    return list(names)


def _foreign_names(node: ast.AST) -> list[str]:
    return node.names if isinstance(node, ast.Nonlocal | ast.Global) else []


def _contains(node: ast.AST, kind: type | tuple[type, ...]) -> bool:
    return any(isinstance(part, kind) for part in _own_nodes([node]))


def _leaves(node: ast.AST) -> bool:
    return _contains(node, ast.Return)


def _loose(body: Sequence[ast.AST], kind: type) -> bool:
    """Whether a break or a continue belongs to the loop around."""
    for node in body:
        if isinstance(node, kind):
            return True
        if isinstance(node, ast.For | ast.While | ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.expr):
            continue
        if _loose(list(ast.iter_child_nodes(node)), kind):
            return True
    return False


def _breaks(body: Sequence[ast.stmt]) -> bool:
    return _loose(body, ast.Break)


def _without_continue(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """A turn of a loop without ``continue``: what that passes over is an alternative."""
    result: list[ast.stmt] = []
    for place, node in enumerate(body):
        if isinstance(node, ast.Continue):
            return result
        if isinstance(node, ast.If) and _loose([node], ast.Continue):
            rest = list(body[place + 1 :])
            first = node.body if _ends(node.body) else [*node.body, *rest]
            second = node.orelse if _ends(node.orelse) else [*node.orelse, *rest]
            changed = ast.If(node.test, _without_continue(first) or [ast.Pass()], _without_continue(second))
            return [*result, ast.copy_location(changed, node)]
        if _loose([node], ast.Continue):
            raise NotInline
        result.append(node)
    return result


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether what follows a block is never reached."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and ast.unparse(last.value.func) == "fail":
        return True
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.With):
        return _ends(last.body)
    return isinstance(last, ast.Try) and _ends(last.body) and all(_ends(entry.body) for entry in last.handlers)


def _with_rest(node: ast.If, rest: list[ast.stmt]) -> ast.If:
    if not _ends(node.body) and not _ends(node.orelse) and len(rest) > 3:
        raise NotInline
    first = node.body if _ends(node.body) else [*node.body, *rest]
    second = node.orelse if _ends(node.orelse) else [*node.orelse, *rest]
    return ast.copy_location(ast.If(node.test, first, second), node)


def _with_rest_of_try(node: ast.Try, rest: list[ast.stmt]) -> ast.Try:
    if node.finalbody:
        raise NotInline
    handlers_end = all(_ends(entry.body) for entry in node.handlers)
    if handlers_end and not _ends(node.orelse) and not _ends(node.body):
        changed = ast.Try(node.body, node.handlers, [*node.orelse, *rest], [])
        return ast.copy_location(changed, node)
    if handlers_end:
        return node
    if (_ends(node.body) or _ends(node.orelse)) and len(node.handlers) == 1 and not _leaves(node.handlers[0]):
        handler = node.handlers[0]
        after = ast.copy_location(ast.ExceptHandler(handler.type, handler.name, [*handler.body, *rest]), handler)
        return ast.copy_location(ast.Try(node.body, [after], node.orelse, []), node)
    if not any(_leaves(entry) for entry in (*node.handlers, *node.orelse)) and not _leaves(ast.Module(node.body, [])):
        return node
    open_handlers = [entry for entry in node.handlers if not _ends(entry.body)]
    if len(rest) <= 3 and not _ends(node.body):
        handlers = [
            ast.copy_location(ast.ExceptHandler(entry.type, entry.name, [*entry.body, *rest]), entry)
            if entry in open_handlers
            else entry
            for entry in node.handlers
        ]
        return ast.copy_location(ast.Try(node.body, handlers, [*node.orelse, *rest], []), node)
    raise NotInline


def _raises_on(node: ast.ExceptHandler) -> bool:
    last = node.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _is_generator(node: ast.FunctionDef) -> bool:
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in _own_nodes(node.body))


def _plain_body(node: ast.FunctionDef) -> list[ast.stmt]:
    return [entry for entry in node.body if not (isinstance(entry, ast.Expr) and isinstance(entry.value, ast.Constant))]


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _noun(name: str) -> str:
    return {"caught": "error", "expect_raises": "error", "refusal": "refused", "read": "seen"}.get(name, "result")


def _is_trivial(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Constant)


def _is_member(node: ast.expr) -> bool:
    """Whether an expression is an attribute, such as a method, that means the same a little later."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)


def _is_pure(node: ast.expr) -> bool:
    impure = (ast.Call, ast.Yield, ast.YieldFrom, ast.Await, ast.ListComp, ast.GeneratorExp, ast.NamedExpr)
    return not any(isinstance(part, impure) for part in ast.walk(node)) or isinstance(node, ast.Lambda)


def _gives(node: ast.expr) -> bool:
    """Whether an expression gives something else than ``None``."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in _GIVES
    displays = (ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Compare, ast.ListComp, ast.BinOp, ast.Lambda)
    return isinstance(node, displays) or (isinstance(node, ast.Constant) and node.value is not None)


def _negated(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    opposite: dict[type, ast.cmpop] = {
        ast.Is: ast.IsNot(),
        ast.IsNot: ast.Is(),
        ast.In: ast.NotIn(),
        ast.NotIn: ast.In(),
    }
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in opposite:
        return ast.Compare(node.left, [opposite[type(node.ops[0])]], node.comparators)
    return ast.UnaryOp(ast.Not(), node)


def _bool_operation(operator: ast.boolop, left: ast.expr, right: ast.expr) -> ast.expr:
    values: list[ast.expr] = []
    for node in (left, right):
        values += node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, type(operator)) else [node]
    return ast.BoolOp(operator, values)


def _text(parts: list[ast.expr]) -> Value:
    joined: list[ast.expr] = []
    for part in parts:
        if isinstance(part, ast.Constant) and joined and isinstance(joined[-1], ast.Constant):
            joined[-1] = ast.Constant(str(joined[-1].value) + str(part.value))
        else:
            joined.append(part)
    if not joined:
        return Known("")
    if len(joined) == 1 and isinstance(joined[0], ast.Constant):
        return Known(joined[0].value)
    return Code(ast.JoinedStr(joined))


def _joined_text(values: Sequence[Value], lift: Callable[[Value], ast.expr]) -> ast.expr:
    parts: list[ast.expr] = []
    for value in values:
        node = lift(value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts.append(node)
        elif isinstance(node, ast.JoinedStr):
            parts += node.values
        else:
            parts.append(ast.FormattedValue(node, -1, None))
    return lift(_text(parts))


# -- about values -----------------------------------------------------------------------------------------------------


def _parts(values: list[Value]) -> Value:
    if all(isinstance(value, Known) and value.node is None and value.origin is None for value in values):
        return Known(tuple(value.value for value in values if isinstance(value, Known)))
    return Parts(values)


def _is_open(value: Value) -> bool:
    """Whether something of a value is not computed yet."""
    if isinstance(value, Parts):
        return any(map(_is_open, value.parts))
    if isinstance(value, Table):
        return any(map(_is_open, value.entries.values()))
    return isinstance(value, Code) and not _is_trivial(value.node)


def _name_of(value: Value | None) -> str | None:
    return value.node.id if isinstance(value, Code) and isinstance(value.node, ast.Name) else None


def _same(one: Value | None, other: Value | None) -> bool:
    if one is other:
        return True
    if isinstance(one, Known) and isinstance(other, Known):
        if one.value is other.value:
            return True
        return type(one.value) is type(other.value) and isinstance(one.value, _PLAIN) and one.value == other.value
    if isinstance(one, Code) and isinstance(other, Code):
        return _is_pure(one.node) and ast.dump(one.node) == ast.dump(other.node)
    if isinstance(one, Parts) and isinstance(other, Parts):
        return len(one.parts) == len(other.parts) and all(map(_same, one.parts, other.parts))
    if isinstance(one, Function) and isinstance(other, Function):
        return one.node is other.node and one.scope is other.scope and _same(one.receiver, other.receiver)
    return False


def _is_own(cell: Cell) -> bool:
    return cell.pinned is not None and _name_of(cell.value) == cell.pinned


def _is_pinned_value(cell: Cell) -> bool:
    return _is_own(cell)


def _is_plain(value: Any) -> bool:
    if type(value) in _PLAIN or isinstance(value, torch.dtype | torch.device | range):
        return True
    if isinstance(value, type) and value.__module__ == "builtins":
        return True
    if type(value) in (tuple, list, set, frozenset):
        return all(map(_is_plain, value))
    return type(value) is dict and all(map(_is_plain, value)) and all(map(_is_plain, value.values()))


def _is_computable(value: Any) -> bool:
    if isinstance(value, _PLAIN) or type(value) in (tuple, list, set, frozenset, dict, range):
        return True
    return isinstance(value, type | enum.Enum | torch.dtype | Mapping | re.Pattern)


def _computes(known: Known) -> bool:
    return (known.node is None or isinstance(known.value, type)) and (
        _is_computable(known.value) or isinstance(known.value, FunctionType)
    )


def _is_hashable(value: Any) -> bool:
    return isinstance(value, type) or (callable(value) and type(value).__name__ == "builtin_function_or_method")


def _is_mutable_state(known: Known) -> bool:
    """Whether a module changes what one of its names stands for."""
    return known.origin is not None and type(known.value) in (list, set, dict) and not known.origin[1].isupper()


def _is_abstract(base: Value) -> bool:
    return isinstance(base, Known) and getattr(base.value, "__name__", "") in {"Protocol", "Generic"}


def _is_empty(cls: type) -> bool:
    """Whether a class is an exception that has nothing of its own."""
    return cls.__bases__ in ((Exception,), (BaseException,), (RuntimeError,)) and not any(
        isinstance(value, FunctionType) for value in vars(cls).values()
    )


def _has_text(cls: type, name: str) -> bool:
    static = inspect.getattr_static(cls, name, None)
    if not isinstance(static, FunctionType):
        return False
    try:
        node_of(static)
    except (LookupError, KeyError, TypeError, AttributeError, OSError):
        return False
    return True


def _as_node(known: Known) -> ast.expr:
    if known.node is not None:
        return copy.deepcopy(known.node)
    assert isinstance(known.value, ModuleType)
    return _parsed(known.value.__name__)


def _kind(value: Value) -> type:
    return value.kind if isinstance(value, Parts) else type(getattr(value, "value", None))


def _is_text(value: Value) -> bool:
    return isinstance(value, Known) and isinstance(value.value, str)
