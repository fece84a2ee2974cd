"""Reading signatures where there are any.

A class written in C may have none, or one that takes everything; then the calls alone decide.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect, fail

_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
EITHER = (inspect.Parameter.POSITIONAL_OR_KEYWORD,)
BY_KEYWORD = (inspect.Parameter.KEYWORD_ONLY,)

_UNSAID = object()


def parameters_of(member: Callable[..., Any]) -> Sequence[inspect.Parameter] | None:
    """The parameters that `member` declares, or ``None`` when it declares none of its own."""
    try:
        declared = list(inspect.signature(member).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(parameter.kind in _ANY for parameter in declared):
        return None
    return declared


def expect_parameter(
    member: Callable[..., Any],
    called: str,
    name: str,
    *,
    default: Any = _UNSAID,
    kinds: Sequence[Any] = EITHER,
    position: int | None = None,
) -> None:
    """Reject a declared signature of `member` without the documented parameter `name`."""
    declared = parameters_of(member)
    if declared is None:
        return
    names = [parameter.name for parameter in declared]
    if name not in names:
        fail(f"{called} takes {name}", f"its parameters are {names}")
    found = declared[names.index(name)]
    expect(found.kind in kinds, f"{called} takes {name} as documented", f"{name} is {found.kind.description}")
    if default is not _UNSAID:
        expect(found.default == default, f"{name} of {called} is {default!r} when left out", f"{found.default!r}")
    if position is not None:
        expect(names.index(name) == position, f"{name} is parameter {position + 1} of {called}", f"of {names}")


def expect_member(impl: Adapter, name: str) -> None:
    """Reject a class or an instance without the method `name`."""
    title = impl.graph_class.__name__
    for owner, what in ((impl.graph_class, "the class"), (impl.new_graph(), "an instance")):
        member = getattr(owner, name, None)
        expect(member is not None, f"{title} has {name}", f"{what} has no such attribute")
        expect(callable(member), f"{name} of {title} is a method", f"of {what} it is {member!r}")
