"""Names of the script, and the variables of the test that stand for values or for those names."""

# ruff: noqa: SIM102
from __future__ import annotations

import ast
import builtins
import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.reproducing.specialising.decisions import Call
from conformance.reproducing.specialising.endings import variables_of
from conformance.reproducing.specialising.judging import is_number, is_open, is_same, name_of
from conformance.reproducing.specialising.questions import Questions
from conformance.reproducing.specialising.syntax import (
    assignment,
    gives,
    is_member,
    is_pure,
    is_trivial,
    names_in,
    place_of,
)
from conformance.reproducing.values import (
    Again,
    Cell,
    Code,
    Function,
    Instance,
    Known,
    NeedsStatements,
    Parts,
    Scope,
    Table,
    Unwritable,
    Value,
)


class Variables(Questions):
    """Variables of the test, and names of the script."""

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
        if isinstance(node, ast.Lambda) and name in names_in(node.body):
            # It means what the variable was before, and not itself.
            node.args.kwonlyargs.append(ast.arg(name))
            node.args.kw_defaults.append(ast.Name(name, ast.Load()))
        self._emit(assignment(name, node))
        if is_number(node, self._numeric) and name not in self._mixed:
            self._numeric.add(name)
        else:
            self._numeric.discard(name)
            self._mixed.add(name)

    def _store(self, name: str) -> None:
        frame = self._frames[-1]
        if self._home.get(name, frame.number) != frame.number:
            frame.foreign[name] = None

    def _temporary(self, name: str, node: ast.expr) -> Code:
        final = self._fresh(name)
        self._assign(final, node)
        if gives(node):
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

    def _scope(self, function: Function, arguments: Mapping[str, Value], call: Call) -> Scope:
        node = function.node
        scope = Scope({}, function.scope, function.scope.names, function.scope.module)
        names = variables_of(node) if isinstance(node, ast.FunctionDef) else ()
        for name in dict.fromkeys([*arguments, *names]):
            scope.cells[name] = self._cell((place_of(node), name), name)
        self._calls.append(call)
        for name, value in arguments.items():
            self._set(scope.cells[name], value, parameter=True)
            default = function.defaults.get(name)
            final = name_of(scope.cells[name].value)
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
                self._changing[cell.pinned] = isinstance(cell.key[0], type)
            self._assign(cell.pinned, node)
            if isinstance(node, ast.Constant) and node.value is None:
                self._maybe_none.add(cell.pinned)
            cell.value = Code(ast.Name(cell.pinned, ast.Load()))
            return
        if cell.home != self._frames[-1].number or (cell.read_later and not is_same(cell.value, value)):
            raise Again("pinned", cell.key)
        if self._level > cell.level and cell.value is not None and not is_same(cell.value, value):
            raise Again("pinned", cell.key)
        if isinstance(value, Parts | Table):
            value = self._settled(value, settings=parameter)
        if isinstance(value, Code) and not is_trivial(value.node):
            if not (parameter and is_member(value.node)):
                value = self._named(cell, value.node)
        elif isinstance(value, Code) and isinstance(value.node, ast.Name) and not parameter:
            name = value.node.id
            if (
                (name in self._calls[-1].owned and any(name == name_of(other.value) for other in self._siblings(cell)))
                or name in self._handlers
                or name in self._changing
            ):
                value = self._named(cell, value.node)
        self._log.append((cell, cell.value))
        cell.value = value
        known_as = name_of(value)
        if (
            known_as is not None
            and re.fullmatch(r"(result|value)(_\d+)?", known_as)
            and cell.name not in ("result", "value")
        ):
            self.better.setdefault(known_as, cell.name.strip("_"))

    def _settled(self, value: Value, *, settings: bool = False) -> Value:
        """A value all of whose parts are computed; `settings` keep their names, for they are handed on by them."""
        if isinstance(value, Code) and not is_trivial(value.node) and not isinstance(value.node, ast.Starred):
            return self._temporary("value", value.node)
        if isinstance(value, Parts):
            return Parts([self._settled(part) for part in value.parts], value.kind)
        if isinstance(value, Table) and any(is_open(entry) for entry in value.entries.values()):
            if settings or any(isinstance(entry, Function | Instance) for entry in value.entries.values()):
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
        if gives(node) or (isinstance(node, ast.Name) and node.id in self._nonnull):
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
            if self._is_of_runtime(cell.value) and cell.key not in self.decisions.pinned:
                raise Again("pinned", cell.key)  # by then another may be in its place
            cell.read_later = True
        return cell.value

    def _rollback(self, mark: int) -> dict[int, tuple[Cell, Value | None]]:
        """Undo what was set since; what that was."""
        latest: dict[int, tuple[Cell, Value | None]] = {}
        while len(self._log) > mark:
            cell, value = self._log.pop()
            latest.setdefault(id(cell), (cell, cell.value))
            cell.value = value
        self._lifted = {key: entry for key, entry in self._lifted.items() if entry.mark < mark}
        return latest

    def _is_called(self, function: Function) -> bool:
        return place_of(function.node) in self.decisions.called

    @contextlib.contextmanager
    def _looking_at(self, scope: Scope) -> Iterator[None]:
        before, self._current_cells = self._current_cells, list(scope.cells.values())
        try:
            yield
        finally:
            self._current_cells = before

    def _drop(self, value: Value) -> None:
        """Compute something that nobody looks at."""
        if isinstance(value, Code) and not is_pure(value.node):
            self._emit(ast.Expr(value.node))
        elif isinstance(value, Parts):
            for part in value.parts:
                self._drop(part)

    @contextlib.contextmanager
    def _deeper(self, out: list[ast.stmt]) -> Iterator[None]:
        self._level += 1
        try:
            with self._into(out):
                yield
        finally:
            self._level -= 1

    def _attribute_cell(self, owner: Instance, name: str) -> Cell:
        if name not in owner.cells:
            owner.cells[name] = self._cell((owner.cls, name), name)
        return owner.cells[name]
