"""Takes out of texts what names a person or a machine: paths, host and user names, addresses.

What the suites and the kit wrote stays: names of tests, requirements, verdicts.  So does what is said to readers on
purpose: the implementation's name and the waivers.
"""

from __future__ import annotations

import getpass
import json
import platform
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.records.chain import chained
from conformance.records.lines import lines_of, opened

PATHS, NAMES, ADDRESSES = "paths", "names", "addresses"

#: Stand in the place of what was taken out.
_A_PATH, _A_NAME, _A_USER, _A_HOST = "[path]", "[name]", "[user]", "[host]"

#: Names that accounts and machines have everywhere, and that are words besides.
_NO_NAMES = re.compile(
    "admin|administrator|build|builder|conda|container|debian|default|docker|fedora|home|host|jenkins|localhost|name|"
    "nobody|path|root|runner|test|tester|torch|ubuntu|user|vagrant|work|worker",
    re.IGNORECASE,
)
_SHORTEST_NAME = 3

#: Keys of a record's lines whose values the suites and the kit give, or that are said to readers on purpose.
_KEPT = frozenset(
    {
        *("kind", "schema", "kit_version", "suite_digest", "started_at", "narrowed", "planned", "not_applicable"),
        *("implementation", "dialect", "revision", "capabilities", "requirements", "waivers"),
        *("test", "verdict", "phase", "waiver", "runs"),
        *("counts", "musts", "advice"),
    }
)
#: Likewise of the objects behind such a key.
_KEPT_IN: Mapping[str, frozenset[str]] = {
    "options": frozenset({"profile", "revision", "shard", "waivers"}),
    "cause": frozenset({"kind", "declare"}),
}
#: Changed texts, and words that were taken out, that are kept to be shown and looked for.
_NOTED = 10_000

_PART = r"[^\s/\\'\"`:;,<>|(){}\[\]=*?]+"
_FILE = re.compile(r"[\w+-][\w.+-]*\.(?:py[ix]?|c|cc|cpp|cu|h|hpp|so(?:\.\d+)*|toml|jsonl?|txt|log|dot)")
#: Where a path may begin: not inside of an address, a word or another path, but behind a compiler's option.
_BEGIN = r"(?:(?<=-[ILo])|(?<![\w.~/!\]\\-]))"
#: Each behind what stands in every text that it finds something in, since most texts have nothing to find.
_PATHS = (
    # In quotes, where a blank does not end it.
    ('"', re.compile(r'(?<=")(?:file://|~)?/(?:[^/"\n]+/)+[^/"\n]*(?=")')),
    ("'", re.compile(r"(?<=')(?:file://|~)?/(?:[^/'\n]+/)+[^/'\n]*(?=')")),
    ("/", re.compile(rf"{_BEGIN}(?:file://(?:/{_PART})+|~(?:/+{_PART})+|(?!//)/{_PART}(?:/+{_PART})+)/?")),
    (":", re.compile(rf"(?<!\w)[A-Za-z]:(?:[\\/]+{_PART}){{2,}}")),
    ("~\\", re.compile(rf"{_BEGIN}~(?:[\\/]+{_PART})+")),
    ("\\\\", re.compile(rf"(?<![\w\\])\\{{2,4}}{_PART}(?:\\{{1,2}}{_PART})+")),
)
_URL_USER = re.compile(r"(?<=://)[^/\s@]+(?=@)")
#: Not a product of matrices, whose right side is called.
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{2,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,63}(?![\w(])")
_PRIVATE = r"(?:10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))"
_ADDRESS = re.compile(rf"(?<![\w.]){_PRIVATE}(?:\.\d{{1,3}}){{2,3}}(?![\w.]*\w)")


class Redaction:
    """Redacts the texts of one package.

    Args:
        names: of people and machines, in whichever case they stand.

    Attributes:
        counts: how often something of each kind was taken out.
        changes: the texts that were changed, each with what it became, the first of them.
        removed: what was taken out, likewise.
    """

    def __init__(self, names: Iterable[str]) -> None:
        words = sorted({name for name in names if name}, key=lambda name: (-len(name), name))
        alternatives = "|".join(map(re.escape, words))
        self._names = (
            re.compile(rf"(?<![A-Za-z0-9])(?:{alternatives})(?![A-Za-z0-9])", re.IGNORECASE) if words else None
        )
        self._known: dict[str, str] = {}
        self.counts: Counter[str] = Counter({PATHS: 0, NAMES: 0, ADDRESSES: 0})
        self.changes: dict[str, str] = {}
        self.removed: set[str] = set()

    def text(self, text: str) -> str:
        """`text` without them."""
        shown = text
        for mark, pattern in _PATHS:
            if mark in shown:
                shown = self._without(pattern, shown, PATHS, _shortened)
        if "@" in shown:
            shown = self._without(_URL_USER, shown, NAMES, lambda _: _A_USER)
            shown = self._without(_MAIL, shown, ADDRESSES, lambda _: f"{_A_USER}@{_A_HOST}")
        shown = self._without(_ADDRESS, shown, ADDRESSES, lambda _: _A_HOST)
        if self._names is not None:
            shown = self._without(self._names, shown, NAMES, lambda _: _A_NAME)
        if shown != text and len(self.changes) < _NOTED:
            self.changes[text] = shown
        return shown

    def line(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """A line of a record, likewise."""
        return {
            key: value if key in _KEPT else self._value(value, _KEPT_IN.get(key, frozenset()))
            for key, value in values.items()
        }

    def _value(self, value: Any, kept: Collection[str] = ()) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._value(each) for each in value]
        if isinstance(value, dict):
            changed: dict[str, Any] = {}
            for key, each in value.items():
                name = self.text(key)
                while name in changed:  # two that differed in what was taken out
                    name += "'"
                changed[name] = each if key in kept else self._value(each)
            return changed
        return value

    def _without(self, pattern: re.Pattern[str], text: str, kind: str, stand_in: Callable[[str], str]) -> str:
        def replaced(match: re.Match[str]) -> str:
            self.counts[kind] += 1
            if len(self.removed) < _NOTED:
                self.removed.add(match[0])
            return stand_in(match[0])

        return pattern.sub(replaced, text)


def _shortened(path: str) -> str:
    """What is said of `path`: the name of a file of code or text, which a reader needs."""
    name = re.split(r"[\\/]", path)[-1]
    return f"{_A_PATH}/{name}" if _FILE.fullmatch(name) else _A_PATH


def redact_record(source: Path, target: Path, redaction: Redaction) -> None:
    """Write the record at `source` to `target` without what names a person or a machine, with a chain of its own.

    Raises:
        RecordError: it cannot be read.
    """
    digest = ""
    with opened(source, "record") as stream, target.open("wb") as output:
        for line in lines_of(source, stream):
            values = {key: value for key, value in line.values.items() if key != "chain"}
            text, digest = chained(digest, json.dumps(redaction.line(values)))
            output.write(f"{text}\n".encode())


def own_names() -> Collection[str]:
    """The names of this machine and of who uses it, unless they name nobody."""
    host = platform.node()
    names = {host, host.partition(".")[0]}
    try:
        names.add(getpass.getuser())
    except (OSError, KeyError, ImportError):  # an account without a name
        names.discard("")
    try:
        names.add(Path.home().name)
    except RuntimeError:  # nor a home
        names.discard("")
    return {name for name in names if len(name) >= _SHORTEST_NAME and not _NO_NAMES.fullmatch(name)}
