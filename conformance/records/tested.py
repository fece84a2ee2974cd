"""Who was tested: the class, its adapter and what they ran on, so that two records can be told apart.

Files are named without their folders, which may name a person, and by a digest of what was in them.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol

from conformance.errors import one_line
from conformance.paths import HOME, KIT

#: The keys whose values are remarks to readers, who would otherwise take a record for more than it is.
REMARKS = ("runs_on", "reference", "derived", "shared_device")
#: Those of them that say something of one part of a run, which its other parts need not share.
PASSING = frozenset({"shared_device"})

SIMULATION = "the software device, a simulation on the host: says nothing of hardware"
ON_THE_HOST = "the host, and no accelerator: says nothing of hardware"
SHARED_DEVICE = "another run of the kit was on the device when this one began: each takes the other's memory and time"
OWN_CLASS = "the class is the kit's own reference"
OWN_BASE = "the class derives from the kit's own reference"

#: Characters kept of one value of an environment.
VALUE_LIMIT = 400

_REFERENCE = "reference_impl"
_DIGITS = 12


class Tested(Protocol):
    """The part of an adapter that says what it is for."""

    @property
    def graph_class(self) -> type: ...
    @property
    def device(self) -> object: ...


def identity(adapter: Tested, spec: str) -> dict[str, str]:
    """The class and the adapter of `adapter`, which `spec` named, and what a reader must know of them."""
    cls = adapter.graph_class
    class_file = _file_of(cls)
    values = {"graph_class": _qualified(cls), "adapter_class": _qualified(type(adapter))}
    adapter_file = _file_of(type(adapter))
    if adapter_file is None or adapter_file.is_relative_to(KIT):
        # Its class is the kit's; what was decided for this implementation stands where the command line looked.
        named = _file_of_spec(spec)
        adapter_file = adapter_file if named in (None, class_file) else named
    for name, file in (("graph_class_file", class_file), ("adapter_file", adapter_file)):
        if file is not None:
            values[name] = _fingerprint(file)
    derivation = getattr(adapter, "derivation", ())
    if derivation:
        values["derived"] = _in_full(derivation)
    return values | _remarks(adapter, cls, class_file)


def _in_full(sentences: Sequence[str]) -> str:
    """As many of `sentences` as a value of a record has room for, each to its end."""
    for count in range(len(sentences), 0, -1):
        more = "" if count == len(sentences) else f"; and {len(sentences) - count} more"
        text = "; ".join(sentences[:count]) + more
        if len(text) <= VALUE_LIMIT:
            return text
    return one_line(sentences[0], VALUE_LIMIT)


def device_of(adapter: Tested) -> dict[str, str]:
    """The device, for an adapter that does not describe it."""
    try:
        return {"device": str(adapter.device)}
    except NotImplementedError:  # nothing in its tests has needed one
        return {}
    except Exception as error:  # the adapter's own code
        return {"device": f"asking for it raised {one_line(error)}"}


def remarks(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What the environment in a record tells readers, as sentences without an end."""
    leads = {"runs_on": "ran on "}
    return tuple(f"{leads.get(name, '')}{environment[name]}" for name in REMARKS if environment.get(name))


def accelerator_of(adapter: Tested) -> str | None:
    """A name for the device of `adapter` that every process of its machine comes to; ``None`` for the host."""
    kind, _, number = device_of(adapter).get("device", "cpu").partition(":")
    if kind == "cpu" or not kind.isidentifier():
        return None
    try:
        return f"{kind} {adapter.module.get_device_properties(adapter.device).uuid}"  # type: ignore[attr-defined]
    except Exception:  # no such properties, or the adapter's own code: then its place among those that are visible
        visible = os.environ.get(getattr(adapter, "visible_devices", None) or "", "").split(",")
        index = int(number) if number.isdecimal() else 0
        return f"{kind} {visible[index] if index < len(visible) and visible[index] else index}"


def _remarks(adapter: Tested, cls: type, file: Path | None) -> dict[str, str]:
    values: dict[str, str] = {}
    bases = [base for base in cls.__mro__ if _is_of_reference(base)]
    if device_of(adapter).get("device", "").partition(":")[0] == "cpu":
        values["runs_on"] = SIMULATION if bases or _is_simulated(adapter) else ON_THE_HOST
    if bases:
        own = file is not None and file.is_relative_to(HOME / _REFERENCE) and cls is bases[0]
        values["reference"] = OWN_CLASS if own else f"{OWN_BASE}, {_qualified(bases[0])}"
    return values


def _is_of_reference(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == _REFERENCE


def _is_simulated(adapter: Tested) -> bool:
    """Whether the device module is the reference's, whoever's the class is."""
    module = getattr(adapter, "module", None)
    return isinstance(module, ModuleType) and module.__name__.partition(".")[0] == _REFERENCE


def _qualified(cls: type) -> str:
    return f"{_module_of(cls)}.{cls.__qualname__}"


def _module_of(cls: type) -> str:
    """The name of its module, without what the kit adds to that of a file to tell it from others of its name."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    stem = "" if file is None else Path(file).stem
    return stem if re.fullmatch(re.escape(stem) + "_[0-9a-f]{8}", cls.__module__) else cls.__module__


def _file_of(cls: type) -> Path | None:
    try:
        file = inspect.getsourcefile(cls)
    except (OSError, TypeError):  # it is written in C, or was made while the program ran
        file = None
    return _existing(file or getattr(sys.modules.get(cls.__module__), "__file__", None))


def _file_of_spec(spec: str) -> Path | None:
    place, _, _ = spec.rpartition(":")
    if place.endswith(".py"):
        return _existing(str(Path(place).expanduser()))
    return _existing(getattr(sys.modules.get(place), "__file__", None))


def _existing(file: str | None) -> Path | None:
    path = None if file is None else Path(file)
    return path if path is not None and path.is_file() else None


def _fingerprint(file: Path) -> str:
    return f"{file.name}, SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()[:_DIGITS]}"
