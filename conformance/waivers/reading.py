"""Reads a waiver file, and refuses with the file and the line what it does not understand."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from conformance.errors import RequirementError, UsageError, one_line
from conformance.paths import HOME, SUITES
from conformance.requirements.registry import Registry
from conformance.text import TEXT_LIMIT
from conformance.waivers.waiver import SCOPE, Waiver

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TEXTS = {
    "reason": "say why the failure is accepted",
    "link": "say where the failure is followed up",
    "owner": "say who answers for the waiver",
}
_KEYS = ("requirement", "test", *_TEXTS, "expires", *SCOPE)
_HEADING = re.compile(r"\s*\[\[\s*waiver\s*\]\]")


@dataclass(frozen=True)
class WaiverFile:
    """A waiver file.

    Attributes:
        name: of the file, without its folder.
        digest: SHA-256 of its content.
        waivers: its entries, in their order.
    """

    name: str
    digest: str
    waivers: tuple[Waiver, ...]

    @property
    def option(self) -> str:
        """The file in a record: runs with other waivers are other runs."""
        return f"{self.name} sha256:{self.digest}"


def read_waivers(path: Path, registry: Registry, root: Path) -> WaiverFile:
    """Read the waiver file `path`.

    Args:
        path: of the file.
        registry: the requirements that waivers may name.
        root: the folder that names of tests outside the suites start from.

    Raises:
        UsageError: the file cannot be read or is malformed; the message has ``FILE:LINE``.
    """
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"--waivers={path}: the file cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{number}: not TOML: it is not UTF-8") from None
    entries = _Page(path, text).entries()
    waivers: dict[tuple[str, ...], Waiver] = {}
    for entry in entries:
        waiver = _Reader(entry, registry, root).waiver()
        key = (waiver.target, *(waiver.scope.get(name, "") for name in SCOPE))
        if key in waivers:
            raise entry.refusal(
                f"{waiver.target} is waived with the same scope at {waivers[key].place}; keep one of the two"
            )
        waivers[key] = waiver
    return WaiverFile(path.name, hashlib.sha256(content).hexdigest(), tuple(waivers.values()))


@dataclass(frozen=True)
class _Entry:
    """One ``[[waiver]]`` with its lines, so that a refusal can point at one."""

    path: Path
    first: int
    lines: tuple[str, ...]
    values: Mapping[str, Any]

    def refusal(self, message: str, key: str | None = None) -> UsageError:
        """An error that points at the line of `key`, or at the first one."""
        offset = 0 if key is None else _offset_of(key, self.lines)
        return UsageError(f"{self.path}:{self.first + offset}: {message}")


class _Page:
    """The text of a waiver file."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.split("\n")
        self._content = self._parsed(text)

    def entries(self) -> list[_Entry]:
        """The entries, of which there is at least one."""
        for key in self._content:
            if key != "waiver":
                number = _offset_of(key, self._lines) + 1
                raise self._refusal(number, f"unknown key {key!r}: a waiver file has [[waiver]] entries only")
        values = self._content.get("waiver", [])
        firsts = self._headings()
        if not isinstance(values, list) or len(values) != len(firsts):
            raise self._refusal(_offset_of("waiver", self._lines) + 1, "start each waiver with a line [[waiver]]")
        if not values:
            raise self._refusal(1, "no [[waiver]] entry; without known failures leave --waivers out")
        ends = [*(first - 1 for first in firsts[1:]), len(self._lines)]
        return [
            _Entry(self._path, first, tuple(self._lines[first - 1 : end]), each)
            for first, end, each in zip(firsts, ends, values, strict=True)
        ]

    def _headings(self) -> list[int]:
        """The lines that entries start on, counted from 1; what looks like one in a text of several lines is none."""
        numbers = [number for number, line in enumerate(self._lines, 1) if _HEADING.match(line)]
        if not any(quotes in line for line in self._lines for quotes in ('"""', "'''")):
            return numbers
        return [number for number in numbers if _is_toml("\n".join(self._lines[: number - 1]))]

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = re.search(r"at line (\d+)", str(error))
            number = int(place[1]) if place else len(self._lines)
            message = re.sub(r" \(at (line \d+, column \d+|end of document)\)", "", one_line(str(error)))
        raise self._refusal(number, f"not TOML: {message}")

    def _refusal(self, number: int, message: str) -> UsageError:
        return UsageError(f"{self._path}:{number}: {message}")


