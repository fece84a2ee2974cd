"""The command graph-conformance."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance import (
    __version__,
    start,  # noqa: F401 - before pytester takes stock of modules
)
from conformance.cli import main, suites_of_run
from conformance.errors import RecordError
from conformance.paths import HOME
from conformance.requirements.loading import load_registry
from conformance.requirements.revisions import NEWEST
from conformance.session import options
from tests.conformance.test_record import _write

pytest_plugins = ["pytester"]

#: The command, in a process of its own.
COMMAND = ["-c", "from conformance.cli import main; raise SystemExit(main())"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("fly",), "invalid choice: 'fly'"),
        (("doctor", "--fast"), "unknown argument '--fast'"),
        (("run",), "the following arguments are required: --impl"),
        (("requirements", "--level=shall"), "invalid choice: 'shall'"),
        (("requirements", "--area=nowhere"), "--area=nowhere: no such area (known: "),
        (("report", "none.jsonl", "--output=out"), "the record none.jsonl cannot be read"),
        (("report", "--output=out"), "the following arguments are required: RECORD"),
        (("self-check", "--processes=0"), "--processes takes a number from 1 on"),
        (("self-check", "--seeds=2", "--examples=inf"), "--examples=inf: give a number above 0"),
        (("self-check", "--pairs=-1"), "--pairs takes a number from 0 on"),
        (("self-check", "--distortions", "--fault=replays-twice"), "--distortions and --pairs go with --faults,"),
        (("self-check", "--examples=3"), "--examples=3 is for new examples: add --explore or --seeds"),
    ],
)
def test_wrong_use_is_one_line_and_status_4(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 4
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("graph-conformance: ")
    assert message in output.err
    assert output.err.count("\n") == 1


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["--version"])
    assert leaving.value.code == 0
    assert capsys.readouterr().out == f"graph-conformance {__version__}\n"


def test_help_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^    ([a-z-]+)(?:  | *$)", capsys.readouterr().out, re.MULTILINE)
    assert listed == [
        *("run", "report", "merge", "compare", "package", "verify", "waivers", "requirements", "implementations"),
        *("doctor", "new-adapter", "explore", "self-check"),
    ]


def test_help_imports_no_torch() -> None:
    code = "import sys; from conformance.cli import main; main(sys.argv[1:])"
    for words, absent in (("--help",), {"torch"}), (("merge", "--help"), {"torch", "reports"}):
        ending = f"import atexit, sys; atexit.register(lambda: print(sorted({absent!r} & set(sys.modules)))); {code}"
        process = subprocess.run([sys.executable, "-c", ending, *words], capture_output=True, text=True, check=True)
        assert process.stdout.splitlines()[-1] == "[]"


def test_an_installation_without_the_reports_command_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.cli.program.entry_points", lambda **_: ())
    assert main(["report", "run.jsonl", "--output=out"]) == 4
    output = capsys.readouterr().err
    assert output.startswith("graph-conformance: no command 'report': the kit's installation is older than its code")
    assert output.count("\n") == 1


def test_requirements_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    area = next(iter(load_registry().areas))
    assert main(["requirements", f"--area={area}", "--level=must"]) == 0
    output = capsys.readouterr().out
    assert f"{area}." in output
    assert " should " not in output


def test_requirements_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["requirements", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert [entry["id"] for entry in entries] == list(load_registry().requirements)


def test_implementations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["implementations"]) == 0
    output = capsys.readouterr().out
    assert "reference_impl.CUDAGraph" in output
    assert "torch.cuda.CUDAGraph" in output


def test_doctor_says_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert f"kit {__version__}, Python " in output
    assert "plug-in: registered with pytest" in output
    assert "reference: " in output
    assert "torch.cuda: " in output


def test_doctor_finds_a_broken_kit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("conformance.cli.doctor.SUITES", tmp_path)
    assert main(["doctor"]) == 3
    assert f"suites: BROKEN: no test files in {tmp_path}" in capsys.readouterr().out


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The reports, which write next to nothing."""
    import reports as module

    def write(records: list[Path], output: Path, self_check: Path | None, **settings: Any) -> list[Path]:
        page = output / "index.html"
        output.mkdir(parents=True)
        page.write_text(f"{len(records)} records", encoding="utf-8")
        return [page]

    monkeypatch.setattr(module, "write", write)
    return module


