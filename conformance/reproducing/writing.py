"""A failure as a standalone script."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from conformance.reproducing.preamble import Beginning, beginning, importing
from conformance.reproducing.pruning import pruned
from conformance.reproducing.sources import copying
from conformance.reproducing.specialising.decisions import Decisions
from conformance.reproducing.specialising.judging import Observe
from conformance.reproducing.specialising.program import Specialiser
from conformance.reproducing.steps import steps_of
from conformance.reproducing.tidying.passes import tidy
from conformance.reproducing.turns import loop_over
from conformance.reproducing.values import Again, Code, Known, NeedsStatements, NotInline, Unwritable, Value
from conformance.reproducing.walking import walk
from conformance.requirements.vocabulary import DIALECTS

if TYPE_CHECKING:
    import pytest

    from conformance.adapter import Adapter
    from conformance.requirements.registry import Requirement

#: What says that there is no program.
_NO_PROGRAM = (Unwritable, NeedsStatements, NotInline, LookupError, OSError)
#: Decisions that are found out one at a time.
_MOST_DECISIONS = 300
#: Up to this many lines a program stays as it is.
_SHORT = 25
#: What says that a program draws random numbers.
_RANDOM = re.compile(r"rand|dropout|normal|bernoulli|multinomial|seed|generator|uniform|nn\.")

#: Characters in a line of words, and statements of the documents that are named.
_WIDTH = 118
_STATEMENTS = 3

_Write = Callable[[Specialiser], list[ast.stmt]]


@dataclass(frozen=True)
class Program:
    """What a script does.

    Attributes:
        imports: import lines.
        before: names and functions of its own.
        body: the rest.
    """

    imports: tuple[str, ...]
    before: tuple[str, ...]
    body: str

    @property
    def lines(self) -> int:
        """How long it is."""
        return "\n\n".join((*self.before, self.body)).count("\n")


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
    steps = None if error is None else steps_of(error)
    if (draws and steps is None) or any(entry.probes for entry in requirements):
        return None  # what looks into a declaration says something of the adapter, which a script does without
    docstring = _docstring(adapter, requirements, message)
    with contextlib.suppress(*_NO_PROGRAM):
        write_down = _of_source(item) if steps is None else _of_steps(steps)
        is_own = type(adapter).__module__.startswith("conformance.")
        # Nobody knows what is in another's adapter; one of the kit's can be written out, or the kit is wrong.
        with contextlib.suppress(*_NO_PROGRAM if is_own else (Exception,)), copying(adapter):
            return _assemble(docstring, beginning(adapter, spec), _shortest(adapter, write_down), message)
        if not is_own:
            program = _shortest(adapter, write_down, imported=True)
            return _assemble(docstring, importing(spec), program, message)
    return None


# -- the program ------------------------------------------------------------------------------------------------------


def _of_source(item: pytest.Item) -> _Write:
    function: Any = getattr(item, "function", None)
    callspec: Any = getattr(item, "callspec", None)
    if not inspect.isfunction(function) or callspec is None:
        raise Unwritable(item.nodeid)

    def write_down(specialiser: Specialiser) -> list[ast.stmt]:
        arguments: dict[str, Value] = {}
        for name in inspect.signature(function).parameters:
            if name == "impl":
                arguments[name] = Known(specialiser.adapter)
            elif name == "observe":
                arguments[name] = Observe()
            elif name == "tmp_path":
                specialiser.imports |= {"import tempfile": None, "from pathlib import Path": None}
                arguments[name] = Code(ast.parse("Path(tempfile.mkdtemp())", mode="eval").body)
            elif name in callspec.params:
                arguments[name] = Known(callspec.params[name])
            else:
                raise Unwritable(f"the fixture {name}")
        return specialiser.of_function(function, arguments)

    return write_down


def _of_steps(steps: str) -> _Write:
    tree = ast.parse(steps)
    for node in walk(tree):
        node.home = "steps"  # type: ignore[attr-defined]
    body = [node for node in tree.body if not isinstance(node, ast.ImportFrom)]
    names: dict[str, Any] = {"torch": torch}
    exec(compile(ast.Module([node for node in tree.body if node not in body], []), "<steps>", "exec"), names)  # noqa: S102

    def write_down(specialiser: Specialiser) -> list[ast.stmt]:
        return specialiser.of_steps(body, {**names, "impl": Known(specialiser.adapter)})

    return write_down


def specialised(adapter: Adapter, write_down: _Write) -> Program:
    """The program that `write_down` writes, for this adapter."""
    return _specialised(adapter, Decisions(), write_down, imported=False)[1]


def _shortest(adapter: Adapter, write_down: _Write, *, imported: bool = False) -> Program:
    """The program with those functions written once and called that make it shorter."""
    decisions = Decisions()
    specialiser, program = _specialised(adapter, decisions, write_down, imported=imported)
    tried: set[Any] = set()
    while program.lines > _SHORT:
        gains = {
            place: (count - 1) * size
            for place, (count, size) in specialiser.counts.items()
            if count > 1 and size > 1 and place not in tried
        }
        if not gains:
            break
        place = max(gains, key=lambda entry: gains[entry])
        tried.add(place)
        other = Decisions(*(set(chosen) for chosen in vars(decisions).values()))
        other.called.add(place)
        try:
            after, shorter = _specialised(adapter, other, write_down, imported=imported)
        except (Unwritable, NeedsStatements, NotInline, LookupError):
            continue
        if shorter.lines < program.lines and other.real == decisions.real:  # a class is no shorter to read
            decisions, specialiser, program = other, after, shorter
    return program


def _specialised(
    adapter: Adapter, decisions: Decisions, write_down: _Write, *, imported: bool
) -> tuple[Specialiser, Program]:
    for _ in range(_MOST_DECISIONS):
        specialiser = Specialiser(adapter, decisions, imported=imported)
        try:
            body = write_down(specialiser)
        except Again as again:
            decisions.add(again)
            continue
        definitions = [*specialiser.constants, *specialiser.functions]
        main = ast.FunctionDef(
            "reproduce", ast.arguments([], [], None, [], [], None, []), tidy(body, specialiser.better), [], lineno=0
        )
        main.body = main.body or [ast.Pass()]
        for entry in definitions:
            for function in entry.body if isinstance(entry, ast.ClassDef) else [entry]:
                if isinstance(function, ast.FunctionDef):
                    function.body = tidy(function.body) or [ast.Pass()]
        written = (*pruned(definitions, main), main)
        texts = [ast.unparse(ast.fix_missing_locations(entry)) for entry in written]
        return specialiser, Program(tuple(specialiser.imports), tuple(texts[:-1]), texts[-1])
    raise Unwritable("too many decisions")


# -- the text ---------------------------------------------------------------------------------------------------------


def _docstring(adapter: Adapter, requirements: Sequence[Requirement], message: str) -> str:
    lines = [f"Fails while {adapter.name} does not do what is expected."]
    for entry in requirements:
        lines += [*textwrap.wrap(entry.headline, _WIDTH), *_origin(entry, adapter.dialect)]
    lines += message.split("\n")
    return '"""' + "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''") + '\n"""'


def _origin(entry: Requirement, dialect: str) -> list[str]:
    """Where a requirement comes from, in few lines: of documents and statements those about this dialect."""
    own = [name for name in entry.statements if name.startswith(f"{dialect}.")] or list(entry.statements)
    about = {place: _dialect_of(place) for place in entry.documents}
    places = [place for place in about if about[place] in (None, dialect)] or list(about)
    says = "documented in" if entry.level == "must" else "follows from"
    text = f"{says} {'; '.join(places)}"
    if entry.level == "must" and own:
        more = f" and {len(own) - _STATEMENTS} more" if len(own) > _STATEMENTS else ""
        text += f" ({', '.join(own[:_STATEMENTS])}{more})"
    return textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def _dialect_of(place: str) -> str | None:
    """Which dialect's class a place in the documents is about, or ``None`` when it is about all of them."""
    if place.startswith("CUDA semantics"):
        return "cuda"
    return next((dialect for dialect in DIALECTS if place.startswith(f"torch.{dialect}")), None)


