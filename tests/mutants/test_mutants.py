"""The tool on a backend of a few lines, of which it is known what the tests notice."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tools.mutants.code_trees import Live, differing, outermost, tree
from tools.mutants.plan import ROOT, Mutant, Plan, PlanError, check_part, digest
from tools.mutants.results import Outcome, Result, Results
from tools.mutants.table import EXPLAINED, Equivalent, Undocumented, as_markdown, explanations

TINY = "tests/mutants/tiny/backend.py"
SOURCE = (ROOT / TINY).read_text(encoding="utf-8")

CHANGES = {
    "wrong count": ("self.calls = self.calls + 1", "self.calls = self.calls - 1", Outcome.KILLED),
    "free name lost": ("super().replay()", "pass", Outcome.KILLED),
    "property": ("return self.calls % 2 == 0", "return self.calls % 2 != 0", Outcome.KILLED),
    "never there": ("if self.calls > 255:", "if self.calls > 254:", Outcome.SURVIVED),
    "not run": ("return 1", "return 2", Outcome.NOT_REACHED),
    "endless": ("return method(self, *args)", "while True: pass", Outcome.TIMEOUT),
}


def mutant(old: str, new: str) -> Mutant:
    """`SOURCE` with the one line that holds `old` changed."""
    lines = SOURCE.split("\n")
    (place,) = (number for number, line in enumerate(lines, 1) if old in line)
    changed = (lines[place - 1].replace(old, new),)
    return Mutant(
        TINY, "?", place, "by hand", place, place, place, place, changed, f"- {old}\n+ {new}", 1, runnable=True
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A plan of the changes, and the results of running it."""
    folder = tmp_path_factory.mktemp("mutants")
    plan, output = folder / "plan.json", folder / "results.jsonl"
    Plan({TINY: digest(SOURCE)}, tuple(mutant(old, new) for old, new, _ in CHANGES.values())).write(plan)
    run(plan, output)
    return plan, output


def run(plan: Path, output: Path, *further: str) -> None:
    command = [sys.executable, "-m", "tools.mutants", "run", str(plan), "--output", str(output), "--processes", "2"]
    command += [f"--impl={TINY}:Counting", "--suites", "tests/mutants/tiny/suite.py", "--test-limit", "1", *further]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stderr[-2000:]


@pytest.mark.parametrize("name", CHANGES)
def test_outcome(results: tuple[Path, Path], name: str) -> None:
    old, new, expected = CHANGES[name]
    result = Results.read([results[1]]).by_id[mutant(old, new).id]
    assert result.outcome is expected, result
    if expected is Outcome.KILLED:
        assert result.test.startswith("tests/mutants/tiny/suite.py::test_count")
        assert result.requirements


def test_goes_on_after_the_last_whole_line(results: tuple[Path, Path]) -> None:
    plan, output = results
    lines = output.read_text(encoding="utf-8").split("\n")
    cut = output.with_name("cut.jsonl")
    cut.write_text("\n".join([*lines[:4], lines[4][:20]]), encoding="utf-8")
    run(plan, cut, "--skip", str(cut))
    assert set(Results.read([cut]).by_id) == set(Results.read([output]).by_id)
    assert len([line for line in cut.read_text(encoding="utf-8").split("\n") if '"outcome"' in line]) == len(CHANGES)


def test_a_changed_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="has changed since the plan was made"):
        Plan({TINY: digest("")}, ()).originals(ROOT, [TINY])


def test_parts_are_all_of_it() -> None:
    plan = Plan({TINY: digest(SOURCE)}, tuple(mutant(old, new) for old, new, _ in CHANGES.values()))
    parts = [plan.part(number, 4) for number in range(1, 5)]
    assert sorted(each.id for part in parts for each in part) == sorted(each.id for each in plan.mutants)
    assert check_part("2/4") == (2, 4)
    for wrong in ("0/4", "5/4", "1", "a/b"):
        with pytest.raises(PlanError):
            check_part(wrong)


# -- code trees -------------------------------------------------------------------------------------------------------

PROGRAM = """
def outer(a):
    def inner(b):
        return [each for each in b if each in a]
    return inner

class Box:
    size = 1
    value = property(lambda self: self.size)
"""


@pytest.mark.parametrize(
    ("old", "new", "call", "expected"),
    [
        ("if each in a", "if each not in a", lambda space: space["kept"]([1, 2]), [2]),
        ("if each in a", "if True", lambda space: space["kept"]([1, 2]), [1, 2]),
        ("self.size", "-self.size", lambda space: space["Box"]().value, -1),
    ],
)
def test_live_functions_change(old: str, new: str, call: Callable[[dict[str, Any]], object], expected: object) -> None:
    """A closure, also where the change takes its free name; a function that only a property holds."""

    def compiled(source: str) -> CodeType:
        return compile(source, "<program>", "exec", dont_inherit=True)

    space: dict[str, Any] = {}
    exec(compiled(PROGRAM), space)  # noqa: S102  # the program above
    space["kept"] = space["outer"]([1])
    live, mutated = Live({"<program>"}), PROGRAM.replace(old, new)
    before, after = tree(compiled(PROGRAM)), tree(compiled(mutated))
    (top,) = {outermost(before, way) for way in differing(before, after)}
    assert top is not None
    assert live.change(compiled(PROGRAM), compiled, mutated, top) > 0
    assert call(space) == expected


def test_what_stands_in_a_class_is_in_no_function() -> None:
    before = tree(compile(PROGRAM, "<program>", "exec"))
    after = tree(compile(PROGRAM.replace("size = 1", "size = 2"), "<program>", "exec"))
    assert [outermost(before, way) for way in differing(before, after)] == [None]


