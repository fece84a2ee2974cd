"""The first file of a package: what else is in it, and what its records come to."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from conformance.records.header import Header
from conformance.records.lines import parse_object
from conformance.records.record import Record, read_record
from conformance.records.result import TestResult
from conformance.records.shapes import check_shape
from conformance.records.verdicts import RunVerdict

#: Of the manifest.
FORMAT = 1
_CLAIMS = {RunVerdict.CONFORMS, RunVerdict.CONFORMS_IN_PART, RunVerdict.DOES_NOT_CONFORM}


@dataclass(frozen=True)
class FileEntry:
    """A file of a package.

    Attributes:
        name: in the archive.
        size: in bytes.
        sha256: of its content.
    """

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class RecordEntry:
    """What a record says, so that nobody has to read it to know what it is.

    Attributes:
        file: its name in the archive.
        implementation, dialect, revision, kit_version, suite_digest, started_at, environment, options: of its header.
        command: that the tests ran with, as the first result has it, without the test; empty without any result.
        verdict: of the run.
        outcome: what may be claimed, in one line.
        chain: the digest of its last line.
    """

    file: str
    implementation: str
    dialect: str
    revision: str
    kit_version: str
    suite_digest: str
    started_at: str
    environment: Mapping[str, str]
    options: Mapping[str, Any]
    command: str
    verdict: str
    outcome: str
    chain: str

    @property
    def claims(self) -> bool:
        """Whether the outcome is one of the three that may be published as such."""
        return self.verdict in {verdict.value for verdict in _CLAIMS}


@dataclass(frozen=True)
class Manifest:
    """What is in a package.

    Attributes:
        kit_version: of the kit that made it.
        redaction: how many paths, names and addresses were taken out of the records, whose chains were then made again;
            ``None`` when they are as their runs wrote them.
        without_claim: whether any record makes no claim.
        records: what they say, in the order of their names.
        files: all but the manifest, in the order of their names.
        format: version of the manifest.
    """

    kit_version: str
    redaction: Mapping[str, int] | None
    without_claim: bool
    records: tuple[RecordEntry, ...]
    files: tuple[FileEntry, ...]
    format: int = FORMAT

    def to_bytes(self) -> bytes:
        """The file."""
        return f"{json.dumps({'format': self.format, **asdict(self)}, indent=2)}\n".encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """The inverse of `to_bytes`.

        Raises:
            ValueError: why no kit has written this, as the rest of a sentence.
        """
        values = parse_object(content)
        if values.get("format") != FORMAT or type(values["format"]) is not int:
            raise ValueError(f"is of format {values.get('format')!r:.40}; this kit reads {FORMAT}")
        try:
            check_shape(values, cls)
        except ValueError as error:
            raise ValueError(f"is malformed: {error}") from None
        manifest = cls(
            values["kit_version"],
            values["redaction"],
            values["without_claim"],
            tuple(RecordEntry(**_known(RecordEntry, entry)) for entry in values["records"]),
            tuple(FileEntry(**_known(FileEntry, entry)) for entry in values["files"]),
        )
        if manifest.to_bytes() != content:
            raise ValueError("is not as the kit writes it: it has other keys, or was edited")
        return manifest


def _known(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    return {entry.name: values[entry.name] for entry in fields(kind)}


def _without_test(command: str) -> str:
    """`command` without its last word, which names a test."""
    try:
        return shlex.join(shlex.split(command)[:-1])
    except ValueError:  # a quote that is never closed
        return ""


class _FirstCommand:
    """Takes the command from the first result."""

    def __init__(self) -> None:
        self.command = ""

    def planned(self, test: str, ids: tuple[str, ...]) -> None:
        """The plan has no command."""

    def result(self, result: TestResult, size: int) -> None:  # noqa: ARG002 - what watches a record is told
        if not self.command:
            self.command = _without_test(result.command)


def described(path: Path, name: str) -> tuple[Record, RecordEntry]:
    """Read the record at `path`; what it says stands in the manifest under `name`.

    Raises:
        RecordError: it cannot be read.
    """
    first = _FirstCommand()

    def watch(_: Header) -> _FirstCommand:
        return first

    record = read_record(path, watch)
    header = record.header
    return record, RecordEntry(
        file=name,
        implementation=header.implementation,
        dialect=header.dialect,
        revision=header.revision,
        kit_version=header.kit_version,
        suite_digest=header.suite_digest,
        started_at=header.started_at,
        environment=header.environment,
        options=header.options,
        command=first.command,
        verdict=record.claim.verdict.value,
        outcome=record.claim.line,
        chain=record.chain.digest,
    )
