"""Names that are used once, at once."""

from __future__ import annotations

import ast
import collections
from typing import Any

from conformance.reproducing.tidying.blocks import blocks, forget, occurrences
from conformance.reproducing.walking import walk


def substitute(whole: ast.Module) -> bool:
    """Write what a name stands for where it is used, if that is once, at once, and before anything else is done."""
    uses, deleted = occurrences(whole), collections.Counter[str]()
    for part in walk(whole):
        if isinstance(part, ast.Delete):
            deleted.update(entry.id for entry in part.targets if isinstance(entry, ast.Name))
        elif isinstance(part, ast.Nonlocal):
            uses.update(dict.fromkeys(part.names, 2))
    done: set[str] = set()
    for block in blocks(whole):
        for place in range(len(block) - 2, -1, -1):
            match block[place], block[place + 1]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Assert(msg=ast.expr()) as check:
                    if uses[name] - deleted[name] == 2 and _is_wording(value) and _worded(check, name, value):
                        del block[place]
                        done.add(name)
        # Backwards, so that what is written in the next statement is written in the one after, too.
        for place in range(len(block) - 2, -1, -1):
            match block[place]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if uses[name] - deleted[name] == 2:
                    if _replaced(block[place + 1], name, value):
                        del block[place]
                        done.add(name)
    forget(whole, done)
    return bool(done)


def _is_wording(value: ast.expr) -> bool:
    """Whether it makes no difference when a text is made."""
    calls = [part.func for part in walk(value) if isinstance(part, ast.Call)]
    plain = all(isinstance(call, ast.Name) and call.id in ("type", "repr", "str", "len") for call in calls)
    return plain and isinstance(value, ast.JoinedStr | ast.IfExp)


def _worded(check: ast.Assert, name: str, value: ast.expr) -> bool:
    """Put `value` in the place of `name` in what an assertion says."""
    if any(isinstance(part, ast.Name) and part.id == name for part in walk(check.test)):
        return False
    assert check.msg is not None
    check.msg = _Exchange(name, value).visit(check.msg)
    return True


class _Exchange(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._value if node.id == self._name else node


def _replaced(node: ast.stmt, name: str, value: ast.expr) -> bool:
    """Put `value` in the place of `name`, if that is the first thing that a statement computes."""
    fields: dict[type, tuple[str, ...]] = {
        ast.Assign: ("value",),
        ast.Expr: ("value",),
        ast.Return: ("value",),
        ast.Assert: ("test",),
        ast.AugAssign: ("value",),
        ast.If: ("test",),
        ast.For: ("iter",),
        ast.With: ("items",),
    }
    if type(node) not in fields:
        return False
    if isinstance(node, ast.Assign) and not all(map(_is_plain_target, node.targets)):
        return False
    if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
        return False
    owner: Any = node
    field = fields[type(node)][0]
    if isinstance(node, ast.With):
        owner, field = node.items[0], "context_expr"
    expression = getattr(owner, field)
    if expression is None:
        return False
    found = _first(expression, name, isinstance(value, ast.Constant | ast.Name))
    if found is None:
        return False
    holder, key, place = found if found != () else (owner, field, None)
    if place is None:
        setattr(holder, key, value)
    else:
        getattr(holder, key)[place] = value
    return True


def _is_plain_target(node: ast.expr) -> bool:
    """Whether nothing is done for a target, which is computed after the value."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name)
    return isinstance(node, ast.Name | ast.Tuple)


def _first(expression: ast.expr, name: str, constant: bool) -> Any:
    """Where `name` stands in an expression, if nothing is done before it is read."""
    path: list[tuple[ast.AST, str, int | None]] = []

    def search(node: ast.AST) -> bool | None:
        """Whether it is found; ``None`` when something is done before it."""
        if isinstance(node, ast.Name):
            return node.id == name
        if isinstance(node, ast.Constant | ast.expr_context):
            return False
        if isinstance(
            node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.BoolOp | ast.IfExp
        ):
            if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
                path.append((node.generators[0], "iter", None))
                found = search(node.generators[0].iter)
                if found:
                    return True
                path.pop()
                return None
            first = node.values[0] if isinstance(node, ast.BoolOp) else getattr(node, "test", None)
            if first is not None:
                path.append(
                    (
                        node,
                        "values" if isinstance(node, ast.BoolOp) else "test",
                        0 if isinstance(node, ast.BoolOp) else None,
                    )
                )
                found = search(first)
                if found:
                    return True
                path.pop()
            return None
        for field, content in ast.iter_fields(node):
            entries = content if isinstance(content, list) else [content]
            for place, entry in enumerate(entries):
                if not isinstance(entry, ast.AST) or isinstance(entry, ast.operator | ast.cmpop | ast.unaryop):
                    continue
                path.append((node, field, place if isinstance(content, list) else None))
                found = search(entry)
                if found is None or found:
                    return found
                path.pop()
        # Computing this one may do something; of a name's or a plain attribute's value it makes no difference.
        if isinstance(node, ast.Call) and not constant:
            return None
        return False

    if search(expression) is not True:
        return None
    return path[-1] if path else ()
