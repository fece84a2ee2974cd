"""What implementations are called in records: their adapters' names, and those of classes in files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.requirements.vocabulary import is_name
from conformance.text import published

if TYPE_CHECKING:
    from conformance.adapter import Adapter


def tell_apart(pairs: Sequence[tuple[str, Adapter]]) -> None:
    """Give classes of one name in files of one name as much of their folders' names as tells them apart.

    Raises:
        UsageError: two implementations have one name all the same.
    """
    by_name: dict[str, list[tuple[str, Adapter]]] = {}
    for spec, adapter in pairs:
        by_name.setdefault(adapter.name, []).append((spec, adapter))
    for name, group in by_name.items():
        if len(group) == 1:
            continue
        names = longer_names([spec for spec, _ in group]) if name == name_in_file(group[0][0]) else None
        if names is None:
            raise UsageError(f"--impl names {name!r} twice; tell them apart by the 'name' of an adapter for each")
        for (_, adapter), longer in zip(group, names, strict=True):
            adapter.name = longer


def longer_names(specs: Sequence[str]) -> list[str] | None:
    """Names of classes in files that differ, with no more folders than that takes; ``None`` if there are none."""
    # Records are published, and homes are private.
    paths = [[part for part in re.split(r"[/\\]", published(spec)) if part != "."] for spec in specs]
    for length in range(2, max(map(len, paths)) + 1):
        names = ["/".join(parts[-length:]).encode("ascii", "replace").decode() for parts in paths]
        if len({*names}) == len(names) and all(map(is_name, names)):
            return names
    return None


def name_in_file(spec: str) -> str:
    """The name of a class that `spec` finds; the folders of a file are no part of it, as long as it has no namesake."""
    return re.sub(r"^.*[/\\](?=[^/\\]*\.py:)", "", spec).encode("ascii", "replace").decode()
