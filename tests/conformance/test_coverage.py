"""What runs decided of the documents, the command that says so, and the generated page."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from conformance import start  # noqa: F401 - before pytester takes stock of modules
from conformance.cli import main
from conformance.records.coverage import cover
from conformance.records.record import Record, read_record
from conformance.records.result import TestResult
from conformance.records.verdicts import Verdict
from conformance.records.writer import RecordWriter
from conformance.requirements.loading import load_documents, load_registry
from conformance.requirements.page import markdown
from conformance.requirements.registry import Registry
from conformance.requirements.statements import Document, Statement
from tests.conformance.test_record import HEADER

ONE = Statement("page.Graph.one", "Graph", "sentence", "One.", ("alpha.one", "alpha.two"))
TWO = Statement("page.replay.two", "replay", "sentence", "Two.", ("alpha.two",))
BETA = Statement("page.Graph.beta", "Graph", "warning", "It may change.", untestable="it is about the future")
PAGE = Document("page", "A page", "2.8", "cuda", (ONE, BETA, TWO))

Recorded = Callable[..., Record]


@pytest.fixture
def recorded(tmp_path: Path, registry: Registry) -> Recorded:
    """Writes a record in which each requirement has one test with a verdict."""

    def write(
        verdicts: Mapping[str, Verdict],
        *,
        dialect: str = "cuda",
        revision: str = "2.13",
        more: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Record:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        planned = {f"test of {identity}": (identity,) for identity in verdicts} | (more or {})
        capabilities = {"pools": True}
        header = dataclasses.replace(
            HEADER,
            dialect=dialect,
            revision=revision,
            capabilities=capabilities,
            options={"waivers": "waivers.toml"},
            planned=len(planned),
            not_applicable=0,
            requirements=tuple(registry.requirements.values()),
            waivers=tuple({"requirement": identity} for identity in verdicts),
        )
        writer = RecordWriter(path)
        writer.header(header, planned)
        for identity, verdict in verdicts.items():
            writer.result(TestResult(f"test of {identity}", (identity,), verdict))
        writer.close()
        return read_record(path)

    return write


@pytest.mark.parametrize("verdict", list(Verdict))
def test_only_an_answer_decides(recorded: Recorded, verdict: Verdict) -> None:
    answers = {Verdict.PASS, Verdict.WAIVED, Verdict.FAIL, Verdict.TIMEOUT, Verdict.CRASH}
    *_, whole = cover(PAGE, [recorded({"alpha.one": Verdict.PASS, "alpha.two": verdict})])
    assert whole.decided == ((ONE, TWO) if verdict in answers else ())
    assert whole.untestable == (BETA,)
    assert whole.undecided == (() if verdict in answers else (ONE, TWO))


def test_what_is_only_recorded_decides_nothing(recorded: Recorded) -> None:
    left_open = Statement("page.Graph.open", "Graph", "sentence", "Open.", ("alpha.left-open",))
    beside = Statement("page.Graph.beside", "Graph", "sentence", "Beside.", ("alpha.one", "alpha.left-open"))
    page = dataclasses.replace(PAGE, statements=(left_open, beside))
    *_, whole = cover(page, [recorded({"alpha.one": Verdict.PASS, "alpha.left-open": Verdict.PASS})])
    assert (whole.decided, whole.recorded, whole.undecided) == ((beside,), (left_open,), ())
    *_, whole = cover(page, [recorded({"alpha.one": Verdict.NOT_RUN, "alpha.left-open": Verdict.PASS})])
    assert (whole.decided, whole.recorded, whole.undecided) == ((), (left_open,), (beside,))


def test_each_requirement_is_needed_and_members_are_counted_apart(recorded: Recorded) -> None:
    graph, replay, whole = cover(PAGE, [recorded({"alpha.two": Verdict.PASS})])
    assert (graph.member, graph.counts) == ("Graph", (2, 0, 0, 1, 1))
    assert (replay.member, replay.counts) == ("replay", (1, 1, 0, 0, 0))
    assert (whole.member, whole.counts) == (None, (3, 1, 0, 1, 1))


def test_runs_are_united(recorded: Recorded) -> None:
    runs = [recorded({"alpha.one": Verdict.PASS}), recorded({"alpha.two": Verdict.FAIL})]
    *_, whole = cover(PAGE, runs)
    assert whole.undecided == ()


def test_runs_of_another_dialect_decide_nothing(recorded: Recorded) -> None:
    *_, whole = cover(PAGE, [recorded({"alpha.one": Verdict.PASS, "alpha.two": Verdict.PASS}, dialect="xpu")])
    assert whole.decided == ()


def test_what_does_not_hold_for_the_run_decides_nothing(recorded: Recorded) -> None:
    late = Statement("page.Graph.late", "Graph", "sentence", "Late.", ("beta.late",))
    page = dataclasses.replace(PAGE, revision="2.14", statements=(late,))
    for revision, decided in (("2.13", ()), ("2.14", (late,))):
        *_, whole = cover(page, [recorded({"beta.late": Verdict.PASS}, revision=revision)])
        assert whole.decided == decided


def test_a_test_that_did_not_run_takes_the_decision_back(recorded: Recorded) -> None:
    record = recorded({"alpha.two": Verdict.PASS}, more={"another test": ("alpha.two",)})
    *_, whole = cover(PAGE, [record])
    assert whole.decided == ()


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command knows one page."""
    monkeypatch.setattr("conformance.cli.requirements.load_documents", lambda: {"page": PAGE})


