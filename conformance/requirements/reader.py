"""Reading the kit's TOML files: one value each, or a refusal that names the file and the entry."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from conformance.errors import RequirementError, one_line
from conformance.requirements.revisions import Revision

if sys.version_info >= (3, 11):
    import tomllib

    if TYPE_CHECKING:
        from importlib.resources.abc import Traversable
else:
    import tomli as tomllib

    if TYPE_CHECKING:
        from importlib.abc import Traversable

_Word = TypeVar("_Word", bound=str)

#: Lower-case words joined by ``-``.
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def files_of(folder: Traversable) -> list[Traversable]:
    """The ``*.toml`` files of `folder`, by name."""
    return sorted((entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda file: file.name)


def content_of(file: Traversable) -> dict[str, Any]:
    """The content of `file`."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RequirementError(f"{file.name}: not TOML: {one_line(str(error))}") from None


def entries_of(file: Traversable, content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The entries ``[[key]]`` of `content`, at least one."""
    entries = content.get(key)
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise RequirementError(f"{file.name}: no [[{key}]] entries")
    return entries


def name_of(file: Traversable, content: Mapping[str, Any], key: str) -> str:
    """The value of `key`, which names the file's content as the file's own name does."""
    name, expected = text_of(file.name, content, key), file.name.removesuffix(".toml")
    if name != expected:
        raise RequirementError(f"{file.name}: {key} is {name!r}; it must be the file's name, {expected!r}")
    if not SLUG.fullmatch(name):
        raise RequirementError(f"{file.name}: {key} {name!r} is not lower-case words joined by '-'")
    return name


def refuse_unknown_keys(where: str, entry: Mapping[str, Any], keys: set[str]) -> None:
    """Raise for a key that would never be read."""
    for key in entry:
        if key not in keys:
            raise RequirementError(f"{where}: unknown key {key!r}; known: {', '.join(sorted(keys))}")


def value_of(where: str, entry: Mapping[str, Any], key: str) -> Any:
    """The value of `key`, of any type."""
    if key not in entry:
        raise RequirementError(f"{where}: {key!r} is missing")
    return entry[key]


def text_of(where: str, entry: Mapping[str, Any], key: str) -> str:
    """A text that is not empty."""
    value = value_of(where, entry, key)
    if not isinstance(value, str) or not value.strip():
        raise RequirementError(f"{where}: {key!r} must be a text, not {value!r}")
    return value


def texts_of(where: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """At least one text."""
    value = value_of(where, entry, key)
    if not isinstance(value, list) or not value or not all(isinstance(part, str) and part.strip() for part in value):
        raise RequirementError(f"{where}: {key!r} must be a list of at least one text, not {value!r}")
    return tuple(value)


def word_of(where: str, entry: Mapping[str, Any], key: str, words: tuple[_Word, ...]) -> _Word:
    """One of `words`."""
    value = text_of(where, entry, key)
    for word in words:
        if word == value:
            return word
    raise RequirementError(f"{where}: unknown {key} {value!r}; known: {', '.join(words)}")


def revision_of(where: str, entry: Mapping[str, Any], key: str) -> str:
    """A PyTorch release."""
    text = text_of(where, entry, key)
    try:
        return str(Revision(text))
    except ValueError as error:
        raise RequirementError(f"{where}: {key!r}: {error}") from None


def switch_of(where: str, entry: Mapping[str, Any], key: str) -> bool:
    """True or false; false when left out."""
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise RequirementError(f"{where}: {key!r} must be true or false, not {value!r}")
    return value
