"""Code objects inside code objects: what a change of the source changes, and putting it into live functions."""

from __future__ import annotations

import ast
import gc
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

#: The way from a module to a code object inside it: names, each with its number among namesakes.
Way = tuple[tuple[str, int], ...]

Tree = dict[Way, CodeType]


def tree(code: CodeType, way: Way = ()) -> Tree:
    """`code` and every code object inside it."""
    codes = {way: code}
    numbers: dict[str, int] = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            number = numbers[inner.co_name] = numbers.get(inner.co_name, -1) + 1
            codes |= tree(inner, (*way, (inner.co_name, number)))
    return codes


def is_function(code: CodeType) -> bool:
    """Whether calls run it; a module's or a class's body runs once, when it is defined."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


def outermost(of: Tree, way: Way) -> Way | None:
    """The outermost function on `way`, or ``None`` where nothing but modules and classes is."""
    for length in range(1, len(way) + 1):
        if is_function(of[way[:length]]):
            return way[:length]
    return None


def differing(one: Tree, other: Tree) -> list[Way]:
    """The ways at which the two trees do different work; where lines stand does not count."""
    return [way for way, code in one.items() if way not in other or _work(code) != _work(other[way])]


def _work(code: CodeType) -> tuple[Any, ...]:
    return (
        code.co_code,
        getattr(code, "co_exceptiontable", b""),
        tuple("<code>" if isinstance(each, CodeType) else repr(each) for each in code.co_consts),
        *(code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        *(code.co_flags, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
    )


class Live:
    """The functions of this process by their code, wherever they are held: decorated, as properties, in closures.

    The collector lists no frozen objects, so those that the session has frozen are unfrozen first.
    """

    def __init__(self, files: set[str]) -> None:
        self._functions: dict[tuple[Any, ...], list[FunctionType]] = {}
        gc.unfreeze()
        for each in gc.get_objects():
            if type(each) is FunctionType and each.__code__.co_filename in files:
                self._functions.setdefault(_mark(each.__code__), []).append(each)

    def change(self, original: CodeType, mutated: Callable[[str], CodeType], source: str, top: Way) -> int:
        """Give the functions at `top` and inside it the code that the mutated source has there.

        Args:
            original: of the module.
            mutated: compiles a source as that module.
            source: the mutated one.
            top: the outermost function to change.

        Returns:
            How many functions were changed.
        """
        targets = {way: code for way, code in tree(original).items() if way[: len(top)] == top}
        new = tree(mutated(source))
        if any(set(code.co_freevars) - set(new[way].co_freevars) for way, code in targets.items() if way in new):
            new = tree(mutated(_with_names(source, targets, new)))
        changed = 0
        for way, code in targets.items():
            for function in self._functions.get(_mark(code), ()) if way in new else ():
                function.__code__ = new[way]
                changed += 1
        return changed


def _mark(code: CodeType) -> tuple[Any, ...]:
    return code.co_filename, code.co_name, code.co_firstlineno, code.co_code, code.co_names


def _with_names(source: str, original: Tree, mutated: Tree) -> str:
    """The source with names that a change removed read again where no call comes.

    A function's closure has as many cells as its code has free names, so new code must have as many.
    """
    lost: dict[tuple[str, int], set[str]] = {}
    for way, code in original.items():
        if way in mutated and is_function(code):
            names = set(code.co_freevars) - set(mutated[way].co_freevars)
            lost.setdefault((code.co_name, code.co_firstlineno), set()).update(names)
    module = ast.parse(source)
    for node, name, line in _function_nodes(module):
        for each in sorted(lost.get((name, line), ())):
            read = ast.Name(each, ast.Load())
            if isinstance(node, ast.Lambda):
                node.body = ast.IfExp(ast.Constant(value=True), node.body, read)
            else:
                node.body.append(ast.If(ast.Constant(value=False), [ast.Expr(read)], []))
    return ast.unparse(ast.fix_missing_locations(module))


def _function_nodes(
    module: ast.Module,
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, str, int]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Lambda):
            yield node, "<lambda>", node.lineno
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, node.name, min([node.lineno, *(each.lineno for each in node.decorator_list)])