def test_coverage_lists_what_is_undecided(page: None, recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    record = recorded({"alpha.one": Verdict.SKIPPED, "alpha.two": Verdict.PASS})
    assert main(["requirements", "--coverage", str(record.path)]) == 1
    output = capsys.readouterr().out
    assert [line.split() for line in output.splitlines() if line.startswith("page ")] == [
        ["page", "Graph", "2", "0", "0", "1", "1"],
        ["page", "replay", "1", "1", "0", "0", "0"],
        ["page", "(all)", "3", "1", "0", "1", "1"],
    ]
    assert "it is about the future" in output
    assert output.splitlines()[-1].split() == ["page.Graph.one", "alpha.one,", "alpha.two"]


def test_coverage_without_gaps(page: None, recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [recorded({"alpha.one": Verdict.PASS}), recorded({"alpha.two": Verdict.PASS})]
    assert main(["requirements", "--coverage", *(str(run.path) for run in runs)]) == 0
    assert capsys.readouterr().out.endswith("nothing is undecided\n")


def test_coverage_as_json(page: None, recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    record = recorded({"alpha.two": Verdict.PASS})
    assert main(["requirements", "--json", "--document=page", "--coverage", str(record.path)]) == 1
    *_, whole = json.loads(capsys.readouterr().out)
    assert whole == {
        "document": "page",
        "member": None,
        "decided": ["page.replay.two"],
        "recorded": [],
        "untestable": {"page.Graph.beta": "it is about the future"},
        "undecided": ["page.Graph.one"],
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--coverage", "none.jsonl"), "the record none.jsonl cannot be read"),
        (("--coverage", "none.jsonl", "--document=nowhere"), "--document=nowhere: no such document (known: "),
        (("--area=reset", "--coverage", "none.jsonl"), "--area does not go with --coverage"),
        (("--document=nowhere",), "--document=nowhere: nothing is documented there (known: "),
        (("--revision=new",), "--revision=new: 'new' is not a revision"),
        (("--dialect=cpu",), "invalid choice: 'cpu'"),
        (("--capability=flight",), "invalid choice: 'flight'"),
        (("--level=must", "--check=x.md"), "--check is about all requirements"),
        (("--check=none/x.md",), "none/x.md cannot be read"),
    ],
)
def test_wrong_use(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["requirements", *words]) == 4
    assert message in capsys.readouterr().err


def _listed(capsys: pytest.CaptureFixture[str], *words: str) -> set[str]:
    assert main(["requirements", "--json", *words]) == 0
    return {entry["id"] for entry in json.loads(capsys.readouterr().out)}


def test_filters(capsys: pytest.CaptureFixture[str]) -> None:
    every = load_registry().requirements.values()
    assert _listed(capsys, "--dialect=xpu") == {entry.id for entry in every if "xpu" in entry.dialects}
    assert _listed(capsys, "--capability=rng") == {entry.id for entry in every if entry.capability == "rng"}
    assert _listed(capsys, "--revision=1.10") == {entry.id for entry in every if entry.since == "1.10"}
    assert _listed(capsys, "--document=cuda-2-8") == {
        name for entry in load_documents()["cuda-2-8"].statements for name in entry.requirements
    }
    resets = _listed(capsys, "--document=torch.cuda.CUDAGraph: reset")
    assert "reset.deletes-work" in resets
    assert resets < _listed(capsys, "--document=torch.cuda.CUDAGraph")
    assert _listed(capsys, "--area=reset", "--level=may") == {
        entry.id for entry in every if entry.area == "reset" and entry.level == "may"
    }


# -- the generated page -----------------------------------------------------------------------------------------------


def test_the_page_has_everything(registry: Registry) -> None:
    text = markdown(registry, [PAGE], {"alpha.one": ("suites/a/test_a.py::test_one",)})
    assert "\n### alpha.one\n\nOne is promised.\n" in text
    assert "- `must`, since 2.8, all dialects\n- documented: a page; another page\n" in text
    assert "- decided by `suites/a/test_a.py::test_one`" in text
    assert "- `must`, since 2.8, dialects accelerator\n" in text
    assert "behind pools" in text
    assert "- untestable: it is about the future" in text
    assert "| page.Graph.one | sentence | One. | [alpha.one](#alphaone), [alpha.two](#alphatwo) |" in text
    assert "| page.Graph.beta | warning | It may change. | untestable: it is about the future |" in text


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch, page: None, registry: Registry) -> None:
    """The command knows one page and two areas, and the suites are not collected."""
    monkeypatch.setattr("conformance.cli.requirements.load_registry", lambda: registry)
    monkeypatch.setattr("conformance.session.deciding_tests.tests_by_requirement", lambda: {"alpha.one": ("a::b",)})


def test_a_stale_page_is_refused(sources: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "requirements.md"
    assert main(["requirements", "--markdown", str(file)]) == 0
    assert main(["requirements", "--check", str(file)]) == 0
    assert capsys.readouterr().out == f"written: {file}\nup to date: {file}\n"
    file.write_text(file.read_text(encoding="utf-8").replace("One is promised.", "Two."), encoding="utf-8")
    assert main(["requirements", "--check", str(file)]) == 1
    output = capsys.readouterr().out
    assert output.startswith(f"stale: {file}; write it again: graph-conformance requirements --markdown {file}\n")
    assert "-Two." in output
    assert "+One is promised." in output


def test_the_suites_are_collected_without_an_implementation(tmp_path: Path) -> None:
    code = """
        from conformance.session.deciding_tests import tests_by_requirement
        index = tests_by_requirement()
        assert all(test.startswith("suites/") and "[" not in test for tests in index.values() for test in tests)
        print(*index["signatures.construction"])
    """
    lines = "\n".join(line.strip() for line in code.splitlines())
    process = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert process.stdout == "suites/signatures/test_constructor.py::test_type\n"
