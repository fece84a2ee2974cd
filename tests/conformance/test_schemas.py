"""What commands print as JSON, and a package's manifest, are as their JSON Schemas say: no less, and no more."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.comparing.comparison import compare
from conformance.comparing.text import SCHEMA, data_of
from conformance.packaging.manifest import FORMAT, FileEntry, Manifest, RecordEntry
from conformance.records.verdicts import Verdict
from conformance.requirements.loading import load_registry
from conformance.selfcheck import table
from conformance.selfcheck.outcomes import Outcome
from tests.conformance.test_compare import NEXT_DAY, T1, T2, written
from tests.reports.formats.folders import validator
from tests.reports.samples import sample
from tests.reports.test_detection import BAD, KILLED

COMPARISON = validator("conformance.comparing", "comparison.json")
MANIFEST = validator("conformance.packaging", "manifest.json")
SELF_CHECK = validator("conformance.selfcheck", "self-check.json")
REQUIREMENTS = validator("conformance.requirements", "requirements.json")
COVERAGE = validator("conformance.requirements", "coverage.json")

DECIDES = {T2: ("area.one", "area.two")}
MANY = tuple(f"suites/area/test_b.py::test_{number}" for number in range(60))


#: Keys whose objects have whatever keys they have.
FREE = ("environment", "options", "redaction")


def other(value: Any) -> Iterator[Any]:
    """`value` with one key less, or one more, in each of its objects with fixed keys, the first of each list."""
    if isinstance(value, dict):
        for key in value:
            yield {name: each for name, each in value.items() if name != key}
            yield from ({**value, key: inner} for inner in other(value[key]) if key not in FREE)
        yield {**value, "other": 1}
    elif isinstance(value, list) and value:
        yield from ([inner, *value[1:]] for inner in other(value[0]))


def test_comparisons(tmp_path: Path) -> None:
    drawn = random.Random(17)
    for number in range(25):
        tests = (T1, T2, *(MANY if number == 0 else ()))
        pair = []
        for side, day in (("old", "2026-01-01T00:00:00Z"), ("new", NEXT_DAY)):
            verdicts = {test: drawn.choice([*Verdict, None]) for test in tests if drawn.random() < 0.9}
            ran = {test: verdict for test, verdict in verdicts.items() if verdict is not Verdict.NOT_RUN}
            ends = drawn.random() < 0.9
            pair.append(written(tmp_path / f"{number}-{side}.jsonl", ran, started_at=day, ends=ends, decides=DECIDES))
        COMPARISON.validate(json.loads(json.dumps(data_of(compare(*pair)))))


def test_a_comparison_with_another_key_is_none(tmp_path: Path) -> None:
    old = written(tmp_path / "old.jsonl", {T1: Verdict.PASS, T2: Verdict.FAIL})
    new = written(tmp_path / "new.jsonl", {T1: Verdict.FLAKY, T2: Verdict.PASS}, started_at=NEXT_DAY)
    value = json.loads(json.dumps(data_of(compare(old, new))))
    assert value["tests"]["regressed"]["first"][0]["after"] == "flaky"
    COMPARISON.validate(value)
    changed = list(other(value))
    assert len(changed) > 100
    assert not any(map(COMPARISON.is_valid, changed))


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [written(tmp_path / f"{name}.jsonl", {T1: Verdict.PASS}, started_at=NEXT_DAY) for name in ("a", "b")]
    assert main(["compare", "--json", *map(str, paths)]) == 0
    COMPARISON.validate(json.loads(capsys.readouterr().out))


def test_manifests() -> None:
    record = RecordEntry(
        *(
            "records/a.jsonl",
            "a",
            "cuda",
            "2.14",
            "0.1.0",
            "",
            "2026-01-01T00:00:00Z",
            {"device": "d"},
            {"strict": True},
        ),
        *("", "does_not_conform", "DOES NOT CONFORM: a", "0" * 64),
    )
    whole = Manifest("0.1.0", {"paths": 1}, False, (record,), (FileEntry("records/a.jsonl", 1, "0" * 64),))
    for manifest in (whole, replace(whole, redaction=None, without_claim=True)):
        MANIFEST.validate(json.loads(manifest.to_bytes()))
    value = json.loads(whole.to_bytes())
    changed = list(other(value))
    assert len(changed) > 20
    assert not any(map(MANIFEST.is_valid, changed))


def test_self_checks() -> None:
    for outcome in Outcome:
        for kind in ("fault", "variant", "distortion", "pair"):
            rows = (*BAD.rows, replace(KILLED, outcome=outcome, kind=kind, level=None, explore=7))
            SELF_CHECK.validate(json.loads(json.dumps(replace(BAD, rows=rows).to_dict())))
    value = json.loads(json.dumps(BAD.to_dict()))
    changed = list(other(value))
    assert len(changed) > 25
    assert not any(map(SELF_CHECK.is_valid, changed))


def test_requirements(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["requirements", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    REQUIREMENTS.validate(listed)
    assert len(listed) == len(load_registry().requirements)


def test_coverage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = sample(tmp_path / "run.jsonl")
    assert main(["requirements", "--json", "--coverage", str(record.path)]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value
    COVERAGE.validate(value)


def test_a_requirement_is_described_alike_wherever_it_stands() -> None:
    record = validator("conformance.records", "record.json")
    assert REQUIREMENTS.schema["$defs"]["requirement"] == record.schema["$defs"]["requirement"]


def test_versions_are_those_of_the_schemas() -> None:
    assert COMPARISON.schema["properties"]["schema"]["const"] == SCHEMA
    assert MANIFEST.schema["properties"]["format"]["const"] == FORMAT
    assert SELF_CHECK.schema["properties"]["schema"]["const"] == table.SCHEMA
