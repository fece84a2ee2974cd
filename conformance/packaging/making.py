"""Makes a package of records, a report and waiver files; what it writes is verified before it is moved into place."""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from conformance import __version__
from conformance.files import cannot_be_written, moved_into_place
from conformance.packaging.archive import pieces_of, write
from conformance.packaging.limits import (
    ARCHIVE_LIMIT,
    COUNT_LIMIT,
    FILE_LIMIT,
    MANIFEST,
    RECORDS,
    REPORT,
    TOTAL_LIMIT,
    WAIVERS,
    PackageError,
    why_not_a_name,
)
from conformance.packaging.manifest import FileEntry, Manifest, RecordEntry, described
from conformance.packaging.redaction import Redaction, redact_record
from conformance.packaging.verifying import Verification, verify
from conformance.records.lines import LINE_LIMIT, opened, read_content
from conformance.records.record import Record
from conformance.text import visible_line

#: Characters of what was taken out that are looked for in a report: shorter ones stand everywhere.
_LOOKED_FOR = 5


@dataclass(frozen=True)
class Draft:
    """A package, before it is written.

    Attributes:
        manifest: its first file.
        sources: where the others are, by their names in the archive.
        redaction: of its records, or ``None`` when they are as they were.
        remarks: on its records, for who publishes them.
    """

    manifest: Manifest
    sources: dict[str, Path]
    redaction: Redaction | None
    remarks: tuple[str, ...]


