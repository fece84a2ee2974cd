"""Compares JSON values with the types that a dataclass names for them, before one is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from conformance.errors import one_line

#: Thirty years: a sum of such seconds is still a number.
_LONGEST_S = 1e9

#: Whether a value fits; built once for each type, since a long run has as many results as tests.
_Test = Callable[[Any], bool]


def check_shape(values: Mapping[str, Any], kind: type) -> None:
    """Refuse `values` that no `kind`, a dataclass, can be made of; keys that it does not know are passed over.

    Raises:
        ValueError: the key, and what is wrong with its value.
    """
    for name, (is_needed, fits) in _shape(kind).items():
        if name not in values:
            if is_needed:
                raise ValueError(f"{name} is missing")
        elif not fits(values[name]):
            raise ValueError(f"{name} is {one_line(repr(values[name])[:400], 80)}")


@cache
def _shape(kind: type) -> Mapping[str, tuple[bool, _Test]]:
    hints = get_type_hints(kind)
    return {
        entry.name: (entry.default is MISSING and entry.default_factory is MISSING, _test(hints[entry.name]))
        for entry in fields(kind)
    }


def _test(hint: Any) -> _Test:
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda _: True
    if origin in {UnionType, Union}:
        return _union_test(parts)
    if origin is tuple:
        each_fits = _test(parts[0])
        return lambda value: isinstance(value, list) and all(map(each_fits, value))
    if origin is Mapping:
        if parts[1] is Any:
            return lambda value: isinstance(value, dict)
        each_fits = _test(parts[1])
        return lambda value: isinstance(value, dict) and all(map(each_fits, value.values()))
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in parts
    return _plain_test(hint)


def _union_test(parts: tuple[Any, ...]) -> _Test:
    tests = [_test(part) for part in parts if part is not NoneType]
    is_optional = len(tests) < len(parts)
    if is_optional and len(tests) == 1:
        (fits,) = tests
        return lambda value: value is None or fits(value)
    return lambda value: (is_optional and value is None) or any(test(value) for test in tests)


def _plain_test(hint: type) -> _Test:
    if hint is float:  # all of them are durations
        return lambda value: type(value) in {int, float} and 0 <= value <= _LONGEST_S
    if hint is int:  # all of them count, or are a status
        return lambda value: type(value) is int and value >= 0
    if issubclass(hint, Enum):
        words = {each.value for each in hint}
        return lambda value: isinstance(value, str) and value in words
    if is_dataclass(hint):
        return lambda value: isinstance(value, dict) and _has_shape(value, hint)
    return lambda value: isinstance(value, hint)


def _has_shape(value: Mapping[str, Any], kind: type) -> bool:
    return all(
        fits(value[name]) if name in value else not is_needed for name, (is_needed, fits) in _shape(kind).items()
    )
