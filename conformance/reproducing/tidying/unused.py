"""Names that nothing reads."""

from __future__ import annotations

import ast
import collections

from conformance.reproducing.tidying.blocks import blocks, drop_passes, forget
from conformance.reproducing.walking import walk


def drop_unused(whole: ast.Module) -> bool:
    """Drop names that nothing reads."""
    read: collections.Counter[str] = collections.Counter()
    for part in walk(whole):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            read[part.id] += 1
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            read[part.target.id] += 1
        elif isinstance(part, ast.Nonlocal):
            read.update(part.names)
    dropped: set[str] = set()
    for block in blocks(whole):
        for place, node in enumerate(block):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if not read[name] and not _holds(value):
                    dropped.add(name)
                    block[place] = ast.Expr(value) if _has_effect(value) else ast.Pass()
        drop_passes(block)
    forget(whole, dropped)
    return bool(dropped)


def _holds(value: ast.expr) -> bool:
    """Whether a name may be all that keeps what a call makes."""
    if isinstance(value, ast.Await):
        return True
    if not isinstance(value, ast.Call):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return not name.endswith("_") and name not in (
        "current_stream",
        "Stream",
        "capture_end",
        "capture_begin",
        "replay",
        "instantiate",
        "reset",
        "runtime_call",
    )


def _has_effect(value: ast.expr) -> bool:
    return any(isinstance(part, ast.Call | ast.Await | ast.Yield) for part in walk(value))
