"""Questions about syntax, and small pieces of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from conformance.reproducing.values import Code, Known, Value
from conformance.reproducing.walking import walk

#: Calls that give something else than ``None``.
GIVES = {
    *("Stream", "Event", "Graph", "MemPool", "current_stream", "default_stream", "graph_pool_handle", "tensor"),
    *("full", "as_tensor", "arange", "pool", "Path", "zeros", "ones", "empty", "float", "int", "str", "len"),
}


#: Of those, the ones that go by their name alone.
GIVES_BY_NAME = {"Graph", "Path", "float", "int", "str", "len"}


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def assignment(name: str, node: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], node, lineno=0)


def no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def home_of(node: ast.AST) -> str:
    return getattr(node, "home", "")


def place_of(node: ast.AST) -> Any:
    """Which part of which text a node is, in whatever copy."""
    own = getattr(node, "place", None)
    return own or (home_of(node), getattr(node, "lineno", 0), getattr(node, "col_offset", 0), type(node).__name__)


def root_of(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def noun_for(name: str) -> str:
    return {"caught": "error", "expect_raises": "error", "refusal": "refused", "read": "seen"}.get(name, "result")


def is_trivial(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Constant)


def is_member(node: ast.expr) -> bool:
    """Whether an expression is an attribute, such as a method, that means the same a little later."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)


def is_pure(node: ast.expr) -> bool:
    impure = (ast.Call, ast.Yield, ast.YieldFrom, ast.Await, ast.ListComp, ast.GeneratorExp, ast.NamedExpr)
    return not any(isinstance(part, impure) for part in walk(node)) or isinstance(node, ast.Lambda)


def gives(node: ast.expr) -> bool:
    """Whether an expression gives something else than ``None``."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in GIVES if isinstance(node.func, ast.Attribute) else name in GIVES_BY_NAME
    displays = (ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Compare, ast.ListComp, ast.BinOp, ast.Lambda)
    return isinstance(node, displays) or (isinstance(node, ast.Constant) and node.value is not None)


def negation_of(node: ast.expr) -> ast.expr:
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


def bool_operation(operator: ast.boolop, left: ast.expr, right: ast.expr) -> ast.expr:
    values: list[ast.expr] = []
    for node in (left, right):
        values += node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, type(operator)) else [node]
    return ast.BoolOp(operator, values)


def text_of(parts: list[ast.expr]) -> Value:
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


def joined_text(values: Sequence[Value], lift: Callable[[Value], ast.expr]) -> ast.expr:
    parts: list[ast.expr] = []
    for value in values:
        node = lift(value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts.append(node)
        elif isinstance(node, ast.JoinedStr):
            parts += node.values
        else:
            parts.append(ast.FormattedValue(node, -1, None))
    return lift(text_of(parts))


def names_in(node: ast.AST) -> set[str]:
    """The names that a node reads or sets."""
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}
