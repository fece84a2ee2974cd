"""The markers that a test carries: which requirements it decides, how long it may take, whether it draws examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

import pytest

from conformance.requirements.vocabulary import CAPABILITIES, capability_taking

__all__ = ["needs", "property_test", "requirement", "time_limit"]

#: The pytest marker beneath `requirement`.  Long, because markers are one namespace for all of a project's plug-ins.
MARKER = "conformance_requirement"

#: The pytest marker beneath `needs`.
NEED_MARKER = "conformance_needs"

#: The pytest marker beneath `time_limit`.
TIME_MARKER = "conformance_time_limit"

#: The pytest marker beneath `property_test`.
PROPERTY_MARKER = "conformance_property_test"

_Test = TypeVar("_Test", bound=Callable[..., Any])


def requirement(*identities: str) -> pytest.MarkDecorator:
    """State the requirements that a test decides: ``@requirement("pools.shared-token")``.

    Raises:
        TypeError: no id, or something that is not a string; most often a forgotten pair of parentheses.

    >>> @requirement("pools.shared-token", "pools.private-by-default")
    ... def test_a_token_shares_memory(impl): ...
    >>> [mark] = test_a_token_shares_memory.pytestmark
    >>> mark.args
    ('pools.shared-token', 'pools.private-by-default')
    >>> @requirement
    ... def test_without_an_id(impl): ...
    Traceback (most recent call last):
    TypeError: requirement takes ids: @requirement("area.slug")
    """
    if not identities or not all(isinstance(identity, str) for identity in identities):
        raise TypeError('requirement takes ids: @requirement("area.slug")')
    mark: pytest.MarkDecorator = getattr(pytest.mark, MARKER)(*identities)
    return mark


def needs(*capabilities: str) -> pytest.MarkDecorator:
    """Name optional features that a test uses besides those of its requirements: ``@needs("keep_graph")``.

    An implementation that does not owe one of them is not asked.  A parameter called as an argument that a feature adds
    (``keep_graph``), and given, needs no mark.

    Raises:
        TypeError: no name, or one that is none of a capability.

    >>> @needs("keep_graph", "raw_handles")
    ... def test_a_template_has_a_handle(impl): ...
    >>> @needs("keep-graph")
    ... def test_with_a_slip(impl): ...
    Traceback (most recent call last):
    TypeError: needs takes names of capabilities: @needs("keep_graph")
    """
    if not capabilities or not all(name in CAPABILITIES for name in capabilities):
        raise TypeError('needs takes names of capabilities: @needs("keep_graph")')
    mark: pytest.MarkDecorator = getattr(pytest.mark, NEED_MARKER)(*capabilities)
    return mark


def time_limit(seconds: float) -> Callable[[_Test], _Test]:
    """Give a test that takes long `seconds` before a watchdog ends it; the operator's own limit counts when longer.

    Raises:
        TypeError: `seconds` is no number above 0.
    """
    if not isinstance(seconds, int | float) or seconds <= 0:
        raise TypeError("time_limit takes seconds: @time_limit(300)")
    mark: Callable[[_Test], _Test] = getattr(pytest.mark, TIME_MARKER)(float(seconds))
    return mark


def property_test(test: _Test) -> _Test:
    """Say of a test that it draws examples, so that it may answer otherwise with other ones: ``@property_test``."""
    marked_test: _Test = getattr(pytest.mark, PROPERTY_MARKER)(test)
    return marked_test


class Marked(Protocol):
    """The part of a pytest item that says what it claims."""

    def iter_markers(self, name: str | None = None) -> Iterable[Any]: ...


def claimed_ids(item: Marked) -> tuple[str, ...]:
    """The ids that `item` names, in the order written, each once."""
    marks = reversed(list(item.iter_markers(MARKER)))
    return tuple(dict.fromkeys(identity for mark in marks for identity in mark.args))


def needed_capabilities(item: Marked) -> tuple[str, ...]:
    """The capabilities that `item` names with `needs`, or has a parameter for that is given, each once."""
    marked = [name for mark in item.iter_markers(NEED_MARKER) for name in mark.args]
    parameters: Mapping[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    given = [capability_taking(name) for name, value in parameters.items() if value is not None and value is not False]
    return tuple(dict.fromkeys([*marked, *filter(None, given)]))


def asked_seconds(item: Marked) -> float:
    """The longest time that `item` asks for with `time_limit`; 0 when it does not ask."""
    return max((float(mark.args[0]) for mark in item.iter_markers(TIME_MARKER)), default=0.0)


def draws_examples(item: Marked) -> bool:
    """Whether `item` is a `property_test`."""
    return any(True for _ in item.iter_markers(PROPERTY_MARKER))
