"""A record that cannot be true makes no claim, and says why; merge does not take it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus, RecordError
from conformance.paths import suite_digest
from conformance.records.merge import merge
from conformance.records.record import Record, read_record
from conformance.records.result import TestResult
from conformance.records.run import Run
from conformance.records.subject import Subject
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.records.writer import RecordWriter
from conformance.requirements.loading import load_registry
from tests.conformance.hostile import without_chain
from tests.conformance.test_record import FIRST, FOOTER, HEADER, PLANNED, SECOND

HEADER = dataclasses.replace(HEADER, not_applicable=0)
PASSED = dataclasses.replace(SECOND, verdict=Verdict.PASS)
WAIVED = dataclasses.replace(SECOND, verdict=Verdict.WAIVED)
#: Of a run of nothing but successes.
GOOD_END = {"counts": {"pass": 2}, "musts": {"pass": 1}, "verdict": "conforms", "exit_status": 0}

Written = Callable[..., Record]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(
        results: tuple[TestResult, ...] = (FIRST, SECOND),
        footer: Mapping[str, Any] | None = None,
        planned: Mapping[str, tuple[str, ...]] = PLANNED,
        left_out: tuple[str, ...] = (),
        **header: Any,
    ) -> Record:
        writer = RecordWriter(tmp_path / "run.jsonl")
        header |= {"planned": len(planned), "not_applicable": len(left_out)}
        writer.header(dataclasses.replace(HEADER, **header), planned, left_out)
        for each in results:
            writer.started(each.test)
            writer.result(each)
        writer.footer(dataclasses.replace(FOOTER, **(footer or {})))
        writer.close()
        return read_record(writer.path)

    return write


def test_a_good_record_has_no_defects(written: Written) -> None:
    record = written()
    assert (record.defects, record.claim.verdict) == ((), RunVerdict.DOES_NOT_CONFORM)
    assert written((FIRST, PASSED), GOOD_END).claim.verdict is RunVerdict.CONFORMS


FORGERIES: dict[str, tuple[Mapping[str, Any], str]] = {
    "a failure made a success": (
        {"results": (FIRST, PASSED)},
        "the counts that it ends with are not those of its results",
    ),
    "with its counts": (
        {"results": (FIRST, PASSED), "footer": {"counts": {"pass": 2}, "musts": {"pass": 1}}},
        "it ends with the verdict does_not_conform, and its results come to conforms",
    ),
    "another verdict": (
        {"footer": {"verdict": "conforms"}},
        "it ends with the verdict conforms, and its results come to does_not_conform",
    ),
    "another exit status": (
        {"footer": {"exit_status": 0}},
        "it ends with the exit status 0, and its results come to 1",
    ),
    "a result deleted": (
        {"results": (FIRST,), "footer": GOOD_END | {"counts": {"pass": 1}}},
        "it ends with the verdict conforms, and its results come to incomplete",
    ),
    "a result of another test": (
        {"results": (FIRST, dataclasses.replace(SECOND, test="t9"))},
        "t9 has a result and was not planned",
    ),
    "a result for nothing": (
        {"results": (FIRST, dataclasses.replace(SECOND, requirements=()))},
        "t2 decides others in its result than in the plan",
    ),
    "a failure waived by nobody": (
        {"results": (FIRST, WAIVED)},
        "t2 is waived, and no waiver in the header is for it",
    ),
    "a success with a waiver": (
        {"results": (FIRST, dataclasses.replace(PASSED, waiver={"reason": "r", "verdict": "fail"}))},
        "t2 has a waiver and is not waived",
    ),
    "no requirements": (
        {"requirements": (), "footer": {"musts": {}}},
        "a.b is decided by a test, and is none of its requirements",
    ),
    "nothing at all": (
        {"results": (), "planned": {}, "requirements": (), "footer": {"counts": {}, "musts": {}}},
        "no must of it holds for the dialect and the revision",
    ),
    "a must made a may": (
        {"requirements": (dataclasses.replace(HEADER.requirements[0], level="may"),)},
        "the musts that it ends with are not those of its results",
    ),
    "a must of a later revision": (
        {"requirements": (dataclasses.replace(HEADER.requirements[0], since="99.0"),), "footer": {"musts": {}}},
        "no must of it holds for the dialect and the revision",
    ),
    "a test planned and left out": (
        {"left_out": ("t1",)},
        "t1 is planned and left out as not applicable",
    ),
    "complete, and stopped": (
        {"footer": {"stopped": "no worker"}},
        "it ends as complete, and its results say otherwise",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_contradiction_is_named_and_leaves_no_claim(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    changes, defect = FORGERIES[name]
    record = written(**changes)
    assert defect in record.defects
    assert record.assessment.verdict is RunVerdict.ERROR
    assert record.claim.line.startswith("NO CLAIM: fake as cuda 2.13: the record contradicts itself or its suites: ")
    assert main(["report", str(record.path), "--output", str(tmp_path / "report")]) == ExitStatus.CONFORMING
    assert "verdict: NO CLAIM: " in capsys.readouterr().out
    page = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "No claim: the record contradicts itself or its suites." in page


def test_a_shard_that_contradicts_itself_is_not_merged(written: Written, tmp_path: Path) -> None:
    record = written((FIRST, PASSED), options={"shard": "1/1"})
    with pytest.raises(RecordError, match=r"run\.jsonl: the counts that it ends with are not those of its results"):
        merge([record.path], tmp_path / "all.jsonl")
    assert not (tmp_path / "all.jsonl").exists()


# -- against the installed suites -------------------------------------------------------------------------------------


@pytest.fixture
def installed() -> dict[str, Any]:
    """The header's part that names the installed suites, and their requirements."""
    registry = load_registry().seen_by("cuda")
    return {"suite_digest": suite_digest(), "requirements": tuple(registry.requirements.values())}


