"""What a specialiser has found out so far, and what its subjects ask of one another."""

from __future__ import annotations

import abc
import ast
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from conformance.adapter import Adapter
from conformance.reproducing.specialising.decisions import RESERVED, Call, Decisions, Frame, Lifted, Status
from conformance.reproducing.values import Cell, Code, Function, Known, Scope, Value


class State(abc.ABC):
    """The state of one specialiser; what is abstract here is written by the subjects that build on it."""

    def __init__(self, adapter: Adapter, decisions: Decisions, *, imported: bool) -> None:
        self.adapter = adapter
        #: Whether the adapter is an object of the script, ``impl``, and not written out.
        self.imported = imported
        self.decisions = decisions
        self.imports: dict[str, None] = {}
        self.constants: list[ast.stmt] = []
        self.functions: list[ast.stmt] = []
        self.counts: dict[Any, list[int]] = {}
        self._out: list[ast.stmt] | None = []
        self._names: set[str] = {*RESERVED, "impl"} if imported else set(RESERVED)
        self._level = 0
        self._catching = 0
        self._frames = [Frame(0, 0)]
        self._numbers = 0
        self._lambdas = 0
        self._home: dict[str, int] = {}
        self._calls: list[Call] = []
        self._log: list[tuple[Cell, Value | None]] = []
        self._origins: dict[tuple[str, str], str] = {}
        self._written: dict[Any, str] = {}
        self._lifted: dict[int, Lifted] = {}
        self._active: list[Any] = []
        self._defining: list[Any] = []
        self._loops: list[tuple[Any, set[str]]] = []
        self._nonnull: set[str] = set()
        self._maybe_none: set[str] = set()
        self._temporaries: set[str] = set()
        self._numeric: set[str] = set()  # variables that are numbers
        self._mixed: set[str] = set()  # and those that are something else at times
        self._handlers: set[str] = set()
        self._changing: dict[str, bool] = {}  # variables that change, and whether objects have them
        self._renamed: dict[str, dict[str, str]] = {}
        self.better: dict[str, str] = {}
        self._current_cells: list[Cell] = []
        self._errors: dict[type, str] = {}
        module = getattr(adapter, "module", None)
        self._module = module.__name__ if isinstance(module, ModuleType) else None

    @abc.abstractmethod
    def lift(self, value: Value) -> ast.expr:
        """How the script writes a value.

        Raises:
            Unwritable: it cannot.
        """

    @abc.abstractmethod
    def _as_function(self, function: Function) -> ast.expr:
        """A function as a value."""

    @abc.abstractmethod
    def _of_known(self, known: Known) -> Function:
        """The function of the kit that an object is."""

    @abc.abstractmethod
    def _expression(self, node: ast.expr, scope: Scope) -> Value:
        """What an expression gives, with the statements written that it takes."""

    @abc.abstractmethod
    def _definition(
        self, function: Function, name: str, bound: Mapping[str, Value], *, real: bool = False
    ) -> ast.FunctionDef:
        """A function of the script that does what `function` does."""

    @abc.abstractmethod
    def _defaults(self, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> dict[str, Value]:
        """The defaults of a function's parameters."""

    @abc.abstractmethod
    def _body(self, function: Function, scope: Scope, call: Call) -> Value:
        """What a function does, written here; what it returns."""

    @abc.abstractmethod
    def _block(self, body: Sequence[ast.stmt], scope: Scope) -> Status:
        """Write statements; how they end: going on, never, or with the value that they return."""

    @abc.abstractmethod
    def _global(self, names: Mapping[str, Any], module: str, name: str) -> Value:
        """What a name of a module stands for."""

    @abc.abstractmethod
    def _member(self, name: str) -> Value:
        """A member of the adapter."""

    @abc.abstractmethod
    def attribute(self, owner: Value, name: str) -> Value:
        """An attribute of a value."""

    @abc.abstractmethod
    def _in_order(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Value]:
        """Several expressions, computed in this order."""

    @abc.abstractmethod
    def _written_call(self, node: ast.expr, arguments: list[Value], keywords: dict[str, Value]) -> Code:
        """A call as the script writes it."""

    @abc.abstractmethod
    def _apply(self, function: Value, arguments: list[Value], keywords: dict[str, Value], *, wanted: bool) -> Value:
        """A call of whatever."""

    @abc.abstractmethod
    def _bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Assign a value to whatever."""

    @abc.abstractmethod
    def _statement(self, node: ast.stmt, scope: Scope) -> Status:
        """Write one statement; how it ends."""
