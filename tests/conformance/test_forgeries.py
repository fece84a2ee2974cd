"""What a forger who knows the kit may edit: each time, the counts, the verdict and the chain are made again to fit.

A forger wants a page that claims something.  The run that is edited failed a must.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus, RecordError
from conformance.paths import suite_digest
from conformance.records.assessment import as_json
from conformance.records.installed import installed_plan
from conformance.records.record import read_record
from conformance.records.result import TestResult
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.requirements.loading import load_registry
from tests.conformance.hostile import rechained
from tests.conformance.test_record import FOOTER, HEADER

DIALECT, REVISION = "cuda", "2.14"
Lines = list[dict[str, Any]]
Edit = Callable[[Lines], None]
#: As the kit writes it.
ENVIRONMENT = {
    "graph_class": "vendor.Graph",
    "adapter_class": "vendor.Adapter",
    "graph_class_file": "vendor.py, SHA-256 0123456789ab",
    "device": "vendor:0",
    "device_name": "Vendor 1",
}


@cache
def requirements() -> dict[str, Any]:
    return dict(load_registry().seen_by(DIALECT).requirements)


@cache
def plan() -> dict[str, tuple[str, ...]]:
    """All that applies to the run."""
    entries = requirements()
    return {
        test: ids
        for test, ids in installed_plan().items()
        if all(entries[name].holds_for(DIALECT, REVISION) for name in ids)
    }


@cache
def guilty() -> str:
    """A test that decides one must of the core, with parameters of which it is not the only one."""
    entries = requirements()
    for test, ids in plan().items():
        siblings = [other for other in plan() if other.startswith(test.partition("[")[0] + "[")]
        (first, *others) = ids
        if not others and entries[first].level == "must" and entries[first].capability is None and len(siblings) > 2:
            return test
    raise AssertionError("the suites have no such test")


def honest() -> Lines:
    """A whole run in which one test failed."""
    planned, culprit = plan(), guilty()
    header = dataclasses.replace(
        HEADER,
        dialect=DIALECT,
        revision=REVISION,
        capabilities={},
        environment=ENVIRONMENT,
        options={},
        narrowed=False,
        requirements=tuple(requirements().values()),
        suite_digest=suite_digest(),
        started_at="2026-01-01T12:00:00+00:00",
    )
    left_out = [test for test in installed_plan() if test not in planned]
    lines: Lines = [{"kind": "header", **header.to_dict(), "planned": planned, "not_applicable": left_out}]
    for test, ids in planned.items():
        result = TestResult(test, ids, Verdict.PASS, command=f"pytest --impl=vendor '{test}'")
        if test == culprit:
            result = dataclasses.replace(result, verdict=Verdict.FAIL, message="4 and not 5", seen="4", expected="5")
        lines += [{"kind": "started", "test": test}, {"kind": "result", **result.to_dict()}]
    lines.append({"kind": "footer", **FOOTER.to_dict()})
    end(lines)
    return json.loads(json.dumps(lines))  # type: ignore[no-any-return]


def content_of(lines: Lines) -> bytes:
    """The file of `lines`, whose header has the plan of the lines behind it."""
    header, *others = lines
    plan = {name: header[name] for name in ("planned", "not_applicable")}
    counts = {name: len(value) for name, value in plan.items()}
    return rechained([json.dumps(line) for line in ({**header, **counts}, {"kind": "plan", **plan}, *others)])


def end(lines: Lines) -> None:
    """Let the footer say what the kit itself would."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        path.write_bytes(content_of(lines))
        record = read_record(path)
    told = record.as_told
    lines[-1] |= {
        "counts": as_json(told.tests),
        "musts": as_json(told.musts),
        "advice": as_json(told.advice),
        "verdict": told.verdict.value,
        "exit_status": int(told.exit_status),
        "complete": record.plan.ended == record.plan.planned,
    }


def results_of(lines: Lines) -> Lines:
    return [line for line in lines if line["kind"] == "result"]


def result_of(lines: Lines, test: str) -> dict[str, Any]:
    return next(line for line in results_of(lines) if line["test"] == test)


def delete(lines: Lines, tests: set[str]) -> None:
    lines[:] = [line for line in lines if line.get("test") not in tests]
    lines[0]["planned"] = {test: ids for test, ids in lines[0]["planned"].items() if test not in tests}


