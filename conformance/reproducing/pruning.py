"""Definitions of a script without what nothing in it asks for."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

from conformance.reproducing.walking import walk


def pruned(definitions: Sequence[ast.stmt], main: ast.stmt) -> list[ast.stmt]:
    """Those of `definitions` that `main` needs, classes without the methods that nothing calls."""
    left = list(definitions)
    while True:
        before = ast.dump(ast.Module(left, []))
        classes = {node.name for node in left if isinstance(node, ast.ClassDef)}
        for node in left:
            if isinstance(node, ast.ClassDef) and _is_own(node, classes):
                used = set(_used([other for other in (*left, main) if other is not node]))
                node.body = _needed(node.body, used) or [ast.Pass()]
        left = [node for node in left if _name(node) in set(_used([other for other in (*left, main) if other != node]))]
        if ast.dump(ast.Module(left, [])) == before:
            return left


def _needed(body: Sequence[ast.stmt], used: set[str]) -> list[ast.stmt]:
    """What of a class is asked for by others, by its own special methods, or by what these ask for."""
    kept = [node for node in body if not isinstance(node, ast.FunctionDef) or _is_special(node.name)]
    while True:
        names = used | set(_used(kept))
        more = [node for node in body if node not in kept and isinstance(node, ast.FunctionDef) and node.name in names]
        if not more:
            return [node for node in body if node in kept]
        kept += more


def _is_own(node: ast.ClassDef, classes: set[str]) -> bool:
    """Whether only the script calls a class's methods: a base of another package calls them, too."""
    return all(isinstance(base, ast.Name) and (base.id in classes or base.id in vars(builtins)) for base in node.bases)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _name(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return getattr(node, "name", None)


def _used(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Names, attributes and words in a row of nodes."""
    for node in nodes:
        for part in walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                yield part.id
            elif isinstance(part, ast.Attribute):
                yield part.attr
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value
