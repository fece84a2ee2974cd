"""The adapter as a script has it: a class of those members that the script uses, copied from the adapter's own."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from conformance.adapter import Adapter, Dialect
from conformance.reproducing.inlining import COPIED, Inlined, is_implementation, members_of

#: Methods whose results an adapter may give as expressions, `Adapter.script_words`.
_WORDED = {
    "tensor": "def tensor(self, data, dtype=None):\n    return {}",
    "pinned": "def pinned(self, data, dtype=None):\n    return {}",
    "read": "def read(self, tensor):\n    self.synchronize()\n    return {}",
}


def add_implementation(copied: Inlined, adapter: Adapter) -> None:
    """Add ``impl``, with those members that what is copied so far uses, and those that they use in turn.

    What a member does nothing but hand on to the device module is called there.
    """
    values, methods = _values(adapter), _methods(adapter)
    members: dict[str, ast.stmt] = {}
    needed = sorted(copied.members | copied.named)
    for name in needed:  # which grows
        if name in members:
            continue
        if name in values:
            members[name] = ast.parse(f"{name} = {values[name]}").body[0]
        elif name in methods:
            module, method = methods[name]
            members[name] = copied.definition(module, _Specialised(adapter.dialect).visit(method), {})
            needed += sorted(_of_self(members[name]))
    direct = _Direct({name: _handed_on(node) for name, node in members.items() if name not in copied.named})
    for definitions in (copied.definitions, copied.program):
        definitions[:] = [direct.visit(node) for node in definitions]
    body = [direct.visit(members[name]) for name in (*values, *methods) if name in members.keys() - direct.functions]
    if "runtime" in members and "importlib" in values["runtime"]:
        copied.imports["import importlib"] = None
    # Parsed, because what the node of a class is made of differs between releases of Python.
    implementation, instance = ast.parse("class Implementation: pass\nimpl = Implementation()").body
    assert isinstance(implementation, ast.ClassDef)
    implementation.body = body or implementation.body
    copied.definitions += [implementation, instance]


def _values(adapter: Adapter) -> dict[str, str]:
    """The adapter's attributes, as expressions."""
    device = f"torch.device({str(adapter.device)!r})"
    return {
        "dialect": repr(adapter.dialect),
        "revision": repr(adapter.revision),
        "capabilities": repr(dict(adapter.capabilities)),
        "needs_side_stream": repr(adapter.needs_side_stream),
        "graph_class": "Graph",
        "has_reset": repr(adapter.has_reset),
        "module": "backend",
        "runtime": _runtime(adapter.runtime),
        "device": device,
        "_streams": "[]",
        "_earlier_streams": "[]",
        "_token_owners": "[]",
    }


def _runtime(runtime: Any) -> str:
    return f"importlib.import_module({runtime.__name__!r})" if isinstance(runtime, ModuleType) else "None"


def _methods(adapter: Adapter) -> dict[str, tuple[str, ast.FunctionDef]]:
    """The adapter's methods with the modules that they stand in, as far as those are the kit's."""
    methods: dict[str, tuple[str, ast.FunctionDef]] = {}
    for cls in reversed(type(adapter).__mro__):
        if cls.__module__.partition(".")[0] in COPIED:
            own = members_of(cls.__module__, cls.__qualname__)
            methods |= {name: (cls.__module__, node) for name, node in own.items()}
    return methods | {
        name: (Adapter.__module__, _worded(name, adapter.script_words[name]))
        for name in _WORDED
        if name in adapter.script_words
    }


def _worded(name: str, expression: str) -> ast.FunctionDef:
    method = ast.parse(_WORDED[name].format(expression)).body[0]
    assert isinstance(method, ast.FunctionDef)
    return method


def _of_self(node: ast.AST) -> set[str]:
    """The members that a method uses."""
    return {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute) and _is_self(part.value)}


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _handed_on(node: ast.stmt) -> ast.expr | None:
    """The function of the device module that a method calls with its own parameters, and does no more."""
    match node:
        case ast.FunctionDef(body=[ast.Return(value=ast.Call() as call) | ast.Expr(value=ast.Call() as call)]):
            parameters = ", ".join(["self", *map(ast.unparse, (*call.args, *call.keywords))])
            if ast.unparse(node.args) == parameters and ast.unparse(call.func).startswith("backend."):
                return call.func
    return None


class _Direct(ast.NodeTransformer):
    """Calls of some members are calls of the device module's functions."""

    def __init__(self, functions: Mapping[str, ast.expr | None]) -> None:
        self.functions = {name: function for name, function in functions.items() if function is not None}

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr in self.functions and (_is_self(node.value) or is_implementation(node.value)):
            return self.functions[node.attr]
        return self.generic_visit(node)


class _Specialised(ast.NodeTransformer):
    """A method for one dialect, which finds the device module and the graph class where the script has them."""

    def __init__(self, dialect: Dialect) -> None:
        self._plain: Mapping[str, ast.expr] = {
            "dialect": ast.Constant(dialect),
            "module": ast.Name("backend", ast.Load()),
            "graph_class": ast.Name("Graph", ast.Load()),
        }

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if _is_self(node.value) and node.attr in self._plain:
            return self._plain[node.attr]
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Compare(ast.Constant(value=one), [ast.Eq() | ast.NotEq() as asked], [ast.Constant(value=other)]):
                return ast.Constant((one == other) is isinstance(asked, ast.Eq))
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        # Every script has imported torch.
        return None if [entry.name for entry in node.names] == ["torch"] else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        end = next((place for place, entry in enumerate(node.body) if isinstance(entry, ast.Return)), len(node.body))
        node.body = node.body[: end + 1]
        return node
