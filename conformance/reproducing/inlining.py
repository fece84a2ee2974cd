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

#: The kit's package, and all whose definitions are copied.  Anything else is imported.
KIT = "conformance"
COPIED = ("suites", KIT)
#: Its exceptions are copied without what the command line makes of them.
ERRORS = "conformance.errors"
#: Decorators that mean something to the kit or to pytest alone.
KIT_DECORATORS = ("pytest", "requirement", "time_limit", "property_test", "given", "settings")
#: Questions that only the kit can ask: what hangs on their answers is left out.
KIT_QUESTIONS = ("missing_method", "is_out_of_memory")
#: Names that mean something to pytest alone.
KIT_NAMES = ("__tracebackhide__",)


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
    spec = None if loaded is not None else importlib.util.find_spec(name)
    file = loaded.__file__ if loaded is not None else spec.origin if spec is not None else None
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
    nodes: list[ast.stmt] = []
    for node in body:
        nodes += _top(node.body) if isinstance(node, ast.If) else [node]
    return nodes


def members_of(module: str, name: str) -> dict[str, ast.FunctionDef]:
    """The methods of a class at the top of a module, each a copy, without those that Python calls itself."""
    node = _module(module).definitions[name]
    assert isinstance(node, ast.ClassDef)
    methods = [entry for entry in _copy(node).body if isinstance(entry, ast.FunctionDef)]  # type: ignore[attr-defined]
    return {entry.name: entry for entry in methods if not entry.name.startswith("__")}


def _copy(node: ast.stmt) -> ast.stmt:
    return ast.parse(ast.unparse(node)).body[0]


class _Plain(ast.NodeTransformer):
    """The kit's own code without its docstrings and without what means something to the kit or to pytest alone."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._without_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._without_docstring(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        names = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
        return None if names.intersection(KIT_QUESTIONS) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        return None if any(_root(target) in KIT_NAMES for target in node.targets) else node

    def _without_docstring(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        node.body = [entry for entry in node.body if not _is_docstring(entry)]
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node


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
            fields = [entry for entry in node.body if isinstance(entry, ast.AnnAssign)]
            for entry in fields:
                if entry.value is not None:
                    entry.value = self.visit(entry.value)
            others = [self.visit(entry) for entry in node.body if not isinstance(entry, ast.AnnAssign)]
            node.body = [*[entry for entry in others if _is_docstring(entry)], *fields]
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
        constants: names of literals.
        definitions: of all else, each after what it needs.
        program: definitions of the script's own, which use the others.
        members: what is used of the implementation.
        named: those members that may be reached by a string that names them.
    """

    imports: dict[str, None] = field(default_factory=dict)
    constants: list[ast.stmt] = field(default_factory=list)
    definitions: list[ast.stmt] = field(default_factory=list)
    program: list[ast.stmt] = field(default_factory=list)
    members: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    _origins: dict[str, tuple[str, str]] = field(default_factory=dict)
    _final_names: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, module: str, name: str) -> str:
        """Copy a definition and all that it reaches; return the name that it goes by.

        Raises:
            KeyError: there is no such definition.
        """
        key = (module, name)
        if key in self._final_names:
            return self._final_names[key]
        top = _module(module)
        if name in top.imports and name not in top.definitions:
            return self._imported(top.imports[name], name)
        node = top.definitions[name]
        final = name
        while final in self._origins:
            final += "_"
        self._origins[final] = key
        self._final_names[key] = final
        if module == ERRORS:
            self.definitions += ast.parse(f"class {final}(Exception):\n    pass").body
            return final
        definition = self.definition(module, _copy(node), {name: final})
        (self.constants if _is_constant(definition) else self.definitions).append(definition)
        return final

    def definition(self, module: str, node: ast.stmt, renamed: Mapping[str, str]) -> ast.stmt:
        """Copy what a definition in `module` reaches; return the definition, with some of its names `renamed`."""
        if module.partition(".")[0] == KIT:
            node = _Plain().visit(node)
        bare = _Bare({}).visit(node)
        others = [used for used in _free_names(bare, _module(module)) if used not in renamed]
        names = {**renamed, **{used: self.add(module, used) for used in others}}
        self.note(bare)
        final: ast.stmt = ast.fix_missing_locations(_Bare(names).visit(bare))
        return final

    def write(self, text: str) -> None:
        """Add a definition of the script's own."""
        self.program += ast.parse(text).body
        self.note(self.program[-1])

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
        """Remember what `node` uses of the implementation, which the suites call ``impl`` everywhere."""
        for part in ast.walk(node):
            match part:
                case ast.Attribute(value=owner, attr=name) if is_implementation(owner):
                    self.members.add(name)
                case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
                    if is_implementation(owner):
                        self.named.add(name)


def is_implementation(node: ast.expr) -> bool:
    """Whether an expression is the implementation: ``impl``, in whatever object."""
    match node:
        case ast.Name(id="impl") | ast.Attribute(attr="impl" | "_impl"):
            return True
    return False


def _is_constant(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign):
        return False
    try:
        ast.literal_eval(node.value)
    except ValueError:
        return False
    return True


def _free_names(node: ast.AST, top: _Module) -> Collection[str]:
    """The names of the module that a definition refers to; one that is also a parameter's or a local one is not."""
    global_names = {*top.definitions, *top.imports}
    tables = [symtable.symtable(ast.unparse(ast.fix_missing_locations(node)), "script", "exec")]
    used: dict[str, None] = {}
    for table in tables:
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_global() or (table.get_type() == "module" and symbol.is_referenced()):
                used[symbol.get_name()] = None
    return [name for name in used if name in global_names]