def _assemble(docstring: str, start: Beginning, program: Program, message: str) -> str:
    imports = {*start.imports, *program.imports, "import sys"}
    body = program.body
    if "seen: " not in message and start.module is not None:
        # What was wrong was seen after the test.
        body += (
            f"\n    {start.module}.synchronize()"
            f"\n    assert not {start.module}.is_current_stream_capturing(), 'the current stream is left capturing'"
        )
    turn = ["reproduce()"]
    everything = "\n".join((*program.before, body))
    if _RANDOM.search(everything):
        turn.insert(0, "torch.default_generator.manual_seed(0)")
    if start.setup:
        imports.add("import contextlib")
        turn = [f"with {', '.join(start.setup)}:", *(f"    {line}" for line in turn)]
    ending = [loop_over("\n".join(start.setup))]
    ending += [f"    {line}" for line in turn]
    ending.append('print("nothing is wrong")')
    used = [line for line in sorted(imports) if _is_used(line, "\n".join([*start.lines, *ending, everything]))]
    parts = ["\n".join((docstring, *used, *start.lines))]
    simple = [text for text in program.before if not text.startswith(("def ", "class ", "@"))]
    if simple:
        parts.append("\n".join(simple))
    parts += [text for text in program.before if text not in simple]
    return "\n\n".join([*parts, body, "\n".join(ending)]) + "\n"


def _is_used(line: str, text: str) -> bool:
    name = line.rsplit(maxsplit=1)[-1]
    return re.search(rf"\b{re.escape(name)}\b", text) is not None
