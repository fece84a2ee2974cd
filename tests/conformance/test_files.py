"""Nothing that is there is replaced, unless the user says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import checks  # noqa: F401 - before pytester takes stock of modules
from conformance.cli import main
from conformance.errors import ExitStatus, UsageError
from conformance.files import moved_into_place, refuse_to_replace
from conformance.records.record import read_record
from tests.conformance.conftest import Kit

pytest_plugins = ["pytester"]

TESTS = """
@requirement("alpha.one")
def test_one(impl): ...
"""


@pytest.mark.parametrize("words", [(), ("-n1",)])
def test_a_record_is_not_replaced(kit: Kit, words: tuple[str, ...]) -> None:
    kit.tests(TESTS)
    (kit.folder / "run.jsonl").write_text("mine", encoding="utf-8")
    refused = kit.run("--record=run.jsonl", *words)
    assert refused.ret == ExitStatus.USAGE
    assert refused.errlines == ["ERROR: conformance: --record=run.jsonl exists: --force replaces it", ""]
    assert (kit.folder / "run.jsonl").read_text(encoding="utf-8") == "mine"


def test_it_is_by_force(kit: Kit) -> None:
    kit.tests(TESTS)
    (kit.folder / "run.jsonl").write_text("mine", encoding="utf-8")
    assert kit.run("--record=run.jsonl", "--force").ret < ExitStatus.KIT_FAILED
    assert read_record(kit.folder / "run.jsonl").header.implementation == "fake"


def test_so_are_those_of_several_implementations(kit: Kit) -> None:
    kit.tests(TESTS)
    both, taken = "fake.py:Fake,fake.py:Second", kit.folder / "out" / "second.jsonl"
    taken.parent.mkdir()
    taken.write_text("mine", encoding="utf-8")
    refused = kit.run("--record=out", impl=both)
    assert refused.ret == ExitStatus.USAGE
    assert f"ERROR: conformance: --record={Path('out', 'second.jsonl')} exists: --force replaces it" in refused.errlines
    assert taken.read_text(encoding="utf-8") == "mine"
    assert [path.name for path in taken.parent.iterdir()] == ["second.jsonl"]
    assert kit.run("--record=out", "--force", impl=both).ret < ExitStatus.KIT_FAILED
    assert read_record(taken).header.implementation == "second"


def test_an_empty_file_and_a_run_to_go_on_with_are_no_loss(kit: Kit) -> None:
    kit.tests(TESTS)
    (kit.folder / "run.jsonl").touch()
    assert kit.run("--record=run.jsonl").ret != ExitStatus.USAGE
    assert kit.run("--record=run.jsonl").ret == ExitStatus.USAGE
    assert kit.run("--record=run.jsonl", "--resume=run.jsonl").ret != ExitStatus.USAGE
    assert kit.run("--record=run.jsonl", "--collect-only").ret == ExitStatus.CONFORMING


def test_a_report_and_a_merged_record_are_replaced_by_force_only(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    kit.tests(TESTS)
    _, record = kit.recorded("--shard=1/1")
    page, merged = kit.folder / "report" / "report.md", kit.folder / "all.jsonl"
    page.parent.mkdir()
    for file, words in (
        (page, ["report", str(record.path), f"--output={page.parent}"]),
        (merged, ["merge", str(record.path), f"--output={merged}"]),
    ):
        file.write_text("mine", encoding="utf-8")
        capsys.readouterr()
        assert main(words) == ExitStatus.USAGE
        assert capsys.readouterr().err == f"graph-conformance: --output={file} exists: --force replaces it\n"
        assert file.read_text(encoding="utf-8") == "mine"
        assert main([*words, "--force"]) in {ExitStatus.CONFORMING, ExitStatus.NOT_CONFORMING}
        assert file.read_text(encoding="utf-8") != "mine"


def test_a_file_behind_a_link_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("earlier", encoding="utf-8")
    link.symlink_to(file)
    with moved_into_place(link) as [part]:
        part.write_text("later", encoding="utf-8")
        assert file.read_text(encoding="utf-8") == "earlier"
    assert (link.is_symlink(), file.read_text(encoding="utf-8")) == (True, "later")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_whatever_ends_the_writing_leaves_nothing_behind(tmp_path: Path) -> None:
    def begin() -> None:
        with moved_into_place(tmp_path / "one", tmp_path / "two") as [part, _]:
            part.write_text("later", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_is_not_replaced_at_all(tmp_path: Path) -> None:
    for place in (tmp_path, Path("/dev/null")):
        with pytest.raises(UsageError, match="it is not a regular file"), moved_into_place(place):
            pytest.fail("there is nowhere to write to")
    with pytest.raises(UsageError, match="exists: --force replaces it"):
        refuse_to_replace("--output", tmp_path, force=False)


def test_a_report_leaves_out_what_is_refused_where_that_was_asked_for(
    kit: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    kit.tests(TESTS)
    _, record = kit.recorded()
    bad, folder = kit.folder / "bad.jsonl", kit.folder / "report"
    bad.write_bytes(b"")
    words = ["report", str(bad), str(record.path), f"--output={folder}"]
    capsys.readouterr()
    assert main(words) == ExitStatus.USAGE
    assert not folder.exists()
    capsys.readouterr()
    assert main([*words, "--skip-refused"]) == ExitStatus.USAGE
    printed, errors = capsys.readouterr()
    assert errors == f"graph-conformance: {bad} is no record: it is empty\n"
    assert printed.splitlines()[:2] == ["left out: 1 of 2 records, which were refused", f"record:  {record.path}"]
    assert "fake" in (folder / "report.md").read_text(encoding="utf-8")
    assert main(["report", str(bad), "--output", str(folder), "--force", "--skip-refused"]) == ExitStatus.USAGE
    assert "a report needs at least one record" in capsys.readouterr().err
    assert "fake" in (folder / "report.md").read_text(encoding="utf-8")
