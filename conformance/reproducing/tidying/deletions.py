"""Deletions: those that let go of something stay, where they are sure to find it."""

from __future__ import annotations

import ast

from conformance.reproducing.tidying.blocks import blocks, reads
from conformance.reproducing.tidying.lightness import light_names
from conformance.reproducing.walking import walk


def drop_deletions(whole: ast.Module) -> None:
    """Keep those deletions that let go of something, and where they are sure to find it."""
    captured = {
        part.id
        for function in walk(whole)
        if isinstance(function, ast.FunctionDef | ast.Lambda)
        for part in walk(function)
        if isinstance(part, ast.Name)
    }
    light = light_names(whole)
    later = _later(whole)
    for block in list(blocks(whole)):
        here: set[str] = set()
        for node in list(block):
            if isinstance(node, ast.Delete) and not hasattr(node, "asked"):  # by the test itself
                node.targets = [
                    entry
                    for entry in node.targets
                    if not isinstance(entry, ast.Name)
                    or (
                        entry.id in here
                        and entry.id not in captured | light
                        and not any(_is_read(entry.id, way) for way in later[node])
                    )
                ]
                if not node.targets:
                    block.remove(node)
                    continue
            here |= _assigned_for_sure(node)
        for place in range(len(block) - 1, 0, -1):
            one, other = block[place - 1], block[place]
            if isinstance(one, ast.Delete) and isinstance(other, ast.Delete):
                one.targets += other.targets
                del block[place]
        if not block and any(block is getattr(part, "body", None) for part in walk(whole)):
            block.append(ast.Pass())


def _later(whole: ast.Module) -> dict[ast.Delete, list[list[ast.stmt]]]:
    """What may be run after each deletion, in order, one way after the other."""
    found: dict[ast.Delete, list[list[ast.stmt]]] = {}

    def look(block: list[ast.stmt], ways: list[list[ast.stmt]]) -> None:
        for place, node in enumerate(block):
            after = [[*block[place + 1 :], *way] for way in ways]
            if isinstance(node, ast.Delete):
                found[node] = after
            handlers: list[ast.ExceptHandler] = getattr(node, "handlers", [])
            for handler in handlers:
                look(handler.body, after)
            for name in ("body", "orelse", "finalbody"):
                inner: list[ast.stmt] = getattr(node, name, [])
                again = [[*inner, *way] for way in after] if isinstance(node, ast.For | ast.While) else []
                caught = [[*handler.body, *way] for handler in handlers for way in after]
                look(inner, [*after, *again, *caught])

    look(whole.body, [[]])
    return found


def _is_read(name: str, nodes: list[ast.stmt]) -> bool:
    """Whether statements read a name before they assign it anew."""
    for place, node in enumerate(nodes):
        if isinstance(node, ast.With) and not any(reads(item, name) for item in node.items):
            return _is_read(name, [*node.body, *nodes[place + 1 :]])
        if isinstance(node, ast.For) and not reads(node.iter, name) and not reads(node.target, name):
            if _is_read(name, [*node.body, *node.orelse]):
                return True
            continue
        parts = [part for part in walk(node) if isinstance(part, ast.Name) and part.id == name]
        changed = {part.target for part in walk(node) if isinstance(part, ast.AugAssign)}
        if any(isinstance(part.ctx, ast.Load) or part in changed for part in parts):
            return True
        if name in _assigned_for_sure(node):
            return False
    return False


def _assigned_for_sure(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.With):
        return {name for entry in node.body for name in _assigned_for_sure(entry)} | {
            part.id
            for item in node.items
            if item.optional_vars is not None
            for part in walk(item.optional_vars)
            if isinstance(part, ast.Name)
        }
    if isinstance(node, ast.Assign):
        return {part.id for target in node.targets for part in walk(target) if isinstance(part, ast.Name)}
    return set()


def drop_ending(body: list[ast.stmt]) -> None:
    """The end of a function lets go of everything."""
    while body and (
        (isinstance(body[-1], ast.Delete) and not hasattr(body[-1], "asked"))
        or (isinstance(body[-1], ast.Return) and body[-1].value is None)
        or isinstance(body[-1], ast.Pass)
    ):
        body.pop()
