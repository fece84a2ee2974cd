"""Reading a kill table back from the JSON that the command printed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from conformance.errors import RecordError, one_line
from conformance.records.lines import parse_object, read_content
from conformance.selfcheck.outcomes import Row
from conformance.selfcheck.table import SCHEMA, Table


def read_table(path: Path) -> Table:
    """Read what ``graph-conformance self-check --json`` printed.

    Raises:
        RecordError: no such file, or not such a table.
    """
    try:
        values = parse_object(read_content(path, "table"))
    except ValueError as error:
        raise RecordError(f"{path} is no table of a self-check: it {error}") from None
    schema = values.get("schema")
    if schema != SCHEMA:
        raise RecordError(f"{path} is no table of a self-check: its schema is {schema!r}, and this kit reads {SCHEMA}")
    try:
        table = Table.from_dict(values)
        _check(table)
        for row in table.rows:
            _check(row)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path} is no table of a self-check: {one_line(error)}") from None
    return table


def _check(part: Table | Row) -> None:
    """Refuse values of other types than are annotated."""
    for name, hint in get_type_hints(type(part)).items():
        value = getattr(part, name)
        if not _fits(value, hint):
            raise TypeError(f"{name} is {one_line(repr(value), 60)}")
    if isinstance(part, Row) and part.kind not in {"fault", "variant"}:
        raise ValueError(f"kind is {part.kind!r}")


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(each, parts[0]) for each in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(_fits(each, parts[1]) for each in value.values())
    if hint is float:
        return type(value) in {int, float} and 0 <= value < math.inf
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