# -- the generator ----------------------------------------------------------------------------------------------------

TEXTS = '''
def checked(value: int = 1) -> int:
    """Says what it does."""
    if value < 0:
        raise ValueError(f"negative: {value + 1}", "so there")
    assert value != 7, "unlucky " + "number"
    for each, other in zip(range(2), [value, value], strict=True):
        check(None, "an", each + other, "addition")
        _log.info("so far so good", each)
    return value
'''


def test_generated_mutants() -> None:
    """Texts and annotations are left alone; the rest of the program is not."""
    pytest.importorskip("mutmut")
    from tools.mutants.generate import mutants_of

    mutants = mutants_of("program.py", TEXTS)
    assert {"+ if value <= 0:", "+ pass", "+ return None"} <= {
        line for each in mutants for line in each.diff.split("\n")
    }
    added = [line for each in mutants for line in each.diff.split("\n") if line.startswith("+")]
    assert {line for line in added if "check(" in line} >= {'+ check(None, "an", each - other, "addition")'}
    assert not any(end in line for line in added for end in ("(None, None,", "other, None)", "other, )"))
    assert not any("_log" in each.diff for each in mutants)
    assert all("strict=True" in line for line in added if "zip(" in line)
    assert not any(
        '"' in each.diff.partition("\n+")[2].partition(",")[0] for each in mutants if "check(" not in each.diff
    )
    assert [each.function for each in mutants if not each.runnable] == ["<module>"]
    for each in mutants:
        compile(each.source(TEXTS), "program.py", "exec")
        assert len(each.source(TEXTS).split("\n")) == len(TEXTS.split("\n"))


# -- the table --------------------------------------------------------------------------------------------------------


def test_table() -> None:
    changes = [mutant(old, new) for old, new, _ in CHANGES.values()]
    outcomes = (Outcome.KILLED, Outcome.TIMEOUT, Outcome.SURVIVED, Outcome.SURVIVED, Outcome.NOT_REACHED)
    by_id = {each.id: Result.of(each, outcome) for each, outcome in zip(changes, outcomes, strict=False)}
    explained = [Equivalent(TINY, "?", changes[2].diff, "never there"), Equivalent(TINY, "?", "- a\n+ b", "gone")]
    page = as_markdown(Results({TINY: {"mutants": 7, "runnable": 6}}, by_id), explained)
    assert f"| {TINY} | 7 | 1 | 1 | 2 | 1 | 1 | 1 | 0 | 1 | 0 | 50.0 % |" in page
    assert "no such mutant" in page
    assert "- a + b" in page


def test_table_without_what_no_document_describes() -> None:
    """A function by its name, and a class by its own; but what was killed there is killed."""
    places = {"Box.open": Outcome.SURVIVED, "Box.close": Outcome.KILLED, "Boxes.open": Outcome.SURVIVED}
    by_id = {
        name: Result(name, TINY, name, 1, "by hand", "- a\n+ b", outcome)
        for name, outcome in (places | {"help": Outcome.NOT_REACHED}).items()
    }
    explained = [Undocumented(TINY, "Box", "for show"), Undocumented(TINY, "help", "for show")]
    page = as_markdown(Results({TINY: {"mutants": 4, "runnable": 4}}, by_id), explained)
    assert f"| {TINY} | 4 | 0 | 0 | 1 | 0 | 1 | 0 | 0 | 0 | 2 | 50.0 % |" in page
    assert "## Explained" not in page


def test_results_of_a_plan() -> None:
    """Those of other mutants do not count; that the lines above have changed does not matter."""
    present, gone = (mutant(old, new) for old, new, _ in list(CHANGES.values())[:2])
    results = Results({}, {each.id: Result.of(each, Outcome.KILLED) for each in (present, gone)})
    moved = dataclasses.replace(present, line=present.line + 5)
    of = results.of(Plan({TINY: digest(SOURCE)}, (moved,)))
    assert {result.line for result in of.by_id.values()} == {moved.line}
    assert of.totals == {TINY: {"mutants": 1, "runnable": 1}}


def test_explanations_file(tmp_path: Path) -> None:
    file = tmp_path / "explained.toml"
    file.write_text(
        '[[equivalent]]\nmodule = "m"\nfunction = "f"\nchanges = ["- a ⏎ + b"]\nreason = "r"\n'
        '[[undocumented]]\nmodule = "m"\nfunctions = ["g", "h"]\nreason = "r"\n'
    )
    expected = [Equivalent("m", "f", "- a\n+ b", "r"), Undocumented("m", "g", "r"), Undocumented("m", "h", "r")]
    assert explanations(file) == expected
    for wrong in ('[[equivalent]]\nmodule = "m"\n', '[[undocumented]]\nmodule = "m"\nfunctions = "g"\nreason = "r"\n'):
        file.write_text(wrong)
        with pytest.raises(PlanError, match="an entry has"):
            explanations(file)
    file.write_text('[[unexplained]]\nmodule = "m"\n')
    with pytest.raises(PlanError, match="unexplained"):
        explanations(file)


def test_own_explanations_name_modules_that_there_are() -> None:
    for each in explanations(EXPLAINED):
        assert (ROOT / each.module).is_file(), each
        assert len(each.reason) > 20, each


def test_results_are_json_lines(results: tuple[Path, Path]) -> None:
    head, *further = results[1].read_text(encoding="utf-8").splitlines()
    header = json.loads(head)
    assert header["totals"] == {TINY: {"mutants": len(CHANGES), "runnable": len(CHANGES)}}
    assert {"started", "suites", "python", "torch"} <= header["environment"].keys()
    assert len(further) == len(CHANGES)
