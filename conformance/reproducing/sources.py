"""The text of the kit's functions and modules."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from conformance.reproducing.walking import walk

#: The packages whose functions become a part of the script.  Anything else is imported.
COPIED = ("suites", "conformance", "tests")


#: Modules of an adapter's own classes, while its scripts are written.
_own: set[str] = set()

#: Files of modules that functions come from; pytest may load one that nobody can ask for by its name.
_files: dict[str, str] = {}


def is_copied(module: str | None) -> bool:
    """Whether the definitions of a module become a part of the script."""
    return (module or "").partition(".")[0] in COPIED or is_own(module)


def is_own(module: str | None) -> bool:
    """Whether a module is of the adapter whose script is written, and none of the kit's."""
    return module in _own


@contextlib.contextmanager
def copying(adapter: object) -> Iterator[None]:
    """Let what an adapter overrides become a part of the script, too."""
    modules = {cls.__module__ for cls in type(adapter).__mro__ if cls is not object and not is_copied(cls.__module__)}
    _own.update(modules)
    try:
        yield
    finally:
        _own.difference_update(modules)


@functools.cache
def tree_of(module: str) -> ast.Module:
    """The text of a module."""
    loaded = sys.modules.get(module)
    file = _files[module] if loaded is None else loaded.__file__
    assert file is not None
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    for node in walk(tree):
        node.home = module  # type: ignore[attr-defined]  # which part of which text it is, in whatever copy
    return tree


@functools.cache
def imports_of(module: str) -> Mapping[str, str]:
    """The import lines of a module, by the names that they define."""
    lines: dict[str, str] = {}
    for node in walk(tree_of(module)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                lines[name] = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__" and not node.level:
            for alias in node.names:
                name = alias.asname or alias.name
                lines[name] = f"from {node.module} import {alias.name}" + (
                    f" as {alias.asname}" if alias.asname else ""
                )
    return lines


@functools.cache
def assigned_in(module: str) -> Mapping[str, ast.expr]:
    """The expressions of names that a module assigns at its top."""
    values: dict[str, ast.expr] = {}
    for node in tree_of(module).body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            values[node.target.id] = node.value
    return values


@functools.cache
def decorated_in(module: str) -> Mapping[str, ast.FunctionDef]:
    """The functions at the top of a module of which decorators make something else."""
    return {
        node.name: node for node in tree_of(module).body if isinstance(node, ast.FunctionDef) and node.decorator_list
    }


@functools.cache
def _functions(module: str) -> list[ast.FunctionDef | ast.Lambda]:
    return [node for node in walk(tree_of(module)) if isinstance(node, ast.FunctionDef | ast.Lambda)]


@functools.cache
def node_of(function: FunctionType) -> ast.FunctionDef | ast.Lambda:
    """The text of a function.

    Raises:
        LookupError: it is not to be found.
    """
    code = function.__code__
    _files[function.__module__] = code.co_filename
    for node in _functions(function.__module__):
        lines = {node.lineno, *(entry.lineno for entry in getattr(node, "decorator_list", ()))}
        if code.co_firstlineno not in lines:
            continue
        if isinstance(node, ast.FunctionDef):
            if node.name == code.co_name:
                return node
        elif code.co_name == "<lambda>" and _alike(node, code):
            return node
    raise LookupError(function.__qualname__)


def _alike(node: ast.Lambda, code: CodeType) -> bool:
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    if list(code.co_varnames[: len(names)]) != names:
        return False
    compiled = compile(ast.Expression(node), "<lambda>", "eval").co_consts[0]
    return isinstance(compiled, CodeType) and (
        (compiled.co_names, _plain(compiled)) == (code.co_names, _plain(code))
        or (bool(code.co_freevars) and set(compiled.co_names) == set(code.co_names) | set(code.co_freevars))
    )


def _plain(code: CodeType) -> list[Any]:
    return [entry for entry in code.co_consts if not isinstance(entry, CodeType)]


@functools.cache
def class_node(cls: type) -> ast.ClassDef:
    """The text of a class.

    Raises:
        LookupError: it is not to be found.
    """
    for node in walk(tree_of(cls.__module__)):
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
            return node
    raise LookupError(cls.__qualname__)


def unwrapped(function: Any) -> tuple[FunctionType, bool] | None:
    """A function of the kit's without what `contextlib.contextmanager` puts around it, and whether it had that."""
    inner = inspect.unwrap(function) if isinstance(function, FunctionType) else None
    if isinstance(inner, FunctionType) and is_copied(inner.__module__):
        return inner, inner is not function and inspect.isgeneratorfunction(inner)
    return None


def forget() -> None:
    """Let go of what was read: another session in one process may have other modules of the same names."""
    for cached in (tree_of, imports_of, assigned_in, decorated_in, _functions, node_of, class_node):
        cached.cache_clear()
