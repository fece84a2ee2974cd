"""Says whether a package is what it says: each file of it, and what its records come to."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from conformance import __version__
from conformance.errors import RecordError, one_line
from conformance.files import cannot_be_written
from conformance.packaging.archive import Archive, open_archive
from conformance.packaging.limits import MANIFEST, RECORDS, WAIVERS, PackageError
from conformance.packaging.manifest import FileEntry, Manifest, RecordEntry, described
from conformance.records.lines import LINE_LIMIT
from conformance.text import further_lines

#: Reasons that a refusal tells, each on a line.
_TOLD = 20
#: Characters of each.
_REASON = 600


@dataclass(frozen=True)
class Verification:
    """A package that is what it says.

    Attributes:
        manifest: of it.
        sha256: of the archive.
        notes: what readers must know of a record, by the record's name.
    """

    manifest: Manifest
    sha256: str
    notes: Mapping[str, tuple[str, ...]]


def verify(path: Path, *, name: str = "") -> Verification:
    """Verify the package at `path`.

    Nothing is unpacked but one record at a time, into a temporary file of a size within the limits.

    Args:
        path: of the archive.
        name: for messages, if it is to be another one.

    Raises:
        PackageError: everything that is wrong with it.
        RecordError: it cannot be read.
    """
    with open_archive(path) as archive:
        manifest = _manifest(archive, name or str(path))
        inspection = _Inspection(archive, manifest)
        reasons = inspection.reasons()
        if reasons:
            more = [f"and {len(reasons) - _TOLD:,} more"] if len(reasons) > _TOLD else []
            told = [one_line(reason, _REASON) for reason in reasons[:_TOLD]]
            raise PackageError(f"{name or path} is refused:{further_lines([*told, *more])}")
        return Verification(manifest, archive.digest(), inspection.notes)


def _manifest(archive: Archive, name: str) -> Manifest:
    size = archive.sizes.get(MANIFEST)
    if size is None:
        raise PackageError(f"{name} is no package: it has no {MANIFEST}")
    if size > LINE_LIMIT:
        raise PackageError(f"{name} is no package: its {MANIFEST} is larger than {LINE_LIMIT >> 20} MiB")
    try:
        return Manifest.from_bytes(b"".join(archive.pieces(MANIFEST)))
    except ValueError as error:
        raise PackageError(f"{name} is no package: its {MANIFEST} {one_line(str(error))}") from None


class _Inspection:
    """Compares the files of an archive with its manifest.

    Attributes:
        notes: on its records, once they were read.
    """

    def __init__(self, archive: Archive, manifest: Manifest) -> None:
        self._archive = archive
        self._manifest = manifest
        self.notes: dict[str, tuple[str, ...]] = {}

    def reasons(self) -> list[str]:
        """What is wrong, each a sentence without its stop."""
        return [*self._of_lists(), *self._of_files(), *self._of_waivers()]

    def _of_lists(self) -> Iterator[str]:
        listed = [entry.name for entry in self._manifest.files]
        records = [entry.file for entry in self._manifest.records]
        for what, names in (("files", listed), ("records", records)):
            if names != sorted(set(names)):
                yield f"the {what} in the {MANIFEST} are not in order, or stand there twice"
        there = self._archive.sizes.keys() - {MANIFEST}
        yield from (f"{name} is missing" for name in sorted(set(listed) - there))
        yield from (f"{name} is not in the {MANIFEST}" for name in sorted(there - set(listed)))
        files = {name for name in listed if name.startswith(RECORDS)}
        yield from (f"{name} is described as a record and is none of the files" for name in sorted({*records} - files))
        yield from (f"{name} is a record that the {MANIFEST} does not describe" for name in sorted(files - {*records}))
        if not records:
            yield "there is no record in it"
        chains = [entry.chain for entry in self._manifest.records]
        if len(set(chains)) < len(chains):
            yield "a record stands in it twice"
        if self._manifest.without_claim != any(not entry.claims for entry in self._manifest.records):
            yield f"the {MANIFEST} does not say rightly whether each record makes a claim"

    def _of_files(self) -> Iterator[str]:
        entries = {entry.file: entry for entry in self._manifest.records}
        for file in self._manifest.files:
            if file.name not in self._archive.sizes:
                continue
            if file.name in entries:
                yield from self._of_record(file, entries[file.name])
            else:
                digest = hashlib.sha256()
                for piece in self._archive.pieces(file.name):
                    digest.update(piece)
                yield from self._of_content(file, digest.hexdigest())

    def _of_content(self, file: FileEntry, digest: str) -> Iterator[str]:
        size = self._archive.sizes[file.name]
        if size != file.size:
            yield f"{file.name} was altered: it has {size:,} bytes, and {file.size:,} are listed"
        elif digest != file.sha256:
            yield f"{file.name} was altered: its SHA-256 is {digest}, and {file.sha256:.64} is listed"

    def _of_record(self, file: FileEntry, entry: RecordEntry) -> Iterator[str]:
        digest = hashlib.sha256()
        try:
            with tempfile.NamedTemporaryFile(prefix="graph-conformance-", suffix=".jsonl") as stream:
                for piece in self._archive.pieces(file.name):
                    digest.update(piece)
                    stream.write(piece)
                stream.flush()
                altered = list(self._of_content(file, digest.hexdigest()))
                yield from altered or self._of_claim(Path(stream.name), entry)
        except OSError as error:
            raise cannot_be_written("a temporary file", error) from None

    def _of_claim(self, path: Path, entry: RecordEntry) -> Iterator[str]:
        """Why the record at `path` is not the one that `entry` describes."""
        try:
            record, found = described(path, entry.file)
        except RecordError as error:
            yield str(error).replace(str(path), entry.file)
            return
        yield from (f"{entry.file} is refuted: {defect}" for defect in record.defects)
        self.notes[entry.file] = record.remarks
        if record.defects:
            return
        other = "" if self._manifest.kit_version == __version__ else f" (to kit {__version__})"
        for each in fields(RecordEntry):
            told, is_so = getattr(entry, each.name), getattr(found, each.name)
            if told != is_so:
                texts = [one_line(str(value), 200) for value in (told, is_so)]
                yield f"{entry.file}: its {each.name} is {texts[0]!r} in the {MANIFEST}; it says{other} {texts[1]!r}"

    def _of_waivers(self) -> Iterator[str]:
        named = [str(entry.options.get("waivers", "")) for entry in self._manifest.records]
        for file in self._manifest.files:
            if not file.name.startswith(WAIVERS):
                continue
            if not any(option.endswith(f"sha256:{file.sha256}") for option in named):
                yield f"{file.name} is a waiver file of no record"