def requirement_of(lines: Lines) -> dict[str, Any]:
    (name,) = plan()[guilty()]
    return next(entry for entry in lines[0]["requirements"] if entry["id"] == name)


def whole_function(lines: Lines) -> set[str]:
    return {test for test in lines[0]["planned"] if test.partition("[")[0] == guilty().partition("[")[0]}


# -- what shows -------------------------------------------------------------------------------------------------------

FORGERIES: dict[str, tuple[Edit, str]] = {}
#: Those whose footer is left as it was.
WITH_THE_OLD_END: set[str] = set()


def forgery(name: str, says: str, *, old_end: bool = False) -> Callable[[Edit], Edit]:
    def note(edit: Edit) -> Edit:
        FORGERIES[name] = (edit, says)
        if old_end:
            WITH_THE_OLD_END.add(name)
        return edit

    return note


@forgery("a failure made a success", "the counts that it ends with are not those of its results", old_end=True)
def _(lines: Lines) -> None:
    result_of(lines, guilty()).update(verdict="pass", message="", seen=None, expected=None)


@forgery("with the counts", "it ends with the verdict does_not_conform, and its results come to conforms", old_end=True)
def _(lines: Lines) -> None:
    result_of(lines, guilty()).update(verdict="pass", message="", seen=None, expected=None)
    kept = {name: lines[-1][name] for name in ("verdict", "exit_status")}
    end(lines)
    lines[-1] |= kept


@forgery("880 tests deleted", "is a test of its suites that applies, and it was not planned, and 87")
def _(lines: Lines) -> None:
    others = [test for test in lines[0]["planned"] if test != guilty()]
    delete(lines, {guilty(), *others[:879]})


@forgery("the failed test deleted", "is a test of its suites that applies, and it was not planned")
def _(lines: Lines) -> None:
    delete(lines, whole_function(lines))


@forgery("one parameter deleted", "is a test of its suites that applies, and it was not planned")
def _(lines: Lines) -> None:
    delete(lines, {guilty()})


@forgery("one parameter renamed", "was planned, and its suites have no such test")
def _(lines: Lines) -> None:
    delete(lines, {guilty()})
    renamed = guilty().partition("[")[0] + "[another]"
    lines[0]["planned"][renamed] = list(plan()[guilty()])
    good = TestResult(renamed, plan()[guilty()], Verdict.PASS).to_dict()
    lines[-1:-1] = [{"kind": "started", "test": renamed}, {"kind": "result", **good}]


@forgery("the failed test left out", "is a test of its suites that applies, and it was not planned")
def _(lines: Lines) -> None:
    delete(lines, {guilty()})
    lines[0]["not_applicable"].append(guilty())


@forgery(
    "the failed test, its requirement and all of its tests deleted", "is a requirement of its suites, and it has none"
)
def _(lines: Lines) -> None:
    entry = requirement_of(lines)
    delete(lines, {test for test, ids in lines[0]["planned"].items() if entry["id"] in ids})
    lines[0]["requirements"].remove(entry)


@forgery("no requirements and one result", "is a requirement of its suites, and it has none")
def _(lines: Lines) -> None:
    lines[0]["requirements"] = []
    delete(lines, set(lines[0]["planned"]) - {next(iter(lines[0]["planned"]))})


@forgery("a must made a may", "(level 'may' for 'must') is another in its suites")
def _(lines: Lines) -> None:
    requirement_of(lines)["level"] = "may"


@forgery("a must made advice", "(level 'should' for 'must') is another in its suites")
def _(lines: Lines) -> None:
    requirement_of(lines)["level"] = "should"


@forgery("a must of a later revision", "is another in its suites")
def _(lines: Lines) -> None:
    requirement_of(lines)["since"] = "99.0"


@forgery("a must that nobody can test", "(untestable 'too hard' for None) is another in its suites")
def _(lines: Lines) -> None:
    requirement_of(lines)["untestable"] = "too hard"


@forgery("a must of another dialect", "is another in its suites")
def _(lines: Lines) -> None:
    requirement_of(lines)["dialects"] = ["xpu"]


@forgery("a must behind a capability", "is another in its suites")
def _(lines: Lines) -> None:
    requirement_of(lines)["capability"] = "hooks"
    lines[0]["capabilities"] = {"hooks": False}


