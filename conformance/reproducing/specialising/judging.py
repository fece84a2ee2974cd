"""Questions about values."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

import torch

from conformance.reproducing.sources import node_of
from conformance.reproducing.specialising.syntax import is_pure, is_trivial, parsed
from conformance.reproducing.values import Cell, Code, Function, Known, Parts, Table, Value
from conformance.reproducing.walking import copied

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))

NONE = Known(None)


@dataclasses.dataclass
class Member(Value):
    """A method of something whose content is known."""

    owner: Value
    name: str


@dataclasses.dataclass
class Named(Value):
    """Arguments that go by names which a function takes whatever they are."""

    names: tuple[str, ...]


@dataclasses.dataclass
class Computed(Value):
    """A function that is called now."""

    function: Any


ENDED_VALUE = Code(ast.Constant(None))


@dataclasses.dataclass
class Observe(Value):
    """The function that notes what is not judged, which a script leaves out."""


def parts_of(values: list[Value]) -> Value:
    if all(isinstance(value, Known) and value.node is None and value.origin is None for value in values):
        return Known(tuple(value.value for value in values if isinstance(value, Known)))
    return Parts(values)


def is_open(value: Value) -> bool:
    """Whether something of a value is not computed yet."""
    if isinstance(value, Parts):
        return any(map(is_open, value.parts))
    if isinstance(value, Table):
        return any(map(is_open, value.entries.values()))
    return isinstance(value, Code) and not is_trivial(value.node)


def holds_none(value: Value) -> bool:
    """Whether ``None`` is a value or a part of it: what is done with it is another thing than with the rest."""
    if isinstance(value, Known):
        return value.value is None or (isinstance(value.value, tuple) and None in value.value)
    return isinstance(value, Parts) and any(map(holds_none, value.parts))


def name_of(value: Value | None) -> str | None:
    return value.node.id if isinstance(value, Code) and isinstance(value.node, ast.Name) else None


def is_same(one: Value | None, other: Value | None) -> bool:
    if one is other:
        return True
    if isinstance(one, Known) and isinstance(other, Known):
        if one.value is other.value:
            return True
        return type(one.value) is type(other.value) and isinstance(one.value, PLAIN) and one.value == other.value
    if isinstance(one, Code) and isinstance(other, Code):
        return is_pure(one.node) and ast.dump(one.node) == ast.dump(other.node)
    if isinstance(one, Parts) and isinstance(other, Parts):
        return len(one.parts) == len(other.parts) and all(map(is_same, one.parts, other.parts))
    if isinstance(one, Function) and isinstance(other, Function):
        return one.node is other.node and one.scope is other.scope and is_same(one.receiver, other.receiver)
    return False


def is_number(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression gives a number of Python's; `names` do."""
    match node:
        case ast.Constant(value=value):
            return type(value) in (int, float)
        case ast.Name(id=name):
            return name in names
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return is_number(operand, names)
        case ast.BinOp(left=left, right=right):
            return is_number(left, names) and is_number(right, names)
    return False


def is_own(cell: Cell) -> bool:
    return cell.pinned is not None and name_of(cell.value) == cell.pinned


def is_plain(value: Any) -> bool:
    if type(value) in PLAIN or isinstance(value, torch.dtype | torch.device | range):
        return True
    if isinstance(value, type) and value.__module__ == "builtins":
        return True
    if type(value) in (tuple, list, set, frozenset):
        return all(map(is_plain, value))
    return type(value) is dict and all(map(is_plain, value)) and all(map(is_plain, value.values()))


def is_computable(value: Any) -> bool:
    if isinstance(value, PLAIN) or type(value) in (tuple, list, set, frozenset, dict, range):
        return True
    return isinstance(value, type | enum.Enum | torch.dtype | Mapping | re.Pattern)


def computes(known: Known) -> bool:
    return (
        not is_mutable_state(known)
        and (known.node is None or isinstance(known.value, type))
        and (is_computable(known.value) or isinstance(known.value, FunctionType))
    )


def is_hashable(value: Any) -> bool:
    return isinstance(value, type) or (callable(value) and type(value).__name__ == "builtin_function_or_method")


def is_mutable_state(known: Known) -> bool:
    """Whether a module changes what one of its names stands for; an empty constant is there to be filled."""
    if known.origin is None or type(known.value) not in (list, set, dict):
        return False
    return not known.value or not known.origin[1].isupper()


def is_abstract(base: Value) -> bool:
    return isinstance(base, Known) and getattr(base.value, "__name__", "") in {"Protocol", "Generic"}


def static_home(cls: type, name: str) -> str:
    """The module of the class that an attribute of a class comes from; its own, if the attribute says nothing."""
    return next((base.__module__ for base in cls.__mro__ if name in vars(base)), cls.__module__)


def is_empty(cls: type) -> bool:
    """Whether a class is an exception that has nothing of its own."""
    return cls.__bases__ in ((Exception,), (BaseException,), (RuntimeError,)) and not any(
        isinstance(value, FunctionType) for value in vars(cls).values()
    )


def has_text(cls: type, name: str) -> bool:
    static = inspect.getattr_static(cls, name, None)
    if not isinstance(static, FunctionType):
        return False
    try:
        node_of(static)
    except (LookupError, KeyError, TypeError, AttributeError, OSError):
        return False
    return True


def as_node(known: Known) -> ast.expr:
    if known.node is not None:
        return copied(known.node)
    assert isinstance(known.value, ModuleType)
    return parsed(known.value.__name__)


def kind_of(value: Value) -> type:
    return value.kind if isinstance(value, Parts) else type(getattr(value, "value", None))


def is_text(value: Value) -> bool:
    return isinstance(value, Known) and isinstance(value.value, str)
