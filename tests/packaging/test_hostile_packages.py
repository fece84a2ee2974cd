"""Whatever a file holds that is called a package: it is sound or refused for a clear reason, and nothing is left."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
import tempfile
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus
from conformance.packaging.limits import COUNT_LIMIT, FILE_LIMIT
from conformance.packaging.redaction import Redaction
from conformance.records.lines import LINE_LIMIT
from tests.conformance.hostile import rechained, without_chain
from tests.packaging.conftest import Recorded
from tests.packaging.zips import Member, changed, deflated, members_of, zipped

RECORD = "records/fake-cuda-2.13.jsonl"
PAGE = "report/index.html"
MANIFEST = "manifest.json"
#: Bytes and seconds that refusing one may take.
MEMORY, TIME = 96 << 20, 20.0


@pytest.fixture
def good(recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> bytes:
    """A package with a record and a page."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<p>a page</p>", encoding="utf-8")
    words = ["package", str(recorded()), "--output", str(tmp_path / "good.zip"), "--report", str(tmp_path / "site")]
    assert main(words) == ExitStatus.CONFORMING
    capsys.readouterr()
    return (tmp_path / "good.zip").read_bytes()


Make = Callable[[list[Member]], bytes]


@dataclass(frozen=True)
class Hostile:
    """A package that nobody should believe: how it is made of the members of a good one, and what is said of it."""

    make: Make
    says: str


HOSTILE: dict[str, Hostile] = {}


def hostile(name: str, says: str) -> Callable[[Make], Make]:
    def note(make: Make) -> Make:
        assert name not in HOSTILE
        HOSTILE[name] = Hostile(make, says)
        return make

    return note


# -- names ------------------------------------------------------------------------------------------------------------

NAMES: dict[str, tuple[bytes, int]] = {
    "parent": (b"../evil", 0),
    "parent inside": (b"report/../../evil", 0),
    "absolute": (b"/etc/passwd", 0),
    "drive": (b"C:/evil", 0),
    "drive and backslash": (b"C:\\evil", 0),
    "backslashes": (b"report\\..\\..\\evil", 0),
    "share": (b"\\\\server\\share\\evil", 0),
    "nul": (b"report/index.html\0.png", 0),
    "full-width dots": ("report/\uff0e\uff0e/evil".encode(), 0x800),
    "division slash": ("..\u2215evil".encode(), 0x800),
    "letters of another alphabet": ("r\u0435port/index.html".encode(), 0x800),
    "composed otherwise": ("report/u\u0308.html".encode(), 0x800),
    "right to left": ("report/\u202elmth.exe".encode(), 0x800),
    "no utf-8": (b"report/\xff\xfe", 0x800),
    "bytes": (b"report/\x80\x99", 0),
    "folder": (b"report/new/", 0),
    "empty part": (b"report//evil", 0),
    "dot": (b"report/./evil", 0),
    "hidden": (b"report/.git/config", 0),
    "dot at the end": (b"report/evil.", 0),
    "blank at the end": (b"report/evil ", 0),
    "newline": (b"report/a\nsound: evil", 0),
    "escape": (b"report/\x1b[2J", 0),
    "stream": (b"report/index.html:evil", 0),
    "device": (b"report/con.html", 0),
    "home": (b"~/evil", 0),
    "option": (b"report/-rf", 0),
    "long": (b"report/" + b"x" * 60_000, 0),
    "deep": (b"report/" + b"x/" * 50 + b"x", 0),
    "nowhere": (b"evil.py", 0),
    "empty": (b"", 0),
}


def _with(*further: Member) -> Make:
    return lambda members: zipped([*members, *further])


for _name, (_raw, _flags) in NAMES.items():
    _says = {
        "long": "its name is longer than 200 characters",
        "deep": "it lies deeper than 8 folders",
        "nowhere": "there are only manifest.json, records/, waivers/ and report/ in a package",
        "no utf-8": "its list of files cannot be read",
    }.get(_name, "is no portable name of a file")
    HOSTILE[f"name: {_name}"] = Hostile(_with(Member(_raw, b"evil", flags=_flags)), _says)

