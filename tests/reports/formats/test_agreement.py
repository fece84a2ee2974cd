"""Over reports on several records: whatever is said of one, its numbers are the same in all places, its package too."""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from conformance.comparing.comparison import compare
from conformance.comparing.text import data_of
from conformance.packaging.making import drafted, write_package
from conformance.records.record import Record, read_record
from conformance.records.result import TestResult
from conformance.records.runs import Runs
from conformance.records.verdicts import Verdict
from tests.reports.formats.folders import Folder, parsed
from tests.reports.formats.test_numbers import BY_WORDS, KEYS, NO_VERDICT, Numbers, counted, numbers_of, on_the_terminal
from tests.reports.pages import Page
from tests.reports.samples import REQUIREMENTS, result, sample

IDS = [entry.id for entry in REQUIREMENTS]
RERUNS = 3
WAIVER = {"reason": "r", "link": "l", "owner": "o", "expires": "2031-01-01"}
#: What a test comes to in each of its runs; one that fails runs again.
RUNS = st.one_of(
    st.sampled_from([Verdict.PASS, Verdict.UNSUPPORTED, Verdict.SKIPPED, Verdict.ERROR]).map(lambda each: [each]),
    st.lists(
        st.sampled_from([Verdict.PASS, Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT]),
        min_size=RERUNS,
        max_size=RERUNS,
    ).map(lambda later: [Verdict.FAIL, *later]),
)
TESTS = st.lists(
    st.tuples(st.lists(st.sampled_from(IDS), unique=True, max_size=3), RUNS, st.booleans()), min_size=1, max_size=10
)
RECORDS = st.lists(st.tuples(TESTS, st.integers(0, 2), st.booleans(), st.booleans()), min_size=1, max_size=3)


def _result(name: str, ids: list[str], verdicts: list[Verdict], *, waived: bool) -> TestResult:
    """What a test of these runs comes to, as a session makes it."""
    runs = Runs()
    for verdict in verdicts:
        runs.add(result(name, ids, verdict, message="" if verdict is Verdict.PASS else "m"))
    whole = runs.result if len(verdicts) > 1 else replace(runs.result, runs=None)
    if waived and whole.verdict.rejects:
        return replace(whole, verdict=Verdict.WAIVED, waiver={**WAIVER, "verdict": whole.verdict.value})
    return whole


def _records(drawn: Any, folder: Path) -> list[Record]:
    records = []
    for number, (tests, missing, ended, narrowed) in enumerate(drawn):
        results = [
            _result(f"t.py::test_{place}", ids, verdicts, waived=waived)
            for place, (ids, verdicts, waived) in enumerate(tests)
        ]
        planned = {one.test: one.requirements for one in results} | {f"u.py::test_{one}": () for one in range(missing)}
        records.append(
            sample(
                folder / f"run-{number}.jsonl",
                results,
                planned=planned,
                ended=ended,
                narrowed=narrowed,
                options={"reruns": RERUNS},
                capabilities={"keep_graph": True},
                started_at=f"2030-01-0{number + 1}T03:04:05Z",
            )
        )
    return records


