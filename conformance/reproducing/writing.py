"""A failure as a standalone script."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from conformance.reproducing.implementation import add_implementation
from conformance.reproducing.inlining import Inlined
from conformance.reproducing.preamble import Beginning, beginning
from conformance.reproducing.script import as_promised
from conformance.reproducing.steps import steps_of

if TYPE_CHECKING:
    import pytest

    from conformance.adapter import Adapter
    from conformance.requirements.registry import Requirement

#: How often a script does what it does: a failure may need what went before it in the same process.
_TURNS = 3


class _Unwritable(Exception):
    """A value that no expression is known for."""


def write(
    item: pytest.Item,
    adapter: Adapter,
    spec: str,
    requirements: Sequence[Requirement],
    message: str,
    error: BaseException | None,
    *,
    draws: bool,
) -> str | None:
    """The script for a failed test, or ``None`` when it cannot do without the kit.

    Args:
        item: the test.
        adapter: of the implementation.
        spec: what ``--impl`` said.
        requirements: what the test decides.
        message: of the failure.
        error: what the test raised.
        draws: whether it draws examples, so that its source alone does not say what it did.
    """
    start = beginning(adapter, spec)
    steps = None if error is None else steps_of(error)
    if start is None or (draws and steps is None):
        return None
    try:
        copied, call = _of_steps(steps) if steps is not None else _of_source(item)
    except (_Unwritable, KeyError, OSError, SyntaxError):
        return None
    add_implementation(copied, adapter)
    return _assemble(_docstring(adapter.name, requirements, message), start, copied, call)


def _docstring(name: str, requirements: Sequence[Requirement], message: str) -> str:
    lines = [f"Fails while {name} does not do what is expected."]
    for entry in requirements:
        lines += ["", *textwrap.wrap(entry.headline, 110)]
        for origin in entry.origins:
            lines += textwrap.wrap(origin, 110, initial_indent="    ", subsequent_indent="      ")
    lines += ["", "As seen:", textwrap.indent(message, "    "), "", "Exit status: 0 when nothing is wrong."]
    return '"""' + "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''") + '\n"""'


def _of_steps(steps: str) -> tuple[Inlined, str]:
    copied = Inlined()
    tree = ast.parse(steps)
    called = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}
    lines = "\n".join(ast.unparse(node) for node in tree.body if not isinstance(node, ast.ImportFrom))
    for node in tree.body:
        # The script has the functions that the steps call, instead of importing them.
        if isinstance(node, ast.ImportFrom) and node.names[0].name in called:
            copied.add(str(node.module), node.names[0].name)
    start = copied.add(as_promised.__module__, as_promised.__name__)
    copied.write(f"def steps():\n{textwrap.indent(lines, '    ')}")
    return copied, f"{start}(steps)"


def _of_source(item: pytest.Item) -> tuple[Inlined, str]:
    function: Any = getattr(item, "function", None)
    callspec: Any = getattr(item, "callspec", None)
    if not inspect.isfunction(function) or callspec is None:
        raise _Unwritable
    copied = Inlined()
    module = function.__module__
    arguments: dict[str, str] = {}
    for name in inspect.signature(function).parameters:
        if name == "impl":
            arguments[name] = "impl"
        elif name == "observe":
            arguments[name] = "lambda name, value: None"
        elif name == "tmp_path":
            copied.imports |= {"import tempfile": None, "from pathlib import Path": None}
            arguments[name] = "Path(tempfile.mkdtemp())"
        elif name in callspec.params:
            arguments[name] = _Value(copied, module, function).text(callspec.params[name], name)
        else:
            raise _Unwritable(name)
    called = copied.add(module, function.__name__)
    copied.write(
        "def main():\n"
        f"    {called}({', '.join(f'{name}={text}' for name, text in arguments.items())})\n"
        "    impl.synchronize()\n"
        "    assert not impl.is_current_stream_capturing(), 'the current stream is left capturing'"
    )
    return copied, "main()"


class _Value:
    """Expressions for a test's parameters."""

    def __init__(self, copied: Inlined, module: str, function: Any) -> None:
        self._copied = copied
        self._module = module
        self._function = function

    def text(self, value: Any, parameter: str = "") -> str:
        """An expression for `value`, which the test has as `parameter`.

        Raises:
            _Unwritable: none is known.
        """
        if isinstance(value, str):
            # It may name a member of the implementation.
            self._copied.named.add(value)
        if value is None or isinstance(value, bool | int | str | bytes | torch.dtype):
            return repr(value)
        if isinstance(value, float):
            return f"float({str(value)!r})"
        if type(value) in (tuple, list):
            inside = ", ".join(map(self.text, value))
            if type(value) is list:
                return f"[{inside}]"
            return f"({inside}{',' if len(value) == 1 else ''})"
        if isinstance(value, type) and value.__module__ == "builtins":
            return value.__name__
        named = getattr(value, "__name__", ""), getattr(value, "__module__", "") or ""
        if named[0].isidentifier() and named[1].partition(".")[0] in ("suites", "tests"):
            return self._copied.add(named[1], named[0])
        return self._element(value) or self._written(value, parameter)

    def _element(self, value: Any) -> str | None:
        """A place in one of the module's own tables."""
        for name, table in self._function.__globals__.items():
            pairs: Any = ()
            if isinstance(table, Mapping):
                pairs = table.items()
            elif isinstance(table, list | tuple):
                pairs = enumerate(table)
            for key, entry in pairs:
                if entry is value and isinstance(key, str | int):
                    return f"{self._copied.add(self._module, name)}[{key!r}]"
        return None

    def _written(self, value: Any, parameter: str) -> str:
        """What the decorator that gives the parameter its values says."""
        tree = ast.parse(textwrap.dedent(inspect.getsource(self._function)))
        decorators = getattr(tree.body[0], "decorator_list", [])
        for mark in getattr(self._function, "pytestmark", []):
            if mark.name != "parametrize" or mark.args[0] != parameter:
                continue
            values = [entry.values[0] if hasattr(entry, "values") else entry for entry in mark.args[1]]
            place = next((number for number, entry in enumerate(values) if entry is value), None)
            for node in decorators:
                match node:
                    case ast.Call(args=[ast.Constant(value=named), ast.List(elts=entries)]) if named == parameter:
                        if place is not None:
                            return self._expression(entries[place])
        raise _Unwritable(repr(value))

    def _expression(self, node: ast.expr) -> str:
        match node:
            case ast.Call(func=ast.Attribute(attr="param"), args=[first, *_]):
                node = first
        return self._copied.expression(self._module, node)


def _assemble(docstring: str, start: Beginning, copied: Inlined, call: str) -> str:
    imports = sorted({*start.imports, *copied.imports, "import sys", "import random"})
    setup = [f"stack.enter_context({text})" for text in start.setup]
    turn = ["random.seed(0)", "torch.default_generator.manual_seed(0)"]
    if setup:
        imports = sorted({*imports, "import contextlib"})
        turn += ["with contextlib.ExitStack() as stack:", *(f"    {line}" for line in setup), f"    {call}"]
    else:
        turn.append(call)
    ending = [f"for _ in range({_TURNS}):  # what an earlier capture leaves may be what breaks a later one"]
    ending += [f"    {line}" for line in turn]
    ending.append('print("nothing is wrong", file=sys.stderr)')
    parts = [docstring, "\n".join(imports), "\n".join([*start.lines, *map(ast.unparse, copied.constants)])]
    parts += [ast.unparse(ast.fix_missing_locations(node)) for node in (*copied.definitions, *copied.program)]
    return (
        "\n\n\n".join(part.strip("\n") for part in parts)
        + '\n\n\nif __name__ == "__main__":\n'
        + textwrap.indent("\n".join(ending), "    ")
        + "\n"
    )
