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
        parameters = list(inspect.signature(member).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(parameter.kind in _ANY for parameter in parameters):
        return None
    return parameters


def expect_parameter(
    member: Callable[..., Any],
    title: str,
    name: str,
    *,
    default: Any = _UNSAID,
    kinds: Sequence[Any] = EITHER,
    position: int | None = None,
) -> None:
    """Reject a declared signature of `member` without the documented parameter `name`."""
    parameters = parameters_of(member)
    if parameters is None:
        return
    names = [parameter.name for parameter in parameters]
    if name not in names:
        fail(f"{title} takes {name}", f"its parameters are {names}")
    match = parameters[names.index(name)]
    expect(match.kind in kinds, f"{title} takes {name} as documented", f"{name} is {match.kind.description}")
    if default is not _UNSAID:
        expect(match.default == default, f"{name} of {title} is {default!r} when left out", f"{match.default!r}")
    if position is not None:
        expect(names.index(name) == position, f"{name} is parameter {position + 1} of {title}", f"of {names}")


def expect_member(impl: Adapter, name: str) -> None:
    """Reject a class or an instance without the method `name`."""
    title = impl.graph_class.__name__
    for owner, what in ((impl.graph_class, "the class"), (impl.new_graph(), "an instance")):
        member = getattr(owner, name, None)
        expect(member is not None, f"{title} has {name}", f"{what} has no such attribute")
        expect(callable(member), f"{name} of {title} is a method", f"of {what} it is {member!r}")
