"""Whatever an implementation says, what the kit writes of it is what its reader takes."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.records.header import Header
from conformance.records.lines import TEXT_LIMIT
from conformance.records.record import read_record
from conformance.records.result import TestResult
from conformance.records.subject import Subject, environment
from conformance.records.verdicts import Verdict
from conformance.records.writer import RecordWriter
from conformance.session.publishing import publishable, script
from tests.conformance.test_record import FOOTER, GRAPH, HEADER, PLANNED


def _nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


#: Any code point, halves of characters among them, and sometimes a lot of it.
TEXTS = st.builds(
    lambda text, times: text * times,
    st.text(st.characters(), max_size=20),
    st.sampled_from([1, 1, 1, 1000, 200_000]),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXTS | st.integers() | st.none() | st.booleans(), inner, max_size=4)
        | st.builds(_nested, inner, st.integers(1, 300))
    ),
    max_leaves=8,
)


def _written(*results: TestResult, **header: Any) -> tuple[Header, tuple[TestResult, ...]]:
    """What is read of a record with these."""
    with tempfile.TemporaryDirectory() as folder:
        writer = RecordWriter(Path(folder, "run.jsonl"))
        writer.header(dataclasses.replace(HEADER, not_applicable=0, **header), PLANNED)
        for result in results:
            writer.started(result.test)
            writer.result(result)
        writer.footer(FOOTER)
        writer.close()
        record = read_record(writer.path)
        return record.header, record.results


anything = given(
    text=TEXTS,
    frames=st.lists(TEXTS, max_size=3),
    observations=st.dictionaries(TEXTS, VALUES, max_size=5),
    ending=st.none() | st.builds(lambda text: {"signal": text, "output": text, "calls": [text, text]}, TEXTS),
)


@settings(max_examples=12, deadline=None)
@anything
def test_a_result_can_be_read_again(**parts: Any) -> None:
    _is_read_again(**parts)


@pytest.mark.soak
@settings(max_examples=200, deadline=None)
@anything
def test_many_results_can_be_read_again(**parts: Any) -> None:
    _is_read_again(**parts)


def _is_read_again(text: str, frames: list[str], observations: dict[str, Any], ending: dict[str, Any] | None) -> None:
    result = TestResult(
        "t1",
        ("a.b",),
        Verdict.CRASH,
        message=text,
        expected=text,
        seen=text,
        left_behind=text,
        frames=tuple(frames),
        observations=observations,
        warnings=(text,),
        command=text,
        calls=(text, text),
        graphs=(dict(GRAPH, source=text, pool=text, nodes=[{"kind": text, "stream": text}]),),
        ending=ending,
        reproducer=text,
    )
    shown = publishable(result)
    assert _written(shown)[1] == (shown,)


def test_observations_have_an_end() -> None:
    many = {f"n{number}": "x" * 3000 for number in range(10_000)}
    shown = publishable(TestResult("t1", ("a.b",), Verdict.PASS, observations=many)).observations
    assert len(shown) < 400
    assert shown["…"] == f"{10_000 - len(shown) + 1} more"
    wide = publishable(TestResult("t1", ("a.b",), Verdict.PASS, observations={"n": ["x"] * 100_000})).observations
    assert wide["n"].endswith("… (500000 characters in all)")


def test_a_script_is_whole_or_not_there() -> None:
    assert script("x" * TEXT_LIMIT) == "x" * TEXT_LIMIT
    assert script("x" * TEXT_LIMIT + "y") is None


@settings(max_examples=30, deadline=None)
@given(name=TEXTS, value=TEXTS | VALUES)
def test_a_header_can_be_read_again(name: str, value: Any) -> None:
    said = environment(SimpleNamespace(environment=lambda: {name: value}))
    assert _written(environment=said)[0].environment == said


@pytest.mark.parametrize("spec", ["a\nb.py:X", "über.py:X", "x" * 5000 + ":X", "a\udc80.py:X", "\x1b[2J:X"])
def test_what_could_not_be_asked_for_its_name_has_one_that_can_be_read(spec: str) -> None:
    subject = Subject.unknown(spec)
    header, _ = _written(implementation=subject.name, dialect=subject.dialect, revision=subject.revision)
    assert header.implementation == subject.name
