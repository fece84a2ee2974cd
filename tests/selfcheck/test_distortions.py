"""Distortions: what is generated from a class, what each operator does, and how a row is judged."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.errors import RequirementError, UsageError
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.requirements.loading import load_registry
from conformance.selfcheck.distortions.answers import on_answers
from conformance.selfcheck.distortions.arguments import on_arguments
from conformance.selfcheck.distortions.call import Mark
from conformance.selfcheck.distortions.calls import on_calls
from conformance.selfcheck.distortions.checking import judge_distortion
from conformance.selfcheck.distortions.distortion import Distortion, chosen, every_distortion
from conformance.selfcheck.distortions.equivalents import Equivalent, equivalents, reason_for, refuse_idle
from conformance.selfcheck.distortions.installing import installed
from conformance.selfcheck.distortions.operator import Means, Operator
from conformance.selfcheck.distortions.page import as_page
from conformance.selfcheck.distortions.sites import Part, Place, Site, Through
from conformance.selfcheck.outcomes import Observed, Outcome
from conformance.selfcheck.table import Table, as_text, verdict


class Box:
    """A class to distort."""

    def __init__(self, start: int = 0) -> None:
        self.total = start
        self.notes: list[Any] = []

    def add(self, amount: int = 1, *, shout: bool = False) -> None:
        if amount < 0:
            raise ValueError(f"negative: {amount}")
        self.total += amount
        self.notes.append((amount, shout))

    def mode(self, capture_error_mode: str = "global") -> None:
        self.notes.append(capture_error_mode)

    def rows(self) -> list[int]:
        return [self.total, self.total + 1, self.total + 2]

    def data(self) -> dict[str, Any]:
        return {"nodes": [{"before": [index], "after": [index + 1]} for index in range(3)]}

    def write(self, path: str) -> None:
        Path(path).write_text(f"one {self.total}\ntwo\nthree\n", encoding="utf-8")


ROWS = (Part((), "list"),)
DATA = (
    Part((), "dict"),
    Part(("nodes",), "list"),
    Part(("nodes", "*", "before"), "list"),
    Part(("nodes", "*", "after"), "list"),
)


def site(name: str, answer: str = "None", parts: tuple[Part, ...] = ()) -> Site:
    return Site(name, Place.GRAPH, name, inspect.signature(getattr(Box, name)), answer, parts)


def distorted(where: Site, operator_name: str) -> tuple[type[Box], Any]:
    """The class under the operator, and the mark."""
    found: list[Operator] = [*on_calls(where), *on_answers(where), *on_arguments(where)]
    operator = next(each for each in found if each.name == operator_name)
    adapter: Any = SimpleNamespace(graph_class=Box, synchronize=lambda: None)
    means = Means(adapter, Mark())
    with installed(where, operator, operator.make(means), adapter) as cls:
        assert isinstance(cls, type)
        return cls, means.mark


@pytest.mark.parametrize(
    ("operator", "totals"),
    [
        ("swallowed", [0, 0, 0]),
        ("once", [1, 1, 1]),
        ("not first", [0, 2, 5]),
        ("every other", [1, 1, 4]),
        ("late", [0, 1, 3]),
        ("twice", [2, 6, 12]),
    ],
)
def test_calls(operator: str, totals: list[int]) -> None:
    cls, mark = distorted(site("add"), operator)
    box = cls()
    seen = []
    for amount in (1, 2, 3):
        box.add(amount)
        seen.append(box.total)
    assert seen == totals
    assert mark.is_set


def test_a_call_for_another_object() -> None:
    cls, mark = distorted(site("add"), "for another")
    one = cls()
    one.add(1)
    assert not mark.is_set
    other = cls()
    other.add(5)
    assert (one.total, other.total) == (6, 0)
    assert mark.is_set
    one.add(7)
    assert (one.total, other.total) == (6, 7)


def test_errors() -> None:
    swallowing, _ = distorted(site("add"), "errors swallowed")
    swallowing().add(-1)
    silent, _ = distorted(site("add"), "errors reworded")
    with pytest.raises(ValueError, match=r"^$"):
        silent().add(-1)
    late, _ = distorted(site("add"), "raises after")
    box = late()
    with pytest.raises(RuntimeError):
        box.add(2)
    assert box.total == 2


@pytest.mark.parametrize(
    ("operator", "answer"),
    [
        ("answers nothing", None),
        ("answers reversed", [7, 6, 5]),
        ("answers rotated", [6, 7, 5]),
        ("answers swapped", [6, 5, 7]),
        ("answers repeated", [5, 5, 6, 7]),
        ("answers cut", [5, 6]),
        ("answers beheaded", [6, 7]),
        ("answers levelled", [5, 5, 5]),
        ("answers as tuple", (5, 6, 7)),
        ("answers emptied", []),
    ],
)
def test_answers(operator: str, answer: Any) -> None:
    cls, mark = distorted(site("rows", "list", ROWS), operator)
    assert cls(5).rows() == answer
    assert mark.is_set


def test_answers_of_other_times_and_objects() -> None:
    rows = site("rows", "list", ROWS)
    for operator, expected in (
        ("answers the first", [1, 1, 1]),
        ("answers the last", [1, 1, 2]),
        ("answers its last", [1, 2, 1]),
        ("answers for another", [2, 1, 2]),
    ):
        cls, mark = distorted(rows, operator)
        one, other = cls(1), cls(2)
        assert [each.rows()[0] for each in (one, other, one)] == expected, operator
        assert mark.is_set == (expected != [1, 2, 1])


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        ("answers before as after", [[1], [2], [3]], [[0], [1], [2]]),
        ("answers nodes before reversed across", [[2], [1], [0]], [[1], [2], [3]]),
        ("answers nodes before rotated across", [[1], [2], [0]], [[1], [2], [3]]),
        ("answers nodes after emptied", [[0], [1], [2]], [[], [], []]),
    ],
)
def test_parts_of_answers(operator: str, before: Any, after: Any) -> None:
    cls, mark = distorted(site("data", "dict", DATA), operator)
    nodes = cls().data()["nodes"]
    assert [each["before"] for each in nodes] == before
    assert [each["after"] for each in nodes] == after
    assert mark.is_set


@pytest.mark.parametrize(
    ("operator", "notes"),
    [
        ("amount dropped", [(1, False), (1, True)]),
        ("amount of before", [(4, False), (4, True)]),
        ("amount kept", [(4, False), (4, True)]),
        ("amount more", [(5, False), (6, True)]),
        ("shout dropped", [(4, False), (5, False)]),
        ("shout always", [(4, True), (5, True)]),
        ("shout never", [(4, False), (5, False)]),
        ("shout negated", [(4, True), (5, False)]),
    ],
)
def test_arguments(operator: str, notes: list[Any]) -> None:
    cls, mark = distorted(site("add"), operator)
    box = cls()
    box.add(4)
    box.add(5, shout=True)
    assert box.notes == notes
    assert mark.is_set


def test_literal_values() -> None:
    cls, _ = distorted(site("mode"), "capture_error_mode global as relaxed")
    box = cls()
    for mode in ("global", "relaxed", "thread_local"):
        box.mode(mode)
    assert box.notes == ["relaxed", "global", "thread_local"]
    cls, _ = distorted(site("mode"), "capture_error_mode other default")
    box = cls()
    box.mode()
    assert box.notes == ["relaxed"]


def test_signatures() -> None:
    cls, _ = distorted(site("add"), "amount by name")
    assert inspect.signature(cls.add).parameters["amount"].kind is inspect.Parameter.KEYWORD_ONLY
    with pytest.raises(TypeError):
        cls().add(1)
    cls, _ = distorted(site("add"), "shout by position")
    box = cls()
    box.add(1, True)  # type: ignore[misc]  # the class's own takes it by name only
    assert box.notes == [(1, True)]
    cls, _ = distorted(site("write"), "path optional")
    assert inspect.signature(cls.write).parameters["path"].default is None
    cls().write()  # type: ignore[call-arg]
    cls, _ = distorted(site("add"), "amount renamed")
    with pytest.raises(TypeError):
        cls().add(amount=1)


def test_a_method_of_an_answer_and_the_answers_own_call() -> None:
    class Maker:
        def make(self) -> Box:
            return Box()

        def double(self, given: Any) -> Any:
            return lambda amount: [amount * given]

    adapter: Any = SimpleNamespace(graph_class=Maker)
    add = Site("make", Place.GRAPH, "make", inspect.signature(Box.add), "None", (), Through.METHOD, "add")
    operator = next(each for each in on_calls(add) if each.name == "swallowed")
    with installed(add, operator, operator.make(Means(adapter, Mark())), adapter) as cls:
        assert isinstance(cls, type)
        box = cls().make()
        box.add(3)
        assert box.total == 0
        assert isinstance(box, Box)
    call = Site("double", Place.GRAPH, "double", inspect.signature(lambda x: x), "Any", (), Through.CALL)
    operator = next(each for each in on_answers(call) if each.name == "answers the first")
    with installed(call, operator, operator.make(Means(adapter, Mark())), adapter) as cls:
        assert isinstance(cls, type)
        doubled = cls().double(2)
        assert [doubled(1), doubled(5)] == [[2], [2]]


def test_a_file_that_is_written(tmp_path: Path) -> None:
    write = Site("write", Place.GRAPH, "write", _path_signature(), "None")
    for operator, text in (
        ("path reversed", "three\ntwo\none 0\n"),
        ("path cut", "one 0\ntwo\n"),
        ("path emptied", ""),
        ("path constant", "graph\n"),
    ):
        cls, mark = distorted(write, operator)
        cls().write(str(tmp_path / "file"))
        assert (tmp_path / "file").read_text(encoding="utf-8") == text
        assert mark.is_set
    cls, _ = distorted(write, "path elsewhere")
    cls().write(str(tmp_path / "absent"))
    assert not (tmp_path / "absent").exists()


def _path_signature() -> inspect.Signature:
    own = inspect.signature(Box.write)
    path = own.parameters["path"].replace(annotation="str | os.PathLike[str]")
    return own.replace(parameters=[own.parameters["self"], path])


# -- the whole ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def every() -> list[Distortion]:
    return every_distortion()


def test_all_documented_members_are_distorted(every: list[Distortion]) -> None:
    assert len(every) >= 900
    assert len({each.id for each in every}) == len(every)
    cuda = {each.site.member for each in every if each.implementation == "reference"}
    assert {"CUDAGraph", "capture_begin", "replay", "reset", "pools", "get_graph_data", "graph"} <= cuda
    assert {"make_graphed_callables", "register_capture_end_hook", "graph_pool_handle"} <= cuda
    methods = {each.site.name for each in every if each.implementation == "reference.accelerator"}
    assert {"Graph.init", "Graph.enter", "Graph.exit"} <= methods


def test_graph_data_is_distorted_part_by_part(every: list[Distortion]) -> None:
    names = {each.name for each in every if each.implementation == "reference"}
    assert "get-graph-data-answers-dependencies-as-dependents" in names
    assert "get-graph-data-answers-nodes-node-type-rotated-across" in names


def test_each_excuse_stands_for_something(every: list[Distortion]) -> None:
    refuse_idle(equivalents(), every)
    with pytest.raises(RequirementError, match="no distortion is called 'reference/fly'"):
        refuse_idle([Equivalent(("reference/fly",), "it does not fly")], every)


def test_patterns_choose(every: list[Distortion]) -> None:
    assert {each.site.member for each in chosen(every, ("reference.xpu/replay-*",))} == {"replay"}
    with pytest.raises(UsageError, match="no distortion is called 'replay'"):
        chosen(every, ("replay",))


def test_each_can_be_applied_and_leaves_the_module_alone(every: list[Distortion]) -> None:
    modules = {each.implementation: each.adapter.module for each in every}  # type: ignore[attr-defined]
    before = {name: dict(vars(module)) for name, module in modules.items()}
    for each in every:
        with each.apply():
            pass
    assert {name: dict(vars(module)) for name, module in modules.items()} == before


def _judged(each: Distortion, results: list[TestResult], excuse: str | None = None) -> Any:
    return judge_distortion(each, frozenset({"replay.performs-work"}), Observed(results), load_registry(), excuse)


def test_rows(every: list[Distortion]) -> None:
    one = replace(next(each for each in every if each.id == "reference/replay-twice"), mark=Mark())
    passed = TestResult("a", ("replay.performs-work",), Verdict.PASS, "call", "")
    failed = replace(passed, test="b", verdict=Verdict.FAIL, expected="one", seen="two")
    killed = _judged(one, [passed, failed])
    assert (killed.outcome, killed.level, killed.requirements) == (Outcome.KILLED, "must", ("replay.performs-work",))
    assert _judged(one, [passed]).message == "no test makes a call in which it differs"
    one.mark.set()
    assert _judged(one, [passed]).message == "no scored requirement rejects it"
    assert _judged(one, [passed]).outcome is Outcome.SURVIVED
    assert _judged(one, [passed], "all the same").outcome is Outcome.EQUIVALENT
    assert _judged(one, [passed, failed], "all the same").outcome is Outcome.FALSE_ALARM
    assert _judged(one, [replace(failed, expected=None)]).outcome is Outcome.WRONG_REASON


def test_an_excuse_is_found_by_pattern(every: list[Distortion]) -> None:
    listed = [Equivalent(("*/replay-t*", "reference/pool-*"), "for some reason")]
    reasons = {each.id: reason_for(each, listed) for each in every}
    assert reasons["reference.xpu/replay-twice"] == "for some reason"
    assert reasons["reference/replay-late"] is None


def test_the_page_shows_what_is_rejected_what_is_excused_and_what_is_owed(every: list[Distortion]) -> None:
    some = [replace(each, mark=Mark()) for each in every if each.id.startswith("reference/replay-")][:3]
    passed = TestResult("a", ("replay.performs-work",), Verdict.PASS, "call", "")
    failed = replace(passed, test="b", verdict=Verdict.FAIL, expected="one", seen="two")
    rows = (_judged(some[0], [failed]), _judged(some[1], [passed], "all the same"), _judged(some[2], [passed]))
    table = Table(rows, {"torch": "2"}, False, "1", "0" * 64, "today", 1.0, 2)
    page = as_page(table)
    assert "| reference | 3 | 1 | 0 | 1 | 1 |" in page
    assert f"| all the same | {some[1].id} |" in page
    assert f"| {some[2].id} | {some[2].about} | survived | no test makes a call in which it differs |" in page
    assert f"| {some[0].name} | {some[0].about} | `replay.performs-work` | must | 1 |" in page
    assert verdict(table) == "3 distortions: 1 killed, 1 survived, 1 equivalent"
    assert f"SURVIVED: {some[2].name} (reference): no test makes" in as_text(table)
    assert Table.from_dict(json.loads(json.dumps(table.to_dict()))).rows == rows
