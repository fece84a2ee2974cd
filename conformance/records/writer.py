"""Writes a record line by line, so that what a killed run leaves can be read to the line where it died."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from conformance.errors import WriteError
from conformance.files import cannot_be_written
from conformance.records.chain import chained, unchained
from conformance.records.footer import Footer
from conformance.records.header import Header
from conformance.records.plan import function_of
from conformance.records.result import TestResult

#: Tests in one line of the plan.
PLAN_LINE = 1_000

_Item = TypeVar("_Item")


class RecordWriter:
    """Appends to one record, each line on disk before the next.

    Raises:
        UsageError: `path` is none that can be written.
        WriteError: the disk is full.
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
            raise cannot_be_written(f"the record {path}", error) from None

    def header(
        self,
        header: Header,
        planned: Mapping[str, tuple[str, ...]],
        not_applicable: Collection[str] = (),
        digests: Mapping[str, str] | None = None,
    ) -> None:
        """Begin the record with its header, and the lines of the plan that this counts.

        Args:
            header: of the run.
            planned: the tests to run, each with the requirements that it decides.
            not_applicable: the tests that are left out.
            digests: of the code of the planned tests, by their names without parameters.
        """
        self.resume(0, "")
        self._write("header", header.to_dict())
        # A list of all tests would be one line of a size that no reader should have to take.
        for part in batched(planned.items()):
            functions = dict.fromkeys(function_of(test) for test, _ in part)
            known = {name: digests[name] for name in functions if name in digests} if digests else {}
            self._write("plan", {"planned": dict(part), **({"digests": known} if known else {})})
        for names in batched(not_applicable):
            self._write("plan", {"not_applicable": names})

    def resume(self, size: int, digest: str) -> None:
        """Cut the record to its first `size` bytes, whose last line has that `digest`, and write on from there."""
        self._file.truncate(size)
        self._digest = digest

    def started(self, test: str) -> None:
        self._write("started", {"test": test})

    def result(self, result: TestResult) -> None:
        self._write("result", result.to_dict())

    def attempt(self, result: TestResult) -> None:
        """What came of a run of a test that is to run again."""
        self._write("attempt", result.to_dict())

    def reproducer(self, test: str, script: str) -> None:
        """The script of a test whose result was written without one, because its process was lost."""
        self._write("reproducer", {"test": test, "script": script})

    def reproduction(self, test: str, reproduction: Mapping[str, str]) -> None:
        """What running the script of a test alone came to, after its result was written."""
        self._write("reproduction", {"test": test, **reproduction})

    def footer(self, footer: Footer) -> None:
        self._write("footer", footer.to_dict())

    def copy(self, line: bytes) -> None:
        """A line of another record, which has a chain."""
        self._append(unchained(line.decode()))

    def close(self) -> None:
        self._file.close()

    def _write(self, kind: str, values: Mapping[str, Any]) -> None:
        self._append(json.dumps({"kind": kind, **values}, ensure_ascii=True))

    def _append(self, text: str) -> None:
        """Write a line for the object that `text` is.

        Raises:
            WriteError: it cannot be written; the record ends with the line before, and takes no other.
        """
        if self._is_broken:
            return
        line, digest = chained(self._digest, text)
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
            ) from error
        self._digest = digest


def batched(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Lists of as many `items` as a line of the plan takes."""
    rest = iter(items)
    while batch := list(islice(rest, PLAN_LINE)):
        yield batch
