"""What a record says about an implementation: plain values, so that they can come from another process."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from conformance.errors import one_line
from conformance.records.tested import VALUE_LIMIT, device_of, identity
from conformance.text import published, visible_line


class Described(Protocol):
    """The part of an adapter that says what it is."""

    @property
    def name(self) -> str: ...
    @property
    def dialect(self) -> str: ...
    @property
    def revision(self) -> str: ...
    @property
    def capabilities(self) -> Mapping[str, bool]: ...
    @property
    def graph_class(self) -> type: ...
    @property
    def device(self) -> object: ...
    def environment(self) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class Subject:
    """An implementation under test.

    Attributes:
        name: in records and reports.
        spec: what ``--impl`` said for it.
        dialect: its documented shape; ``unknown`` when no process could be started to ask it.
        revision: the release whose documents it claims.
        capabilities: what it declares.
        environment: what a reader needs to repeat its run.
    """

    name: str
    spec: str
    dialect: str
    revision: str
    capabilities: Mapping[str, bool]
    environment: Mapping[str, str]

    @classmethod
    def of(cls, adapter: Described, spec: str) -> Subject:
        """The subject of `adapter`, asked in the process that it is in."""
        return cls(
            name=adapter.name,
            spec=spec,
            dialect=adapter.dialect,
            revision=adapter.revision,
            capabilities=dict(adapter.capabilities),
            environment={**device_of(adapter), **environment(adapter), **_lines(identity(adapter, spec))},
        )

    @classmethod
    def unknown(cls, spec: str) -> Subject:
        """The subject for an implementation that no process could be started for."""
        return cls(_line(spec), spec, "unknown", "unknown", {}, software())

    def to_dict(self) -> dict[str, Any]:
        """The subject as JSON values."""
        return asdict(self)


def environment(adapter: Described) -> dict[str, str]:
    """What a reader needs to repeat a run: an allow-list, since a record is published."""
    values = software()
    try:
        values.update(_lines(adapter.environment()))
    except Exception as error:  # the adapter's own code; a run without these lines is still a run
        values["adapter"] = f"environment() raised {one_line(error)}"
    return values


def _lines(values: Mapping[str, Any]) -> dict[str, str]:
    return {_line(name): _line(value) for name, value in values.items()}


def _line(value: object) -> str:
    return visible_line(published(str(value), VALUE_LIMIT))


def software() -> dict[str, str]:
    """The versions of what a run rests on."""
    values = {
        "python": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "machine": platform.machine(),
    }
    # The version that is loaded counts, if one is; nothing is imported only to ask for its version.
    torch_version = getattr(sys.modules.get("torch"), "__version__", None)
    values["torch"] = _version("torch") if torch_version is None else str(torch_version)
    for package in ("pytest", "hypothesis", "cuda-bindings"):
        values[package] = _version(package)
    return values


@functools.cache  # what is installed stays so, and each worker asks
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