# Making an example smaller would make a report for each step.
@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.generate])
@given(RECORDS)
def test_all_numbers_of_each_record_agree(drawn: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        records = _records(drawn, Path(name))
        folder = Folder(records, Path(name, "out"))
        expected = [numbers_of(record) for record in records]
        assert not any(record.defects for record in records)
        assert [on_the_terminal(record) for record in records] == expected
        for record, numbers in zip(records, expected, strict=True):
            assert sum(numbers["tests"].values()) == record.header.planned
            if record.footer is not None:
                assert record.footer.counts == numbers["tests"]
                assert (record.footer.musts, record.footer.advice) == (numbers["musts"], numbers["advice"])
        names = [entry["name"] for entry in folder.index["records"]]
        for described, heading in _counts_on_pages(folder, names):
            assert described == [counts for numbers in expected if (counts := numbers[KEYS[heading]])], heading
        assert [_in_json(entry) for entry in folder.report["records"]] == expected
        assert [_in_tables(folder, name) for name in names] == expected
        tests = [numbers["tests"] for numbers in expected]
        assert [_in_traces(folder, name) for name in names] == tests
        assert [_in_junit(suite) for suite in folder.suites] == tests
        assert [_in_ctrf(each) for each in folder.ctrf.values()] == tests
        flaky = [numbers["tests"].get("flaky", 0) for numbers in expected]
        assert [
            _flaky_in_ctrf(each, record) for each, record in zip(folder.ctrf.values(), records, strict=True)
        ] == flaky
        for record, place in zip(records, names, strict=True):
            message = folder.badges[f"badges/{place}/full.json"]["message"]
            assert (record.claim.musts or "no claim") in message
            assert record.claim.line == _entry(folder, place)["claim"]
        _check_package(records, folder, Path(name))
        _check_comparison(records[0], records[-1])


# -- pages ------------------------------------------------------------------------------------------------------------


def _counts_on_pages(folder: Folder, names: list[str]) -> list[tuple[list[dict[str, int]], str]]:
    """What each form of the report counts behind each heading, record by record; nothing where there is nothing."""
    return [
        ([_in_words(counts) for text in texts for counts in _behind(text, heading)], heading)
        for texts in _pages(folder, names)
        for heading in KEYS
    ]


def _pages(folder: Folder, names: list[str]) -> list[list[str]]:
    """The texts that count what came of the records, in the order of these: a list for each form of the report."""
    own = [f"records/{name}.html" for name in names]
    html = own if all(page in folder.files for page in own) else ["report.html"]
    return [[Page(folder.files[page].decode()).text for page in html], [folder.files["report.md"].decode()]]


def _behind(text: str, heading: str) -> list[str]:
    """The counts behind each heading of that name: a symbol, a number and words for each verdict."""
    return re.findall(rf"\b{heading}:?((?: \S{{1,2}} \d+ (?:{'|'.join(BY_WORDS)}),?)+)", text)


def _in_words(text: str) -> dict[str, int]:
    return {BY_WORDS[words]: int(count) for count, words in re.findall(rf"(\d+) ({'|'.join(BY_WORDS)})", text)}


# -- what programs read -----------------------------------------------------------------------------------------------


def _entry(folder: Folder, name: str) -> Any:
    return next(entry for entry in folder.report["records"] if entry["name"] == name)


def _in_json(entry: Any) -> Numbers:
    return {name: entry["counts"][name.replace(" ", "_")] for name in KEYS.values()}


def _in_tables(folder: Folder, name: str) -> Numbers:
    rows = [row for row in folder.requirements if row["record"] == name and row["verdict"] not in NO_VERDICT]
    single = [row for row in rows if row["composite"] == "no"]
    return {
        "tests": counted(row["verdict"] for row in folder.results if row["record"] == name),
        "musts": counted(row["verdict"] for row in single if row["level"] == "must"),
        "advice": counted(row["verdict"] for row in single if row["level"] == "should"),
        "long programs": counted(row["verdict"] for row in rows if row["composite"] == "yes" and row["level"] != "may"),
    }


def _in_traces(folder: Folder, name: str) -> dict[str, int]:
    return counted(each["verdict"] for each in folder.traceability["tests"] if each["record"] == name)


def _in_junit(suite: Any) -> dict[str, int]:
    cases = [next(iter(case), None) for case in suite.findall("testcase")]
    return counted("pass" if inner is None else str(inner.get("type")) for inner in cases)


def _in_ctrf(file: Any) -> dict[str, int]:
    return counted(each["rawStatus"] for each in file["results"]["tests"])


def _flaky_in_ctrf(file: Any, record: Record) -> int:
    """How many are flaky by the format's own key, but for those that a waiver accepts."""
    tests = file["results"]["tests"]
    retried = {each["name"]: each["retries"] for each in tests if "retries" in each}
    assert retried == {each.test: sum(each.runs.values()) - 1 for each in record.results if each.runs is not None}
    return sum(each.get("flaky", False) and each["rawStatus"] != "waived" for each in tests)


# -- packages and comparisons -----------------------------------------------------------------------------------------


def _check_package(records: list[Record], folder: Folder, place: Path) -> None:
    """The package of the records and the report: its manifest says what they do, and they are in it as they were."""
    package = place / "all.zip"
    with drafted([record.path for record in records], redaction=None, report=folder.path, without_claim=True) as draft:
        write_package(draft, package)
    by_chain = {record.chain.digest: record for record in records}
    with zipfile.ZipFile(package) as archive:
        manifest = parsed(archive.read("manifest.json").decode())
        for entry in manifest["records"]:
            record = by_chain.pop(entry["chain"])
            assert (entry["verdict"], entry["outcome"]) == (record.claim.verdict.value, record.claim.line)
            (place / "packaged.jsonl").write_bytes(archive.read(entry["file"]))
            assert numbers_of(read_record(place / "packaged.jsonl")) == numbers_of(record)
        pages = {name: archive.read(f"report/{name}") for name in folder.files}
    assert not by_chain
    assert pages == folder.files


def _check_comparison(old: Record, new: Record) -> None:
    """What a comparison counts are the tests of both records, each once."""
    comparison = json.loads(json.dumps(data_of(compare(old.path, new.path))))
    tests = {*old.planned, *new.planned}
    assert sum(found["count"] for found in comparison["tests"].values()) == len(tests)
    assert (comparison["old"]["claim"], comparison["new"]["claim"]) == (old.claim.line, new.claim.line)
