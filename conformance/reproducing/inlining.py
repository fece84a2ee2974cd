"""Python definitions taken out of their modules: one function with all that it reaches, in one flat text."""

from __future__ import annotations

import ast
import functools
import importlib.util
import symtable
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: The packages whose definitions are copied.  Anything else is imported.
COPIED = ("suites", "conformance")
SHIM = "conformance.reproducing.shim"
NAMES = "conformance.reproducing.names"
#: Modules of the kit that the shim stands for.
REPLACED = ("conformance.checks", "conformance.errors")
#: Decorators that mean something to the kit or to pytest alone.
KIT_DECORATORS = ("pytest", "requirement", "time_limit", "property_test", "given", "settings")


@dataclass(frozen=True)
class _Import:
    module: str
    name: str | None  # None: the module itself


@dataclass(frozen=True)
class _Module:
    """The names at the top of a module."""

    definitions: Mapping[str, ast.stmt]
    imports: Mapping[str, _Import]


@functools.cache
def _module(name: str) -> _Module:
    loaded = sys.modules.get(name)
    # What is not loaded is only read.
    found = None if loaded is not None else importlib.util.find_spec(name)
    file = loaded.__file__ if loaded is not None else found.origin if found is not None else None
    if file is None:
        raise KeyError(name)
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    definitions: dict[str, ast.stmt] = {}
    imports: dict[str, _Import] = {}
    for node in _top(tree.body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, ast.Assign):
            definitions.update({part.id: node for target in node.targets for part in _names(target)})
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            definitions[node.target.id] = node
        elif isinstance(node, ast.Import):
            for alias in node.names:
                imports[alias.asname or alias.name.partition(".")[0]] = _Import(alias.name, None)
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            imports.update({alias.asname or alias.name: _Import(str(node.module), alias.name) for alias in node.names})
    return _Module(definitions, imports)


def _names(target: ast.expr) -> list[ast.Name]:
    return [part for part in ast.walk(target) if isinstance(part, ast.Name)]


