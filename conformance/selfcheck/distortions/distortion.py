"""The distortions of an implementation: each documented call, with each operator that fits it."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from conformance.adapter import Adapter
from conformance.adapters.implementations import resolve
from conformance.errors import UsageError
from conformance.selfcheck.catalogue import Change
from conformance.selfcheck.distortions.answers import on_answers
from conformance.selfcheck.distortions.arguments import on_arguments
from conformance.selfcheck.distortions.call import Mark
from conformance.selfcheck.distortions.calls import on_calls
from conformance.selfcheck.distortions.installing import installed
from conformance.selfcheck.distortions.operator import Means, Operator
from conformance.selfcheck.distortions.shapes import answers_of
from conformance.selfcheck.distortions.sites import Site, documents_of, sites_of

#: The faces whose public classes are distorted: one for each documented shape.
IMPLEMENTATIONS = ("reference", "reference.xpu", "reference.accelerator")


@dataclass(frozen=True)
class Distortion:
    """A documented call of an implementation, changed mechanically.

    Attributes:
        implementation: the implementation's name.
        site: the call.
        operator: what happens to it.
        adapter: of the implementation.
        near: the requirements that the documents' statements about the member name.
        mark: whether it ever made a difference.
    """

    implementation: str
    site: Site
    operator: Operator
    adapter: Adapter = field(repr=False)
    near: frozenset[str] = field(repr=False)
    mark: Mark = field(default_factory=Mark, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Its own among those of its implementation."""
        return "-".join(re.findall(r"[a-z0-9]+", f"{self.site.name} {self.operator.name}".lower()))

    @property
    def id(self) -> str:
        """Its own among all."""
        return f"{self.implementation}/{self.name}"

    @property
    def about(self) -> str:
        """What is different."""
        return f"{self.site.name} {self.operator.about}"

    @contextlib.contextmanager
    def apply(self) -> Iterator[Change]:
        """A context in which the implementation is distorted, and asynchronous where that can be chosen."""
        act = self.operator.make(Means(self.adapter, self.mark))
        with installed(self.site, self.operator, act, self.adapter) as cls:
            yield {
                **({} if cls is None else {"graph_class": cls}),
                **({"asynchronous": True} if hasattr(self.adapter, "asynchronous") else {}),
            }


def distortions_of(implementation: str) -> list[Distortion]:
    """All of one implementation, in the order of its documents.

    Raises:
        UsageError: two have the same name.
    """
    adapter = resolve(implementation)
    found = [
        Distortion(implementation, site, operator, adapter, _near(adapter, site.member))
        for site in sites_of(adapter, answers_of(adapter))
        for operator in _operators(site)
    ]
    names = [each.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two distortions of {implementation} are called {name}")
    return found


def every_distortion() -> list[Distortion]:
    """All of all faces."""
    return [each for name in IMPLEMENTATIONS for each in distortions_of(name)]


def chosen(distortions: list[Distortion], patterns: tuple[str, ...]) -> list[Distortion]:
    """Those whose id matches one of `patterns`, or all when there are none.

    Raises:
        UsageError: none matches a pattern.
    """
    for pattern in patterns:
        if not any(fnmatchcase(each.id, pattern) for each in distortions):
            raise UsageError(f"no distortion is called {pattern!r}; they are called IMPLEMENTATION/NAME")
    return [each for each in distortions if not patterns or any(fnmatchcase(each.id, pattern) for pattern in patterns)]


def _operators(site: Site) -> Iterator[Operator]:
    return itertools.chain(on_calls(site), on_answers(site), on_arguments(site))


def _near(adapter: Adapter, member: str) -> frozenset[str]:
    """What the documents' statements about a member rest on."""
    statements = [each for document in documents_of(adapter) for each in document.statements]
    return frozenset(name for each in statements if each.member == member for name in each.requirements)
