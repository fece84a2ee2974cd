"""Records of many tests: what their readers keep and write does not grow with them."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus, RecordError
from conformance.records import merge as merging
from conformance.records.lines import LINE_LIMIT
from conformance.records.merge import merge
from conformance.records.notes import KEPT
from conformance.records.plan import Plan
from conformance.records.record import read_record
from conformance.records.result import TestResult
from conformance.records.run import Run
from conformance.records.shards import Shard
from conformance.records.subject import Subject
from conformance.records.verdicts import Verdict
from conformance.records.writer import PLAN_LINE
from conformance.requirements.registry import Area, Registry, Requirement
from conformance.waivers import starting
from tests.conformance.hostile import rechained, without_chain

ONE = Requirement("area.one", "area", "must", "One.", ("a page",), "2.8")
TWO = Requirement("area.two", "area", "must", "Two.", ("a page",), "2.8")
REGISTRY = Registry([Area("area", "An area", (ONE, TWO))])
SUBJECT = Subject("mine", "mine.py:Mine", "cuda", "2.13", {}, {"python": "3.11"})
FEW, MANY = 1_000, 10_000
#: What the system says of a child counts its parent's memory, too; this is the process's own.
COMMAND = """
import sys
from conformance.cli import main
status = main()
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1], file=sys.stderr)
sys.exit(status)
"""


def failing(test: str) -> TestResult:
    return TestResult(
        test, ("area.one",), Verdict.FAIL, message="promised: p\nseen: s", expected="p", seen="s", reproducer="x" * 2000
    )


def passing(test: str) -> TestResult:
    return TestResult(test, ("area.one",), Verdict.PASS, observations={"order": [1, 2]}, command="y" * 200)


def unsupported(test: str) -> TestResult:
    return TestResult(test, ("area.one",), Verdict.UNSUPPORTED, message=f"no means for {test}")


def beside(test: str) -> TestResult:
    """Two requirements fail together, and none alone."""
    return replace(failing(test), requirements=("area.one", "area.two"))


def written(path: Path, results: Iterable[TestResult], shard: str | None = None) -> Path:
    kept = [one for one in results if shard is None or Shard.parse(shard).holds(one.test)]
    run = Run(SUBJECT, REGISTRY, path)
    planned = {one.test: one.requirements for one in kept}
    run.begin(planned, {} if shard is None else {"shard": shard}, "2026-01-01T00:00:00+00:00")
    for one in kept:
        run.started(one.test)
        run.ended(one)
    assessment = run.assess(narrowed=shard is not None, stopped=None)
    run.end(assessment, assessment.exit_status, None)
    run.close()
    return path


def names_of(count: int) -> list[str]:
    return [f"suites/area/test_{number % 97}.py::test_it[{number}]" for number in range(count)]


def peak(*words: str) -> float:
    """The most memory that the process of a command had, in MiB."""
    command = [sys.executable, "-c", COMMAND, *words]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode in {ExitStatus.CONFORMING, ExitStatus.NOT_CONFORMING}, done.stderr
    return int(done.stderr.split()[-1]) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system says nothing of a process's memory")
def test_memory_and_pages_do_not_grow(tmp_path: Path) -> None:
    peaks: dict[int, list[float]] = {}
    pages: dict[int, int] = {}
    for count in (FEW, MANY):
        folder = tmp_path / str(count)
        results = [(passing, failing)[number % 2](test) for number, test in enumerate(names_of(count))]
        whole, shard = (str(written(folder / name, results, part)) for name, part in (("0", None), ("1", "1/1")))
        peaks[count] = [
            peak("report", whole, "--single", f"--output={folder / 'report'}"),
            peak("merge", shard, f"--output={folder / 'all.jsonl'}"),
            peak("waivers", whole),
        ]
        pages[count] = (folder / "report" / "report.html").stat().st_size
    for few, many in zip(peaks[FEW], peaks[MANY], strict=True):
        assert many < 1.2 * few, peaks
    assert pages[MANY] < 1.05 * pages[FEW]


def test_what_is_not_kept_is_counted(tmp_path: Path) -> None:
    names = names_of(300)
    results = [failing(test) for test in names[:100]]
    results += [passing(test) for test in names[100:200]]
    results += [replace(unsupported(test), requirements=("area.two",)) for test in names[200:]]
    record = read_record(written(tmp_path / "run.jsonl", results))
    assert record.assessment.tests == {Verdict.FAIL: 100, Verdict.PASS: 100, Verdict.UNSUPPORTED: 100}
    assert record.results == tuple(results)
    assert len(record.notes.troubles("area.one").items) == KEPT
    assert main(["report", str(record.path), "--single", f"--output={tmp_path}"]) == ExitStatus.CONFORMING
    # The pages of the two requirements name the tests that decide them, too.
    for name, count in (("report.md", 3), ("report.html", 5)):
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert f"nd {100 - KEPT} more that went wrong." in page
        # Of the other tests, of what they observed, and of the reasons why they were not tried.
        assert page.count(f"and {100 - KEPT} more") == count
        assert names[KEPT - 1] in page
        assert names[KEPT] not in page


def test_a_crash_is_kept_among_failures(tmp_path: Path) -> None:
    crash = replace(failing("suites/area/test_z.py::test_crash"), verdict=Verdict.CRASH, message="killed by SIGSEGV")
    record = read_record(written(tmp_path / "run.jsonl", [*map(failing, names_of(KEPT + 1)), crash]))
    kept = record.notes.troubles("area.one")
    assert ([one.verdict for one in kept.items].count(Verdict.FAIL), kept.items[-1], kept.more) == (KEPT, crash, 1)


def test_large_results_are_kept_as_long_as_there_is_room(tmp_path: Path) -> None:
    large = [replace(failing(test), reproducer="x" * 1_000_000) for test in names_of(40)]
    kept = read_record(written(tmp_path / "run.jsonl", large)).notes.troubles("area.one")
    assert (len(kept.items), kept.more) == (33, 7)


def test_a_start_of_waivers_counts_what_it_does_not_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = written(tmp_path / "run.jsonl", [failing(test) for test in names_of(100)])
    text = starting.start_of(record, starting.date(2026, 1, 1))
    assert text.count("# fail: ") == starting.NAMED
    assert f"# and {100 - starting.NAMED} more" in text
    monkeypatch.setattr(starting, "TESTS", 30)
    record = written(tmp_path / "run.jsonl", [beside(test) for test in names_of(100)])
    text = starting.start_of(record, starting.date(2026, 1, 1))
    assert text.count("[[waiver]]") == 30
    assert "# Not here, because there are too many: 70 other tests that failed." in text


def test_a_line_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", [passing("t")])
    path.write_bytes(path.read_bytes() + b"x" * (LINE_LIMIT + 1))
    with pytest.raises(RecordError, match=r"line 6 is longer than 16 MiB"):
        read_record(path)


# -- the plan ---------------------------------------------------------------------------------------------------------


def test_the_plan_stands_in_lines_of_a_thousand_tests(tmp_path: Path) -> None:
    names = names_of(2 * PLAN_LINE + 1)
    path = written(tmp_path / "run.jsonl", [passing(test) for test in names])
    lines = path.read_bytes().splitlines()
    assert [line.startswith(b'{"kind": "plan"') for line in lines[:5]] == [False, True, True, True, False]
    record = read_record(path)
    assert list(record.planned) == names
    assert record.complete
    assert record.defects == ()


def test_a_table_of_tests_holds_what_a_dictionary_does() -> None:
    names = names_of(5_000)
    plan = Plan.of(dict.fromkeys(names[:3_000], ("a",)) | dict.fromkeys(names[3_000:4_000], ("b",)), names[4_000:])
    for test in names[:1_000]:
        plan.end(test)
    assert all(plan.is_planned(test) and plan.has_ended(test) for test in names[:1_000])
    assert not any(plan.has_ended(test) for test in names[1_000:])
    assert {plan.decided_by(test) for test in names[3_000:4_000]} == {("b",)}
    assert all(plan.is_left_out(test) and plan.decided_by(test) is None for test in names[4_000:])
    assert not plan.is_planned("another")
    assert list(plan.without_result()) == [(("a",), 2_000), (("b",), 1_000)]
    assert plan.leaves_out_as(Plan.of({}, reversed(names[4_000:])))
    assert not plan.leaves_out_as(Plan.of({}, [*names[4_001:], "another"]))


def begun_again(
    path: Path,
    planned: dict[str, tuple[str, ...]],
    options: dict[str, str] | None = None,
    not_applicable: Sequence[str] = (),
) -> None:
    run = Run(SUBJECT, REGISTRY, path, resume=True)
    assert run.writer is not None
    with contextlib.closing(run.writer):
        run.begin(planned, options or {}, "2026-01-01T00:00:00+00:00", not_applicable=not_applicable)


def test_a_run_that_died_while_it_wrote_its_plan_is_begun_again(tmp_path: Path) -> None:
    results = [passing(test) for test in names_of(PLAN_LINE + 1)]
    path = written(tmp_path / "run.jsonl", results)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in (b"".join(lines[:2]), b"".join(lines[:2]) + lines[2][:9], lines[0], lines[0][:9]):
        path.write_bytes(cut)
        if cut != lines[0][:9]:
            assert not read_record(path).complete
        begun_again(path, {one.test: one.requirements for one in results})
        assert path.read_bytes() == b"".join(lines[:3])
    path.write_bytes(b"".join(lines[:2]))
    with pytest.raises(RecordError, match="the record is of another run: another option keyword"):
        begun_again(path, {}, {"keyword": "x"})


def test_a_run_of_other_tests_is_not_gone_on_with(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", [passing("t1"), passing("t2")])
    others: tuple[tuple[dict[str, tuple[str, ...]], list[str], str], ...] = (
        ({"t1": ()}, [], "other tests, such as t2"),
        ({"t1": (), "t2": (), "t3": ()}, [], "other tests, such as t3"),
        ({"t1": (), "t2": ()}, ["t3"], "other tests left out as not applicable"),
    )
    for planned, left_out, reason in others:
        with pytest.raises(RecordError, match=reason):
            begun_again(path, planned, not_applicable=left_out)


# -- merging ----------------------------------------------------------------------------------------------------------


def test_a_shard_that_changes_while_it_is_merged_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [written(tmp_path / f"{one}.jsonl", map(passing, names_of(20)), f"{one}/2") for one in (1, 2)]
    check = merging.why_not

    def change_it(*arguments: object, **settings: object) -> list[str]:
        texts = [without_chain(line) for line in paths[1].read_text(encoding="utf-8").splitlines()]
        paths[1].write_bytes(rechained([text.replace('"verdict": "pass"', '"verdict": "fail"') for text in texts]))
        return check(*arguments, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(merging, "why_not", change_it)
    with pytest.raises(RecordError, match=r"2\.jsonl was changed while it was read"):
        merge(paths, tmp_path / "all.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.jsonl", "2.jsonl"]


def test_a_merge_names_the_first_of_what_is_missing(tmp_path: Path) -> None:
    path = written(tmp_path / "1.jsonl", map(passing, names_of(100)), "1/1")
    lines = [without_chain(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_bytes(rechained([line for line in lines if '"kind": "result"' not in line]))
    with pytest.raises(RecordError) as caught:
        merge([path], tmp_path / "all.jsonl")
    reasons = str(caught.value).split("; ")
    assert sum("no result for suites/area" in reason for reason in reasons) == 5
    assert reasons[-1] == "and 21 more"


SHOWN = {"outcome": "shown", "why": "AssertionError: no"}


def test_a_script_that_fails_of_something_else_is_dropped(tmp_path: Path) -> None:
    run = Run(SUBJECT, REGISTRY, tmp_path / "run.jsonl")
    run.begin({"t": ("area.one",)}, {}, "2026-01-01T00:00:00+00:00")
    run.ended(replace(failing("t"), reproducer="print()"))
    assert [result.test for result in run.untried] == ["t"]
    run.tried("t", {"outcome": "otherwise", "why": "TypeError"})
    assert run.untried == run.scripts == []
    run.close()
    record = read_record(tmp_path / "run.jsonl")
    assert (record.results[0].reproducer, record.results[0].reproduction) == (
        None,
        {"outcome": "otherwise", "why": "TypeError"},
    )
    assert record.notes.troubles("area.one").items == list(record.results)


def test_scripts_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    run = Run(SUBJECT, REGISTRY, path)
    run.begin({"t": ("area.one",)}, {"shard": "1/1"}, "2026-01-01T00:00:00+00:00")
    run.ended(replace(failing("t"), verdict=Verdict.CRASH, reproducer=None))
    run.reproduced("t", "print()")
    run.tried("t", SHOWN)
    assessment = run.assess(narrowed=True, stopped=None)
    run.end(assessment, assessment.exit_status, None)
    run.close()
    merged = merge([path], tmp_path / "all.jsonl")
    again = read_record(merged.path)
    assert (again.results[0].reproducer, again.results[0].reproduction) == ("print()", SHOWN)
    assert again.notes.troubles("area.one").items == list(again.results)
    assert (again.claim, again.footer, again.header) == (merged.claim, merged.footer, merged.header)