def test_requirements_of_the_installed_suites_are_compared_with_theirs(
    written: Written, installed: dict[str, Any]
) -> None:
    first, *others = installed["requirements"]

    def defects(*entries: Any) -> str:
        return "; ".join(written(**{**installed, "requirements": entries}).defects)

    for complaint in ("is a requirement of its suites", "is no requirement of its suites", "is another in its suites"):
        assert complaint not in defects(first, *others)
    assert f"{first.id} is a requirement of its suites, and it has none" in defects(*others)
    assert "a.b is no requirement of its suites" in defects(first, *others, HEADER.requirements[0])
    for name, value in {"level": "may", "since": "99.0", "untestable": "too hard", "dialects": ("xpu",)}.items():
        changed = dataclasses.replace(first, **{name: value})
        expected = f"{first.id} ({name} {value!r} for {getattr(first, name)!r}) is another in its suites"
        assert expected in defects(changed, *others)


# -- the chain --------------------------------------------------------------------------------------------------------


def _lines(record: Record) -> list[str]:
    return record.path.read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.mark.parametrize("number", range(7))
def test_an_edit_of_any_line_shows(written: Written, number: int) -> None:
    record = written()
    assert (record.chain.broken, record.defects) == (None, ())
    lines = _lines(record)
    lines[number] = lines[number].replace('{"kind"', '{"remark": 1, "kind"')
    record.path.write_text("".join(lines), encoding="utf-8")
    edited = read_record(record.path)
    assert edited.defects[0].startswith(f"line {number + 1}, or one before it, is not the one that was written")
    assert edited.assessment.verdict is RunVerdict.ERROR


@pytest.mark.parametrize("number", range(2, 6))
def test_a_line_that_is_gone_shows(written: Written, number: int) -> None:
    record = written()
    lines = _lines(record)
    record.path.write_text("".join(lines[:number] + lines[number + 1 :]), encoding="utf-8")
    assert "is not the one that was written" in read_record(record.path).defects[0]


def test_a_plan_that_is_gone_is_missed(written: Written) -> None:
    record = written()
    lines = _lines(record)
    record.path.write_text("".join([lines[0], *lines[2:]]), encoding="utf-8")
    with pytest.raises(RecordError, match="the plan before it names 0 of 2 tests to run, and 0 of 0 left out"):
        read_record(record.path)


def test_a_record_without_a_chain_makes_no_claim(written: Written) -> None:
    record = written((FIRST, PASSED), GOOD_END)
    record.path.write_text("".join(without_chain(line) + "\n" for line in _lines(record)), encoding="utf-8")
    assert read_record(record.path).defects == ("line 1 carries no digest: an earlier kit wrote it, or it was edited",)


def test_a_record_that_is_cut_short_has_a_whole_chain(written: Written) -> None:
    record = written()
    record.path.write_text("".join(_lines(record)[:-1]), encoding="utf-8")
    cut = read_record(record.path)
    assert (cut.defects, cut.complete) == ((), False)


def test_an_edited_record_is_not_gone_on_with(written: Written) -> None:
    record = written()
    lines = _lines(record)[:-1]
    record.path.write_text("".join(lines).replace("seen: s", "seen: t"), encoding="utf-8")
    subject = Subject("fake", "fake.py:Fake", "cuda", "2.13", {}, {})
    with pytest.raises(RecordError, match="cannot be gone on with: line 6, or one before it, is not the one"):
        Run(subject, load_registry(), record.path, resume=True)
