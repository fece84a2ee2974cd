"""What each file of a report holds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

import reports
from conformance.cli import main
from conformance.errors import ExitStatus, RecordError
from conformance.records.record import read_record
from conformance.records.verdicts import Verdict
from conformance.requirements.loading import load_documents
from reports.files import FILES
from reports.formats.ctrf import milliseconds_of
from reports.formats.json_text import json_text
from tests.reports.formats.folders import Folder
from tests.reports.samples import BAD, GOOD, REQUIREMENTS, result, sample


def test_the_index_names_every_file_with_its_digest(tmp_path: Path) -> None:
    folder = Folder([sample(tmp_path / "bad.jsonl", BAD)], tmp_path / "out")
    named = {entry["path"]: entry for entry in folder.index["files"]}
    assert named.keys() | {"index.json"} == folder.files.keys()
    for path, entry in named.items():
        assert entry["bytes"] == len(folder.files[path])
        assert entry["sha256"] == hashlib.sha256(folder.files[path]).hexdigest()
    assert set(FILES) >= {path.partition("/")[0] for path in folder.files}


def test_the_index_says_what_was_tested(tmp_path: Path) -> None:
    record = sample(tmp_path / "bad.jsonl", BAD)
    (entry,) = Folder([record], tmp_path / "out").index["records"]
    assert entry["implementation"] == entry["label"] == entry["name"] == "sample.Graph"
    assert (entry["dialect"], entry["revision"], entry["device"]) == ("cuda", "2.14", "sample device")
    assert (entry["started_at"], entry["complete"]) == ("2030-01-02T03:04:05Z", True)
    assert (entry["outcome"], entry["headline"]) == ("does_not_conform", "Does not conform.")
    assert (entry["file"], entry["chain"]) == ("bad.jsonl", record.chain.digest)


def test_an_incomplete_run_is_no_data(tmp_path: Path) -> None:
    planned = {one.test: one.requirements for one in GOOD}
    folder = Folder([sample(tmp_path / "cut.jsonl", GOOD[:1], planned=planned, ended=False)], tmp_path / "out")
    (entry,) = folder.index["records"]
    assert (entry["complete"], entry["outcome"], entry["device"]) == (False, "incomplete", "sample device")
    assert folder.report["records"][0]["duration_s"] is None
    texts = {name: badge["message"] for name, badge in folder.badges.items()}
    assert texts["badges/sample.Graph/full.json"] == "no claim: 1 must met, 1 declined, 2 not run"
    assert texts["badges/sample.Graph/core.json"] == "no data"
    assert not any("%" in text for text in texts.values())
    assert {badge["color"] for name, badge in folder.badges.items() if "/keep-graph" not in name} == {"lightgrey"}


def test_badges_say_what_may_be_claimed(tmp_path: Path) -> None:
    folder = Folder([sample(tmp_path / "good.jsonl")], tmp_path / "out")
    badges = {name.rpartition("/")[2]: (each["message"], each["color"]) for name, each in folder.badges.items()}
    assert badges["full.json"] == ("conforms in part: 3 of 4 musts met, 1 declined", "yellow")
    assert badges["core.json"] == ("conforms", "brightgreen")
    assert badges["error-modes.json"] == ("declined", "lightgrey")
    assert badges["hooks.json"] == ("not documented", "lightgrey")
    bad = Folder([sample(tmp_path / "bad.jsonl", BAD)], tmp_path / "bad").badges
    assert bad["badges/sample.Graph/keep-graph.json"]["message"] == "does not conform"
    assert bad["badges/sample.Graph/full.json"]["color"] == "red"
    assert bad["badges/sample.Graph/core.json"]["label"] == "graph capture: core (cuda 2.14)"


def test_a_refuted_record_has_no_badge_that_claims(tmp_path: Path) -> None:
    record = sample(tmp_path / "run.jsonl", footer={"verdict": "conforms"})
    for badge in Folder([record], tmp_path / "out").badges.values():
        assert badge["color"] == "lightgrey"
        assert badge["message"] in {"no claim", "no data", "not documented"}


def test_the_report_has_what_the_page_shows(tmp_path: Path) -> None:
    (entry,) = Folder([sample(tmp_path / "bad.jsonl", BAD)], tmp_path / "out").report["records"]
    first, second = entry["findings"]
    assert first["requirement"] == "keep-graph.template-outlives-capture-end"
    assert first["tests"] == [BAD[0].to_dict()]
    assert first["others"] == [{"test": "suites/keep.py::test_more", "verdict": "pass"}]
    assert (second["verdict"], second["tests"][0]["message"]) == ("crash", "killed by SIGSEGV")
    assert entry["verdicts"]["replay.thermal"] == {"verdict": "untestable", "level": None, "note": "no thermometer"}
    assert entry["verdicts"]["replay.order"]["verdict"] == "recorded"
    assert entry["unsupported"] == {"modes.relaxed": "capture_modes is declared absent"}
    assert entry["not_applicable"]["modes.xpu"] == "holds for xpu, not for cuda"
    assert entry["observations"][0]["values"] == {"order": '["b", "a"]'}
    assert entry["capabilities"] == {"keep_graph": "yes", "capture_modes": "no"}
    assert entry["causes"]


def test_tables_have_a_row_for_each(tmp_path: Path) -> None:
    folder = Folder([sample(tmp_path / "bad.jsonl", BAD)], tmp_path / "out")
    assert [row["requirement"] for row in folder.requirements] == [row["id"] for row in folder.report["requirements"]]
    assert [row["test"] for row in folder.results] == [one.test for one in BAD]
    assert folder.results[0]["seen"] == "a null handle"
    assert folder.results[0]["command"] == BAD[0].command


def test_junit_has_a_suite_and_a_case_for_each(tmp_path: Path) -> None:
    (suite,) = Folder([sample(tmp_path / "bad.jsonl", BAD)], tmp_path / "out").suites
    cases = suite.findall("testcase")
    assert [f"{case.get('classname')}::{case.get('name')}" for case in cases] == [one.test for one in BAD]
    failure, crash = suite.findall("testcase/failure")
    assert (failure.get("type"), crash.get("type")) == ("fail", "crash")
    assert "expected: the template stays\nseen: a null handle" in (failure.text or "")
    assert suite.attrib.items() >= {"tests": "7", "failures": "2", "errors": "0", "skipped": "1"}.items()


def test_what_was_accepted_or_did_not_run_is_no_pass(tmp_path: Path) -> None:
    waiver = {"reason": "known", "link": "l", "owner": "o", "expires": "2031-01-01", "verdict": "fail"}
    waived = replace(BAD[0], verdict=Verdict.WAIVED, waiver=waiver)
    planned = {one.test: one.requirements for one in (waived, GOOD[1])}
    folder = Folder([sample(tmp_path / "run.jsonl", [waived], planned=planned)], tmp_path / "out")
    skips = {skip.get("type"): skip.get("message") for skip in folder.suites[0].findall("testcase/skipped")}
    assert skips == {"not_run": "", "waived": "known"}
    statuses = {test["rawStatus"]: test["status"] for test in folder.ctrf["ctrf.json"]["results"]["tests"]}
    assert statuses == {"not_run": "pending", "waived": "other"}
    assert {row["verdict"]: row["waiver"] for row in folder.results} == {"not_run": "", "waived": "known"}


def test_traces_lead_from_a_statement_to_verdicts(tmp_path: Path) -> None:
    document = next(each for each in load_documents().values() if each.dialect == "cuda")
    statement = document.statements[0]
    entries = (
        replace(REQUIREMENTS[2], statements=(statement.id,)),
        replace(REQUIREMENTS[3], statements=("unknown.page.says", statement.id)),
    )
    record = sample(tmp_path / "run.jsonl", (GOOD[1], GOOD[2]), requirements=entries)
    traces = Folder([record], tmp_path / "out").traceability
    by_id = {each["id"]: each for each in traces["statements"]}
    assert by_id[statement.id]["text"] == statement.text
    assert by_id[statement.id]["requirements"] == [entry.id for entry in entries]
    assert by_id["unknown.page.says"] == {
        "id": "unknown.page.says",
        "document": None,
        "text": None,
        "requirements": [entries[1].id],
        "untestable": None,
    }
    assert traces["requirements"][0]["verdicts"] == {"sample.Graph": "pass"}
    assert traces["tests"][0] == {
        "record": "sample.Graph",
        "test": GOOD[1].test,
        "requirements": ["replay.reads-now"],
        "verdict": "pass",
    }


# -- several records --------------------------------------------------------------------------------------------------


def test_records_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    names = ["x", "X", "y/../z", "y ..-z", ".."]
    records = [sample(tmp_path / f"{number}.jsonl", implementation=name) for number, name in enumerate(names)]
    folder = Folder([*records, sample(tmp_path / "same.jsonl", BAD, implementation="x")], tmp_path / "out")
    used = [entry["name"] for entry in folder.index["records"]]
    assert len({name.lower() for name in used}) == len(records) + 1
    assert used == [entry["name"] for entry in folder.report["records"]]
    assert set(folder.ctrf) == {f"ctrf/{name}.json" for name in used}
    assert {name.split("/")[1] for name in folder.badges} == set(used)
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"out"}


def test_no_number_adds_up_two_implementations(tmp_path: Path) -> None:
    records = [sample(tmp_path / f"{name}.jsonl", results, implementation=name) for name, results in _TWO.items()]
    folder = Folder(records, tmp_path / "out")
    assert [suite.get("tests") for suite in folder.suites] == ["6", "7"]
    assert b"<testsuites name=" in folder.files["junit.xml"].splitlines()[1]
    assert b"tests=" not in folder.files["junit.xml"].splitlines()[1]
    assert [ctrf["results"]["summary"]["tests"] for ctrf in folder.ctrf.values()] == [6, 7]
    whole = {key for key, value in folder.report.items() if not isinstance(value, list)}
    assert whole == {"format", "schema", "title", "detection"}


_TWO = {"a": GOOD, "b": BAD}


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    records = [sample(tmp_path / f"{name}.jsonl", results, implementation=name) for name, results in _TWO.items()]
    assert Folder(records, tmp_path / "1").files == Folder(records, tmp_path / "2").files


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["index.json", "results.csv", "badges"])
def test_nothing_is_replaced_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    record, folder = sample(tmp_path / "run.jsonl"), tmp_path / "out"
    words = ["report", str(record.path), f"--output={folder}"]
    taken = folder / name / "mine" if name == "badges" else folder / name
    taken.parent.mkdir(parents=True)
    taken.write_text("mine", encoding="utf-8")
    assert main(words) == ExitStatus.USAGE
    assert capsys.readouterr().err == f"graph-conformance: --output={folder / name} exists: --force replaces it\n"
    assert main([*words, "--force"]) == ExitStatus.CONFORMING
    assert (taken.read_text(encoding="utf-8") == "mine") == (name == "badges")


@pytest.mark.parametrize("other", [b"", b'{"kind": "result"}\n'])
def test_a_record_that_changes_meanwhile_is_refused(tmp_path: Path, other: bytes) -> None:
    record = sample(tmp_path / "run.jsonl")
    lines = record.path.read_bytes().splitlines(keepends=True)
    record.path.write_bytes(b"".join(lines[:-1]) + other)
    with pytest.raises(RecordError, match=r"run\.jsonl was changed while it was read"):
        reports.write([record], tmp_path / "out")
    assert [*(tmp_path / "out").iterdir()] == []
    assert reports.write([read_record(sample(record.path).path)], tmp_path / "out")


# -- small things -----------------------------------------------------------------------------------------------------


def test_keys_that_only_halves_tell_apart_are_kept() -> None:
    text = json_text({"\ud800": 1, "\\ud800": 2, "a": [float("inf"), {"\udfff": ("\U0001f600",)}]})
    assert text.isascii()
    assert json.loads(text) == {"\\ud800": 1, "\\ud800 (2)": 2, "a": ["inf", {"\\udfff": ["\U0001f600"]}]}


@pytest.mark.parametrize(
    ("time", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.123456789Z", 123),
        ("1970-01-01T00:00:00-01:30", 5_400_000),
        ("2026-01-01T12:00:00+00:00", 1_767_268_800_000),
        ("0001-01-01T00:00:00+99:99", -62_135_596_800_000 - (99 * 3600 + 99 * 60) * 1000),
    ],
)
def test_points_in_time(time: str, milliseconds: int) -> None:
    assert milliseconds_of(time) == milliseconds


def test_a_test_without_a_file_has_a_name(tmp_path: Path) -> None:
    record = sample(tmp_path / "run.jsonl", (*GOOD, replace(result("x", ()), test="loose")))
    case = Folder([record], tmp_path / "out").suites[0].findall("testcase")[-1]
    assert (case.get("classname"), case.get("name")) == ("", "loose")
