"""Names that say what they are."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Mapping

from conformance.reproducing.tidying.blocks import reads
from conformance.reproducing.walking import walk


def rename(whole: ast.Module, better: Mapping[str, str]) -> None:
    """Give the names of a program that have `better` ones those, and each of them once."""
    names = {part.id for part in walk(whole) if isinstance(part, ast.Name)}
    names |= {part.arg for part in walk(whole) if isinstance(part, ast.arg)}
    names |= {part.name for part in walk(whole) if isinstance(part, ast.FunctionDef)}
    names |= {str(part.name) for part in walk(whole) if isinstance(part, ast.ExceptHandler)}
    changed: dict[str, str] = {}
    for name, wish in better.items():
        if name in names and wish and not keyword.iskeyword(wish) and wish not in vars(builtins):
            final, number = wish, 1
            while final in names:
                number += 1
                final = f"{wish}_{number}"
            names.add(final)
            changed[name] = final
    for part in walk(whole):
        if isinstance(part, ast.Name):
            part.id = changed.get(part.id, part.id)
        elif isinstance(part, ast.Nonlocal):
            part.names = [changed.get(name, name) for name in part.names]


def drop_loop_names(whole: ast.Module) -> None:
    """Call what a loop counts by, and nothing reads, ``_``."""
    for node in walk(whole):
        match node:
            case ast.For(target=ast.Name(id=name) as target) if not any(reads(entry, name) for entry in node.body):
                target.id = "_"