def _top(body: list[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for node in body:
        found += _top(node.body) if isinstance(node, ast.If) else [node]
    return found


class _Bare(ast.NodeTransformer):
    """Without annotations, decorators of the kit, and with other names for some."""

    def __init__(self, renamed: Mapping[str, str]) -> None:
        self.renamed = renamed

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        for argument in arguments:
            if argument is not None:
                argument.annotation = None
        # What decorates a test decides how often it runs and what for, and nothing about what it does.
        test = node.name.startswith("test_")
        node.decorator_list = [
            entry for entry in node.decorator_list if not test and _root(entry) not in KIT_DECORATORS
        ]
        node.name = self.renamed.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.renamed.get(node.name, node.name)
        node.bases = [entry for entry in node.bases if _root(entry) not in ("Protocol", "Generic")]
        # The fields of a data class are their annotations.
        data = any(
            _root(entry) in ("dataclass", "dataclasses") or "NamedTuple" in map(_root, node.bases)
            for entry in node.decorator_list
        )
        data = data or "NamedTuple" in map(_root, node.bases)
        for entry in node.body:
            if isinstance(entry, ast.AnnAssign) and data:
                entry.annotation = ast.Name("object", ast.Load())
        if data:
            kept = [entry for entry in node.body if isinstance(entry, ast.AnnAssign)]
            for entry in kept:
                if entry.value is not None:
                    entry.value = self.visit(entry.value)
            others = [self.visit(entry) for entry in node.body if not isinstance(entry, ast.AnnAssign)]
            node.body = [*[entry for entry in others if _is_docstring(entry)], *kept]
            node.body += [entry for entry in others if entry is not None and not _is_docstring(entry)]
            return node
        node = self.generic_visit(node)  # type: ignore[assignment]
        node.body = node.body or [ast.Pass()]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if node.value is None:
            return None
        self.generic_visit(node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.renamed.get(node.id, node.id)
        return node


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


@dataclass
class Inlined:
    """What a script copies.

    Attributes:
        imports: import lines.
        texts: definitions, each after what it needs.
        attributes: every attribute name that occurs: what is used of the implementation.
        beginnings: the names that a script's beginning must define.
    """

    imports: dict[str, None] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    beginnings: set[str] = field(default_factory=set)
    _taken: dict[str, tuple[str, str]] = field(default_factory=dict)
    _given: dict[tuple[str, str], str] = field(default_factory=dict)
    _unfinished: set[tuple[str, str]] = field(default_factory=set)

    def add(self, module: str, name: str) -> str:
        """Copy a definition and all that it reaches; return the name that it goes by.

        Raises:
            KeyError: there is no such definition.
        """
        if module in REPLACED:
            module = SHIM
        if module == NAMES:
            self.beginnings.add(name)
            return name
        key = (module, name)
        if key in self._given:
            return self._given[key]
        top = _module(module)
        if name in top.imports and name not in top.definitions:
            return self._imported(top.imports[name], name)
        node = top.definitions[name]
        final = name
        while final in self._taken:
            final += "_"
        self._taken[final] = key
        self._given[key] = final
        copied = ast.parse(ast.unparse(node)).body[0]
        if (module, name) == (SHIM, "Implementation"):
            self._without_the_unused(copied)
        bare = _Bare({}).visit(copied)
        renamed = {} if final == name else {name: final}
        for used in _free_names(bare, top):
            if used == name:
                continue
            now = self.add(module, used)
            if now != used:
                renamed[used] = now
        self.texts.append(ast.unparse(ast.fix_missing_locations(_Bare(renamed).visit(bare))))
        self.note(bare)
        return final

    def expression(self, module: str, node: ast.expr) -> str:
        """Copy what an expression reaches; return it."""
        renamed = {
            used: self.add(module, used) for used in _free_names(ast.Module([ast.Expr(node)], []), _module(module))
        }
        self.note(node)
        return ast.unparse(_Bare(renamed).visit(node))

    def _imported(self, origin: _Import, name: str) -> str:
        if origin.module.partition(".")[0] in COPIED and origin.name is not None:
            return self.add(origin.module, origin.name)
        if origin.name is None:
            line = f"import {origin.module}" + ("" if origin.module.partition(".")[0] == name else f" as {name}")
        else:
            line = f"from {origin.module} import {origin.name}" + ("" if origin.name == name else f" as {name}")
        self.imports[line] = None
        return name

    def note(self, node: ast.AST) -> None:
        """Remember the attributes that occur in `node`."""
        self.attributes |= {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
        # getattr(impl, name) with the name in a string.
        self.attributes |= {
            part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }

    def _without_the_unused(self, node: ast.stmt) -> None:
        assert isinstance(node, ast.ClassDef)
        members = {_member(entry): entry for entry in node.body}
        used = set(self.attributes)
        kept: set[str] = set()
        while True:
            more = {name for name in members if name in used} - kept
            if not more:
                break
            kept |= more
            for name in more:
                used |= {part.attr for part in ast.walk(members[name]) if isinstance(part, ast.Attribute)}
        node.body = [entry for name, entry in members.items() if name in kept] or [ast.Pass()]


def _member(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign):
        return _names(node.targets[0])[0].id
    assert isinstance(node, ast.FunctionDef)
    return node.name


def _free_names(node: ast.AST, top: _Module) -> Collection[str]:
    """The names of the module that a definition refers to; one that is also a parameter's or a local one is not."""
    known = {*top.definitions, *top.imports}
    tables = [symtable.symtable(ast.unparse(ast.fix_missing_locations(node)), "script", "exec")]
    used: dict[str, None] = {}
    for table in tables:
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_global() or (table.get_type() == "module" and symbol.is_referenced()):
                used[symbol.get_name()] = None
    return [name for name in used if name in known]
