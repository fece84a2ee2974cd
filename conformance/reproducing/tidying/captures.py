"""Captures, streams and waits: what a program need not ask, and where it can ask for the current stream."""

from __future__ import annotations

import ast

from conformance.reproducing.tidying.blocks import blocks, forget, occurrences
from conformance.reproducing.walking import copied, walk


def drop_questions(whole: ast.Module) -> None:
    """Leave out what would be done about a capture that is left open, where it has ended."""
    for block in blocks(whole):
        for place in range(len(block) - 1, 0, -1):
            if _asks_for_a_capture(block[place]) and _has_ended(block[:place]):
                del block[place]


def _asks_for_a_capture(node: ast.stmt) -> bool:
    """Whether a statement does something only if a capture is left open."""
    match node:
        case ast.If(test=ast.Call(func=ast.Attribute(attr="is_current_stream_capturing")), orelse=[]):
            return True
    return False


def _ends_a_capture(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="capture_end"))):
            return True
    return False


def _has_ended(block: list[ast.stmt]) -> bool:
    """Whether statements end with a capture that has ended, as no class leaves one open that its script gets past."""
    without_error: set[str] = set()
    for node in reversed(block):
        if _ends_a_capture(node):
            return True
        match node:
            case ast.Assert(test=ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(None)])):
                without_error.add(name)
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Call(args=[ast.Attribute(attr="capture_end")]),
                    ops=[ast.Is()],
                    comparators=[ast.Constant(None)],
                )
            ):
                return True
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Attribute(attr="capture_end")])):
                if name in without_error:
                    return True
        if any(isinstance(part, ast.Attribute) and part.attr == "capture_begin" for part in walk(node)):
            return False
    return False


def ask_where_waited(whole: ast.Module) -> None:
    """Ask for the current stream where it is waited for, if it is the same there: in the block that asked."""
    for part in walk(whole):
        if isinstance(part, ast.Attribute) and part.attr in ("set_stream", "__enter__"):
            return
        match part:
            case ast.Call(func=ast.Attribute(attr="enter_context"), args=[entered]) if "patch" not in ast.unparse(
                entered
            ):
                return
    uses = occurrences(whole)
    for block in blocks(whole):
        for node in list(block):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="current_stream"))):
                    after = block[block.index(node) + 1 :]
                    waits = [call for entry in after for call in _waits(entry, name)]
                    deleted = sum(_deletes(part, name) for part in walk(whole))
                    if len(waits) == uses[name] - 1 - deleted:
                        for call in waits:
                            _exchange(call, name, node.value)
                        block.remove(node)
                        forget(whole, {name})


def wait_once(whole: ast.Module) -> None:
    """Wait for the device once where it is waited for several times in a row."""
    for block in blocks(whole):
        for place in range(len(block) - 1, 0, -1):
            match block[place]:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="synchronize"), args=[], keywords=[])) as node:
                    if ast.dump(block[place - 1]) == ast.dump(node):
                        del block[place]


def _waits(node: ast.stmt, name: str) -> list[ast.Call]:
    """The call of a statement by which one stream waits for another, if `name` is one of the two."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=one, attr="wait_stream"), args=[other]) as call):
            named = [entry for entry in (one, other) if isinstance(entry, ast.Name) and entry.id == name]
            return [call] if len(named) == 1 else []
    return []


def _deletes(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Delete) and any(
        isinstance(entry, ast.Name) and entry.id == name for entry in node.targets
    )


def _exchange(call: ast.Call, name: str, value: ast.expr) -> None:
    assert isinstance(call.func, ast.Attribute)
    if isinstance(call.func.value, ast.Name) and call.func.value.id == name:
        call.func.value = copied(value)
    else:
        call.args = [copied(value)]
