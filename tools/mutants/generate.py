"""Makes mutants of a source: with mutmut's operators, and with a few for what those leave as it is."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from tools.mutants.code_trees import differing, outermost, tree
from tools.mutants.plan import Mutant, Plan, digest

#: Functions whose work is text for a person.
_TEXT_FUNCTIONS = {"__repr__", "__str__", "_refuse", "_shortage"}

_ERROR = re.compile(r"(Error|Warning|Exception|Failure|HostReadInCapture)$")

#: Arguments of these are no business of a mutation: the call would fail at once, or not be one.
_PLAIN_CALLS = {"len", "isinstance", "super", "cast", "TypeVar"}


def plan(root: Path, modules: list[str]) -> Plan:
    """The plan for the files `modules`."""
    sources, mutants = {}, []
    for module in modules:
        source = (root / module).read_text(encoding="utf-8")
        sources[module] = digest(source)
        mutants += mutants_of(module, source)
    return Plan(sources, tuple(mutants))


def mutants_of(module: str, source: str) -> list[Mutant]:
    """The mutants of one file, in the order of their lines."""
    wrapper = MetadataWrapper(cst.parse_module(source))
    visitor = _Visitor()
    wrapper.visit(visitor)
    original = tree(compile(source, module, "exec", dont_inherit=True))
    mutants: dict[str, Mutant] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for change in visitor.changes:
        mutated = cst.ensure_type(wrapper.module.deep_replace(change.node, change.replacement), cst.Module).code
        start, end, lines = _region(source, mutated)
        padded = _put(source, start, end, lines)
        if padded in mutants or padded == source:
            continue
        try:
            changed = differing(original, tree(compile(padded, module, "exec", dont_inherit=True)))
        except SyntaxError:  # such as an `await` that lost its function: no program, so no mutant
            continue
        if not changed:
            continue
        # A class's own body changes with the last `super()` of its methods: what is in a function comes first.
        inside = [way for way in changed if outermost(original, way) is not None]
        way = (inside or changed)[0]
        diff = _diff(source, start, end, lines)
        function = ".".join(name for name, _ in way if not name.startswith("<")) or "<module>"
        counts[function, diff] += 1
        mutants[padded] = Mutant(
            module,
            function,
            change.line,
            change.operator,
            *change.statement,
            start,
            end,
            tuple(lines),
            diff,
            counts[function, diff],
            runnable=bool(inside),
        )
    return sorted(mutants.values(), key=lambda mutant: (mutant.line, mutant.id))


def _region(source: str, mutated: str) -> tuple[int, int, list[str]]:
    """Which lines are replaced, and by what: as many lines, so that all others keep their numbers."""
    old, new = source.split("\n"), mutated.split("\n")
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    replaced = new[head : len(new) - tail]
    replaced += [""] * (len(old) - tail - head - len(replaced))
    return head + 1, len(old) - tail, replaced


def _put(source: str, start: int, end: int, lines: list[str]) -> str:
    old = source.split("\n")
    return "\n".join([*old[: start - 1], *lines, *old[end:]])


def _diff(source: str, start: int, end: int, lines: list[str]) -> str:
    old = source.split("\n")[start - 1 : end]
    differences = [line for line in difflib.ndiff(old, lines) if line[0] in "-+" and line[2:].strip()]
    return "\n".join(f"{line[0]} {line[2:].strip()}" for line in differences)


# -- what is changed --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Change:
    node: cst.CSTNode
    replacement: cst.CSTNode
    operator: str
    line: int
    #: Lines of the simple statement, or the head of the compound one, that it is in.
    statement: tuple[int, int]


class _Visitor(cst.CSTVisitor):
    """Collects the changes."""

    METADATA_DEPENDENCIES = (PositionProvider, ParentNodeProvider)

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[_Change] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom)):
            return False
        if isinstance(node, cst.FunctionDef) and node.name.value in _TEXT_FUNCTIONS:
            return False
        if isinstance(node, cst.Call) and m.matches(node.func, m.Name("TypeVar") | m.Name("ParamSpec")):
            return False
        for replacement, operator in _changes(node):
            if not self._open(node, replacement):
                self.changes.append(_Change(node, replacement, operator, self._line(node), self._statement(node)))
        return True

    def _open(self, node: cst.CSTNode, replacement: cst.CSTNode) -> bool:
        """Whether the documents leave open what comes of it."""
        if isinstance(node, cst.SimpleString) and _names_a_call(node):
            return True
        if isinstance(node, cst.Call) and any(_is_open(node, place) for place in _replaced(node, replacement)):
            return True
        if _is_log(node.value if isinstance(node, cst.Expr) else node):
            return True
        if isinstance(node, cst.Call) and _is_message(node, raised=isinstance(self._parent(node), cst.Raise)):
            return True
        inner = node
        while not isinstance(inner, (cst.BaseStatement, cst.Module)):
            outer = self._parent(inner)
            if (isinstance(outer, cst.Assert) and inner is outer.msg) or _is_log(outer):
                return True
            if isinstance(outer, cst.Call) and inner is not outer.func:
                if _is_message(outer, raised=isinstance(self._parent(outer), cst.Raise)):
                    return True
                if m.matches(outer.func, m.Name("cast")) and inner is outer.args[0]:
                    return True
                if any(inner is argument and _is_open(outer, place) for place, argument in enumerate(outer.args)):
                    return True
            inner = outer
        return False

    def _line(self, node: cst.CSTNode) -> int:
        while True:
            position = self.get_metadata(PositionProvider, node, None)
            if position is not None:
                return int(position.start.line)
            node = self._parent(node)

    def _statement(self, node: cst.CSTNode) -> tuple[int, int]:
        while not isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement, cst.ExceptHandler, cst.Else)):
            node = self._parent(node)
        position = self.get_metadata(PositionProvider, node)
        first, last = position.start.line, position.end.line
        body = getattr(node, "body", None)
        if isinstance(body, cst.IndentedBlock):
            last = max(first, self.get_metadata(PositionProvider, body.body[0]).start.line - 1)
        return first, last

    def _parent(self, node: cst.CSTNode) -> cst.CSTNode:
        parent: cst.CSTNode = self.get_metadata(ParentNodeProvider, node)
        return parent


def _is_message(call: cst.Call, *, raised: bool) -> bool:
    """Whether what `call` is given is a text for a person, and what goes into it."""
    if m.matches(call.func, m.Attribute(value=m.Name("warnings"), attr=m.Name("warn"))):
        return True
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else getattr(call.func, "value", "")
    if name == "_refuse":
        return True
    if not (raised or (isinstance(name, str) and _ERROR.search(name))):
        return False
    return any(_holds_text(argument.value) for argument in call.args)


def _is_log(node: cst.CSTNode) -> bool:
    return m.matches(node, m.Call(func=m.Attribute(value=m.Name("_log"))))


#: Which arguments of a function only say in messages what was refused, or what comes of that.
_LABELS = {"check": {0, 1, 3}, "Hooks": {0}, "guarded": {0}}


def _is_open(call: cst.Call, place: int) -> bool:
    """Whether an argument of `call` is only for messages, or only states that things are as they always are."""
    if m.matches(call, m.Call(func=m.Name("zip"))) and m.matches(call.args[place].keyword, m.Name("strict")):
        return True
    name = call.func.value if isinstance(call.func, cst.Name) else ""
    return _names_a_call(call.args[place].value) or place in _LABELS.get(name, ())


def _names_a_call(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.SimpleString):
        return value.raw_value.endswith("()")
    return m.matches(value, m.Name("call"))


def _replaced(call: cst.Call, replacement: Any) -> list[int]:
    """Which arguments have another value in `replacement`, or are the last that it lacks."""
    if not isinstance(replacement, cst.Call):
        return []
    if len(replacement.args) == len(call.args) - 1 and all(
        old.value is new.value for old, new in zip(call.args, replacement.args, strict=False)
    ):
        return [len(replacement.args)]
    if len(call.args) != len(replacement.args):
        return []
    pairs = enumerate(zip(call.args, replacement.args, strict=True))
    return [place for place, (old, new) in pairs if old is not new]


def _holds_text(value: cst.BaseExpression) -> bool:
    return bool(m.findall(value, m.SimpleString() | m.FormattedString() | m.ConcatenatedString()))


def _changes(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, str]]:
    for kind, operator in mutation_operators:
        if not isinstance(node, kind) or _plain(node):
            continue
        name = operator.__name__.removeprefix("operator_").replace("_", " ")
        for place, replacement in enumerate(operator(node)):
            if (name == "string" and place > 0) or _none_for_false(node, replacement):
                continue
            yield replacement, name
    yield from _further(node)


def _plain(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in _PLAIN_CALLS


def _none_for_false(node: cst.CSTNode, replacement: Any) -> bool:
    if isinstance(node, (cst.Assign, cst.AnnAssign)):
        return m.matches(replacement, m.OneOf(m.Assign(value=m.Name("None")), m.AnnAssign(value=m.Name("None")))) and (
            node.value is not None and m.matches(node.value, m.Name("False"))
        )
    return isinstance(node, cst.Call) and any(
        m.matches(node.args[place].value, m.Name("False")) for place in _replaced(node, replacement)
    )


def _further(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, str]]:
    """What is forgotten most easily: a call, a refusal, a deletion; a condition; what is returned."""
    if isinstance(node, cst.Expr) and not isinstance(node.value, (cst.BaseString, cst.Ellipsis, cst.Yield)):
        yield cst.Pass(), "call removed"
    if isinstance(node, cst.Raise):
        yield cst.Pass(), "raise removed"
    if isinstance(node, cst.Del):
        yield cst.Pass(), "del removed"
    if isinstance(node, (cst.If, cst.While)) and isinstance(node.test, (cst.Name, cst.Attribute, cst.Call)):
        # Comparisons, `not`, `and` and `or` have operators of their own.
        yield node.with_changes(test=cst.UnaryOperation(cst.Not(), node.test)), "condition negated"
    if isinstance(node, cst.Return) and node.value is not None and not m.matches(node.value, m.Name("None")):
        yield node.with_changes(value=cst.Name("None")), "return None"
