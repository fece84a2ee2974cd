"""How blocks of statements end, and what follows them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence

from conformance.reproducing.specialising.nodes import Turn
from conformance.reproducing.values import NotInline
from conformance.reproducing.walking import children, walk

_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ClassDef)


def own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    left = [*reversed(body)]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, Turn):
            left.extend(reversed(node.body))
        elif not isinstance(node, _SCOPES):
            left.extend(reversed(children(node)))


def assigned_by(body: Sequence[ast.stmt]) -> list[str]:
    names: dict[str, None] = {}
    inside: set[int] = set()
    for node in own_nodes(body):
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            inside |= {id(part) for generator in node.generators for part in walk(generator.target)}
    for node in own_nodes(body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del) and id(node) not in inside:
            names[node.id] = None
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            names |= dict.fromkeys([node.name] if node.name is not None else [])
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name.partition(".")[0]): None for alias in node.names}
    return list(names)


@functools.lru_cache(maxsize=4096)  # a function is asked for each time it is called
def variables_of(function: ast.FunctionDef) -> tuple[str, ...]:
    """The names that a function sets and that are its own."""
    foreign = {name for node in own_nodes(function.body) for name in _foreign_names(node)}
    return tuple(name for name in assigned_by(function.body) if name not in foreign)


def _foreign_names(node: ast.AST) -> list[str]:
    return node.names if isinstance(node, ast.Nonlocal | ast.Global) else []


def contains(node: ast.AST, kind: type | tuple[type, ...]) -> bool:
    return any(isinstance(part, kind) for part in own_nodes([node]))


def leaves(node: ast.AST) -> bool:
    return contains(node, ast.Return)


def has_loose(body: Sequence[ast.AST], kind: type) -> bool:
    """Whether a break or a continue belongs to the loop around."""
    for node in body:
        if isinstance(node, kind):
            return True
        if isinstance(node, ast.For | ast.While | ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.expr):
            continue
        if has_loose(children(node), kind):
            return True
    return False


def breaks(body: Sequence[ast.stmt]) -> bool:
    return has_loose(body, ast.Break)


def without_continue(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """A turn of a loop without ``continue``: what that passes over is an alternative."""
    result: list[ast.stmt] = []
    for place, node in enumerate(body):
        if isinstance(node, ast.Continue):
            return result
        if isinstance(node, ast.If) and has_loose([node], ast.Continue):
            rest = list(body[place + 1 :])
            first = node.body if ends(node.body) else [*node.body, *rest]
            second = node.orelse if ends(node.orelse) else [*node.orelse, *rest]
            changed = ast.If(node.test, without_continue(first) or [ast.Pass()], without_continue(second))
            return [*result, ast.copy_location(changed, node)]
        if has_loose([node], ast.Continue):
            raise NotInline
        result.append(node)
    return result


def ends(body: Sequence[ast.stmt]) -> bool:
    """Whether what follows a block is never reached."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and ast.unparse(last.value.func) == "fail":
        return True
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    if isinstance(last, ast.With):
        return ends(last.body)
    return isinstance(last, ast.Try) and ends(last.body) and all(ends(entry.body) for entry in last.handlers)


def with_rest(node: ast.If, rest: list[ast.stmt]) -> ast.If:
    if not ends(node.body) and not ends(node.orelse) and len(rest) > 3:
        raise NotInline
    first = node.body if ends(node.body) else [*node.body, *rest]
    second = node.orelse if ends(node.orelse) else [*node.orelse, *rest]
    return ast.copy_location(ast.If(node.test, first, second), node)


def with_rest_of_try(node: ast.Try, rest: list[ast.stmt]) -> ast.Try:
    if node.finalbody:
        raise NotInline
    handlers_end = all(ends(entry.body) for entry in node.handlers)
    if handlers_end and not ends(node.orelse) and not ends(node.body):
        changed = ast.Try(node.body, node.handlers, [*node.orelse, *rest], [])
        return ast.copy_location(changed, node)
    if handlers_end:
        return node
    if (ends(node.body) or ends(node.orelse)) and len(node.handlers) == 1 and not leaves(node.handlers[0]):
        handler = node.handlers[0]
        after = ast.copy_location(ast.ExceptHandler(handler.type, handler.name, [*handler.body, *rest]), handler)
        return ast.copy_location(ast.Try(node.body, [after], node.orelse, []), node)
    if not any(leaves(entry) for entry in (*node.handlers, *node.orelse)) and not leaves(ast.Module(node.body, [])):
        return node
    open_handlers = [entry for entry in node.handlers if not ends(entry.body)]
    if len(rest) <= 3 and not ends(node.body):
        handlers = [
            ast.copy_location(ast.ExceptHandler(entry.type, entry.name, [*entry.body, *rest]), entry)
            if entry in open_handlers
            else entry
            for entry in node.handlers
        ]
        return ast.copy_location(ast.Try(node.body, handlers, [*node.orelse, *rest], []), node)
    raise NotInline


def raises_on(node: ast.ExceptHandler) -> bool:
    last = node.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


@functools.lru_cache(maxsize=4096)  # likewise
def is_generator(node: ast.FunctionDef) -> bool:
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in own_nodes(node.body))


def plain_body(node: ast.FunctionDef) -> list[ast.stmt]:
    return [entry for entry in node.body if not (isinstance(entry, ast.Expr) and isinstance(entry.value, ast.Constant))]
