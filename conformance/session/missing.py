"""Whether a test ended because something is not there at all: a member, an argument, a method of the adapter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from conformance.errors import chain
from conformance.requirements.vocabulary import capability_of, capability_taking
from conformance.text import said
from conformance.tracebacks import missing_method

if TYPE_CHECKING:
    from conformance.adapter import Adapter

_UNEXPECTED = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")
#: How pybind11 says it, which lists what there is, and then what was given.
_INCOMPATIBLE = re.compile(
    r"(\w+)\(\): incompatible (?:constructor|function) arguments(.*)Invoked with:(.*)", re.DOTALL
)
#: How Python says it of a class without a constructor of its own.
_NOTHING_TAKEN = re.compile(r"\w+\(\) takes no (?:keyword )?arguments")
#: What the kit gives constructors.
_CONSTRUCTORS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cuda": ("keep_graph",),
        "xpu": ("keep_graph",),
        "accelerator": ("keep_graph", "pool", "capture_error_mode"),
    }
)
_GIVEN = re.compile(r"\b(\w+)=")


@dataclass(frozen=True)
class Missing:
    """What is not there.

    Attributes:
        kind: ``missing`` of the class or its device module, ``adapter`` of the adapter.
        name: of the member or the argument.
        capability: that it is a part of, or ``None``.
        what: it is, in words.
    """

    kind: str
    name: str
    capability: str | None
    what: str

    @property
    def sentence(self) -> str:
        """What is missing, and what to declare if that is so."""
        if self.capability is None:
            return f"missing: {self.what}"
        declaration = f"capabilities={{{self.capability!r}: False}}".replace("'", '"')
        return f"missing: {self.what}; if that is so, declare {declaration}"

    @property
    def cause(self) -> Mapping[str, str | None]:
        """It as JSON values, for a record."""
        return {"kind": self.kind, "name": self.name, "declare": self.capability}


def missing_in(error: BaseException, adapter: Adapter) -> Missing | None:
    """What was missing on the way to `error`; ``None`` when a test ended for another reason.

    What is missed while a rejection is on its way, as in a test's clean-up, is not why the test ended.
    """
    causes = list(chain(error))
    for place, cause in enumerate(causes):
        found = _missing(cause, adapter)
        if found is not None and not any(hasattr(earlier, "promise") for earlier in causes[place:]):
            return found
    return None


def _missing(error: BaseException, adapter: Adapter) -> Missing | None:
    method = missing_method(error)
    if method is not None:
        return Missing("adapter", method, capability_of(method), f"the adapter has no {method}()")
    if isinstance(error, AttributeError) and error.name is not None:
        return _missing_member(error, adapter)
    return _missing_argument(error, adapter) if isinstance(error, TypeError) else None


def _missing_member(error: AttributeError, adapter: Adapter) -> Missing | None:
    name = str(error.name)
    if isinstance(error.obj, adapter.graph_class) or error.obj is adapter.graph_class:
        return Missing("missing", name, capability_of(name), f"the class has no {name}")
    if error.obj is not None and error.obj is vars(adapter).get("module"):
        return Missing("missing", name, capability_of(name), f"the device module has no {name}")
    return None


def _missing_argument(error: TypeError, adapter: Adapter) -> Missing | None:
    text = said(error)
    unexpected, incompatible = _UNEXPECTED.search(text), _INCOMPATIBLE.search(text)
    if _NOTHING_TAKEN.fullmatch(text) and text.startswith(f"{adapter.graph_class.__name__}()"):
        # All are missing; what is not declared yet is news.
        names = sorted(_CONSTRUCTORS[adapter.dialect], key=lambda name: _is_declined(adapter, name))
        function = "__init__"
    elif unexpected is not None:
        function, names = unexpected[1], [unexpected[2]]
    elif incompatible is not None:
        function, known, given = incompatible.groups()
        names = [name for name in _GIVEN.findall(given) if not re.search(rf"\b{name}\b", known)]
    else:
        return None
    for name in names:
        capability = capability_taking(name)
        if capability is not None:
            taker = function.rpartition(".")[2]
            who = "the constructor" if taker == "__init__" else taker
            return Missing("missing", name, capability, f"{who} takes no {name}")
    return None


def _is_declined(adapter: Adapter, argument: str) -> bool:
    capability = capability_taking(argument)
    return capability is not None and adapter.capabilities.get(capability) is False
