"""Every voice has the same numbers: terminal, pages, badges and each file that programs read."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.records.assessment import as_json
from conformance.records.record import Record
from conformance.records.summary import RunSummary, render
from conformance.records.verdicts import Verdict
from reports.formats.ctrf import STATUS
from reports.words import VERDICTS
from tests.reports.formats.folders import Folder
from tests.reports.pages import Page
from tests.reports.samples import REQUIREMENTS, result, sample

IDS = [entry.id for entry in REQUIREMENTS]
WAIVER = {"reason": "r", "link": "l", "owner": "o", "expires": "2031-01-01", "verdict": "fail"}
KEYS = {"Tests": "tests", "Musts": "musts", "Advice": "advice", "Long programs": "long programs"}
#: In the words of the pages.
BY_WORDS = {word.text: verdict.value for verdict, word in VERDICTS.items()}
#: Of a requirement that is not judged here.
NO_VERDICT = {"not_applicable", "untestable", "unknown", "recorded"}

Numbers = Mapping[str, Mapping[str, int]]

tests = st.lists(
    st.tuples(st.lists(st.sampled_from(IDS), unique=True, max_size=3), st.sampled_from([*Verdict])), max_size=12
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    outcomes=tests,
    missing=st.integers(0, 3),
    composite=st.sets(st.sampled_from(IDS)),
    ended=st.booleans(),
    narrowed=st.booleans(),
    keep_graph=st.booleans(),
)
def test_all_numbers_agree(
    outcomes: list[tuple[list[str], Verdict]],
    *,
    missing: int,
    composite: set[str],
    ended: bool,
    narrowed: bool,
    keep_graph: bool,
) -> None:
    results = [
        result(
            f"t.py::test_{number}",
            ids,
            verdict,
            message="m",
            waiver=WAIVER if verdict is Verdict.WAIVED else None,
            runs={"pass": 1, "fail": 1} if verdict is Verdict.FLAKY else None,
        )
        for number, (ids, verdict) in enumerate(outcomes)
    ]
    kept = [one for one in results if one.verdict is not Verdict.NOT_RUN]
    planned = {one.test: one.requirements for one in results} | {f"u.py::test_{one}": () for one in range(missing)}
    with tempfile.TemporaryDirectory() as name:
        record = sample(
            Path(name, "run.jsonl"),
            kept,
            planned=planned,
            ended=ended,
            narrowed=narrowed,
            options={"reruns": 1},
            capabilities={"keep_graph": keep_graph},
            requirements=tuple(replace(entry, composite=entry.id in composite) for entry in REQUIREMENTS),
        )
        folder = Folder([record], Path(name, "out"))
        expected = numbers_of(record)
        assert on_the_terminal(record) == expected
    assert sum(expected["tests"].values()) == len(planned)
    assert on_the_page(folder) == expected
    assert in_markdown(folder) == expected
    assert in_json(folder) == expected
    assert in_tables(folder) == expected
    assert in_traces(folder) == expected["tests"]
    assert in_junit(folder) == expected["tests"]
    assert in_ctrf(folder) == expected["tests"]
    check_badge(folder, record, expected["musts"])


def numbers_of(record: Record) -> Numbers:
    assessment = record.assessment
    tallies = (assessment.tests, assessment.musts, assessment.advice, assessment.composites)
    return dict(zip(KEYS.values(), map(as_json, tallies), strict=True))


def counted(words: Iterable[str]) -> dict[str, int]:
    return dict(Counter(words))


def on_the_terminal(record: Record) -> Numbers:
    text = render(
        RunSummary(
            claim=record.claim,
            assessment=record.assessment,
            results=record.results,
            requirements={entry.id: entry for entry in record.header.requirements},
            causes=record.causes.ranked(),
            noted=0,
            left_out="",
            record=None,
        )
    )
    numbers: dict[str, dict[str, int]] = {name: {} for name in KEYS.values()}
    for line in text.partition("\n\n")[0].splitlines()[2:]:
        verdict, *counts = line.split()
        for name, count in zip(numbers, map(int, counts), strict=True):
            if count:
                numbers[name][verdict] = count
    return numbers


def on_the_page(folder: Folder) -> Numbers:
    text = Page(folder.files["records/sample.Graph.html"].decode()).text
    return {name: in_words(_behind(text, heading)) for heading, name in KEYS.items()}


def _behind(text: str, heading: str) -> str:
    """The counts behind a heading: a symbol, a number and words for each verdict."""
    match = re.search(rf"\b{heading}((?: \S \d+ (?:{'|'.join(BY_WORDS)}))+)", text)
    return "" if match is None else match[1]


def in_markdown(folder: Folder) -> Numbers:
    text = folder.files["report.md"].decode()
    lines = {heading: re.search(rf"^- {heading}: (.*)$", text, re.MULTILINE) for heading in KEYS}
    return {KEYS[heading]: {} if line is None else in_words(line[1]) for heading, line in lines.items()}


def in_words(text: str) -> dict[str, int]:
    return {BY_WORDS[words]: int(count) for count, words in re.findall(rf"(\d+) ({'|'.join(BY_WORDS)})", text)}


def in_json(folder: Folder) -> Numbers:
    counts = folder.report["records"][0]["counts"]
    return {name: counts[name.replace(" ", "_")] for name in KEYS.values()}


def in_tables(folder: Folder) -> Numbers:
    rows = [row for row in folder.requirements if row["verdict"] not in NO_VERDICT]
    single = [row for row in rows if row["composite"] == "no"]
    return {
        "tests": counted(row["verdict"] for row in folder.results),
        "musts": counted(row["verdict"] for row in single if row["level"] == "must"),
        "advice": counted(row["verdict"] for row in single if row["level"] == "should"),
        "long programs": counted(row["verdict"] for row in rows if row["composite"] == "yes" and row["level"] != "may"),
    }


def in_traces(folder: Folder) -> dict[str, int]:
    return counted(each["verdict"] for each in folder.traceability["tests"])


def in_junit(folder: Folder) -> dict[str, int]:
    (suite,) = folder.suites
    cases = [next(iter(case), None) for case in suite.findall("testcase")]
    verdicts = counted("pass" if inner is None else str(inner.get("type")) for inner in cases)
    tags = counted("passes" if inner is None else inner.tag for inner in cases)
    assert suite.get("tests") == str(len(cases))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert suite.get(name) == str(tags.get(tag, 0))
    properties = {each.get("name", ""): each.get("value", "") for each in suite.findall("properties/property")}
    assert {f"tests.{verdict}": str(count) for verdict, count in verdicts.items()} == {
        name: value for name, value in properties.items() if name.startswith("tests.")
    }
    return verdicts


def in_ctrf(folder: Folder) -> dict[str, int]:
    results = folder.ctrf["ctrf.json"]["results"]
    statuses = counted(each["status"] for each in results["tests"])
    summary = results["summary"]
    assert {name: summary[name] for name in statuses} == statuses
    assert summary["tests"] == len(results["tests"]) == sum(summary[name] for name in {*STATUS.values()})
    return counted(each["rawStatus"] for each in results["tests"])


def check_badge(folder: Folder, record: Record, musts: Mapping[str, int]) -> None:
    message = folder.badges["badges/sample.Graph/full.json"]["message"]
    if record.defects:
        assert message == "no claim"
        return
    numbers = re.search(r": (\d+)(?: of (\d+))? musts? met", message)
    assert numbers is not None, message
    assert numbers[1] == str(musts.get("pass", 0))
    # Of what was not run nothing is known, so no total stands there.
    assert numbers[2] == (None if "not_run" in musts else str(sum(musts.values())))
    assert re.search(r"(\d+) not run|$", message)[1] == (str(musts["not_run"]) if "not_run" in musts else None)  # type: ignore[index]
