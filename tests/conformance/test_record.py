"""The record: what is written can be read, to the line where a run died."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.errors import RecordError
from conformance.records.footer import Footer
from conformance.records.header import Header
from conformance.records.record import read_record
from conformance.records.result import TestResult
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.records.writer import RecordWriter
from conformance.requirements.registry import Requirement
from conformance.session.record_paths import record_paths

ENTRY = Requirement("a.b", "a", "must", "t", ("d",), "2.8", capability="pools")
HEADER = Header(
    implementation="fake",
    dialect="cuda",
    revision="2.13",
    capabilities={"pools": True},
    environment={"python": "3.11"},
    options={},
    planned=2,
    not_applicable=1,
    narrowed=False,
    requirements=(ENTRY,),
    kit_version="1",
    suite_digest="0",
    started_at="2026-01-01T00:00:00+00:00",
)
PLANNED = {"t1": ("a.b",), "t2": ("a.b",)}
LEFT_OUT = ("t3",)
FIRST = TestResult(
    "t1", ("a.b",), Verdict.PASS, observations={"é": [1, None]}, warnings=("W: x",), frames=("f:1 in g",)
)
GRAPH = {
    "name": "g0",
    "source": "runtime",
    "state": "captured",
    "pool": "p0",
    "nodes": [{"kind": "Kernel", "label": "add", "stream": None}],
    "edges": [[0, 0]],
    "more_nodes": 1,
    "more_edges": 2,
}
SECOND = TestResult(
    "t2",
    ("a.b",),
    Verdict.FAIL,
    message="promised: p\nseen: s",
    expected="p",
    seen="s",
    calls=("g0.replay()",),
    graphs=(GRAPH,),
)
FOOTER = Footer(
    {"pass": 1, "fail": 1},
    "does_not_conform",
    complete=True,
    exit_status=1,
    duration_s=0.5,
    musts={"fail": 1},
    advice={},
)


def _write(path: Path) -> Path:
    writer = RecordWriter(path)
    writer.header(HEADER, PLANNED, LEFT_OUT)
    for result in (FIRST, SECOND):
        writer.started(result.test)
        writer.result(result)
    writer.footer(FOOTER)
    writer.close()
    return path


def test_a_record_round_trips(tmp_path: Path) -> None:
    record = read_record(_write(tmp_path / "new" / "run.jsonl"))
    assert record.header == HEADER
    assert record.results == (FIRST, SECOND)
    assert record.footer == FOOTER
    assert record.started == ("t1", "t2")
    assert record.planned == PLANNED
    assert record.not_applicable == LEFT_OUT
    assert record.complete
    assert not record.truncated
    assert record.died_in is None
    assert record.assessment.verdict is RunVerdict.DOES_NOT_CONFORM


@pytest.mark.parametrize(
    ("name", "value"), [("complete", "no"), ("strict", 1), ("profile", ["speed"]), ("shard", "3/2")]
)
def test_an_option_that_there_is_none_of_is_refused(tmp_path: Path, name: str, value: object) -> None:
    writer = RecordWriter(tmp_path / "run.jsonl")
    writer.header(replace(HEADER, options={name: value}), {})
    writer.close()
    with pytest.raises(RecordError, match=f"option {name} is "):
        read_record(tmp_path / "run.jsonl")


def test_a_second_run_replaces_the_first(tmp_path: Path) -> None:
    _write(tmp_path / "run.jsonl")
    assert len(read_record(_write(tmp_path / "run.jsonl")).results) == 2


def test_an_earlier_record_stays_until_a_run_begins(tmp_path: Path) -> None:
    path = _write(tmp_path / "run.jsonl")
    RecordWriter(path).close()
    assert read_record(path).complete


def test_each_line_is_on_disk_at_once(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "run.jsonl")
    writer.header(HEADER, PLANNED, LEFT_OUT)
    writer.started("t1")
    record = read_record(tmp_path / "run.jsonl")
    writer.close()
    assert record.died_in == "t1"
    assert not record.complete
    assert record.assessment.verdict is RunVerdict.INCOMPLETE


@given(st.integers(min_value=0))
def test_a_record_cut_anywhere_after_its_header_is_readable(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    whole = _write(path).read_bytes()
    header = whole.index(b"\n")
    path.write_bytes(whole[: header + cut % (len(whole) - header)])
    record = read_record(path)
    assert record.header == HEADER
    assert record.results == (FIRST, SECOND)[: len(record.results)]
    assert record.assessment.verdict in {RunVerdict.INCOMPLETE, RunVerdict.DOES_NOT_CONFORM}


def test_keys_and_lines_of_later_versions_are_passed_over(tmp_path: Path) -> None:
    path = _write(tmp_path / "run.jsonl")
    lines = [json.loads(line) | {"later": 1} for line in path.read_text(encoding="utf-8").splitlines()]
    lines.insert(1, {"kind": "remark"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert read_record(path).results == (FIRST, SECOND)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "is empty"),
        (["{"], "line 1 is not JSON"),
        (["[]"], "line 1 is not a JSON object"),
        (['{"kind": "started", "test": "t"}'], "its first line is not a header"),
        (['{"kind": "header", "schema": 99}'], "has schema version 99; this kit reads version 3"),
        (['{"kind": "header", "schema": 3}'], "line 1: a malformed header line"),
        (["HEADER", "{", '{"kind": "started", "test": "t"}'], "line 2 is not JSON"),
        (["HEADER", "HEADER"], "line 2: a second header"),
        (
            ["HEADER", "RESULT"],
            "line 2: a malformed result line (the plan before it names 0 of 2 tests to run, and 0",
        ),
        (["HEADER", "PLAN", "PLAN"], "line 3: a malformed plan line (t1 is planned already)"),
        (
            ["HEADER", '{"kind": "plan", "not_applicable": ["a", "a"]}'],
            "line 2: a malformed plan line (a is left out already)",
        ),
        (["HEADER", '{"kind": "plan", "not_applicable": ["a", "b"]}'], "the header counts 1 tests as not_applicable"),
        (["HEADER", "PLAN", "RESULT", "PLAN"], "line 4: a malformed plan line (it comes after the first test)"),
        (["HEADER", "PLAN", "RESULT", "RESULT"], "line 4: a malformed result line (t1 has a result already)"),
        (["HEADER", "PLAN", '{"kind": "result", "test": "t", "verdict": "fine"}'], "line 3: a malformed result line"),
        (["HEADER", "PLAN", '{"kind": "started"}'], "line 3: a malformed started line"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "run.jsonl"
    samples = {
        "HEADER": json.dumps({"kind": "header", **HEADER.to_dict()}),
        "PLAN": json.dumps({"kind": "plan", "planned": PLANNED, "not_applicable": LEFT_OUT}),
        "RESULT": json.dumps({"kind": "result", **FIRST.to_dict()}),
    }
    path.write_text("".join(samples.get(line, line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(RecordError) as refusal:
        read_record(path)
    assert message in str(refusal.value)
    assert str(path) in str(refusal.value)


def test_a_missing_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read: No such file"):
        read_record(tmp_path / "none.jsonl")


def test_paths_of_records(tmp_path: Path) -> None:
    assert record_paths("run.jsonl", ["a"]) == {"a": Path("run.jsonl")}
    assert record_paths("out/", ["a"]) == {"a": Path("out/a.jsonl")}
    assert record_paths(str(tmp_path), ["a"]) == {"a": tmp_path / "a.jsonl"}
    several = record_paths("out", ["a:b", "a/b", "c.d"])
    assert several == {"a:b": Path("out/a_b.jsonl"), "a/b": Path("out/a_b_.jsonl"), "c.d": Path("out/c.d.jsonl")}
