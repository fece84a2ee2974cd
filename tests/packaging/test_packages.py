"""What is packaged, what is taken out of it, and what is refused before anything is written."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus
from conformance.packaging.redaction import Redaction
from conformance.records.record import read_record
from tests.packaging.conftest import Recorded
from tests.packaging.test_hostile_packages import MANIFEST, RECORD

HOME = Path(__file__).parents[2]
PAGE = (HOME / "docs" / "packaging.md").read_text(encoding="utf-8")


def _packaged(*words: object, output: Path) -> int:
    return main(["package", *map(str, words), "--output", str(output)])


def _inside(package: Path, name: str) -> bytes:
    with zipfile.ZipFile(package) as archive:
        return archive.read(name)


def test_a_package_has_the_record_and_what_it_says(recorded: Recorded, tmp_path: Path) -> None:
    output, source = tmp_path / "p.zip", recorded()
    assert _packaged(source, "--no-redact", output=output) == ExitStatus.CONFORMING
    assert _inside(output, RECORD) == source.read_bytes()
    manifest = json.loads(_inside(output, MANIFEST))
    (entry,) = manifest["records"]
    record = read_record(source)
    assert (entry["outcome"], entry["chain"]) == (record.claim.line, record.chain.digest)
    assert (entry["environment"], entry["suite_digest"]) == ({"python": "3.11"}, "0")
    assert shlex.split(entry["command"]) == ["pytest", "--impl=/data/home/dora/backend.py:Adapter"]
    assert (manifest["redaction"], manifest["without_claim"]) == (None, False)


def test_the_same_records_make_the_same_bytes(recorded: Recorded, tmp_path: Path) -> None:
    """Whatever their files are called, and in whichever order they are named."""
    first, second = recorded("a.jsonl"), recorded("z.jsonl", started_at="2026-03-01T00:00:00+00:00")
    (tmp_path / "moved").mkdir()
    moved = second.rename(tmp_path / "moved" / "0.jsonl")
    assert _packaged(first, moved, output=tmp_path / "1.zip") == ExitStatus.CONFORMING
    assert _packaged(moved, first, output=tmp_path / "2.zip") == ExitStatus.CONFORMING
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()
    names = [entry["file"] for entry in json.loads(_inside(tmp_path / "1.zip", MANIFEST))["records"]]
    assert names == ["records/fake-cuda-2.13-2.jsonl", "records/fake-cuda-2.13.jsonl"]


def test_what_names_a_person_or_a_machine_is_taken_out(recorded: Recorded, tmp_path: Path) -> None:
    output = tmp_path / "p.zip"
    assert _packaged(recorded(), "--redact", "gpu-box-7", output=output) == ExitStatus.CONFORMING
    content = b"".join(_inside(output, name) for name in (RECORD, MANIFEST))
    for word in (b"dora", b"the lab", b"/opt", b"gpu-box-7", b"10.1.2.3"):
        assert word not in content
    (tmp_path / "redacted.jsonl").write_bytes(_inside(output, RECORD))
    record = read_record(tmp_path / "redacted.jsonl")
    assert record.defects == ()
    (failure,) = record.notes.troubles("a.b").items
    assert failure.message == 'promised: p\nseen: File "[path]/vendor.py", line 3, on [name] ([host])'
    assert failure.frames == ("[path]/graph.py:7 in replay",)
    assert failure.calls == ("g0.debug_dump('[path]/graph.dot') raised OSError: no [path]",)
    assert failure.graphs[0]["nodes"] == [{"kind": "Kernel", "label": "[path]/kernels.cu:12"}]
    assert json.loads(_inside(output, MANIFEST))["redaction"] == {"paths": 7, "names": 1, "addresses": 1}


def test_a_redacted_record_is_not_changed_again(recorded: Recorded, tmp_path: Path) -> None:
    assert _packaged(recorded(), output=tmp_path / "1.zip") == ExitStatus.CONFORMING
    (tmp_path / "redacted.jsonl").write_bytes(_inside(tmp_path / "1.zip", RECORD))
    assert _packaged(tmp_path / "redacted.jsonl", output=tmp_path / "2.zip") == ExitStatus.CONFORMING
    assert _inside(tmp_path / "1.zip", RECORD) == _inside(tmp_path / "2.zip", RECORD)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-I/usr/include/lab -L/opt/lib", "-I[path] -L[path]"),
        ("~/lab/run.sh", "[path]"),
        ("~\\x\\a.py", "[path]/a.py"),
        ("C:\\Users\\dora\\a b.py", "[path] b.py"),
        ("\\\\server\\share\\x.log", "[path]/x.log"),
        ("file:///srv/x/y.so.1", "[path]/y.so.1"),
        ("error:/srv/x/y", "error:[path]"),
        ("'/srv/two words/y'", "'[path]'"),
        ("http://dora:secret@site/x", "http://[user]@site/x"),
        ("ask dora@site.example", "ask [user]@[host]"),
        ("Dora's _dora_ dorado", "[name]'s _[name]_ dorado"),
        ("192.168.0.7:80", "[host]:80"),
    ],
)
def test_what_is_taken_out(text: str, shown: str) -> None:
    assert Redaction(["dora"]).text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "https://pytorch.org/docs/stable/notes/cuda.html",
        "a / b / c, 1/2 and and/or",
        "vendor/graph.py:12 in replay",
        "driver 535.104.05, cuDNN 9.1.0.70",
        "weights @ x.T and a@b.mean()",
        "seen:\nnone\\n",
        "/srv and '/' and ../x",
    ],
)
def test_what_stays(text: str) -> None:
    assert Redaction(["dora"]).text(text) == text


@pytest.mark.parametrize("text", ["a" * (1 << 20), "/" * (1 << 20), "a." * (1 << 19), "'/a" * (1 << 18), "@a.a" * 9999])
def test_redaction_of_a_long_text_ends(text: str) -> None:
    assert isinstance(Redaction(["dora"]).text(text), str)


def test_a_preview_writes_nothing(recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded()
    before = sorted(tmp_path.iterdir())
    assert main(["package", str(path), "--preview"]) == ExitStatus.CONFORMING
    output = capsys.readouterr().out
    assert "+ [path]/graph.py:7 in replay\n" in output
    assert "- /opt/lab/graph.py:7 in replay\n" in output
    assert '"outcome": "DOES NOT CONFORM: fake as cuda 2.13' in output
    assert sorted(tmp_path.iterdir()) == before


def test_without_a_claim_only_with_that_word(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "p.zip"
    path = recorded(dialect="unknown", revision="unknown", ended=False)
    assert _packaged(path, output=output) == ExitStatus.USAGE
    assert "makes no claim" in capsys.readouterr().err
    assert not output.exists()
    assert _packaged(path, "--without-claim", output=output) == ExitStatus.CONFORMING
    assert main(["verify", str(output)]) == ExitStatus.NOT_CONFORMING
    assert "sound:" in capsys.readouterr().out


def test_what_is_refuted_is_not_packaged(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded()
    path.write_bytes(path.read_bytes().replace(b"promised", b"promisEd"))
    assert _packaged(path, "--without-claim", output=tmp_path / "p.zip") == ExitStatus.USAGE
    assert "is refuted, so it is not packaged: line" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a b.html", ".hidden", "con.css"])
def test_a_report_has_portable_names(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / name).write_text("x", encoding="utf-8")
    assert _packaged(recorded(), "--report", tmp_path / "site", output=tmp_path / "p.zip") == ExitStatus.USAGE
    assert "is no portable name of a file" in capsys.readouterr().err
    assert not (tmp_path / "p.zip").exists()


def test_a_report_has_no_links_and_nothing_that_is_taken_out(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<p>/opt/lab/graph.py:7</p>", encoding="utf-8")
    words = (recorded(), "--report", site)
    assert _packaged(*words, output=tmp_path / "p.zip") == ExitStatus.USAGE
    assert "holds '/opt/lab/graph.py', which is taken out of the records" in capsys.readouterr().err
    (site / "index.html").unlink()
    (site / "index.html").symlink_to("/etc/hostname")
    assert _packaged(*words, output=tmp_path / "p.zip") == ExitStatus.USAGE
    assert "it is no plain file" in capsys.readouterr().err


def test_waivers_are_those_of_a_run(recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "known.toml"
    file.write_bytes(b"[[waiver]]\n")
    digest = hashlib.sha256(b"[[waiver]]\n").hexdigest()
    path = recorded(options={"waivers": f"known.toml sha256:{digest}"})
    assert _packaged(path, "--waivers", file, output=tmp_path / "p.zip") == ExitStatus.CONFORMING
    assert _inside(tmp_path / "p.zip", f"waivers/{digest[:12]}.toml") == b"[[waiver]]\n"
    file.write_bytes(b"# another\n")
    assert _packaged(path, "--waivers", file, "--force", output=tmp_path / "p.zip") == ExitStatus.USAGE
    assert "no record is of a run with this file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--output=FILE is missing"),
        (("--output", "p.zip", "--report", "nowhere"), "--report=nowhere is no folder"),
        (("--output", "p.zip", "--redact", "x", "--no-redact"), "not allowed with argument"),
    ],
)
def test_wrong_use_is_refused(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert main(["package", str(recorded()), *words]) == ExitStatus.USAGE
    assert says in capsys.readouterr().err


def test_the_same_record_is_packaged_once(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _packaged(recorded("a.jsonl"), recorded("b.jsonl"), output=tmp_path / "p.zip") == ExitStatus.USAGE
    assert "are the same record" in capsys.readouterr().err


def test_the_page_shows_what_verify_prints(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """But for digests and sizes."""
    recorded()
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```\n(\$ graph-conformance package .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    shown, printed = io.StringIO(), io.StringIO()
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            assert main(shlex.split(line)[2:]) == ExitStatus.CONFORMING
            printed.write(capsys.readouterr().out)
        else:
            shown.write(line)
    assert re.sub("SHA-256 [0-9a-f]{64}", "SHA-256 …", printed.getvalue()) == shown.getvalue()