@contextmanager
def drafted(
    records: Sequence[Path],
    *,
    redaction: Redaction | None,
    report: Path | None = None,
    waivers: Sequence[Path] = (),
    without_claim: bool = False,
) -> Iterator[Draft]:
    """Draft a package; its records are copies, which are gone behind the ``with`` block.

    Args:
        records: to be published.
        redaction: what is taken out of them, or ``None`` to leave them as they are.
        report: a folder of pages.
        waivers: the files that the records' runs had.
        without_claim: whether records may be among them that make no claim.

    Raises:
        PackageError: why no package can be made of them.
        RecordError: one of them cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="graph-conformance-") as name:
        folder = Path(name)
        try:
            copies = [_copy(path, folder / f"{number}.jsonl", redaction) for number, path in enumerate(records)]
        except OSError as error:
            raise cannot_be_written(f"a copy of a record in {folder.parent}", error) from None
        parts = _named(copies)
        _check_claims(parts, allowed=without_claim)
        sources = {part.entry.file: part.copy for part in parts}
        sources |= _waiver_files(waivers, parts)
        if report is not None:
            sources |= _report_files(report, redaction)
        manifest = Manifest(
            kit_version=__version__,
            redaction=None if redaction is None else dict(redaction.counts),
            without_claim=any(not part.entry.claims for part in parts),
            records=tuple(part.entry for part in parts),
            files=tuple(_entry(each, path) for each, path in sorted(sources.items())),
        )
        remarks = dict.fromkeys(remark for part in parts for remark in part.record.remarks)
        yield Draft(manifest, sources, redaction, tuple(remarks))


def write_package(draft: Draft, output: Path) -> Verification:
    """Write the package at `output`; return what its verification found.

    Raises:
        PackageError: it is larger than a package may be, or a file was changed meanwhile.
        WriteError: the disk is full; an earlier file is as it was.
    """
    if len(draft.sources) >= COUNT_LIMIT:
        raise PackageError(f"a package has at most {COUNT_LIMIT:,} files, and these are {len(draft.sources) + 1:,}")
    if sum(entry.size for entry in draft.manifest.files) > TOTAL_LIMIT:
        raise PackageError(f"these files have more than {TOTAL_LIMIT >> 20:,} MiB together")
    with moved_into_place(output) as [part]:
        write(part, _contents(draft))
        if part.stat().st_size > ARCHIVE_LIMIT:
            raise PackageError(f"the package would be larger than {ARCHIVE_LIMIT >> 20:,} MiB")
        return verify(part, name=str(output))


def _contents(draft: Draft) -> Iterator[tuple[str, Iterator[bytes]]]:
    yield MANIFEST, iter([draft.manifest.to_bytes()])
    for entry in draft.manifest.files:
        yield entry.name, _pieces(entry, draft.sources[entry.name])


def _pieces(entry: FileEntry, path: Path) -> Iterator[bytes]:
    """The content of a file, which has to be the one that its digest is of."""
    digest = hashlib.sha256()
    with opened(path, "file", FILE_LIMIT) as stream:
        for piece in pieces_of(stream):
            digest.update(piece)
            yield piece
    if digest.hexdigest() != entry.sha256:
        raise PackageError(f"{path} was changed while it was read")


def _entry(name: str, path: Path) -> FileEntry:
    digest, size = hashlib.sha256(), 0
    with opened(path, "file", FILE_LIMIT) as stream:
        for piece in pieces_of(stream):
            digest.update(piece)
            size += len(piece)
    return FileEntry(name, size, digest.hexdigest())


# -- records ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """A record of the package.

    Attributes:
        source: where the record is.
        copy: the file that is published.
        record: that this holds.
        entry: what it says.
    """

    source: Path
    copy: Path
    record: Record
    entry: RecordEntry


def _copy(source: Path, target: Path, redaction: Redaction | None) -> _Part:
    """Copy the record at `source`, with what `redaction` leaves of it.

    Raises:
        PackageError: it is refuted, or would come to something else.
    """
    original, before = described(source, "")
    if original.defects:
        # A chain that is made again would hide that the first one was broken.
        raise PackageError(f"{source} is refuted, so it is not packaged: {original.defects[0]}")
    if redaction is None:
        with opened(source, "record", FILE_LIMIT) as stream, target.open("wb") as output:
            shutil.copyfileobj(stream, output)
    else:
        redact_record(source, target, redaction)
    record, entry = described(target, "")
    if (entry.outcome, entry.verdict, record.defects) != (before.outcome, before.verdict, ()):
        raise PackageError(
            f"{source} would come to something else: {entry.outcome}; it was changed meanwhile, or what was redacted "
            "has a meaning to the kit (--no-redact leaves it)"
        )
    return _Part(source, target, record, entry)


def _named(parts: Sequence[_Part]) -> list[_Part]:
    """The parts in an order of their own, each with its name: it does not matter how they were named before.

    Raises:
        PackageError: two are the same.
    """
    named: dict[str, _Part] = {}
    chains: dict[str, Path] = {}
    for part in sorted(parts, key=lambda part: (*_subject(part.entry), part.entry.started_at, part.entry.chain)):
        if part.entry.chain in chains:
            raise PackageError(f"{chains[part.entry.chain]} and {part.source} are the same record")
        chains[part.entry.chain] = part.source
        stem = "-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", word).strip("-.")[:80] for word in _subject(part.entry))
        names = (f"{RECORDS}{stem.strip('-') or 'record'}{end}.jsonl" for end in ("", *_numbers(len(parts))))
        name = next(name for name in names if name.lower() not in {other.lower() for other in named})
        named[name] = replace(part, entry=replace(part.entry, file=name))
    return [named[name] for name in sorted(named)]


def _subject(entry: RecordEntry) -> tuple[str, str, str]:
    return entry.implementation, entry.dialect, entry.revision


def _numbers(count: int) -> Iterator[str]:
    return (f"-{number}" for number in range(2, count + 1))


def _check_claims(parts: Sequence[_Part], *, allowed: bool) -> None:
    for part in parts:
        if not part.entry.claims and not allowed:
            raise PackageError(
                f"{part.source} makes no claim ({part.record.claim.headline}): --without-claim packages it all the same"
            )


# -- what goes with them ----------------------------------------------------------------------------------------------


def _waiver_files(paths: Sequence[Path], parts: Sequence[_Part]) -> dict[str, Path]:
    """The waiver files by their names in the package, which are their digests'.

    Raises:
        PackageError: no record is of a run with one of them.
    """
    named = [str(part.entry.options.get("waivers", "")) for part in parts]
    files = {}
    for path in paths:
        digest = hashlib.sha256(read_content(path, "waiver file")).hexdigest()
        if not any(option.endswith(f"sha256:{digest}") for option in named):
            raise PackageError(f"--waivers={path}: no record is of a run with this file, as it is now")
        files[waiver_name(digest)] = path
    return files


def waiver_name(digest: str) -> str:
    """What the waiver file with that digest is called in a package."""
    return f"{WAIVERS}{digest[:12]}.toml"


def _report_files(folder: Path, redaction: Redaction | None) -> dict[str, Path]:
    """The files of a report by their names in the package.

    Raises:
        PackageError: a file is none that a package may have.
    """
    if not folder.is_dir():
        raise PackageError(f"--report={folder} is no folder")
    files = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        name = f"{REPORT}{path.relative_to(folder).as_posix()}"
        reason = why_not_a_name(name) if stat.S_ISREG(mode) else "it is no plain file"
        if reason is not None:
            raise PackageError(f"{visible_line(path)} cannot be packaged: {reason}")
        files[name] = path
        if redaction is not None:
            _check_redacted(path, redaction)
    if not files:
        raise PackageError(f"--report={folder} has no files")
    return files


def _check_redacted(path: Path, redaction: Redaction) -> None:
    """Refuse a file that holds what was taken out of the records."""
    words = sorted(word.encode() for word in redaction.removed if len(word) >= _LOOKED_FOR)
    if not words:
        return
    content = read_content(path, "file") if path.stat().st_size <= LINE_LIMIT else b""
    for word in words:
        if word in content:
            raise PackageError(
                f"{path} holds {visible_line(word.decode())!r}, which is taken out of the records: make the report "
                "from the records in a package without it"
            )
