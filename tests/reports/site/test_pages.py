"""What the pages say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus
from conformance.records.record import Record
from conformance.records.verdicts import Verdict
from conformance.requirements.loading import load_documents
from tests.reports.samples import BAD, FAIL, GOOD, PASS, REQUIREMENTS, result, sample
from tests.reports.site.folders import Site
from tests.reports.test_detection import TABLE

KEEP = "keep-graph.template-outlives-capture-end"


# -- the five questions -----------------------------------------------------------------------------------------------


def test_the_first_page_answers_five_questions_within_two_clicks(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    table.write_text(json.dumps(TABLE.to_dict()), encoding="utf-8")
    records = [
        sample(tmp_path / "old.jsonl", implementation="v", revision="2.11"),
        sample(tmp_path / "new.jsonl", BAD, implementation="v", revision="2.14", started_at="2030-02-02T03:04:05Z"),
    ]
    site = Site(records, tmp_path / "out", table)
    text = site.text("index.html")
    questions = [
        "Is my backend ready for keep_graph?",
        "What broke since an earlier run or release?",
        "How do I reproduce a failure?",
        "What may I claim?",
        "How much does the kit detect?",
    ]
    places = [text.index(question) for question in questions]
    assert places == sorted(places)
    answers = [text[start:end] for start, end in zip(places, [*places[1:], text.index("What went wrong")], strict=True)]
    assert "v 2.11: ✓ conforms" in answers[0]
    assert "v 2.14: ✗ does not conform" in answers[0]
    assert "v 2.11 → v 2.14: REGRESSED: 2 requirements (1 must) and 2 tests regressed" in answers[1]
    assert f"for example {KEEP} on v 2.14" in answers[2]
    assert "v 2.14: Does not conform." in answers[3]
    assert "1 of 1 faults killed; 1 of 1 variants accepted." in answers[4]
    for name, words in {
        "records/v-2.14.html": (
            "keeps the template, instantiates it when asked, and hands out raw handles",
            "DOES NOT CONFORM: v as cuda 2.14: 2 of 4 musts met",
        ),
        "compare/v-2.11--v-2.14.html": ("regressed 2 2", "seen: a null handle", BAD[0].command),
        f"failures/v-2.14/{KEEP}.html": (BAD[0].command, "a null handle", "With keep_graph=True the template stays"),
        "detection.html": ("loses-a-node", "killed"),
    }.items():
        assert site.clicks[name] == 1
        for word in words:
            assert word in site.text(name), (name, word)


def test_an_answer_names_the_advice_and_prefers_a_failure_with_a_script(tmp_path: Path) -> None:
    entries = (replace(REQUIREMENTS[3], capability="keep_graph"), *REQUIREMENTS[:3], *REQUIREMENTS[4:])
    crashed = result("replay.py::test_twice", "replay.twice", Verdict.CRASH, message="m", reproducer="import torch\n")
    failed = result("replay.py::test_now", "replay.reads-now", FAIL, message="m")
    site = Site([sample(tmp_path / "run.jsonl", (GOOD[0], failed, crashed), requirements=entries)], tmp_path / "out")
    text, record = site.text("index.html"), site.text("records/sample.Graph.html")
    assert "sample.Graph: ✓ conforms; 1 piece of its advice not followed" in text
    assert "raw handles ✓ conforms should replay.twice" in record
    assert "for example replay.twice on sample.Graph: command and script" in text
    # Its cause is no larger than the other's, but no claim can be made with it.
    assert "Musts that are not met: replay.reads-now" in text


def test_profiles_that_are_met_can_be_claimed_alone(tmp_path: Path) -> None:
    failed = result("keep.py::test_outlives", KEEP, FAIL, message="m")
    core = result("replay.py::test_now", "replay.reads-now", FAIL, message="m")
    for name, results, words in (
        ("beside", (failed, *GOOD[1:]), "Does not conform. Could be claimed alone, with --profile: core."),
        ("core", (GOOD[0], core, *GOOD[2:]), "sample.Graph: Does not conform. How much"),
        ("asked", (failed, *GOOD[1:]), "sample.Graph: Does not conform in what was asked for: core, keep-graph. How"),
    ):
        options = {"profile": ["core", "keep-graph"]} if name == "asked" else {}
        site = Site([sample(tmp_path / f"{name}.jsonl", results, options=options)], tmp_path / name)
        assert words in site.text("index.html")
        assert ("--profile=core" in site.text("records/sample.Graph.html")) == (name == "beside")


def test_what_is_left_open_is_counted_apart_from_what_went_wrong(tmp_path: Path) -> None:
    noted = result("replay.py::test_order", "replay.order", FAIL, message="m")
    site = Site([sample(tmp_path / "run.jsonl", (*BAD[:3], noted))], tmp_path / "out")
    words = "1 more failed at what the documents leave open, which is recorded and not judged."
    for text in (site.text("index.html"), site.text("failures.html"), site.files["report.md"].decode()):
        assert words in text
    assert "2 tests went wrong. " + words in site.text("failures.html")


def test_statements_and_scripts_of_further_tests_are_folded(tmp_path: Path) -> None:
    entry = replace(REQUIREMENTS[0], statements=("cuda.keep.one", "cuda.keep.two"))
    tests = [replace(BAD[0], test=f"keep.py::test_{name}", reproducer=f"{name} = 1\n") for name in ("first", "second")]
    site = Site([sample(tmp_path / "run.jsonl", tests, requirements=(entry,))], tmp_path / "out")
    page = site[f"failures/sample.Graph/{KEEP}.html"]
    folded = " ".join(re.findall(r"<details>(.*?)</details>", page.raw, re.DOTALL))
    assert "2 statements of the documents" in folded
    assert "cuda.keep.one, cuda.keep.two" in folded
    assert ("second = 1" in folded, "first = 1" in folded, "first = 1" in page.text) == (True, False, True)


def test_new_failures_are_seen_at_once_and_new_passes_are_folded(tmp_path: Path) -> None:
    names = ("fails", "passes")
    new = [result(f"n.py::test_{name}", "replay.twice", FAIL if name == "fails" else PASS) for name in names]
    records = [
        sample(tmp_path / "old.jsonl"),
        sample(tmp_path / "new.jsonl", (*GOOD, *new), started_at="2030-02-02T03:04:05Z"),
    ]
    site = Site(records, tmp_path / "out")
    shown, _, folded = site["compare/sample.Graph-old--sample.Graph-new.html"].raw.rpartition(
        "<summary>1 test with nothing wrong"
    )
    assert "test_fails</code>: not there → fail" in shown
    assert "test_passes</code>: not there → pass" in folded


def test_failures_come_first_and_by_their_causes(tmp_path: Path) -> None:
    wrong = [
        result(f"m.py::test_{number}", identity, FAIL, message="m", seen="the class has no attribute in this test")
        for number, identity in enumerate(["replay.reads-now", "modes.strict", "replay.twice"])
    ]
    site = Site([sample(tmp_path / "run.jsonl", (GOOD[0], *wrong))], tmp_path / "out")
    overview = site.text("index.html")
    assert overview.index("3 tests, 3 requirements") < overview.index("Implementations One row")
    (entry,) = re.findall(r"<ol class=\"plain\">\s*<li>(.*?)</ol>", site["failures.html"].raw, re.DOTALL)
    assert entry.count("<li>") == 0
    for identity in ("replay.reads-now", "modes.strict", "replay.twice"):
        assert f"failures/sample.Graph/{identity}.html" in entry


def test_a_failure_has_all_that_is_known_of_it(tmp_path: Path) -> None:
    nodes = [{"kind": "kernel", "label": "add_one", "stream": "s0"}, {"kind": "memcpy"}]
    failed = replace(
        BAD[0],
        calls=("g0.capture_begin()", "g0.capture_end()"),
        graphs=(
            {"name": "g0", "source": "runtime", "state": "captured", "pool": "p0", "nodes": nodes, "edges": [[0, 1]]},
        ),
        reproducer="import torch\nraise SystemExit(1)\n",
        reproduction={"outcome": "shown", "why": "it fails alike"},
    )
    record = sample(
        tmp_path / "run.jsonl", (failed, *GOOD[1:]), environment={"device": "sample device", "torch": "2.14.0"}
    )
    page = Site([record], tmp_path / "out")[f"failures/sample.Graph/{KEEP}.html"]
    for words in (
        "With keep_graph=True the template stays valid after capture_end.",
        "Documented in torch.cuda.CUDAGraph: keep_graph",
        "promised the template stays",
        "seen a null handle",
        BAD[0].command,
        "it shows the failure (it fails alike)",
        "import torch raise SystemExit(1)",
        "g0.capture_begin() g0.capture_end()",
        "backend/graph.py:12 in capture_end",
        "UserWarning: careful",
        "torch 2.14.0",
        "What it captured",
        "add_one",
    ):
        assert words in page.text, words
    assert [each["role"] for each in page.all("svg") if each.get("class") == "drawing"] == ["img", "img"]
    assert ".drawing" in (tmp_path / "out" / "assets" / "site.css").read_text(encoding="utf-8")


def test_a_flaky_test_says_how_often(tmp_path: Path) -> None:
    flaky = replace(BAD[0], verdict=Verdict.FLAKY, runs={"pass": 2, "fail": 1})
    site = Site([sample(tmp_path / "run.jsonl", (flaky, *GOOD[1:]))], tmp_path / "out")
    assert "runs 2 pass, 1 fail" in site.text(f"failures/sample.Graph/{KEEP}.html")
    assert "≈ 1 flaky sample.Graph" in site.text(f"requirements/{KEEP}.html")
    assert "Never counted as met." in site.text("reading.html")


# -- one requirement --------------------------------------------------------------------------------------------------


def test_a_requirement_has_its_statements_and_what_each_record_says(tmp_path: Path) -> None:
    document = next(each for each in load_documents().values() if each.dialect == "cuda")
    statement = document.statements[0]
    entry = replace(REQUIREMENTS[2], statements=(statement.id, "other.page.says"))
    records = [
        sample(
            tmp_path / f"{name}.jsonl", (replace(GOOD[1], verdict=verdict),), implementation=name, requirements=(entry,)
        )
        for name, verdict in (("good", PASS), ("bad", FAIL), ("fine", PASS))
    ]
    site = Site(records, tmp_path / "out")
    text = site.text("requirements/replay.reads-now.html")
    for words in (
        *("must A replay reads what is there now.", "since PyTorch 1.10", "holds for cuda, xpu, accelerator"),
        *(document.title, statement.id, "other.page.says", "suites/replay.py::test_now"),
        *("✗ 1 fail bad", "✓ 2 pass good fine"),
    ):
        assert words in text, words
    assert " ".join(statement.text.split()) in text
    assert ("failures/bad/replay.reads-now.html", "") in site.links("requirements/replay.reads-now.html")


def test_a_level_of_another_dialect_is_told(tmp_path: Path) -> None:
    entry = replace(REQUIREMENTS[2], advised=("xpu",))
    records = [
        sample(
            tmp_path / f"{dialect}.jsonl", (GOOD[1],), implementation=dialect, dialect=dialect, requirements=(entry,)
        )
        for dialect in ("cuda", "xpu")
    ]
    text = Site(records, tmp_path / "out").text("requirements/replay.reads-now.html")
    assert "✓ 2 pass cuda xpu (should there)" in text
    assert "advice only for xpu" in text


# -- runs over time ---------------------------------------------------------------------------------------------------


def months(folder: Path, count: int = 24) -> list[Record]:
    """A run in each month, of which those from the tenth on fail; the third was cut short."""
    return [
        sample(
            folder / f"run-{number:02}.jsonl",
            BAD if number >= 9 else GOOD,
            ended=number != 2,
            started_at=f"{2030 + number // 12}-{1 + number % 12:02}-05T01:00:00Z",
        )
        for number in range(count)
    ]


def test_releases_follow_each_other_whichever_was_run_first(tmp_path: Path) -> None:
    later = (*GOOD, result("keep.py::test_late", "keep-graph.late"))
    records = [
        sample(tmp_path / "b.jsonl", later, revision="2.15", started_at="2030-01-02T00:00:00Z"),
        sample(tmp_path / "a.jsonl", BAD, revision="2.9", started_at="2030-01-03T00:00:00Z"),
    ]
    site = Site(records, tmp_path / "out")
    name = "compare/sample.Graph-2.9--sample.Graph-2.15.html"
    assert name in site.pages
    assert "sample.Graph 2.9 → sample.Graph 2.15: NO REGRESSION" in site.text("index.html")
    assert "in the wrong order" not in site.text(name)
    raw = site[name].raw
    assert "late</a>: not asked → pass" in raw[raw.index("<summary>1 requirement with nothing wrong") :]
    trend, text = site["trend.html"], site.text("trend.html")
    first, second = ((float(point["cx"]), float(point["cy"])) for point in trend.all("circle"))
    assert first[0] < second[0]
    # Of four musts one more is asked of the later release.
    assert next(line["points"] for line in trend.all("polyline")) == "10.0,34.0 610.0,10.0"
    assert "twice ✸ crash since sample.Graph 2.9 (2030-01-03) ✓ pass since sample.Graph 2.15 (2030-01-02)" in text
    assert "keep-graph.late" not in text
    assert "1 requirement beside these, not asked in all of the runs: nothing is wrong with it" in text


def test_a_trend_of_months(tmp_path: Path) -> None:
    records = months(tmp_path)
    site = Site(records[::-1], tmp_path / "out")
    page, text = site["trend.html"], site.text("trend.html")
    cells = re.findall(r'<th scope="row"><a [^>]*>(.*?)</a>', page.raw)
    starts = ["T".join(re.findall(r'<span class="when">(.*?)</span>', cell)) for cell in cells]
    assert starts == sorted(record.header.started_at for record in records)
    # The run that was cut short has no number, and leaves a gap.
    assert len(page.all("circle")) == 23
    lines = [(line.get("class", ""), len(line["points"].split())) for line in page.all("polyline")]
    assert lines == [("asked", 2), ("asked", 21), ("", 2), ("", 21)]
    heights = {float(circle["cy"]) for circle in page.all("circle")}
    assert len(heights) == 2
    assert "2030-10-05T01:00:00Z: 2 of 4 musts met" in page.raw
    assert (
        f"{KEEP} ✓ pass since sample.Graph (run-00) (2030-01-05), 9 runs "
        "✗ fail since sample.Graph (run-09) (2030-10-05), 15 runs"
    ) in text
    history = site.text(f"requirements/{KEEP}.html")
    assert "✗ fail since the run of 2030-10-05T01:00:00Z ( sample.Graph (run-09) ), 15 runs" in history
    pairs = {name.removeprefix("compare/") for name in site.pages if name.startswith("compare/")}
    assert "sample.Graph-run-00--sample.Graph-run-23.html" in pairs
    assert pairs - {"sample.Graph-run-00--sample.Graph-run-23.html"} == {
        f"sample.Graph-run-{number:02}--sample.Graph-run-{number + 1:02}.html" for number in range(13, 23)
    }


@pytest.mark.parametrize("narrowed", [False, True])
def test_comparisons_say_what_the_command_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, narrowed: bool
) -> None:
    renamed = (*BAD[:-1], result("keep.py::test_new", KEEP))
    changed = tuple(replace(entry, text="Other.") if entry.id == "modes.strict" else entry for entry in REQUIREMENTS)
    records = [
        sample(tmp_path / "old.jsonl", (*GOOD, result("x.py::test_gone", "replay.twice")), implementation="v"),
        sample(tmp_path / "new.jsonl", renamed, implementation="v", requirements=changed, narrowed=narrowed,
               started_at="2030-05-05T00:00:00Z"),
    ]  # fmt: skip
    site = Site(records, tmp_path / "out")
    status = main(["compare", *(str(record.path) for record in records), "--json"])
    assert status == ExitStatus.NOT_CONFORMING
    data = json.loads(capsys.readouterr().out)
    page, text = site["compare/v-old--v-new.html"], site.text("compare/v-old--v-new.html")
    assert data["outcome"] in text
    assert data["outcome"] in site.text("index.html")
    for note in data["notes"]:
        assert note[1:] in text
    titles = {
        "undecided": "not decided any more",
        "failing": "wrong in both",
        "decided": "decided for the first time",
        "changed": "changed, not comparable",
        "incomparable": "decided by other tests, not comparable",
        "open": "differs in what is left open",
        "same": "no change",
    }
    rows = {title: (int(first), int(second)) for title, first, second in
            re.findall(r'<th scope="row">(.*?)</th><td>(\d+)</td><td>(\d+)</td>', page.raw)}  # fmt: skip
    counts = {
        titles.get(key, key): (data["requirements"][key]["count"], data["tests"][key]["count"])
        for key in data["requirements"]
    }
    assert rows == {title: pair for title, pair in counts.items() if any(pair) or title == "regressed"}
    for kind in ("requirements", "tests"):
        for key, found in data[kind].items():
            for one in found["first"]:
                assert f"{one.get('id') or one['test']} : {one['before']} → {one['after']}" in text, key


# -- names ------------------------------------------------------------------------------------------------------------


def test_records_of_one_name_stand_apart(tmp_path: Path) -> None:
    classes = {"one": "first.Graph", "two": "second.Graph"}
    records = [
        sample(tmp_path / f"{name}.jsonl", results, environment={"graph_class": classes[name]})
        for name, results in (("one", GOOD), ("two", BAD))
    ]
    site = Site(records, tmp_path / "out")
    matrix = site["matrix.html"].matrix
    assert matrix.labels == ["sample.Graph (one)", "sample.Graph (two)"]
    assert matrix.rows["replay.twice"] == ["pass", "CRASH"]
    # Two classes are no two runs of one.
    assert not any(name.startswith("compare/") for name in site.pages)
    assert "sample.Graph (cuda, first.Graph) sample.Graph (cuda, second.Graph)" in site.text("trend.html")


def test_one_record_given_twice_is_told(tmp_path: Path) -> None:
    record = sample(tmp_path / "run.jsonl")
    site = Site([record, record], tmp_path / "out")
    assert "sample.Graph #1 and sample.Graph #2 are the same record." in site.text("index.html")
    assert {name for name in site.pages if name.startswith("records/")} == {
        "records/sample.Graph-1.html",
        "records/sample.Graph-2.html",
    }


def test_files_of_one_name_are_told_apart_by_their_days(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    records = [
        sample(tmp_path / folder / "run.jsonl", started_at=f"2030-0{month}-01T00:00:00Z")
        for month, folder in enumerate("ab", 1)
    ]
    assert Site(records, tmp_path / "out")["matrix.html"].matrix.labels == [
        "sample.Graph (2030-01-01)",
        "sample.Graph (2030-02-01)",
    ]


# -- waivers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "words"),
    [
        (None, "Days are counted from 2030-01-02."),
        (date(2030, 1, 30), "2030-02-01 2 days left"),
        (date(2030, 1, 31), "2030-02-01 1 day left"),
        (date(2030, 2, 1), "2030-02-01 its last day"),
        (date(2030, 2, 2), "2030-02-01 ! expired 1 day before"),
        (date(2031, 2, 1), "2030-02-01 ! expired 365 days before"),
    ],
)
def test_waivers_have_their_days_left(tmp_path: Path, day: date | None, words: str) -> None:
    waiver = {
        "reason": "known",
        "link": "tracker 7",
        "owner": "the graph team",
        "expires": "2030-02-01",
        "verdict": "fail",
    }
    waived = replace(BAD[0], verdict=Verdict.WAIVED, waiver=waiver)
    site = Site([sample(tmp_path / "run.jsonl", (waived, *GOOD[1:]))], tmp_path / "out", day=day)
    text = site.text("waivers.html")
    for each in (words, "suites/keep.py::test_outlives", "known", "tracker 7", "the graph team"):
        assert each in text
    assert "~ 1 waived" in site.text(f"requirements/{KEEP}.html")


def test_a_waiver_of_a_requirement_leads_to_it_and_one_without_a_day_says_so(tmp_path: Path) -> None:
    waivers = (
        {"requirement": KEEP, "expires": "2030-02-01", "device": "h*"},
        {"requirement": "of.others", "expires": "soon"},
    )
    record = sample(tmp_path / "run.jsonl", waivers=waivers, options={"waivers": "known.toml"})
    site = Site([record], tmp_path / "out")
    assert (f"requirements/{KEEP}.html", "") in site.links("waivers.html")
    assert "device: h*" in site.text("waivers.html")
    assert "of.others soon unknown: its last day is none" in site.text("waivers.html")


def test_the_command_takes_a_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["report", str(sample(tmp_path / "run.jsonl").path), f"--output={tmp_path / 'out'}", "--as-of"]
    assert main([*words, "tomorrow"]) == ExitStatus.USAGE
    assert "'tomorrow' is no day such as 2026-01-31" in capsys.readouterr().err
    assert main([*words, "2030-05-06", "--single"]) == ExitStatus.CONFORMING
    assert "counted from 2030-05-06" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


# -- environments -----------------------------------------------------------------------------------------------------


def test_what_differs_between_environments_comes_first(tmp_path: Path) -> None:
    records = [
        sample(tmp_path / f"{name}.jsonl", implementation=name, environment={"torch": "2.14.0", **more})
        for name, more in (
            ("a", {"device": "one"}),
            ("b", {"device": "two", "driver": "7", "kit": "none of the kit's"}),
        )
    ]
    text = Site(records, tmp_path / "out").text("environments.html")
    assert "device differs one two" in text
    assert "driver differs not stated 7" in text
    # A name of the environment is no name of the run's.
    assert "kit 0.1.0 0.1.0" in text
    assert "kit differs not stated none of the kit's" in text
    assert text.index("driver differs") < text.index("torch 2.14.0 2.14.0")