class _Reader:
    """Reads one entry."""

    def __init__(self, entry: _Entry, registry: Registry, root: Path) -> None:
        self._entry = entry
        self._registry = registry
        self._root = root

    def waiver(self) -> Waiver:
        """The waiver that the entry is."""
        entry = self._entry
        for key in entry.values:
            if key not in _KEYS:
                raise entry.refusal(f"unknown key {key!r}; known: {', '.join(_KEYS)}", key)
        requirement, test = self._target()
        texts = {key: self._text(key, f"it is empty: {advice}") for key, advice in _TEXTS.items()}
        return Waiver(
            place=f"{entry.path.name}:{entry.first}",
            expires=self._expires(),
            requirement=requirement,
            test=test,
            scope={name: self._text(name, "it is empty: leave it out") for name in SCOPE if name in entry.values},
            **texts,
        )

    def _target(self) -> tuple[str | None, str | None]:
        values = self._entry.values
        if "requirement" in values and "test" in values:
            raise self._entry.refusal("both 'requirement' and 'test': name one; two waivers can name two", "test")
        if "requirement" in values:
            return self._requirement(), None
        if "test" in values:
            return None, self._test()
        raise self._entry.refusal("neither 'requirement' nor 'test': name what is waived")

    def _requirement(self) -> str:
        identity = self._text("requirement", "it is empty: name an area.slug")
        try:
            entry = self._registry.get(identity, "it")
        except RequirementError as error:
            raise self._entry.refusal(f"'requirement': {error}", "requirement") from None
        if entry.untestable is not None:
            raise self._entry.refusal(f"'requirement': no test decides {identity}, so none can fail", "requirement")
        if entry.level == "may":
            raise self._entry.refusal(
                f"'requirement': {identity} is left open (may), so it is never judged", "requirement"
            )
        return identity

    def _test(self) -> str:
        test = self._text("test", "it is empty: name suites/AREA/test_FILE.py::test_NAME")
        file, separator, name = test.partition("::")
        if not separator or not name:
            raise self._entry.refusal(f"'test': {test!r} is none; write suites/AREA/test_FILE.py::test_NAME", "test")
        home = HOME if file.startswith(f"{SUITES.name}/") else self._root
        if not (home / file).is_file():
            raise self._entry.refusal(f"'test': there is no test file {file!r}", "test")
        return test

    def _text(self, key: str, when_empty: str) -> str:
        value = self._value(key)
        if not isinstance(value, str):
            raise self._entry.refusal(f"{key!r} must be a text, not {value!r}", key)
        if not value.strip():
            raise self._entry.refusal(f"{key!r}: {when_empty}", key)
        if len(value) > TEXT_LIMIT:
            raise self._entry.refusal(f"{key!r} is longer than {TEXT_LIMIT} characters", key)
        return value.strip()

    def _expires(self) -> date:
        value = self._value("expires")
        # A date with a time is a date to Python, too.
        if type(value) is not date:
            shown = repr(value) if isinstance(value, str) else str(value)
            raise self._entry.refusal(
                f"'expires' must be a date such as 2026-12-31, without quotes, not {shown}", "expires"
            )
        return value

    def _value(self, key: str) -> Any:
        if key not in self._entry.values:
            raise self._entry.refusal(f"{key!r} is missing")
        return self._entry.values[key]


def _offset_of(key: str, lines: Sequence[str]) -> int:
    """The place of the line that gives `key` its value, or else of the first one."""
    pattern = re.compile(rf"""\s*(\[+\s*)?(waiver\s*\.\s*)?["']?{re.escape(key)}["']?\s*[=.\]]""")
    return next((offset for offset, line in enumerate(lines) if pattern.match(line)), 0)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True
