"""The whole program of a test or of steps."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from conformance.reproducing.specialising.decisions import Call
from conformance.reproducing.specialising.statements import Statements
from conformance.reproducing.specialising.syntax import no_arguments
from conformance.reproducing.values import Function, Scope, Value


class Specialiser(Statements):
    """Writes one program.

    Args:
        adapter: of the implementation.
        module: the name of its device module, as the script has it.
        decisions: made so far.
        imported: whether the adapter is an object of the script, ``impl``.
    """

    def of_function(self, function: Callable[..., Any], arguments: dict[str, Value]) -> list[ast.stmt]:
        """The program of a test."""
        known = self._function(function, context=False)
        return self._program(known, known.node.body, arguments)  # type: ignore[arg-type]

    def of_steps(self, body: list[ast.stmt], names: dict[str, Any]) -> list[ast.stmt]:
        """The program of steps."""
        scope = Scope({}, None, names, "")
        node = ast.FunctionDef("steps", no_arguments(), body, [])
        return self._program(Function(node, scope), body, {})

    def _program(self, function: Function, body: list[ast.stmt], arguments: dict[str, Value]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        self._out = out
        call = Call(function, inline=False)
        scope = self._scope(function, arguments, call)
        self._calls.append(call)
        self._block(body, scope)
        return out
