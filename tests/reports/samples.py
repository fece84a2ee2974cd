"""Records to make reports from, written by the real writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.records.assessment import Assessment, as_json
from conformance.records.footer import Footer
from conformance.records.header import Header
from conformance.records.record import Record, read_record
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.records.writer import RecordWriter
from conformance.requirements.registry import Requirement

REQUIREMENTS = (
    Requirement(
        id="keep-graph.template-outlives-capture-end",
        area="keep-graph",
        level="must",
        text="With keep_graph=True the template stays valid after capture_end.",
        documents=("torch.cuda.CUDAGraph: keep_graph", "torch.cuda.CUDAGraph: raw_cuda_graph"),
        since="2.8",
        capability="keep_graph",
    ),
    Requirement("keep-graph.late", "keep-graph", "must", "Of a later revision.", ("torch: late",), "2.15"),
    Requirement(
        "replay.reads-now", "replay", "must", "A replay reads what is there now.", ("CUDAGraph: replay",), "1.10"
    ),
    Requirement("replay.twice", "replay", "should", "Two replays follow each other.", ("CUDAGraph: replay",), "1.10"),
    Requirement("replay.order", "replay", "may", "The order of unrelated nodes is open.", ("CUDA: graphs",), "1.10"),
    Requirement("replay.thermal", "replay", "must", "Stays cool.", ("x",), "1.10", untestable="no thermometer"),
    Requirement("modes.relaxed", "modes", "must", "relaxed allows it.", ("y",), "1.10", capability="capture_modes"),
    Requirement("modes.strict", "modes", "must", "strict refuses it.", ("y",), "1.10"),
    Requirement("modes.xpu", "modes", "must", "Only in the xpu dialect.", ("z",), "2.11", dialects=("xpu",)),
)

PASS, FAIL = Verdict.PASS, Verdict.FAIL


def result(name: str, requirement: str | Sequence[str], verdict: Verdict = PASS, **more: Any) -> TestResult:
    """What became of the test `name`."""
    ids = (requirement,) if isinstance(requirement, str) else tuple(requirement)
    test = f"suites/{name}"
    more.setdefault("command", f'pytest "{test}" --impl=sample')
    return TestResult(test, ids, verdict, duration_s=0.25, **more)


#: Every scored requirement is met or declared absent.
GOOD = (
    result("keep.py::test_outlives", "keep-graph.template-outlives-capture-end"),
    result("replay.py::test_now", "replay.reads-now"),
    result("replay.py::test_twice", "replay.twice"),
    result("replay.py::test_order", "replay.order", observations={"order": ["b", "a"]}),
    result("modes.py::test_relaxed", "modes.relaxed", Verdict.UNSUPPORTED, message="declared absent"),
    result("modes.py::test_strict", "modes.strict"),
)

#: The same, with a failure and a crash.
BAD = (
    replace(
        GOOD[0],
        verdict=FAIL,
        message="promised: the template stays\nseen: a null handle",
        expected="the template stays",
        seen="a null handle",
        frames=("backend/graph.py:12 in capture_end",),
        warnings=("UserWarning: careful",),
    ),
    GOOD[1],
    replace(GOOD[2], verdict=Verdict.CRASH, message="killed by SIGSEGV"),
    *GOOD[3:],
    result("keep.py::test_more", "keep-graph.template-outlives-capture-end"),
)


def sample(
    path: Path,
    results: Sequence[TestResult] = GOOD,
    *,
    planned: Mapping[str, tuple[str, ...]] | None = None,
    ended: bool = True,
    started: Sequence[str] = (),
    footer: Mapping[str, Any] | None = None,
    **header: Any,
) -> Record:
    """Write a record of `results` to `path` and read it back.

    Args:
        path: where to.
        results: of the tests that ended.
        planned: the tests to run; those of `results` when left out.
        ended: whether the run came to its footer.
        started: tests that began and did not end.
        footer: its fields to set otherwise.
        **header: its fields to set otherwise.
    """
    plan = {one.test: one.requirements for one in results} if planned is None else planned
    fields: dict[str, Any] = {
        "implementation": "sample.Graph",
        "dialect": "cuda",
        "revision": "2.14",
        "capabilities": {"keep_graph": True, "capture_modes": False},
        "environment": {"torch": "2.14.0", "device": "sample device"},
        "options": {"isolate": True, "shard": None},
        "planned": len(plan),
        "not_applicable": 0,
        "narrowed": False,
        "requirements": REQUIREMENTS,
        "kit_version": "0.1.0",
        "suite_digest": "0123abcd",
        "started_at": "2030-01-02T03:04:05Z",
        "waivers": tuple(_waiver(one) for one in results if one.verdict is Verdict.WAIVED),
        **header,
    }
    if fields["waivers"]:
        fields["options"] = {"waivers": "known.toml sha256:0123", **fields["options"]}
    writer = RecordWriter(path)
    writer.header(Header(**fields), plan)
    for one in results:
        writer.started(one.test)
        writer.result(one)
    for test in started:
        writer.started(test)
    if ended:
        judged = _judged_at_its_end(read_record(path))
        counts = {verdict.value: count for verdict, count in judged.tests.items()}
        end: dict[str, Any] = {
            "counts": counts,
            "verdict": judged.verdict.value,
            "complete": "not_run" not in counts,
            "exit_status": int(judged.exit_status),
            "musts": as_json(judged.musts),
            "advice": as_json(judged.advice),
            "duration_s": 83.0,
            **(footer or {}),
        }
        writer.footer(Footer(**end))
    writer.close()
    return read_record(path)


def _waiver(waived: TestResult) -> dict[str, str]:
    return {"test": waived.test, **{name: text for name, text in (waived.waiver or {}).items() if name != "verdict"}}


def _judged_at_its_end(record: Record) -> Assessment:
    """What `record` comes to once it has a footer."""
    footer = Footer(counts={}, verdict="", complete=True, exit_status=0, duration_s=0, musts={}, advice={})
    return replace(record, footer=footer).as_told
