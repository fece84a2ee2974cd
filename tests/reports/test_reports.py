"""What a report shows, and what it never lets through."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.errors import ConformanceError, ExitStatus
from conformance.records.assessment import as_json
from conformance.records.record import Record, read_record
from conformance.records.verdicts import Verdict
from conformance.text import visible
from reports import write
from reports.model import build
from reports.words import seconds
from tests.reports.pages import Page, in_both
from tests.reports.samples import BAD, GOOD, REQUIREMENTS, result, sample


@pytest.fixture
def pages(tmp_path: Path) -> Callable[..., tuple[Page, str]]:
    """Report on records and return the HTML, parsed, and the Markdown."""

    def make(*records: Record) -> tuple[Page, str]:
        html, markdown = write(records, tmp_path / "out", single=True)
        assert (html.name, markdown.name) == ("report.html", "report.md")
        return Page(html.read_text(encoding="utf-8")), markdown.read_text(encoding="utf-8")

    return make


def test_good_run_holds(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    both = pages(sample(tmp_path / "good.jsonl"))
    in_both(
        both,
        "Conforms in part: core, keep-graph.",
        "As cuda 2.14: 3 of 4 musts met, 1 declined; 1 of 1 pieces of advice followed.",
        "Musts were declined or not tried in error-modes.",
        "sample.Graph",
        "sample device",
        "0123abcd",
        "2030-01-02T03:04:05Z",
        "1 min 23 s",
        "isolate=true",
        "capture_modes is declared absent",
        "no thermometer",
        '["b", "a"]',
        "documented since 2.15, after the claimed revision 2.14",
        "holds for xpu, not for cuda",
    )


def test_failures_say_all_that_is_needed(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    page, markdown = both = pages(sample(tmp_path / "bad.jsonl", BAD))
    in_both(
        both,
        "Does not conform.",
        "As cuda 2.14: 2 of 4 musts met, 1 not met, 1 declined; 0 of 1 pieces of advice followed, 1 not followed.",
        "1 test outside the musts crashed or hung",
        "the template stays",
        "With keep_graph=True the template stays valid after capture_end.",
        "Documented in torch.cuda.CUDAGraph: keep_graph; documented in torch.cuda.CUDAGraph: raw_cuda_graph; since",
        "a null handle",
        "backend/graph.py:12 in capture_end",
        'pytest "suites/keep.py::test_outlives" --impl=sample',
        "killed by SIGSEGV",
        "suites/keep.py::test_more",
    )
    must, should = (
        f"failures--sample.Graph--{name}" for name in ("keep-graph.template-outlives-capture-end", "replay.twice")
    )
    assert page.ids.index(must) < page.ids.index(should)
    assert page.ids.index("index--failures") < page.ids.index("index--implementations") < page.ids.index("matrix")
    assert markdown.index("## Failures") < markdown.index("## Requirements")


def test_what_a_lost_process_left_is_shown(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    ending = {
        "signal": "SIGSEGV",
        "exit_status": None,
        "output": "```\n<b>driver</b> \x1b[2J\u202esays",
        "stacks": 'File "graph.py", line 12 in replay',
    }
    crash = result(
        "replay.py::test_crash",
        "replay.twice",
        Verdict.CRASH,
        message="its process ended",
        calls=("g0.capture_end()", "g0.replay() (did not return)"),
        ending=ending,
    )
    page, markdown = both = pages(sample(tmp_path / "bad.jsonl", [*GOOD[:2], crash]))
    in_both(
        both,
        "Last calls of the implementation",
        "g0.capture_end() g0.replay() (did not return)",
        "Stacks",
        'File "graph.py", line 12 in replay',
        "Last output",
        "<b>driver</b>",
    )
    assert not page.all("b")
    assert "\\u001b[2J\\u202esays" in page.text
    assert "\\u001b[2J\\u202esays" in markdown
    assert "````\n```\n<b>driver</b>" in markdown


def test_every_requirement_stands_in_the_table_by_area(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    page, markdown = pages(sample(tmp_path / "bad.jsonl", BAD))
    assert page.matrix.levels == {entry.id: entry.level for entry in REQUIREMENTS}
    assert {name: verdict for name, (verdict,) in page.matrix.rows.items()} == {
        "keep-graph.template-outlives-capture-end": "FAIL",
        "keep-graph.late": "not_applicable",
        "replay.reads-now": "pass",
        "replay.twice": "CRASH",
        "replay.order": "recorded",
        "replay.thermal": "untestable",
        "modes.relaxed": "unsupported",
        "modes.strict": "pass",
        "modes.xpu": "not_applicable",
    }
    for area in ("keep-graph", "replay", "modes"):
        assert f"### {area}" in markdown


@pytest.mark.parametrize("results", [GOOD, BAD, GOOD[:3]], ids=["good", "bad", "partial"])
def test_counts_are_those_of_the_assessment(tmp_path: Path, results: tuple[object, ...]) -> None:
    record = sample(tmp_path / "run.jsonl", results)  # type: ignore[arg-type]
    report = build([record])
    (column,) = report.columns
    counts = {heading: {word.key: n for word, n in tally} for heading, tally in column.counts}
    assert counts["Musts"] == as_json(record.assessment.musts)
    assert counts["Advice"] == as_json(record.assessment.advice)
    assert counts["Tests"] == as_json(record.assessment.tests)
    rows = [row for area in report.areas for row in area.rows if row.requirement.scored]
    for heading, level in (("Musts", "must"), ("Advice", "should")):
        keys = [cell.word.key for row in rows for cell in row.cells if row.requirement.level == level]
        assert counts[heading] == {key: keys.count(key) for key in keys if key != "not_applicable"}


def test_counts_are_shown(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    in_both(pages(sample(tmp_path / "bad.jsonl", BAD)), "✸ 1 crash", "✓ 4 pass", "∅ 1 unsupported")


def test_record_without_footer_is_never_passed(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    everything_passed = pages(sample(tmp_path / "whole.jsonl", ended=False))
    in_both(everything_passed, "Incomplete record: no claim.", "The record ends after suites/modes.py::test_strict")
    assert "Conforms" not in everything_passed[0].text + everything_passed[1]
    planned = {one.test: one.requirements for one in BAD}
    died = sample(tmp_path / "died.jsonl", BAD[:2], planned=planned, ended=False, started=[BAD[2].test])
    in_both(
        pages(died),
        "Does not conform.",
        "As cuda 2.14: 1 must met, 1 not met, 1 declined, 1 not run",
        "The run died in suites/replay.py::test_twice.",
        "? 5 not run",
        "unknown: the run was cut short",
    )
    in_both(pages(sample(tmp_path / "none.jsonl", (), ended=False)), "The record ends before the first test.")


def test_cut_off_line_is_incomplete(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    path = sample(tmp_path / "cut.jsonl").path
    text = path.read_text(encoding="utf-8")
    path.write_text(text[:-20], encoding="utf-8")
    page, _ = both = _written(path, tmp_path / "out")
    in_both(both, "Incomplete record: no claim.")
    assert "Conforms" not in page.text


def _written(path: Path, output: Path) -> tuple[Page, str]:
    html, markdown = write([read_record(path)], output, single=True)
    return Page(html.read_text(encoding="utf-8")), markdown.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        ({"narrowed": True}, "No claim: only a part of the suites was selected."),
        (
            {"results": (*GOOD[:5], replace(GOOD[5], verdict=Verdict.SKIPPED))},
            "No claim: tests were skipped",
        ),
        (
            {"results": (*GOOD[:5], replace(GOOD[5], verdict=Verdict.ERROR))},
            "No claim: the kit or the adapter failed, or the device had no memory.",
        ),
        (
            {"planned": {one.test: one.requirements for one in GOOD} | {"l.py::t": ("replay.twice",)}},
            "Incomplete record: no claim.",
        ),
        ({"results": (*GOOD, result("stray.py::test", (), Verdict.CRASH))}, "1 test outside the musts crashed or hung"),
    ],
    ids=["narrowed", "skipped", "error", "not-run", "stray-crash"],
)
def test_other_verdicts_in_words(
    tmp_path: Path, pages: Callable[..., tuple[Page, str]], changes: dict[str, object], headline: str
) -> None:
    in_both(pages(sample(tmp_path / "run.jsonl", **changes)), headline)  # type: ignore[arg-type]


def test_wrong_tests_outside_the_scored_requirements_are_shown(
    tmp_path: Path, pages: Callable[..., tuple[Page, str]]
) -> None:
    stray = result("stray.py::test", (), Verdict.CRASH, message="killed by SIGBUS")
    open_failed = replace(GOOD[3], verdict=Verdict.FAIL, seen="neither order", observations={})
    record = sample(tmp_path / "run.jsonl", (*GOOD[:3], open_failed, *GOOD[4:], stray))
    in_both(pages(record), "killed by SIGBUS", "This test decides no requirement that is scored here.", "neither order")
    assert [finding.title for finding in build([record]).findings] == ["suites/stray.py::test"]


def test_several_records_are_columns(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    records = [
        sample(tmp_path / "bad.jsonl", BAD),
        sample(tmp_path / "good.jsonl"),
        sample(tmp_path / "other.jsonl", implementation="other.Graph", dialect="xpu", suite_digest="ffff"),
    ]
    page, markdown = both = pages(*records)
    labels = ["sample.Graph (bad)", "sample.Graph (good)", "other.Graph (other)"]
    in_both(both, *labels, "3 implementations", "The records come from different suites")
    assert page.matrix.labels == labels
    assert page.matrix.rows["replay.twice"] == ["CRASH", "pass", "pass"]
    assert "failures--sample.Graph-bad--replay.twice" in page.ids
    line = next(line for line in markdown.splitlines() if line.startswith("| `replay.twice`"))
    assert line.endswith("| should | ✸ crash | ✓ pass | ✓ pass |")


def test_requirement_that_one_suite_lacks(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    fewer = tuple(entry for entry in REQUIREMENTS if entry.id != "replay.twice")
    first = sample(tmp_path / "a.jsonl", implementation="a", requirements=fewer)
    in_both(pages(first, sample(tmp_path / "b.jsonl", implementation="b")), "not in this suite")


def test_footer_that_disagrees_is_pointed_out(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    record = sample(tmp_path / "run.jsonl", BAD, footer={"counts": {"pass": 99}, "verdict": "conforms"})
    in_both(
        pages(record),
        "the counts that the record ends with are not those of its results",
        "No claim: the record contradicts",
    )


def test_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    record = sample(tmp_path / "run.jsonl", BAD)
    first = [path.read_bytes() for path in write([record], tmp_path / "a")]
    assert first == [path.read_bytes() for path in write([record], tmp_path / "b")]


# -- the page ---------------------------------------------------------------------------------------------------------


def test_page_loads_nothing(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    page, _ = pages(sample(tmp_path / "bad.jsonl", BAD))
    for tag, attributes in page.tags:
        if tag == "link":  # an icon that is in the page itself, so that no browser asks for one
            assert attributes["rel"] == "icon"
            assert attributes["href"].startswith("data:image/")
            continue
        assert tag not in {"img", "iframe", "object", "embed", "base"}
        assert not {"src", "srcset", "action", "style", "background"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#")
    assert "url(" not in page.raw
    assert "@import" not in page.raw
    assert not re.search(r"https?://", page.raw)
    (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_links_lead_somewhere_and_ids_are_unique(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    page, _ = pages(sample(tmp_path / "a.jsonl", BAD), sample(tmp_path / "b.jsonl", BAD))
    assert len(set(page.ids)) == len(page.ids)
    assert {link["href"].removeprefix("#") for link in page.all("a")} <= set(page.ids)
    assert {label["for"] for label in page.all("label")} <= set(page.ids)


def test_filters_are_buttons_with_a_state(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    page, _ = pages(sample(tmp_path / "bad.jsonl", BAD))
    chips = [button for button in page.all("button") if "data-kind" in button]
    assert [chip["data-value"] for chip in chips if chip["data-kind"] == "level"] == ["must", "should", "may"]
    offered = {chip["data-value"] for chip in chips if chip["data-kind"] == "verdict"}
    assert offered == {verdict.lower() for row in page.matrix.rows.values() for verdict in row}
    assert all(chip["aria-pressed"] == "false" and chip["type"] == "button" for chip in chips)
    # Without scripting a filter bar would do nothing, so it is not shown.
    assert "hidden" in page.all("form")[0]


HOSTILE = (
    "</style></script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{ 7*7 }}|`]\x1b[31m\x00\u202e\ud800"
)


def test_hostile_texts_stay_texts(tmp_path: Path, pages: Callable[..., tuple[Page, str]]) -> None:
    requirements = tuple(replace(entry, text=HOSTILE, documents=(HOSTILE,)) for entry in REQUIREMENTS)
    requirements += (replace(REQUIREMENTS[2], id=HOSTILE, area=HOSTILE),)
    bad = replace(
        result(HOSTILE, ("replay.twice", HOSTILE), Verdict.FAIL, observations={HOSTILE: HOSTILE}),
        message=HOSTILE,
        expected=HOSTILE,
        seen=HOSTILE + "\n```\n" + HOSTILE,
        left_behind=HOSTILE,
        frames=(HOSTILE,),
        warnings=(HOSTILE,),
        command=HOSTILE,
    )
    skipped = replace(GOOD[5], verdict=Verdict.SKIPPED, message=HOSTILE)
    record = sample(
        tmp_path / "run.jsonl",
        (bad, skipped),
        requirements=requirements,
        environment={HOSTILE: HOSTILE},
        options={HOSTILE: HOSTILE},
        capabilities={HOSTILE: False},
        implementation=re.sub(r"[^ -Z\\^-~]", "", HOSTILE).strip(),
        kit_version=HOSTILE.replace("\ud800", ""),
        suite_digest=HOSTILE,
    )
    page, markdown = pages(record)
    assert len(page.all("style")) == 1
    assert page.all("script") == [{"type": "application/json", "class": "matrix-data"}, {}]
    assert page.all("img") == []
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", identity) for identity in page.ids)
    assert "{{ 7*7 }}" in page.text
    for text in (page.raw, markdown):
        assert not re.search("[\x00\x1b\u202e\ud800]", text)
    # Outside of code, nothing may open a tag in Markdown but the line break that tables are written with.
    outside = re.sub(r"(?ms)^(`{3,})\n.*?\n\1$|(`+)(?!`).*?(?<!`)\2(?!`)", "", re.sub(r"\\[\\`]", "", markdown))
    assert set(re.findall(r"<[^>]*>", outside)) <= {"<br>"}


def test_visible_and_seconds() -> None:
    assert visible("a\r\nb\tc\x07\u2066") == "a\nb    c\\u0007\\u2066"
    assert [seconds(value) for value in (0.04, 59.3, 59.94, 83.2, 3600)] == [
        "0.0 s",
        "59.3 s",
        "1 min 00 s",
        "1 min 23 s",
        "60 min 00 s",
    ]


# -- refusals ---------------------------------------------------------------------------------------------------------


def _with_header(path: Path, **changed: object) -> None:
    lines = sample(path).path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(lines[0]), **changed}), *lines[1:]]), encoding="utf-8")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: None,
        lambda path: path.write_text("", encoding="utf-8"),
        lambda path: path.write_text('{"kind": "header", "sch', encoding="utf-8"),
        lambda path: path.write_text("not a record\n", encoding="utf-8"),
        lambda path: path.write_text("[1]\n", encoding="utf-8"),
        lambda path: _with_header(path, schema=99),
        lambda path: _with_header(path, revision="newest"),
    ],
    ids=["missing", "empty", "truncated", "text", "list", "schema", "revision"],
)
def test_unreadable_record_is_refused_in_one_line(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    path, good, output = tmp_path / "spoilt.jsonl", sample(tmp_path / "good.jsonl").path, tmp_path / "out"
    spoil(path)
    with pytest.raises(ConformanceError) as caught:
        write([read_record(good), read_record(path)], output)
    assert "spoilt.jsonl" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status is ExitStatus.USAGE
    assert not output.exists()


def test_no_records_and_no_place_to_write(tmp_path: Path) -> None:
    with pytest.raises(ConformanceError, match="at least one record"):
        write([], tmp_path)
    record = sample(tmp_path / "run.jsonl")
    with pytest.raises(ConformanceError, match="cannot be written") as caught:
        write([record], record.path)
    assert caught.value.exit_status is ExitStatus.USAGE