HOSTILE["twice"] = Hostile(_with(Member(PAGE.encode(), b"other")), f"{PAGE} is there twice")
HOSTILE["twice in two cases"] = Hostile(_with(Member(b"report/INDEX.html")), "report/INDEX.html is there twice")
HOSTILE["manifest twice"] = Hostile(_with(Member(MANIFEST.encode(), b"{}")), f"{MANIFEST} is there twice")

# -- what is no plain file --------------------------------------------------------------------------------------------

PLAIN: dict[str, tuple[dict[str, Any], str]] = {
    "link": ({"mode": 0o120777}, "it is a link"),
    "pipe": ({"mode": 0o010644}, "it is not marked as a plain file"),
    "device": ({"mode": 0o020666}, "it is not marked as a plain file"),
    "folder": ({"mode": 0o040755}, "it is not marked as a plain file"),
    "runs as root": ({"mode": 0o104755}, "it is not marked as a plain file"),
    "of another system": ({"system": 0}, "it is not marked as a plain file"),
    "encrypted": ({"flags": 0x1}, "it is encrypted"),
    "encrypted better": ({"flags": 0x41}, "it is encrypted"),
    "list encrypted": ({"flags": 0x2000}, "it has attributes"),
    "patch": ({"flags": 0x20}, "its list of files cannot be read|it has attributes"),
    "size behind it": ({"flags": 0x8}, "it has attributes"),
    "unpacked": ({"method": 0, "packed": b"<p>a page</p>"}, "it is packed by method 0"),
    "shrunk": ({"method": 1}, "it is packed by method 1,"),
    "deflate64": ({"method": 9}, "it is packed by method 9"),
    "bzip2": ({"method": 12}, "it is packed by method 12"),
    "lzma": ({"method": 14}, "it is packed by method 14"),
    "aes": ({"method": 99}, "it is packed by method 99"),
    "extra": ({"extra": b"\xca\xfe\1\0x"}, "it has attributes"),
    "name in extra": ({"extra": b"\x75\x70\6\0\1\0\0\0\0x"}, "it has attributes|cannot be read"),
    "comment": ({"comment": b"evil"}, "it has attributes"),
    "time": ({"date": 0x5921}, "it has attributes"),
}
for _name, (_values, _says) in PLAIN.items():
    HOSTILE[f"file: {_name}"] = Hostile(
        lambda members, values=_values: zipped(changed(members, PAGE, **values)),  # type: ignore[misc]
        _says,
    )

# -- bombs ------------------------------------------------------------------------------------------------------------


@hostile("bomb", "its files would be more than 200 times as large as the archive")
def _(members: list[Member]) -> bytes:
    return zipped([*members, Member(b"report/zeros", bytes(64 << 20))])


@hostile("bomb that hides its size", f"{PAGE} is not as large as the archive says")
def _(members: list[Member]) -> bytes:
    return zipped(changed(members, PAGE, packed=deflated(bytes(64 << 20))))


@hostile("less than announced", f"{PAGE} is not as large as the archive says")
def _(members: list[Member]) -> bytes:
    return zipped(changed(members, PAGE, size=500))


@hostile("one file too large", f"it is larger than {FILE_LIMIT >> 20:,} MiB")
def _(members: list[Member]) -> bytes:
    return zipped(changed(members, PAGE, size=FILE_LIMIT + 1))


@hostile("too large together", "its files have more than 2,048 MiB together")
def _(members: list[Member]) -> bytes:
    return zipped([*members, *(Member(f"report/{number}".encode(), size=FILE_LIMIT) for number in range(3))])


@hostile("of 4 GiB", "its list of files cannot be read|it is larger than|it has attributes")
def _(members: list[Member]) -> bytes:
    return zipped(changed(members, PAGE, size=0xFFFFFFFF, extra=b"\1\0\x08\0" + b"\xff" * 8))


