"""Pool tokens, which are opaque: two of them may not even be comparable."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any


def _comparable(token: Any) -> bool:
    """Whether a token's type says what equality is, which an object that has nothing but its identity does not."""
    compare: Any = type(token).__eq__  # a class may have put anything there
    if compare is object.__eq__ or compare is None:
        return False
    try:
        return compare(token, token) is True
    except Exception:
        return False


def equal(one: Any, other: Any) -> bool | None:
    """Whether two tokens are equal, and ``None`` where they cannot be compared.

    >>> equal((0, 1), (0, 2))
    False
    >>> equal(object(), object()) is None
    True
    """
    return bool(one == other) if _comparable(one) and _comparable(other) else None


def repeated(tokens: Iterable[Any]) -> bool:
    """Whether any two of the tokens that can be compared are equal."""
    return any(equal(one, other) for one, other in itertools.combinations(list(tokens), 2))
