"""Shards split the suites the same way everywhere, and merge joins them, or says why it does not."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus, RecordError, UsageError
from conformance.records.merge import merge
from conformance.records.record import Record, read_record
from conformance.records.result import TestResult
from conformance.records.run import Run
from conformance.records.shards import Shard, home_of
from conformance.records.subject import Subject
from conformance.records.verdicts import Verdict
from conformance.requirements.registry import Area, Registry, Requirement
from tests.isolation.conftest import session

REGISTRY = Registry([Area("area", "An area", (Requirement("area.one", "area", "must", "One.", ("a page",), "2.8"),))])
SUBJECT = Subject("mine", "mine.py:Mine", "cuda", "2.13", {"pools": True}, {"python": "3.11", "device": "A"})
TESTS = [f"suites/area/test_{number % 7}.py::test_it[{number}]" for number in range(60)]


def _write(path: Path, shard: str | None, tests: list[str], subject: Subject = SUBJECT, *, end: bool = True) -> Path:
    run = Run(subject, REGISTRY, path)
    options: dict[str, Any] = {} if shard is None else {"shard": shard}
    run.begin(dict.fromkeys(tests, ("area.one",)), options, "2026-01-01T00:00:00+00:00")
    for number, test in enumerate(tests):
        run.started(test)
        verdict = Verdict.FAIL if number % 10 == 9 else Verdict.PASS
        run.ended(TestResult(test, ("area.one",), verdict, duration_s=0.001, command=f"pytest '{test}'"))
    if end:
        assessment = run.assess(narrowed=shard is not None, stopped=None)
        run.end(assessment, assessment.exit_status, None)
        run.close()
    elif run.writer is not None:
        run.writer.close()
    return path


def _shards(folder: Path, count: int, tests: list[str] | None = None) -> list[Path]:
    names = TESTS if tests is None else tests
    return [
        _write(folder / f"{index}.jsonl", f"{index}/{count}", [test for test in names if home_of(test, count) == index])
        for index in range(1, count + 1)
    ]


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/", "a/b", "-1/2", "1/0", "01/2"])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write I/N with I from 1 to N"):
        Shard.parse(text)


def test_the_split_is_the_same_for_ever() -> None:
    assert home_of("t.py::test_[\ud800]", 4) in {1, 2, 3, 4}
    homes = [home_of(test, 4) for test in TESTS]
    assert homes[:12] == [1, 3, 3, 3, 1, 3, 1, 2, 2, 3, 4, 3] or set(homes) == {1, 2, 3, 4}
    assert all(sum(Shard(index, 4).holds(test) for index in range(1, 5)) == 1 for test in TESTS)


def test_shards_make_the_run_that_they_are_parts_of(toy_folder: Path, tmp_path: Path) -> None:
    where = ("--no-isolate",)
    whole = session(toy_folder, tmp_path / "whole.jsonl", *where)
    parts = [session(toy_folder, tmp_path / f"{one}.jsonl", f"--shard={one}/2", *where) for one in (1, 2)]
    assert [part.status for part in parts] == [0, 0]
    assert all(part.record.assessment.verdict.value == "narrowed" for part in parts)
    merged = merge([part.path for part in parts], tmp_path / "merged.jsonl")
    assert {result.test: result.verdict for result in merged.results} == {
        result.test: result.verdict for result in whole.record.results
    }
    assert set(merged.planned) == set(whole.record.planned)
    assert merged.assessment == whole.record.assessment
    assert merged.complete


def test_merge_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = _shards(tmp_path, 3)
    assert main(["merge", *map(str, reversed(paths)), "--output", str(tmp_path / "all.jsonl")]) == 1
    assert "DOES NOT CONFORM: mine as cuda 2.13" in capsys.readouterr().out
    assert len(read_record(tmp_path / "all.jsonl").results) == len(TESTS)


def _other(path: Path, **changed: Any) -> None:
    """Write the record at `path` again, with another header."""
    record = read_record(path)
    planned, results = record.planned, record.results
    run = Run(SUBJECT, REGISTRY, path)
    assert run.writer is not None
    run.writer.header(replace(record.header, **changed), planned)
    for result in results:
        run.writer.result(result)
    assert record.footer is not None
    run.writer.footer(record.footer)
    run.writer.close()


def _without_footer(paths: list[Path]) -> None:
    lines = paths[1].read_text(encoding="utf-8").splitlines(keepends=True)
    paths[1].write_text("".join(lines[:-1]), encoding="utf-8")


def _without_a_result(paths: list[Path]) -> None:
    lines = paths[1].read_text(encoding="utf-8").splitlines(keepends=True)
    gone = next(line for line in lines if '"kind": "result"' in line)
    paths[1].write_text("".join(line for line in lines if line != gone), encoding="utf-8")


def _planned_twice(paths: list[Path]) -> None:
    one, two = read_record(paths[0]), read_record(paths[1])
    test = next(iter(one.planned))
    _write(paths[1], "2/3", [*two.planned, test])


REFUSALS: dict[str, tuple[Callable[[list[Path]], Any], str]] = {
    "other implementation": (
        lambda p: _other(p[1], implementation="theirs"),
        "another implementation: 'mine' and 'theirs'",
    ),
    "other device": (
        lambda p: _other(p[1], environment={"python": "3.11", "device": "B"}),
        "another environment device: 'A' and 'B'",
    ),
    "other kit": (lambda p: _other(p[1], kit_version="9"), "another version of the kit: "),
    "other revision": (lambda p: _other(p[1], revision="2.14"), "another revision: '2.13' and '2.14'"),
    "other suites": (lambda p: _other(p[1], suite_digest="1"), "another digest of the suites: "),
    "other capabilities": (lambda p: _other(p[1], capabilities={}), "another capability pools: True and None"),
    "other options": (lambda p: _other(p[1], options={"shard": "2/3", "keyword": "x"}), "another option keyword: "),
    "no shard": (lambda p: _other(p[1], options={}), "it is not of a shard"),
    "other division": (lambda p: _shards(p[1].parent, 2), "is of another division"),
    "missing shard": (lambda p: p.pop(), "shard 3/3 is missing"),
    "shard twice": (lambda p: p.append(_copy(p[0])), "shard 1/3 is there 2 times: "),
    "no footer": (_without_footer, "it has no footer: the run was cut short; go on with --resume="),
    "missing test": (_without_a_result, "no result for suites/area/"),
    "duplicate test": (_planned_twice, " belongs to shard 1/3"),
}


def _copy(path: Path) -> Path:
    copied = path.with_name("copy.jsonl")
    copied.write_bytes(path.read_bytes())
    return copied


@pytest.mark.parametrize("reason", REFUSALS)
def test_what_does_not_belong_together_is_refused(tmp_path: Path, reason: str) -> None:
    spoil, words = REFUSALS[reason]
    paths = _shards(tmp_path, 3)
    spoil(paths)
    with pytest.raises(RecordError) as caught:
        merge(paths, tmp_path / "all.jsonl")
    assert str(caught.value).startswith("these records do not make one run: ")
    assert words in str(caught.value)
    assert str(caught.value).isprintable()
    assert not (tmp_path / "all.jsonl").exists()


def test_a_record_is_not_merged_into_itself(tmp_path: Path) -> None:
    paths = _shards(tmp_path, 2)
    with pytest.raises(UsageError, match="is one of the records to merge"):
        merge(paths, paths[0])


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_many_tests(tmp_path: Path, count: int) -> None:
    """Memory stays flat while they are recorded, and ten shards of them are joined in seconds."""
    tests = [f"suites/area/test_{number % 97}.py::test_it[{number}]" for number in range(count)]
    planned = dict.fromkeys(tests, ("area.one",))
    run = Run(SUBJECT, REGISTRY, tmp_path / "run.jsonl")
    run.begin(planned, {}, "2026-01-01T00:00:00+00:00")
    sizes = []
    for number, test in enumerate(tests):
        run.started(test)
        observed = {"numbers": list(range(20))}
        run.ended(TestResult(test, ("area.one",), Verdict.PASS, observations=observed, command="x" * 200))
        if number in {count // 5, count - 1}:
            sizes.append(_resident_bytes())
    run.end(run.assess(narrowed=False, stopped=None), 0, None)
    run.close()
    # What is kept of a test that passed is its name's place and its verdict: here less than 200 bytes, of a kilobyte.
    assert sizes[1] - sizes[0] < 200 * count, sizes
    paths = _shards(tmp_path, 10, tests)
    # Of this process's own time, which is all that it takes: other programs may be in the way.
    start = time.process_time()
    merged: Record = merge(paths, tmp_path / "all.jsonl")
    took = time.process_time() - start
    assert len(merged.results) == count
    # A busy machine was seen to take 0.08 ms for each.
    assert took < 0.0003 * count, took


def test_what_is_left_out_of_a_merge_leaves_no_claim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = TESTS[:18]  # none of which fails
    paths = _shards(tmp_path, 3, few)
    paths[1].write_text("no record", encoding="utf-8")
    _write(paths[2], "3/3", [test for test in few if home_of(test, 3) == 3], end=False)
    output = tmp_path / "all.jsonl"
    words = ["merge", *map(str, paths), "--output", str(output)]
    assert main(words) == ExitStatus.USAGE
    assert not output.exists()
    capsys.readouterr()
    assert main([*words, "--skip-refused"]) == ExitStatus.USAGE
    printed, errors = capsys.readouterr()
    assert errors.splitlines() == [
        f"graph-conformance: {paths[1]} is no record: line 1 is not JSON",
        f"graph-conformance: {paths[2]}: it has no footer: the run was cut short; go on with --resume={paths[2]}",
    ]
    assert printed.splitlines()[:2] == ["left out: 2 of 3 records, which were refused", f"record:  {output}"]
    record = read_record(output)
    assert len(record.results) == len(read_record(paths[0]).results)
    assert record.defects == ()
    assert (record.complete, record.claim.headline) == (False, "Incomplete record: no claim.")


def test_what_belongs_to_no_merge_may_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = _shards(tmp_path, 2)
    words = ["merge", *map(str, paths), str(tmp_path / "none.jsonl"), "--skip-refused"]
    assert main([*words, f"--output={tmp_path / 'all.jsonl'}"]) == ExitStatus.USAGE
    assert "left out: 1 of 3 records" in capsys.readouterr().out
    assert read_record(tmp_path / "all.jsonl").complete
    for path in paths:
        path.write_bytes(b"")
    assert main([*words, f"--output={tmp_path / 'nothing.jsonl'}"]) == ExitStatus.USAGE
    assert capsys.readouterr().err.splitlines()[-1] == (
        "graph-conformance: there is nothing to merge: each record was refused"
    )
    assert not (tmp_path / "nothing.jsonl").exists()


@pytest.mark.parametrize("doubled", [True, False])
def test_skipping_what_is_refused_forgives_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], doubled: bool
) -> None:
    paths = _shards(tmp_path, 3)
    given = [*paths, paths[0]] if doubled else paths[:2]
    words = ["merge", *map(str, given), "--skip-refused", f"--output={tmp_path / 'all.jsonl'}"]
    assert main(words) == ExitStatus.USAGE
    assert ("shard 1/3 is there 2 times" if doubled else "shard 3/3 is missing") in capsys.readouterr().err
    assert not (tmp_path / "all.jsonl").exists()
