"""The faults that the suites must reject, and the variants that they must accept, found by their modules' names.

A catalogue is any importable module: ``FAULTS`` is a sequence of faults, ``VARIANTS`` one of variants.  None is
imported before it is asked for, so the kit depends on no catalogue, its own included.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

from conformance.adapters.implementations import KNOWN
from conformance.errors import UsageError, one_line
from conformance.paths import use_own
from conformance.requirements.registry import Registry

FAULTS = "reference_impl.faults"
VARIANTS = "reference_impl.variants"

#: What entering a change gives: the graph class to test; or what a vendor's adapter would state otherwise, by
#: attribute of `conformance.adapter.Adapter`; or ``None``, when it would state nothing.
Change: TypeAlias = type | Mapping[str, Any] | None

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Defect(Protocol):
    """A change to a known implementation.

    ``apply()`` is entered around the tests.  What it gives is a `Change` to the implementation's adapter; what lies
    deeper was changed from within.  Leaving it undoes the change.
    """

    @property
    def name(self) -> str: ...

    @property
    def about(self) -> str: ...

    @property
    def apply(self) -> Callable[[], AbstractContextManager[Change]]: ...


class Fault(Defect, Protocol):
    """A change that breaks at least one of the requirements ``rejected_by``."""

    @property
    def layer(self) -> str: ...

    @property
    def rejected_by(self) -> tuple[str, ...]: ...

    @property
    def implementation(self) -> str: ...


class Variant(Defect, Protocol):
    """A change that the documents allow, to each of ``implementations``; it may decline the advice ``declines``."""

    @property
    def implementations(self) -> tuple[str, ...]: ...

    @property
    def declines(self) -> tuple[str, ...]: ...


_Entry = TypeVar("_Entry", bound=Defect)


def faults(module: str, registry: Registry, only: Collection[str] = ()) -> list[Fault]:
    """The faults of a catalogue, or those among them that `only` names.

    Raises:
        UsageError: there is no such catalogue or fault, or one is malformed.
    """
    entries: list[Fault] = _entries(module, "FAULTS", only)
    for fault in entries:
        _check_implementation(fault, fault.implementation)
        if not fault.rejected_by:
            raise UsageError(f"the fault {fault.name} names no requirement that rejects it")
        for identity in fault.rejected_by:
            if not registry.get(identity, f"the fault {fault.name}").scored:
                raise UsageError(f"the fault {fault.name} names {identity}, by which nothing is judged")
    return entries


def variants(module: str, registry: Registry, only: Collection[str] = ()) -> list[Variant]:
    """The variants of a catalogue, or those among them that `only` names.

    Raises:
        UsageError: there is no such catalogue or variant, or one is malformed.
    """
    entries: list[Variant] = _entries(module, "VARIANTS", only)
    for variant in entries:
        for implementation in variant.implementations:
            _check_implementation(variant, implementation)
        for identity in variant.declines:
            if registry.get(identity, f"the variant {variant.name}").level != "should":
                raise UsageError(f"the variant {variant.name} declines {identity}, which is no advice")
    return entries


def _entries(module: str, attribute: str, only: Collection[str]) -> list[_Entry]:
    if module in {FAULTS, VARIANTS}:
        use_own(module.partition(".")[0])
    try:
        entries: Sequence[_Entry] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{module} is no catalogue with {attribute}: {one_line(error)}") from None
    names = [entry.name for entry in entries]
    for name in names:
        if not _NAME.fullmatch(name) or names.count(name) > 1:
            raise UsageError(f"{module}: {name!r} is no name of its own in lower-case words joined by '-'")
    for name in only:
        if name not in names:
            raise UsageError(f"{module} has no {name!r}{_nearest(name, names)}")
    return [entry for entry in entries if not only or entry.name in only]


def _nearest(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _check_implementation(entry: Defect, implementation: str) -> None:
    if implementation not in KNOWN:
        raise UsageError(f"{entry.name} changes {implementation!r}, which the kit does not know")
