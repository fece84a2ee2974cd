"""The distortions that no document forbids, each with the reason: ``equivalents.toml`` next to this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources

from conformance.errors import RequirementError
from conformance.requirements import reader
from conformance.selfcheck.distortions.distortion import Distortion


@dataclass(frozen=True)
class Equivalent:
    """Distortions that are as good as the plain class.

    Attributes:
        patterns: of their ids, ``*`` standing for anything.
        reason: why no document forbids them.
    """

    patterns: tuple[str, ...]
    reason: str

    def covers(self, distortion: Distortion) -> bool:
        """Whether the distortion is one of them."""
        return any(fnmatchcase(distortion.id, pattern) for pattern in self.patterns)


def equivalents() -> tuple[Equivalent, ...]:
    """All that are listed.

    Raises:
        RequirementError: the file is malformed.
    """
    file = resources.files("conformance.selfcheck.distortions") / "equivalents.toml"
    content = reader.content_of(file)
    reader.refuse_unknown_keys(file.name, content, {"equivalent"})
    found = []
    for number, entry in enumerate(content.get("equivalent", ()), 1):
        where = f"{file.name}, entry {number}"
        reader.refuse_unknown_keys(where, entry, {"distortions", "reason"})
        found.append(Equivalent(reader.texts_of(where, entry, "distortions"), reader.text_of(where, entry, "reason")))
    return tuple(found)


def refuse_idle(listed: Sequence[Equivalent], distortions: Sequence[Distortion]) -> None:
    """Refuse a pattern that stands for nothing: the member is gone, or somebody misspelt it.

    Raises:
        RequirementError: there is one.
    """
    for pattern in (pattern for each in listed for pattern in each.patterns):
        if not any(fnmatchcase(each.id, pattern) for each in distortions):
            raise RequirementError(f"equivalents.toml: no distortion is called {pattern!r}")


def reason_for(distortion: Distortion, listed: Sequence[Equivalent]) -> str | None:
    """Why no document forbids the distortion, if that is listed."""
    return next((each.reason for each in listed if each.covers(distortion)), None)
