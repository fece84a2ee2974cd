"""The nodes of a syntax tree, without those that say nothing more than their owner: contexts and operators.

A script is made in many passes over its tree, and these are half of all nodes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)

#: Fields in which there is never a node that anybody looks for: contexts, operators, names and numbers.
_LEAVES = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "module", "level", "asname", "kind", "conversion"})


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """By the kind of a node, the fields in which there may be others."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        names = () if issubclass(kind, ast.Constant) else kind._fields
        self[kind] = fields = tuple(name for name in names if name not in _LEAVES)
        return fields


_FIELDS = _Fields()


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and the nodes below it, in the order of `ast.walk`."""
    found = [node]
    for each in found:
        found.extend(children(each))
        yield each


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below `node`, in the order of `ast.iter_child_nodes`."""
    found: list[ast.AST] = []
    for name in _FIELDS[type(node)]:
        content = getattr(node, name, None)
        if isinstance(content, ast.AST):
            found.append(content)
        elif isinstance(content, list):
            found.extend([entry for entry in content if isinstance(entry, ast.AST)])
    return found


def copied(node: _Node) -> _Node:
    """A copy of `node` and of the nodes below it."""
    copy: _Node = type(node).__new__(type(node))
    values = vars(copy)
    for name, content in vars(node).items():
        if isinstance(content, list):
            values[name] = [copied(entry) if isinstance(entry, ast.AST) else entry for entry in content]
        else:
            values[name] = copied(content) if isinstance(content, ast.AST) and name not in _LEAVES else content
    return copy
