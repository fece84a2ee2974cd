"""The record: one run of one implementation as JSON lines, readable to the line where the run died.

The format is described in ``docs/record.md``.  `read_record` is the only reader, and reports need nothing else.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from conformance.errors import RecordError, WriteError, one_line
from conformance.records.assessment import Assessment, Target, assess
from conformance.records.chain import Chain, chained
from conformance.records.claim import Claim, claim
from conformance.records.contents import check_footer, check_header, check_result, check_texts
from conformance.records.defects import defects_of, why_not_compared
from conformance.records.lines import lines_of, read_content
from conformance.records.result import TestResult
from conformance.records.shapes import check_shape
from conformance.records.tested import remarks
from conformance.requirements.registry import Requirement

SCHEMA = 2


@dataclass(frozen=True)
class Header:
    """What a run set out to do, written before its first test.

    Attributes:
        implementation: its name, as ``--impl`` gave it.
        dialect: of the implementation.
        revision: the release whose documents are claimed.
        capabilities: what the adapter declares; what it leaves out is unstated.
        environment: names and versions that a reader needs to repeat the run.
        options: the options of the run that change what it decides.
        planned: the tests to run, each with the requirements that it decides.
        not_applicable: the tests left out because their requirements hold for other dialects or later revisions.
        narrowed: whether the operator asked for a part of the suites only.
        requirements: all requirements that the kit knew, with the levels that they have for the dialect.
        kit_version: of the kit.
        suite_digest: SHA-256 over the suites' and the requirements' files.
        started_at: UTC, ISO 8601.
        waivers: those whose scope the run has, as `conformance.waivers.waiver.Waiver.to_dict` gives them.
        schema: version of the record's format.
    """

    implementation: str
    dialect: str
    revision: str
    capabilities: Mapping[str, bool]
    environment: Mapping[str, str]
    options: Mapping[str, Any]
    planned: Mapping[str, tuple[str, ...]]
    not_applicable: tuple[str, ...]
    narrowed: bool
    requirements: tuple[Requirement, ...]
    kit_version: str
    suite_digest: str
    started_at: str
    waivers: tuple[Mapping[str, str], ...] = ()
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """The header as JSON values."""
        return {
            **{entry.name: getattr(self, entry.name) for entry in fields(self)},
            "requirements": [entry.to_dict() for entry in self.requirements],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Header:
        """The inverse of `to_dict`; keys of later versions are ignored."""
        names = {entry.name for entry in fields(cls)}
        arguments = {name: value for name, value in values.items() if name in names}
        arguments["planned"] = {test: tuple(ids) for test, ids in arguments["planned"].items()}
        arguments["not_applicable"] = tuple(arguments["not_applicable"])
        arguments["waivers"] = tuple(arguments.get("waivers", ()))
        arguments["requirements"] = tuple(Requirement.from_dict(entry) for entry in arguments["requirements"])
        return cls(**arguments)


@dataclass(frozen=True)
class Footer:
    """How a run ended.

    Attributes:
        counts: how many tests have each verdict.
        verdict: of the run; see `conformance.records.verdicts.RunVerdict`.
        musts: how many musts have each verdict.
        advice: how many shoulds have each verdict.
        complete: whether every planned test has a result.
        exit_status: of the run; see `conformance.errors.ExitStatus`.
        duration_s: seconds of wall time.
        not_applicable: as in the header, for runs that learn it late.
        narrowed: as in the header, for runs that learn it late.
        stopped: why the kit could not go on, or ``None``.
        waiver_problems: why waivers failed the run, each with the line to change.
    """

    counts: Mapping[str, int]
    verdict: str
    complete: bool
    exit_status: int
    duration_s: float
    musts: Mapping[str, int]
    advice: Mapping[str, int]
    not_applicable: tuple[str, ...] = ()
    narrowed: bool = False
    stopped: str | None = None
    waiver_problems: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The footer as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Footer:
        """The inverse of `to_dict`; keys of later versions are ignored."""
        names = {entry.name for entry in fields(cls)}
        arguments = {name: value for name, value in values.items() if name in names}
        arguments["not_applicable"] = tuple(arguments.get("not_applicable", ()))
        arguments["waiver_problems"] = tuple(arguments.get("waiver_problems", ()))
        return cls(**arguments)


@dataclass(frozen=True)
class Record:
    """A run as it was recorded.

    Attributes:
        path: where it was read.
        header: what the run set out to do.
        results: of the tests that ended, in order.
        started: all tests that began, in order.
        footer: how it ended, or ``None`` when it was cut short.
        truncated: whether the last line was cut off.
        chain: of its lines.
    """

    path: Path
    header: Header
    results: tuple[TestResult, ...]
    started: tuple[str, ...]
    footer: Footer | None
    truncated: bool
    chain: Chain = field(default_factory=Chain)

    @property
    def complete(self) -> bool:
        """Whether the run came to its end and every planned test has a result."""
        return self.footer is not None and self.footer.complete

    @property
    def died_in(self) -> str | None:
        """The test that began and never ended, when the run was cut short."""
        result_tests = {result.test for result in self.results}
        unfinished = [test for test in self.started if test not in result_tests]
        return unfinished[-1] if self.footer is None and unfinished else None

    @property
    def not_applicable(self) -> tuple[str, ...]:
        """The tests of other dialects or later revisions."""
        in_footer = self.footer.not_applicable if self.footer is not None else ()
        return in_footer or self.header.not_applicable

    @property
    def narrowed(self) -> bool:
        """Whether the operator asked for a part of the suites only; a shard is one."""
        in_footer = self.footer is not None and self.footer.narrowed
        return self.header.narrowed or in_footer or bool(self.header.options.get("shard"))

    @cached_property
    def assessment(self) -> Assessment:
        """The run, judged: the source of every count that is shown; what is refuted makes no claim."""
        return self.as_told.refuted() if self.defects else self.as_told

    @cached_property
    def defects(self) -> tuple[str, ...]:
        """What refutes the record, each a sentence: see `conformance.records.defects`."""
        return defects_of(self, self.as_told)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What readers must know beside the claim, each a sentence without its stop."""
        reason = None if self.defects else why_not_compared(self.header)
        return (*remarks(self.header.environment), *(() if reason is None else (reason,)))

    @cached_property
    def as_told(self) -> Assessment:
        """The run, judged by what the record says, be it refuted or not."""
        return assess(
            self.header.requirements,
            self.results,
            planned=self.header.planned,
            dialect=self.header.dialect,
            revision=self.header.revision,
            capabilities=self.header.capabilities,
            target=Target.of(self.header.options),
            narrowed=self.narrowed,
            stopped=self.footer is not None and self.footer.stopped is not None,
            ended=self.footer is not None,
        )

    @cached_property
    def claim(self) -> Claim:
        """What may be said of the implementation after this run."""
        return claim(
            self.assessment,
            implementation=self.header.implementation,
            dialect=self.header.dialect,
            revision=self.header.revision,
            ending=self._ending(),
            defects=self.defects,
        )

    def _ending(self) -> str:
        """Where a run that was cut short ended, as a sentence; empty for one that came to its end."""
        if self.complete:
            return ""
        if self.footer is not None:
            return "The run ended before every planned test had a result."
        if self.died_in is not None:
            return f"The run died in {self.died_in}."
        if self.started:
            return f"The record ends after {self.started[-1]}, before the run said that it was over."
        return "The record ends before the first test."


