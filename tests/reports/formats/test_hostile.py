"""Hostile text in every field, through every format: it comes out as text, or it is refused in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.errors import RecordError
from conformance.records.record import Record
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.text import visible
from reports.formats.tables import cell
from tests.reports.formats.folders import Folder
from tests.reports.samples import GOOD, REQUIREMENTS, result, sample

TEXTS = {
    "formula": '=HYPERLINK("file:///etc/passwd","click")',
    "plus": "+1+cmd|' /C calc'!A0",
    "minus": "-2+3+cmd|' /C calc'!A0",
    "at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "full-width-formula": "\uff1d1\uff0b1",
    "tab-formula": "\t=1+1",
    "return-formula": "\r=1+1",
    "quoted-formula": "\"'=1+1",
    "formula-behind-a-separator": 'a";=1+1;"\n=2+2,=3+3',
    "cells": '","=1+1","\r\n"=2',
    "controls": "a\x00\x01\x08\x0b\x1f\x7f\x85b",
    "no-characters": "a\ufffe\uffff\U0001fffeb",
    "end-of-cdata": "]]></failure><testcase name='forged'/><![CDATA[",
    "entities": '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>&b;&#0;&amp;',
    "half-characters": "\ud800 a \udfff \udc00\ud800",
    "escapes-of-halves": r"\ud800 \u0000",
    "directions": "a\u202egnp.exe\u2066\u200f\u2028\u2029b",
    "terminal": "\x1b[2J\x1b]8;;file:///etc\x07a\x1b]52;c;aGk=\x07\x9b1m",
    "html": "</script><script>alert(1)</script><img src=x onerror=alert(2)>",
    "json": '"}], "schema": 99, "records": [{"x": "\\',
    "template": "{{ 7*7 }}{% raw %}${7*7}",
    "astral": "\U0001f600 e\u0301 \u6f22",
    "long": "=x" * 40_000,
    "lines": "\n;" * 15_000 + "=1",
}

#: What must stand in no file: characters that steer a terminal or an editor, and halves.
_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


#: What a spreadsheet would execute, and what one that splits at semicolons would.
BEGINNING = re.compile('[\\s"]*[-=+@\uff1d\uff0b\uff0d\uff20]')
BEHIND = re.compile('[;\n][\\s"]*[-=+@\uff1d\uff0b\uff0d\uff20]')
ELEMENTS = {"testsuite", "properties", "property", "testcase", "failure", "skipped", "error"}


def in_header(text: str, path: Path) -> Record:
    return sample(
        path,
        environment={text: text, "device": text},
        options={"keyword": text, text: [text]},
        capabilities={text: False, "keep_graph": True},
        kit_version=re.sub("[\ud800-\udfff]", "", text),
        suite_digest=text,
        waivers=({"reason": text, "test": text, text: text},),
    )


def in_requirements(text: str, path: Path) -> Record:
    hostile = replace(
        REQUIREMENTS[2], id=text, area=text, text=text, documents=(text,), statements=(text,), needs=(text,)
    )
    untestable = replace(REQUIREMENTS[3], id=f"{text}.2", area=text, untestable=text, statements=(text,))
    absent = replace(REQUIREMENTS[6], id=f"{text}.3", text=text)
    entries = (*REQUIREMENTS, hostile, untestable, absent)
    return sample(path, (*GOOD, result("x.py::test_x", (text, "replay.twice"), Verdict.FAIL)), requirements=entries)


def in_failure(text: str, path: Path) -> Record:
    return sample(
        path, (*GOOD, hostile_result(text, Verdict.FAIL), replace(hostile_result(text, Verdict.CRASH), test=f"{text}2"))
    )


def in_accepted(text: str, path: Path) -> Record:
    waiver = {"reason": text, "link": text, "owner": text, "expires": text, "verdict": "fail"}
    waived = replace(hostile_result(text, Verdict.WAIVED), waiver=waiver)
    skipped = hostile_result(f"{text}2", Verdict.SKIPPED)
    planned = {one.test: one.requirements for one in (*GOOD, waived, skipped)} | {f"{text}3": ("replay.twice",)}
    return sample(path, (*GOOD, waived, skipped), planned=planned, started=[f"{text}3"], ended=False)


def hostile_result(text: str, verdict: Verdict) -> TestResult:
    return TestResult(
        text,
        ("replay.twice", "replay.order"),
        verdict,
        message=text,
        expected=text,
        seen=text,
        left_behind=text,
        frames=(text,),
        duration_s=0.5,
        observations={text: [text, {text: float("inf")}]},
        warnings=(text,),
        command=text,
        ending={"signal": text, "output": text, "stacks": text, "calls": [text]},
        reproducer=text,
        cause={"kind": "missing", "name": text, "declare": text},
    )


def found_in_header(folder: Folder, text: str) -> Iterator[str]:
    entry = folder.report["records"][0]
    yield from (entry["environment"][text], entry["options"]["keyword"], entry["waivers"][0]["reason"])
    yield entry["suite_digest"]
    yield folder.index["records"][0]["device"]
    yield folder.ctrf["ctrf.json"]["results"]["environment"]["extra"]["device"]


def found_in_requirements(folder: Folder, text: str) -> Iterator[str]:
    (entry,) = [each for each in folder.report["requirements"] if each["id"] == text]
    yield from (entry["text"], entry["area"], *entry["documents"], *entry["needs"])
    (entry,) = [each for each in folder.traceability["requirements"] if each["id"] == text]
    yield from (*entry["documents"], *entry["statements"])
    yield from (each["id"] for each in folder.traceability["statements"] if each["document"] is None)


def found_in_test(folder: Folder, text: str) -> Iterator[str]:
    (one,) = [each for each in folder.ctrf["ctrf.json"]["results"]["tests"] if each["name"] == text]
    yield from (one["message"], one["trace"])
    (one,) = [each for each in folder.traceability["tests"] if each["test"] == text]
    yield one["test"]
    tests = [each for one in folder.report["records"][0]["findings"] for each in one["tests"]]
    yield from (each["seen"] for each in tests)
    yield from (each["ending"]["output"] for each in tests)


FIELDS = (
    (in_header, found_in_header),
    (in_requirements, found_in_requirements),
    (in_failure, found_in_test),
    (in_accepted, found_in_test),
)


@pytest.mark.parametrize(("fill", "find"), FIELDS, ids=[fill.__name__ for fill, _ in FIELDS])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_text_comes_out_as_text(
    tmp_path: Path, text: str, fill: Callable[[str, Path], Record], find: Callable[[Folder, str], Iterator[str]]
) -> None:
    record = fill(text, tmp_path / "run.jsonl")
    folder = Folder([record], tmp_path / "out")
    for file, content in folder.files.items():
        assert not _HIDDEN.search(content.decode().replace("\r\n", "\n")), file
    whole = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)
    assert {*find(folder, whole)} == {whole}
    _check_xml(folder, text, record)
    _check_tables(folder, text, fill.__name__)


def _check_xml(folder: Folder, text: str, record: Record) -> None:
    (suite,) = folder.suites
    cases = suite.findall("testcase")
    assert len(cases) == sum(record.assessment.tests.values())
    assert {each.tag for each in suite.iter()} <= ELEMENTS
    names = {f"{case.get('classname')}::{case.get('name')}".removeprefix("::") for case in cases}
    assert len(names) == len(cases)
    assert "forged" not in names
    bodies = [each.text or "" for each in suite.findall("testcase/failure")]
    assert all(body.startswith(visible(text)) for body in bodies if "replay.order" in body)


def _check_tables(folder: Folder, text: str, where: str) -> None:
    rows = [*folder.requirements, *folder.results]
    for value in (value for row in rows for value in row.values()):
        assert not BEGINNING.match(value)
        assert not BEHIND.search(value)
        assert len(value) < 32_767
    column = {"in_requirements": "requirement", "in_failure": "seen", "in_accepted": "seen"}.get(where)
    if column is not None:
        assert cell(text) in {row.get(column) for row in rows}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain; text, 'quoted' \"twice\" - and = more", None),
        ("two\nlines", None),
        ("=1", "'=1"),
        ("  -1", "'  -1"),
        ("a;=1", "a;'=1"),
        ("a\n @b", "a\n' @b"),
        ("\uff1d1", "'\uff1d1"),
        ("a\tb\r", "a    b\\u000d"),
        ("\U0001f600", None),
    ],
)
def test_a_cell_holds_what_is_harmless_as_it_is(text: str, expected: str | None) -> None:
    assert cell(text) == (text if expected is None else expected)


@pytest.mark.parametrize(
    "name",
    [
        "../../etc",
        "..",
        ".hidden",
        "-rf",
        "a/b",
        "C:\\x",
        "con",
        "a" * 200,
        "=1+1",
        "<b>",
        "&amp;",
        "%2e%2e%2f",
        "a'b\"c",
    ],
)
def test_a_hostile_name_leads_nowhere(tmp_path: Path, name: str) -> None:
    folder = Folder([sample(tmp_path / "run.jsonl", implementation=name)], tmp_path / "deep" / "out")
    assert folder.index["records"][0]["implementation"] == name
    assert {path.name for path in tmp_path.iterdir()} == {"run.jsonl", "deep"}
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    folders = {name.split("/")[0] for name in folder.files if "/" in name}
    assert folders == {"assets", "badges", "records", "requirements"}
    assert len({name.split("/")[1] for name in folder.badges}) == 1
    assert folder.suites[0].get("name") == name


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\nb", "a\u202eb", "\ud800", "", " a", "a" * 201, "[a]"])
def test_a_name_that_none_can_have_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError) as caught:
        sample(tmp_path / "run.jsonl", implementation=name, ended=False)
    assert str(caught.value).isprintable()
