"""The JSON Schemas describe what is written: no less, and of what the kit writes no more."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError

from conformance.errors import RecordError
from conformance.records.footer import Footer
from conformance.records.header import SCHEMA, Header
from conformance.records.plan import function_of
from conformance.records.record import read_record
from conformance.records.result import TestResult
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.records.writer import RecordWriter
from conformance.requirements.registry import Requirement
from reports.formats import index, report_json, traceability
from reports.words import WORDS
from tests.conformance.hostile import changed, without_chain
from tests.conformance.test_record import FIRST, FOOTER, HEADER, LEFT_OUT, PLANNED, SECOND
from tests.reports.formats.folders import Folder, validator
from tests.reports.samples import BAD, GOOD, sample
from tests.reports.test_detection import BAD as TABLE

RECORD = validator("conformance.records", "record.json")
#: Schemas and what they describe.
DESCRIBED = {"header": Header, "requirement": Requirement, "result": TestResult, "footer": Footer}


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def good_lines(path: Path) -> list[dict[str, Any]]:
    """A record with a line of each kind."""
    writer = RecordWriter(path)
    writer.header(HEADER, PLANNED, LEFT_OUT, {function_of(test): "0123456789abcdef" for test in PLANNED})
    for one in (FIRST, SECOND):
        writer.started(one.test)
        if one is SECOND:
            writer.attempt(one)
        writer.result(replace(one, runs={"fail": 2}) if one is SECOND else one)
    writer.reproducer(SECOND.test, "print()")
    writer.reproduction(SECOND.test, {"outcome": "shown", "why": "it fails alike"})
    writer.footer(FOOTER)
    writer.close()
    return [json.loads(without_chain(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def test_lines_of_records_are_as_described(tmp_path: Path) -> None:
    kinds = {line["kind"] for line in good_lines(tmp_path / "all.jsonl")}
    assert kinds == {"header", "plan", "started", "attempt", "result", "reproducer", "reproduction", "footer"}
    sample(tmp_path / "good.jsonl")
    sample(tmp_path / "bad.jsonl", BAD, ended=False, started=["t"])
    for path in tmp_path.glob("*.jsonl"):
        for line in lines_of(path):
            RECORD.validate(line)


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_key_is_described(name: str) -> None:
    described, kind = RECORD.schema["$defs"][name], DESCRIBED[name]
    names = {entry.name: entry for entry in fields(kind)}
    assert described["properties"].keys() - {"kind", "chain"} == names.keys()
    needed = {key for key, entry in names.items() if entry.default is MISSING and entry.default_factory is MISSING}
    assert {*described["required"]} - {"kind", "schema"} == needed


def test_the_words_are_those_of_the_kit() -> None:
    result, footer = RECORD.schema["$defs"]["result"], RECORD.schema["$defs"]["footer"]
    assert {*result["properties"]["verdict"]["enum"]} == {each.value for each in Verdict}
    assert {*footer["properties"]["verdict"]["enum"]} == {each.value for each in RunVerdict}
    assert RECORD.schema["$defs"]["header"]["properties"]["schema"]["const"] == SCHEMA
    shown = validator("reports", "traceability.json").schema["properties"]["requirements"]["items"]["properties"]
    assert {*shown["verdicts"]["additionalProperties"]["enum"]} == {word.key for word in WORDS}


@pytest.mark.parametrize("module", [report_json, index, traceability])
def test_versions_are_those_of_the_schemas(module: Any) -> None:
    name = {report_json: "report.json", index: "index.json", traceability: "traceability.json"}[module]
    assert validator("reports", name).schema["properties"]["schema"]["const"] == module.SCHEMA


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.soak)])
def test_what_a_reader_takes_is_as_described_and_most_of_the_rest_is_not(tmp_path: Path, step: int) -> None:
    lines = good_lines(tmp_path / "good.jsonl")
    path = tmp_path / "run.jsonl"
    taken = refused = seen = 0
    for name, content in itertools.islice(changed(lines), 0, None, step):
        path.write_bytes(content)
        valid = all(RECORD.is_valid(line) for line in lines_of(path))
        try:
            read_record(path)
            taken += 1
            # Lines of other kinds are passed over.
            assert valid or "-kind-" in name, name
        except RecordError:
            refused += 1
            seen += not valid
    assert taken > 100 // step
    assert seen > 0.8 * refused


def test_reports_with_all_their_parts_are_as_described(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    table.write_text(json.dumps(TABLE.to_dict()), encoding="utf-8")
    records = [
        sample(tmp_path / "a.jsonl", BAD),
        sample(tmp_path / "b.jsonl", GOOD, dialect="xpu"),
        sample(tmp_path / "c.jsonl", (), ended=False, environment={}),
    ]
    folder = Folder(records, tmp_path / "out", table)
    assert folder.report["detection"]["rows"][1]["complaint"]
    assert [entry["device"] for entry in folder.index["records"]] == ["sample device", "sample device", None]


def test_a_report_with_another_key_is_not_as_described(tmp_path: Path) -> None:
    folder = Folder([sample(tmp_path / "run.jsonl")], tmp_path / "out")
    for name in ("report", "index", "traceability"):
        value = getattr(folder, name)
        with pytest.raises(ValidationError):
            validator("reports", f"{name}.json").validate({**value, "other": 1})
        with pytest.raises(ValidationError):
            validator("reports", f"{name}.json").validate({**value, "schema": 2})
