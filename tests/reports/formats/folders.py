"""Reading the folder of a report as strictly as a program would."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from jsonschema import Draft202012Validator

from conformance.records.record import Record
from reports import write


def parsed(text: str) -> Any:
    """The value of a text of JSON that has nothing but what JSON has."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    value = json.loads(text, parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode()  # half a character is none
    return value


@cache
def validator(package: str, name: str) -> Draft202012Validator:
    """One of the schemas that the kit has."""
    schema = json.loads((resources.files(package) / "schemas" / name).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


class Folder:
    """The report on some records, all files of it read and checked against their schemas."""

    def __init__(self, records: Sequence[Record], path: Path, self_check: Path | None = None) -> None:
        write(records, path, self_check)
        self.path = path
        self.files = {file.relative_to(path).as_posix(): file.read_bytes() for file in _files(path)}
        self.index = self._json("index.json")
        self.report = self._json("report.json")
        self.traceability = self._json("traceability.json")
        ctrf = [name for name in self.files if name.startswith("ctrf")]
        self.ctrf = {name: self._json(name, "ctrf.json") for name in sorted(ctrf)}
        badges = [name for name in self.files if name.startswith("badges/")]
        self.badges = {name: self._json(name, "badge.json") for name in sorted(badges)}
        self.requirements = self._table("requirements.csv")
        self.results = self._table("results.csv")
        self.suites = [*ET.fromstring(self.files["junit.xml"].decode())]  # noqa: S314 - the kit wrote it

    def _json(self, name: str, schema: str = "") -> Any:
        value = parsed(self.files[name].decode("ascii"))
        validator("reports", schema or name).validate(value)
        return value

    def _table(self, name: str) -> list[dict[str, str]]:
        rows = [*csv.reader(io.StringIO(self.files[name].decode(), newline=""), strict=True)]
        return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())