@hostile("one file under many names", "does not stand where the list of files says|stands another header")
def _(members: list[Member]) -> bytes:
    kernel = Member(b"report/0", bytes(100_000))
    place = zipped([*members, kernel]).index(b"report/0") - 30
    copies = [replace(kernel, name=f"report/{number}".encode()) for number in range(1, 3)]
    listed = b"".join(copy.listed(place) for copy in copies)
    return zipped([*members, kernel], behind_list=listed, count=len(members) + 3)


@hostile("too many files", f"it has more than {COUNT_LIMIT:,} files")
def _(members: list[Member]) -> bytes:
    return zipped([*members, *(Member(f"report/{number}".encode(), packed=b"\3\0") for number in range(COUNT_LIMIT))])


@hostile("a long list behind a low count", "its list of files is not as long as its end says")
def _(members: list[Member]) -> bytes:
    return zipped([*members, *(Member(f"report/{number}".encode()) for number in range(9))], count=len(members))


@hostile("huge manifest", f"its {MANIFEST} is larger than 16 MiB")
def _(members: list[Member]) -> bytes:
    noise = random.Random(0).randbytes(LINE_LIMIT // 2 + 1).hex().encode()
    return zipped(changed(members, MANIFEST, content=noise))


# -- the form of the archive ------------------------------------------------------------------------------------------

CUT = "it does not end as a ZIP archive does"
BETWEEN = "something stands before, behind or between its files"
FORMS: dict[str, tuple[Make, str]] = {
    "empty": (lambda _: b"", CUT),
    "text": (lambda _: b"no archive at all, and long enough to be one", CUT),
    "half": (lambda members: zipped(members)[: len(zipped(members)) // 2], CUT),
    "a byte less": (lambda members: zipped(members)[:-1], CUT),
    "without its beginning": (lambda members: zipped(members)[9:], BETWEEN),
    "without its list": (lambda members: zipped(members)[:9] + zipped(members)[-22:], BETWEEN),
    "a byte behind": (lambda members: zipped(members, behind=b"\0"), CUT),
    "twice in a row": (lambda members: zipped(members) * 2, BETWEEN),
    "program in front": (lambda members: b"#!/bin/sh\n" + zipped(members), BETWEEN),
    "program in front, counted": (lambda members: zipped(members, before=b"#!/bin/sh\n"), "stands another header"),
    "bytes between": (lambda members: zipped(members, between=b"evil"), "stands another header"),
    "bytes behind the list": (lambda members: zipped(members, behind_list=b"evil"), "list of files cannot be read"),
    "comment": (lambda members: zipped(members, comment=b"evil"), CUT),
    "end in a comment": (lambda members: zipped(members, comment=zipped(members)[-22:]), BETWEEN),
    "no files": (lambda _: zipped([]), f"it has no {MANIFEST}"),
    "of two disks": (lambda members: zipped(members, disks=(1, 0)), "it is one part of an archive in several"),
    "of the large kind": (
        lambda members: zipped(members, behind_list=b"PK\6\7" + bytes(16)),
        "it is of the kind for more than 4 GiB",
    ),
    "gzip": (lambda members: gzip.compress(zipped(members)), CUT),
    "another name in front": (
        lambda members: zipped(changed(members, PAGE, local_name=b"report/Index.html")),
        "stands another header",
    ),
    "another size in front": (lambda members: zipped(changed(members, PAGE, local_size=1)), "stands another header"),
    "other flags in front": (lambda members: zipped(changed(members, PAGE, local_flags=1)), "stands another header"),
    "elsewhere": (lambda members: zipped(changed(members, PAGE, place=0)), "does not stand where|another header"),
    "another checksum": (
        lambda members: zipped(changed(members, PAGE, checksum=1)),
        f"{PAGE} was altered: its checksum in the archive is another",
    ),
    "no deflate": (lambda members: zipped(changed(members, PAGE, packed=b"\xff" * 20)), f"{PAGE} cannot be unpacked"),
    "half a file": (
        lambda members: zipped(changed(members, PAGE, packed=deflated(b"<p>a page</p>")[:-3])),
        f"{PAGE} is not as large as the archive says",
    ),
    "bytes behind a file": (
        lambda members: zipped(changed(members, PAGE, packed=deflated(b"<p>a page</p>") + b"evil")),
        f"{PAGE} is not as large as the archive says",
    ),
}
HOSTILE |= {f"form: {name}": Hostile(make, says) for name, (make, says) in FORMS.items()}


@hostile("form: tar", CUT)
def _tar(members: list[Member]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(MANIFEST), io.BytesIO(members[0].content))
    return stream.getvalue()


# -- the manifest -----------------------------------------------------------------------------------------------------

Values = dict[str, Any]


def _manifest(members: list[Member]) -> Values:
    (content,) = (member.content for member in members if member.name == MANIFEST.encode())
    return json.loads(content)  # type: ignore[no-any-return]


def _written(values: Values) -> bytes:
    return f"{json.dumps(values, indent=2)}\n".encode()


def _told(change: Callable[[Values], object]) -> Make:
    """A package whose manifest says something else."""

    def make(members: list[Member]) -> bytes:
        values = _manifest(members)
        change(values)
        return zipped(changed(members, MANIFEST, content=_written(values)))

    return make


def _content(text: bytes) -> Make:
    return lambda members: zipped(changed(members, MANIFEST, content=text))


def _without(name: str) -> Make:
    return lambda members: zipped([member for member in members if member.name != name.encode()])


def _swap_digests(values: Values) -> None:
    first, second = values["files"]
    first["sha256"], second["sha256"] = second["sha256"], first["sha256"]


MANIFESTS: dict[str, tuple[Make, str]] = {
    "missing": (_without(MANIFEST), f"it has no {MANIFEST}"),
    "empty": (_content(b""), "is not JSON"),
    "no JSON": (_content(b"{"), "is not JSON"),
    "no utf-8": (_content(b'{"format": "\xff"}'), "is not JSON"),
    "utf-16": (_content('{"format": 1}'.encode("utf-16")), "is not JSON"),
    "a list": (_content(b"[]"), "is not a JSON object"),
    "deep": (_content(b'{"format":' * 100 + b"1" + b"}" * 100), "is nested deeper than 32 levels"),
    "key twice": (_content(b'{"format": 1, "format": 1}'), "has the key 'format' twice"),
    "of tomorrow": (_told(lambda values: values.update(format=2)), "is of format 2; this kit reads 1"),
    "format true": (_told(lambda values: values.update(format=True)), "is of format True"),
    "without files": (_told(lambda values: values.pop("files")), "is malformed: files is missing"),
    "a size below zero": (_told(lambda values: values["files"][0].update(size=-1)), "is malformed: files is"),
    "another key": (_told(lambda values: values.update(certified=True)), "is not as the kit writes it"),
    "another key of a file": (_told(lambda values: values["files"][0].update(x=1)), "is not as the kit writes it"),
    "written otherwise": (
        lambda members: zipped(changed(members, MANIFEST, content=json.dumps(_manifest(members)).encode())),
        "is not as the kit writes it",
    ),
    "another order": (
        _told(lambda values: values["files"].reverse()),
        "the files in the manifest.json are not in order",
    ),
    "a file missing": (_without(PAGE), f"{PAGE} is missing"),
    "a record missing": (_without(RECORD), f"{RECORD} is missing"),
    "a file more": (_with(Member(b"report/more.html", b"x")), f"report/more.html is not in the {MANIFEST}"),
    "a file altered": (
        lambda members: zipped(changed(members, PAGE, content=b"<p>A page</p>")),
        f"{PAGE} was altered: its",
    ),
    "a file longer": (
        lambda members: zipped(changed(members, PAGE, content=b"longer" * 9)),
        f"{PAGE} was altered: it has",
    ),
    "digests of other files": (_told(_swap_digests), f"{RECORD} was altered: its SHA-256 is"),
    "digest of nothing": (
        _told(lambda values: values["files"][1].update(sha256=hashlib.sha256().hexdigest())),
        f"{PAGE} was altered: its SHA-256 is",
    ),
    "another size": (_told(lambda values: values["files"][1].update(size=1)), f"{PAGE} was altered: it has 13 bytes"),
    "record not described": (
        _told(lambda values: values["records"].clear()),
        "is a record that the manifest.json does not",
    ),
    "page as a record": (
        _told(lambda values: values["records"][0].update(file=PAGE)),
        f"{PAGE} is described as a record and is none of the files",
    ),
    "better outcome": (
        _told(lambda values: values["records"][0].update(outcome="CONFORMS: fake as cuda 2.13: 1 of 1 musts met")),
        f"{RECORD}: its outcome is 'CONFORMS: fake as cuda 2.13: 1 of 1 musts met' in the {MANIFEST}",
    ),
    "better verdict": (
        _told(lambda values: values["records"][0].update(verdict="conforms")),
        "its verdict is 'conforms'",
    ),
    "another name": (
        _told(lambda values: values["records"][0].update(implementation="x")),
        "its implementation is 'x'",
    ),
    "another device": (
        _told(lambda values: values["records"][0]["environment"].update(device_name="Vendor 2")),
        "its environment is",
    ),
    "another command": (_told(lambda values: values["records"][0].update(command="pytest")), "its command is 'pytest'"),
    "other options": (_told(lambda values: values["records"][0]["options"].update(strict=True)), "its options is"),
    "other suites": (_told(lambda values: values["records"][0].update(suite_digest="1")), "its suite_digest is '1'"),
    "another day": (_told(lambda values: values["records"][0].update(started_at="2027")), "its started_at is '2027'"),
    "another chain": (_told(lambda values: values["records"][0].update(chain="0" * 64)), "its chain is '0000"),
    "no claim told": (_told(lambda values: values.update(without_claim=True)), "does not say rightly whether"),
}
HOSTILE |= {f"manifest: {name}": Hostile(make, says) for name, (make, says) in MANIFESTS.items()}

# -- records, in a package whose manifest fits them -------------------------------------------------------------------


def _recorded(change: Callable[[bytes], bytes], **entry: object) -> Make:
    """A package with another record, whose manifest has its digest."""

    def make(members: list[Member]) -> bytes:
        (content,) = (member.content for member in members if member.name == RECORD.encode())
        other = change(content)
        values = _manifest(members)
        values["files"][0] |= {"size": len(other), "sha256": hashlib.sha256(other).hexdigest()}
        values["records"][0] |= entry
        return zipped(changed(changed(members, RECORD, content=other), MANIFEST, content=_written(values)))

    return make


def _edited(edit: Callable[[list[Values]], object]) -> Callable[[bytes], bytes]:
    """Edits the lines of a record, and makes its chain again."""

    def change(content: bytes) -> bytes:
        lines = [json.loads(without_chain(line)) for line in content.decode().splitlines()]
        edit(lines)
        return rechained([json.dumps(line) for line in lines])

    return change


def _make_good(lines: list[Values]) -> None:
    next(line for line in lines if line.get("verdict") == "fail")["verdict"] = "pass"


RECORDS: dict[str, tuple[Make, str]] = {
    "no record": (_recorded(lambda _: b"evil\n"), f"{RECORD} is no record: line 1 is not JSON"),
    "empty": (_recorded(lambda _: b""), f"{RECORD} is no record: it is empty"),
    "another schema": (
        _recorded(lambda content: content.replace(b'"schema": 3', b'"schema": 2')),
        f"{RECORD} has schema version 2; this kit reads version 3",
    ),
    "chain broken": (
        _recorded(lambda content: content.replace(b"promised: p", b"promised: q")),
        f"{RECORD} is refuted: line 7, or one before it, is not the one that was written",
    ),
    "a failure made a success": (
        _recorded(_edited(_make_good)),
        f"{RECORD} is refuted: the counts that it ends with are not those of its results",
    ),
    "a result of no plan": (
        _recorded(_edited(lambda lines: lines.insert(-1, {**lines[-2], "test": "t9"}))),
        f"{RECORD} is refuted: t9 has a result and was not planned",
    ),
    "no end": (_recorded(_edited(lambda lines: lines.pop())), f"{RECORD}: its chain is"),
    "the record twice": (_recorded(lambda content: content + content), f"{RECORD}, line 9: a second header"),
    "another record of that name": (
        _recorded(_edited(lambda lines: lines[0].update(started_at="2026-02-01T00:00:00+00:00"))),
        f"{RECORD}: its started_at is",
    ),
}
HOSTILE |= {f"record: {name}": Hostile(make, says) for name, (make, says) in RECORDS.items()}


@hostile("the same record twice", "a record stands in it twice")
def _(members: list[Member]) -> bytes:
    values, other = _manifest(members), "records/other.jsonl"
    record = next(member for member in members if member.name == RECORD.encode())
    values["records"].append({**values["records"][0], "file": other})
    values["files"].insert(1, {**values["files"][0], "name": other})
    return zipped([*changed(members, MANIFEST, content=_written(values)), replace(record, name=other.encode())])


@hostile("a waiver file of no record", "is a waiver file of no record")
def _(members: list[Member]) -> bytes:
    values, name = _manifest(members), "waivers/0123456789ab.toml"
    values["files"].append({"name": name, "size": 1, "sha256": hashlib.sha256(b"x").hexdigest()})
    return zipped([*changed(members, MANIFEST, content=_written(values)), Member(name.encode(), b"x")])


# -- the tests --------------------------------------------------------------------------------------------------------


def test_the_maker_makes_what_the_kit_writes(good: bytes) -> None:
    """So that a package below is refused for what is wrong with it, and for nothing else."""
    assert zipped(members_of(good)) == good


@pytest.fixture
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, in which nothing may stay; nor may anything come into the working folder."""
    temporary, working = tmp_path / "temporary", tmp_path / "a" / "b" / "c"
    temporary.mkdir()
    working.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.chdir(working)
    before = sorted(tmp_path.rglob("*"))
    yield temporary
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "hostile.zip"])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_package_is_refused(
    good: bytes, tmp_path: Path, nothing_left: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = tmp_path / "hostile.zip"
    path.write_bytes(HOSTILE[name].make(members_of(good)))
    tracemalloc.start()
    began = time.perf_counter()
    status = main(["verify", str(path)])
    duration, (_, peak) = time.perf_counter() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    output, errors = capsys.readouterr()
    assert (status, output) == (ExitStatus.USAGE, ""), errors
    assert errors.startswith(f"graph-conformance: {path} is "), errors
    assert any(says in errors for says in HOSTILE[name].says.split("|")), errors
    assert errors.replace("\n", "").isprintable()
    # One line, or one for each of several reasons.
    assert all(line.startswith("    ") for line in errors.splitlines()[1:])
    assert len(errors) < 2_000
    assert peak < MEMORY
    assert duration < TIME


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) > 120


def test_each_byte_counts(good: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whichever byte is another: it is refused."""
    path = tmp_path / "hostile.zip"
    for place in range(0, len(good), 7):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x11]) + good[place + 1 :])
        assert main(["verify", str(path)]) == ExitStatus.USAGE, place
    capsys.readouterr()


def test_an_archive_in_a_package_is_not_opened(
    recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is in it: a bomb that nobody lights."""
    (tmp_path / "site").mkdir()
    inner = zipped([Member(b"../evil", bytes(64 << 20))])
    (tmp_path / "site" / "inner.zip").write_bytes(zlib.compress(inner) + inner)
    words = ["package", str(recorded()), "--output", str(tmp_path / "p.zip"), "--report", str(tmp_path / "site")]
    assert main(words) == ExitStatus.CONFORMING
    assert main(["verify", str(tmp_path / "p.zip")]) == ExitStatus.CONFORMING
    assert "sound:" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["", "/dev/zero", "missing.zip", "a\0b"])
def test_what_is_no_file_is_refused(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", path or str(tmp_path)]) == ExitStatus.USAGE
    assert " cannot be read: " in capsys.readouterr().err


def test_the_words_of_a_redaction_are_its_own() -> None:
    """What stands for something that was taken out is not taken for something else, so that a second time is none."""
    once = Redaction(["dora"]).text("/home/dora/x.py of dora@site.example and 10.1.2.3, \\\\server\\dora")
    again = Redaction(["dora"])
    assert again.text(once) == once
    assert not again.removed