@forgery("the failed test decides another requirement", "decides others in the plan than in its suites")
def _(lines: Lines) -> None:
    entries = requirements()
    other = next(
        name for name in entries if entries[name].level == "may" and entries[name].holds_for(DIALECT, REVISION)
    )
    lines[0]["planned"][guilty()] = [other]
    result_of(lines, guilty())["requirements"] = [other]


@forgery("waived by nobody", "is waived, and no waiver in the header is for it")
def _(lines: Lines) -> None:
    result_of(lines, guilty())["verdict"] = "waived"


def waived_until(lines: Lines, day: str) -> None:
    waiver = {"reason": "r", "link": "l", "owner": "o", "expires": day}
    result_of(lines, guilty()).update(verdict="waived", waiver={**waiver, "verdict": "fail"})
    lines[0]["waivers"] = [{"place": "w.toml:1", "test": guilty(), **waiver}]


@forgery("a waiver added after the run", "there are waivers in the header, and its options name no file of them")
def _(lines: Lines) -> None:
    waived_until(lines, "2026-02-01")


@forgery("a waiver that had expired", "is waived by a waiver that had expired when the run began")
def _(lines: Lines) -> None:
    waived_until(lines, "2025-12-31")
    lines[0]["options"] = {**lines[0]["options"], "waivers": "w.toml, SHA-256 0123456789ab"}


@forgery("a capability declared absent after the run", "ran, and needs a capability that is declared absent")
def _(lines: Lines) -> None:
    # The failure is now behind it, and the results are as they were.
    entries = requirements()
    result_of(lines, guilty()).update(verdict="pass", message="", seen=None, expected=None)
    test = next(test for test, ids in plan().items() if entries[ids[0]].capability == "hooks")
    result_of(lines, test).update(verdict="fail", message="no", seen="no")
    lines[0]["capabilities"] = {"hooks": False}


@forgery("another dialect", "is another in its suites")
def _(lines: Lines) -> None:
    lines[0]["dialect"] = "xpu"


@forgery("an earlier revision", "was planned, and does not apply to the dialect and the revision")
def _(lines: Lines) -> None:
    lines[0]["revision"] = "1.10"


@forgery("complete, and it is not", "it ends as complete, and its results say otherwise", old_end=True)
def _(lines: Lines) -> None:
    lines[:] = [line for line in lines if line.get("test") != guilty()]
    end(lines)
    lines[-1]["complete"] = True


@forgery("a part of the suites as the whole", "is a test of its suites that applies, and it was not planned")
def _(lines: Lines) -> None:
    delete(lines, set(lines[0]["planned"]) - set(list(lines[0]["planned"])[:9]))
    result = results_of(lines)[0]
    assert result["verdict"] == "pass"


@forgery("the footer of another run", "and its results come to", old_end=True)
def _(lines: Lines) -> None:
    other = copy.deepcopy(lines)
    result_of(other, guilty()).update(verdict="pass")
    end(other)
    lines[-1] = other[-1]


@forgery("two results swapped", "the musts that it ends with are not those of its results", old_end=True)
def _(lines: Lines) -> None:
    entries = requirements()
    other = next(test for test, ids in plan().items() if all(entries[name].level == "may" for name in ids))
    result_of(lines, guilty())["verdict"], result_of(lines, other)["verdict"] = "pass", "fail"


@forgery("two results swapped with their names", "decides others in its result than in the plan")
def _(lines: Lines) -> None:
    entries = requirements()
    other = next(test for test, ids in plan().items() if all(entries[name].level == "may" for name in ids))
    names = {guilty(): other, other: guilty()}
    for line in lines:
        if line.get("test") in names:
            line["test"] = names[line["test"]]


@forgery("a result of another record", "has a result and was not planned")
def _(lines: Lines) -> None:
    result = {**results_of(lines)[0], "test": "suites/pools/test_other.py::test_it"}
    lines[-1:-1] = [{"kind": "result", **result}]


@forgery("the kit's own class without the remark", "its class is the kit's own reference, and it does not say so")
def _(lines: Lines) -> None:
    lines[0]["environment"]["graph_class"] = "reference_impl.CUDAGraph"


@forgery("the host without the remark", "its device is the host, and it does not say so")
def _(lines: Lines) -> None:
    lines[0]["environment"]["device"] = "cpu"


@pytest.fixture(scope="module")
def run() -> Lines:
    return honest()


