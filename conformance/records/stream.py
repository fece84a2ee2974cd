"""Reads a record once, from its first line to its last, and checks each against those before it.

What it keeps of the tests is a `conformance.records.plan.Plan`; whoever needs more of them takes it from what passes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from conformance.errors import RecordError, one_line
from conformance.records.chain import Chain
from conformance.records.contents import (
    check_footer,
    check_header,
    check_plan,
    check_reproduction,
    check_result,
    check_texts,
)
from conformance.records.footer import Footer
from conformance.records.header import SCHEMA, Header
from conformance.records.lines import Line, lines_of, opened
from conformance.records.plan import Plan, function_of, shown
from conformance.records.result import TestResult
from conformance.records.shapes import check_shape


class Planned(NamedTuple):
    """A test that is to run, what it decides, and the digest of its code, where the record has it."""

    test: str
    requirements: tuple[str, ...]
    digest: str | None = None


class LeftOut(NamedTuple):
    """A test of other dialects or later revisions."""

    test: str


class Started(NamedTuple):
    """A test that began."""

    test: str


class Attempted(NamedTuple):
    """A run of a test that was to run again."""

    result: TestResult


class Ended(NamedTuple):
    """A test that has a result, on a line of so many bytes."""

    result: TestResult
    size: int


class Reproduced(NamedTuple):
    """A script for a test that has a result."""

    test: str
    script: str


class Tried(NamedTuple):
    """What running the script of a test alone came to."""

    test: str
    reproduction: Mapping[str, str]


Entry = Header | Planned | LeftOut | Started | Attempted | Ended | Reproduced | Tried | Footer


class RecordStream:
    """The entries of one record, in their order.

    Args:
        path: of the record.
        unfinished: pass over a last line without an end, even if nothing else of it is missing.

    Attributes:
        plan: the tests that were seen so far.
        chain: of the lines.
        footer: the last line, once it was seen.
        truncated: whether the last line has no end.
        size: the bytes of the whole lines in front of the footer.
        digest: of the last of them.
    """

    def __init__(self, path: Path, *, unfinished: bool = False) -> None:
        self.plan = Plan()
        self.chain = Chain()
        self.footer: Footer | None = None
        self.truncated = False
        self.size = 0
        self.digest = ""
        self._path = path
        self._unfinished = unfinished
        self._header: Header | None = None
        self._tests_began = False

    @property
    def plan_is_whole(self) -> bool:
        """Whether every test that the header counts was named."""
        header = self._header
        return header is not None and (self.plan.planned, self.plan.left_out) == (header.planned, header.not_applicable)

    def __iter__(self) -> Iterator[Entry]:
        """Read the record.

        Raises:
            RecordError: it is not as ``docs/record.md`` says: one line with the file, the number of the line and the
                reason.
        """
        with opened(self._path, "record") as stream:
            for line in lines_of(self._path, stream, ended=self._unfinished):
                self.chain.follow(line.number, line.text)
                try:
                    yield from self._entries(line)
                except ValueError as error:
                    raise RecordError(f"{self._path}, line {line.number}: {error}") from None
                if self.footer is None:
                    self.size, self.digest = stream.tell(), self.chain.digest
            self.truncated = _is_cut(stream)
        if self._header is None and not self._unfinished:
            raise RecordError(f"{self._path} is no record: it is empty")

    def _entries(self, line: Line) -> Iterator[Entry]:
        """What the next line holds.

        Raises:
            RecordError: it should be the header of a record of this schema, and is not.
            ValueError: what is wrong with it.
        """
        values, kind = line.values, line.values.get("kind")
        if self._header is None:
            if kind != "header":
                raise RecordError(f"{self._path} is no record: its first line is not a header")
            self._check_schema(values.get("schema"))
        elif kind == "header":
            raise ValueError("a second header")
        elif self.footer is not None:
            raise ValueError("it comes after the footer")
        if not isinstance(kind, str):
            text = one_line(repr(kind)[:400], 60)
            raise ValueError(f"its kind is {text}")  # noqa: TRY004 - a value of a file, no argument
        try:
            yield from self._of_kind(kind, values, len(line.text))
        except ValueError as error:
            raise ValueError(f"a malformed {kind} line ({error})") from None

    def _check_schema(self, schema: object) -> None:
        if type(schema) is not int or schema != SCHEMA:
            text = one_line(repr(schema)[:400], 60)
            raise RecordError(f"{self._path} has schema version {text}; this kit reads version {SCHEMA}")

    def _of_kind(self, kind: str, values: Mapping[str, Any], size: int) -> Iterator[Entry]:
        if kind in {"started", "attempt", "result", "reproducer", "reproduction", "footer"}:
            self._end_the_plan()
        if kind == "header":
            check_shape(values, Header)
            check_header(values)
            self._header = Header.from_dict(values)
            yield self._header
        elif kind == "plan":
            check_plan(values)
            yield from self._plan(values)
        elif kind == "started":
            check_texts(values, "test")
            if self.plan.has_ended(values["test"]):
                raise ValueError(f"{shown(values['test'])} has a result already")
            yield Started(values["test"])
        elif kind == "attempt":
            check_shape(values, TestResult)
            check_result(values)
            if self.plan.has_ended(values["test"]):
                raise ValueError(f"{shown(values['test'])} has a result already")
            yield Attempted(TestResult.from_dict(values))
        elif kind == "result":
            check_shape(values, TestResult)
            check_result(values)
            self.plan.end(values["test"])
            yield Ended(TestResult.from_dict(values), size)
        elif kind == "reproducer":
            check_texts(values, "test", "script")
            if not self.plan.has_ended(values["test"]):
                raise ValueError(f"no result for {shown(values['test'])} comes before it")
            yield Reproduced(values["test"], values["script"])
        elif kind == "reproduction":
            check_texts(values, "test", "outcome", "why")
            check_reproduction(values)
            if not self.plan.has_ended(values["test"]):
                raise ValueError(f"no result for {shown(values['test'])} comes before it")
            yield Tried(values["test"], {"outcome": values["outcome"], "why": values["why"]})
        elif kind == "footer":
            check_shape(values, Footer)
            check_footer(values)
            self.footer = Footer.from_dict(values)
            yield self.footer

    def _plan(self, values: Mapping[str, Any]) -> Iterator[Entry]:
        if self._tests_began:
            raise ValueError("it comes after the first test")
        digests = values.get("digests", {})
        for test, ids in values.get("planned", {}).items():
            entry = Planned(test, tuple(ids), digests.get(function_of(test)))
            self.plan.add(entry.test, entry.requirements)
            yield entry
        for test in values.get("not_applicable", ()):
            self.plan.leave_out(test)
            yield LeftOut(test)
        assert self._header is not None
        for name, count in (("planned", self.plan.planned), ("not_applicable", self.plan.left_out)):
            if count > getattr(self._header, name):
                raise ValueError(f"the header counts {getattr(self._header, name)} tests as {name}, and here are more")

    def _end_the_plan(self) -> None:
        if not self._tests_began and not self.plan_is_whole:
            assert self._header is not None
            raise ValueError(
                f"the plan before it names {self.plan.planned} of {self._header.planned} tests to run, and "
                f"{self.plan.left_out} of {self._header.not_applicable} left out"
            )
        self._tests_began = True


def _is_cut(stream: BinaryIO) -> bool:
    """Whether the file's last line has no end."""
    if not stream.seek(0, os.SEEK_END):
        return False
    stream.seek(-1, os.SEEK_END)
    return stream.read(1) != b"\n"