class RecordWriter:
    """Appends to one record, each line on disk before the next.

    Raises:
        RecordError: `path` cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digest = ""
        self._is_broken = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Appending, because an earlier record is replaced only once this run is sure to begin.
            self._file: io.FileIO = path.open("ab", buffering=0)
        except OSError as error:
            raise RecordError(f"the record {path} cannot be written: {error.strerror or error}") from None

    def header(self, header: Header) -> None:
        self.resume(0, "")
        self._write("header", header.to_dict())

    def resume(self, size: int, digest: str) -> None:
        """Cut the record to its first `size` bytes, whose last line has that `digest`, and write on from there."""
        self._file.truncate(size)
        self._digest = digest

    def started(self, test: str) -> None:
        self._write("started", {"test": test})

    def result(self, result: TestResult) -> None:
        self._write("result", result.to_dict())

    def reproducer(self, test: str, script: str) -> None:
        """The script of a test whose result was written without one, because its process was lost."""
        self._write("reproducer", {"test": test, "script": script})

    def footer(self, footer: Footer) -> None:
        self._write("footer", footer.to_dict())

    def close(self) -> None:
        self._file.close()

    def _write(self, kind: str, values: Mapping[str, Any]) -> None:
        """Write a line.

        Raises:
            WriteError: it cannot be written; the record ends with the line before, and takes no other.
        """
        if self._is_broken:
            return
        line, digest = chained(self._digest, json.dumps({"kind": kind, **values}, ensure_ascii=True))
        size, rest = os.fstat(self._file.fileno()).st_size, memoryview(f"{line}\n".encode())
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            # A later line that fits would be taken for what followed this one.
            self._is_broken = True
            self._file.truncate(size)
            raise WriteError(
                f"the record {self.path} cannot be written on: {error.strerror or error}; what is there can be read"
            ) from None
        self._digest = digest


def read_record(path: Path | str) -> Record:
    """Read a record, whole or cut short.

    A last line that was cut off and a footer that is missing are no errors: that is what a killed run leaves.

    Raises:
        RecordError: no such file, or one that is not as ``docs/record.md`` says: one line with the file, the number
            of the line and the reason.

    The record of a run that was killed in its first test:

    >>> import tempfile
    >>> header = Header(
    ...     implementation="vendor", dialect="cuda", revision="2.14", capabilities={}, environment={}, options={},
    ...     planned={"test_one": (), "test_two": ()}, not_applicable=(), narrowed=False,
    ...     requirements=(), kit_version="0.1.0", suite_digest="", started_at="2026-01-01T12:00:00+00:00",
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = RecordWriter(Path(folder, "vendor.jsonl"))
    ...     writer.header(header)
    ...     writer.started("test_one")
    ...     writer.close()
    ...     record = read_record(writer.path)
    >>> record.complete, record.died_in
    (False, 'test_one')
    >>> record.claim.headline
    'Incomplete record: no claim.'
    """
    path = Path(path)
    return _parse(path, read_content(path, "record"))


def read_unfinished(path: Path) -> tuple[Record | None, int]:
    """The record at `path` without its footer and its last line if that was cut off, and the bytes that this leaves.

    ``None`` when not even the header was written.

    Raises:
        RecordError: as `read_record`.
    """
    content = read_content(path, "record")
    content = content[: content.rfind(b"\n") + 1]
    last = content.rfind(b"\n", 0, -1) + 1
    if content[last:].startswith(b'{"kind": "footer"'):
        content = content[:last]
    return (_parse(path, content) if content else None), len(content)


def _parse(path: Path, content: bytes) -> Record:
    parts = _Parts(path)
    for number, text, values in lines_of(path, content):
        parts.chain.follow(number, text)
        try:
            parts.take(values)
        except ValueError as error:
            raise RecordError(f"{path}, line {number}: {error}") from None
    return parts.record(truncated=not content.endswith(b"\n"))


class _Parts:
    """What the lines of one record hold, put together in their order."""

    def __init__(self, path: Path) -> None:
        self.chain = Chain()
        self._path = path
        self._header: Header | None = None
        self._footer: Footer | None = None
        self._started: list[str] = []
        self._results: dict[str, TestResult] = {}

    def take(self, values: Mapping[str, Any]) -> None:
        """Take in the next line.

        Raises:
            RecordError: it should be the header of a record of this schema, and is not.
            ValueError: what is wrong with it.
        """
        kind = values.get("kind")
        if self._header is None:
            if kind != "header":
                raise RecordError(f"{self._path} is no record: its first line is not a header")
            self._check_schema(values.get("schema"))
        elif kind == "header":
            raise ValueError("a second header")
        elif self._footer is not None:
            raise ValueError("it comes after the footer")
        if not isinstance(kind, str):
            shown = one_line(repr(kind)[:400], 60)
            raise ValueError(f"its kind is {shown}")  # noqa: TRY004 - a value of a file, no argument
        try:
            self._keep(kind, values)
        except ValueError as error:
            raise ValueError(f"a malformed {kind} line ({error})") from None

    def record(self, *, truncated: bool) -> Record:
        """The record of all the lines."""
        if self._header is None:
            raise RecordError(f"{self._path} is no record: it is empty")
        results, started = tuple(self._results.values()), tuple(self._started)
        return Record(self._path, self._header, results, started, self._footer, truncated, self.chain)

    def _check_schema(self, schema: object) -> None:
        if type(schema) is not int or schema != SCHEMA:
            shown = one_line(repr(schema)[:400], 60)
            raise RecordError(f"{self._path} has schema version {shown}; this kit reads version {SCHEMA}")

    def _keep(self, kind: str, values: Mapping[str, Any]) -> None:
        if kind == "header":
            check_shape(values, Header)
            check_header(values)
            self._header = Header.from_dict(values)
        elif kind == "started":
            check_texts(values, "test")
            self._refuse_second(values["test"])
            self._started.append(values["test"])
        elif kind == "result":
            check_shape(values, TestResult)
            check_result(values)
            self._refuse_second(values["test"])
            self._results[values["test"]] = TestResult.from_dict(values)
        elif kind == "reproducer":
            check_texts(values, "test", "script")
            result = self._results.get(values["test"])
            if result is None:
                raise ValueError(f"no result for {_shown(values['test'])} comes before it")
            self._results[result.test] = replace(result, reproducer=values["script"])
        elif kind == "footer":
            check_shape(values, Footer)
            check_footer(values)
            self._footer = Footer.from_dict(values)

    def _refuse_second(self, test: str) -> None:
        if test in self._results:
            raise ValueError(f"{_shown(test)} has a result already")


def _shown(test: str) -> str:
    return one_line(test if test.isprintable() else repr(test), 200)