def test_report_says_where_it_is_and_the_verdict(
    reports: types.ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = _write(tmp_path / "run.jsonl")
    assert main(["report", str(record), "--output", str(tmp_path / "a" / "b")]) == 0
    page = tmp_path / "a" / "b" / "index.html"
    assert page.read_text(encoding="utf-8") == "1 records"
    assert capsys.readouterr().out.splitlines() == [
        f"record:  {record}",
        "verdict: DOES NOT CONFORM: fake as cuda 2.13: 0 of 1 musts met, 1 not met; 0 of 0 pieces of advice followed",
        "note:    made with other suites than the installed ones, so its plan and requirements were not checked",
        f"report:  {page}",
    ]


def test_report_to_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = _write(tmp_path / "run.jsonl")
    out = record / "out"
    assert main(["report", str(record), "--output", str(out)]) == 4
    assert capsys.readouterr().err == f"graph-conformance: {out} cannot be written: Not a directory\n"


def test_a_refusal_of_the_reports_is_one_line(
    reports: types.ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(records: list[Path], output: Path, self_check: Path | None, **settings: Any) -> list[Path]:
        raise RecordError("two records of one run")

    monkeypatch.setattr(reports, "write", refuse)
    record = _write(tmp_path / "run.jsonl")
    assert main(["report", str(record), "--output", str(tmp_path)]) == 4
    assert capsys.readouterr().err == "graph-conformance: two records of one run\n"


# -- run --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What pytest would have been called with."""
    calls: list[list[str]] = []

    def pytest_main(words: list[str]) -> int:
        calls.append(words)
        return 1

    monkeypatch.setattr("pytest.main", pytest_main)
    return calls


def test_run_hands_its_options_and_the_rest_to_pytest(handed: list[list[str]]) -> None:
    words = [
        "run",
        "--impl=reference,torch.cuda",
        "--device=cpu",
        "--record=r.jsonl",
        "--revision=2.14",
        "-x",
        "-k",
        "a",
    ]
    assert main(words) == 1
    (call,) = handed
    assert {"--impl=reference,torch.cuda", "--device=cpu", "--record=r.jsonl", "--revision=2.14", "-x"} <= set(call)
    assert call[call.index("-k") + 1] == "a"


def _configured(pytester: pytest.Pytester, words: Sequence[str]) -> pytest.Config:
    """The session that ``graph-conformance run`` would start with `words`, before anything is found or run."""
    config = pytester.parseconfig("-s", *words)
    suites_of_run.pytest_configure(config)
    return config


@pytest.mark.parametrize(
    ("words", "places"),
    [
        ((), ("suites",)),
        (("suites/pools",), ("suites/pools",)),
        (("-k", "reset", "-x"), ("suites",)),
        (
            ("suites/reset", "suites/pools/test_tokens.py::test_a"),
            ("suites/reset", "suites/pools/test_tokens.py::test_a"),
        ),
        (("--test=suites/pools/test_tokens.py::test_it[a]",), ("suites/pools/test_tokens.py",)),
        (("--test=suites/nowhere.py::test_it",), ("suites",)),
    ],
)
def test_run_looks_where_it_is_told_from_any_folder(
    handed: list[list[str]], pytester: pytest.Pytester, words: tuple[str, ...], places: tuple[str, ...]
) -> None:
    main(["run", "--impl=reference", *words])
    config = _configured(pytester, handed[0])
    assert config.args == [str(HOME / place) for place in places]


def test_run_prefers_the_folder_that_it_is_in(handed: list[list[str]], pytester: pytest.Pytester) -> None:
    pytester.mkdir("suites")
    main(["run", "--impl=reference", "suites", "nowhere"])
    assert _configured(pytester, handed[0]).args == ["suites", "nowhere"]


@pytest.mark.parametrize("command", ["pytest", "run"])
def test_options_and_paths_come_in_any_order(
    handed: list[list[str]], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    pytester.mkdir("place")
    blocks = [("--impl", "reference"), ("--record", "r.jsonl"), ("--isolate",), ("--explore",), ("place",)]
    # Of all orders enough for each to be first, last, and right before each other one.
    for order in list(itertools.permutations(blocks))[::5]:
        words = list(itertools.chain(*order))
        if command == "run":
            main(["run", *words])
            config = _configured(pytester, handed.pop())
        else:
            config = pytester.parseconfig("-s", *words)
        read = options.read(config)
        assert read is not None
        assert (read.implementations, read.record, read.isolate) == (("reference",), "r.jsonl", "worker"), words
        assert read.explore is not None
        assert config.args == ["place"], words


def test_values_that_may_be_left_out_are_kept_when_they_are_there() -> None:
    words = ["--isolate", "test", "--explore", "17", "--isolate", "suites", "--explore"]
    assert options.separate(words) == ["--isolate=test", "--explore=17", "--isolate=worker", "suites", "--explore"]


@pytest.mark.parametrize("command", ["pytest", "run"])
def test_a_revision_without_documents_is_refused(command: str, tmp_path: Path) -> None:
    way = ["-m", "pytest"] if command == "pytest" else [*COMMAND, "run"]
    process = subprocess.run(
        [sys.executable, *way, "--impl=reference", "--revision=99.0"],
        cwd=HOME if command == "pytest" else tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 4
    (line,) = [line for line in process.stderr.splitlines() if line.startswith("ERROR: ")]
    assert line == (
        "ERROR: conformance: --revision=99.0: the kit quotes no document that is later than "
        f"{NEWEST}, so there is nothing to judge it by"
    )


def test_run_works_from_any_folder_and_minds_no_project_there(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text("class Mine:\n    pass\n", encoding="utf-8")
    process = subprocess.run(
        [sys.executable, *COMMAND, "run", "--impl=mine.py:Mine"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 4
    # Other people's plug-ins may have their say before.
    said = [line for line in process.stderr.splitlines() if line.startswith("ERROR: ")]
    assert len(said) == 1
    assert said[0].startswith("ERROR: conformance: --impl=mine.py:Mine: class Mine is no graph class")
    assert "Traceback" not in process.stdout + process.stderr
