"""Statements that can be said shorter, one at a time."""

from __future__ import annotations

import ast

from conformance.reproducing.specialising.syntax import assignment
from conformance.reproducing.tidying.blocks import blocks, drop_passes
from conformance.reproducing.walking import walk


def drop_defaults(whole: ast.Module) -> None:
    for node in walk(whole):
        if isinstance(node, ast.Call):
            # What says no more than leaving it out.
            node.keywords = [
                entry
                for entry in node.keywords
                if not (entry.arg == "dtype" and isinstance(entry.value, ast.Constant) and entry.value.value is None)
            ]


def call_directly(whole: ast.Module) -> None:
    """Call what a function hands all its arguments on to; write one of two values in one line."""
    uses = {part for part in walk(whole) if isinstance(part, ast.Name)}
    called = {call.func for call in walk(whole) if isinstance(call, ast.Call) and not call.keywords}
    for block in blocks(whole):
        for place, node in enumerate(block):
            match node:
                case ast.FunctionDef(name=name, body=[ast.Return(value=ast.Call(func=ast.Name(id=other)) as call)]):
                    own = [part for part in uses if part.id == name]
                    if _arguments(node.args) == ast.unparse(call)[len(other) :] and called.issuperset(own):
                        for part in own:
                            part.id = other
                        block[place] = ast.Pass()
                case ast.If(
                    test=test,
                    body=[ast.Assign(targets=[ast.Name(id=name)], value=one)],
                    orelse=[ast.Assign(targets=[ast.Name(id=same)], value=two)],
                ) if name == same:
                    block[place] = assignment(name, ast.IfExp(test, one, two))
        drop_passes(block)


def _arguments(arguments: ast.arguments) -> str | None:
    """How a call hands on all that a function takes, if it takes nothing by a default or by a name."""
    if arguments.defaults or arguments.kwonlyargs or arguments.kwarg:
        return None
    names = [entry.arg for entry in (*arguments.posonlyargs, *arguments.args)]
    return f"({', '.join([*names, *([f'*{arguments.vararg.arg}'] if arguments.vararg else [])])})"


def drop_vain_handlers(whole: ast.Module) -> None:
    """Catch nothing that is only raised again."""
    for block in blocks(whole):
        for place in range(len(block) - 1, -1, -1):
            node = block[place]
            if not isinstance(node, ast.Try):
                continue
            while node.handlers and _raises_again(node.handlers[-1]):
                node.handlers.pop()
            if not node.handlers and not node.finalbody:
                block[place : place + 1] = [*node.body, *node.orelse]


def _raises_again(handler: ast.ExceptHandler) -> bool:
    match handler.body:
        case [ast.Raise(exc=None)]:
            return True
    return False


def drop_certain(whole: ast.Module) -> None:
    """Leave out whether what an operator has just given is there."""
    for block in blocks(whole):
        for place in range(len(block) - 1, 0, -1):
            match block[place - 1], block[place]:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp()),
                    ast.Assert(test=ast.Compare(left=ast.Name(id=same), ops=[ast.IsNot()])),
                ) if name == same:
                    del block[place]


def merge_contexts(whole: ast.Module) -> None:
    """Enter in one line what is entered one right after the other."""
    for node in walk(whole):
        while isinstance(node, ast.With) and len(node.body) == 1 and isinstance(node.body[0], ast.With):
            inner = node.body[0]
            node.items += inner.items
            node.body = inner.body