@pytest.fixture
def forged(run: Lines, tmp_path: Path) -> Callable[..., Path]:
    def write(edit: Edit, name: str = "run.jsonl", *, ended: bool = True, **options: Any) -> Path:
        lines = copy.deepcopy(run)
        lines[0]["options"] = options
        edit(lines)
        if ended:
            end(lines)
        path = tmp_path / name
        path.write_bytes(content_of(lines))
        return path

    return write


def test_the_honest_run_is_not_refuted(forged: Callable[..., Path]) -> None:
    record = read_record(forged(lambda _: None))
    assert (record.defects, record.claim.verdict) == ((), RunVerdict.DOES_NOT_CONFORM)


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_makes_no_claim_and_is_not_merged(
    forged: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    edit, says = FORGERIES[name]
    record = read_record(forged(edit, ended=name not in WITH_THE_OLD_END))
    assert any(says in defect for defect in record.defects), record.defects
    assert record.claim.verdict is RunVerdict.ERROR
    shard = forged(edit, "shard.jsonl", ended=name not in WITH_THE_OLD_END, shard="1/1")
    assert main(["merge", str(shard), "--output", str(tmp_path / "whole.jsonl")]) == ExitStatus.USAGE
    assert says.partition(",")[0] in capsys.readouterr().err
    assert not (tmp_path / "whole.jsonl").exists()


def test_shards_written_one_after_the_other_are_no_record(forged: Callable[..., Path], tmp_path: Path) -> None:
    shard = forged(lambda _: None, shard="1/1")
    (tmp_path / "both.jsonl").write_bytes(shard.read_bytes() * 2)
    with pytest.raises(RecordError, match="a second header"):
        read_record(tmp_path / "both.jsonl")


def test_the_results_of_another_shard_are_refuted(forged: Callable[..., Path]) -> None:
    """With one header, and a chain made again."""
    record = read_record(forged(lambda _: None, shard="1/2"))
    assert any("belongs to another shard" in defect for defect in record.defects), record.defects


# -- what does not show: docs/record.md says so -----------------------------------------------------------------------


def _all_good(lines: Lines) -> None:
    result_of(lines, guilty()).update(verdict="pass", message="", seen=None, expected=None)


def _another_device(lines: Lines) -> None:
    _all_good(lines)
    lines[0]["environment"]["device_name"] = "Vendor 2"


def _another_name(lines: Lines) -> None:
    _all_good(lines)
    lines[0]["implementation"] = "torch.cuda"


def _another_day(lines: Lines) -> None:
    _all_good(lines)
    lines[0]["started_at"] = "2026-06-01T12:00:00+00:00"


@pytest.mark.parametrize("edit", [_all_good, _another_device, _another_name, _another_day])
def test_a_record_that_is_invented_as_a_whole_is_not_refuted(forged: Callable[..., Path], edit: Edit) -> None:
    record = read_record(forged(edit))
    assert (record.defects, record.claim.verdict) == ((), RunVerdict.CONFORMS)


def test_a_record_of_other_suites_says_that_nothing_was_compared(
    forged: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(lines: Lines) -> None:
        lines[0]["suite_digest"] = "0" * 64
        delete(lines, {guilty()})

    path, remark = forged(edit), "made with other suites than the installed ones"
    assert read_record(path).claim.verdict is RunVerdict.CONFORMS
    assert main(["report", str(path), "--output", str(tmp_path / "report")]) == ExitStatus.CONFORMING
    assert f"note:    {remark}" in capsys.readouterr().out
    assert remark in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")


def test_a_capability_declared_absent_leaves_a_part(forged: Callable[..., Path]) -> None:
    """An absence that the results fit is what an adapter may declare, and the claim says what it leaves out."""

    def edit(lines: Lines) -> None:
        _all_good(lines)
        entries = requirements()
        lines[0]["capabilities"] = {"hooks": False}
        for test, ids in plan().items():
            if any("hooks" in (entries[name].capability, *entries[name].needs) for name in ids):
                result_of(lines, test)["verdict"] = "unsupported"

    record = read_record(forged(edit))
    assert (record.defects, record.claim.verdict) == ((), RunVerdict.CONFORMS_IN_PART)
    assert "musts were declined or not tried in debug, hooks" in record.claim.line


def test_a_result_deleted_leaves_no_claim(forged: Callable[..., Path]) -> None:
    def edit(lines: Lines) -> None:
        lines[:] = [line for line in lines if line.get("test") != guilty()]

    assert read_record(forged(edit)).claim.verdict is RunVerdict.INCOMPLETE
