"""Blocks of statements, and the names in them."""

from __future__ import annotations

import ast
import collections
from collections.abc import Iterator

from conformance.reproducing.walking import walk


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """All blocks of statements."""
    for name in ("body", "orelse", "finalbody", "handlers"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            if name != "handlers" and not isinstance(node, ast.ClassDef):
                yield block
            for entry in list(block):
                yield from blocks(entry)


def drop_passes(block: list[ast.stmt]) -> None:
    """Leave out each ``pass`` but one that is alone."""
    block[:] = [node for node in block if not isinstance(node, ast.Pass)] or block[:1]


def occurrences(node: ast.AST) -> collections.Counter[str]:
    return collections.Counter(part.id for part in walk(node) if isinstance(part, ast.Name))


def reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in walk(node))


def forget(whole: ast.Module, names: set[str]) -> None:
    """Take names out of all deletions."""
    for block in blocks(whole) if names else ():
        for node in list(block):
            if isinstance(node, ast.Delete):
                node.targets = [
                    entry for entry in node.targets if not (isinstance(entry, ast.Name) and entry.id in names)
                ]
                if not node.targets:
                    block[block.index(node)] = ast.Pass()
        drop_passes(block)
