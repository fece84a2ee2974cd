"""The beginning of a script: where it finds the implementation, in plain imports."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.adapter import Adapter


@dataclass(frozen=True)
class Beginning:
    """Lines that define the names of `conformance.reproducing.names`.

    Attributes:
        imports: what to import.
        names: by name, the line, or lines, that define it.
        setup: context managers to enter before anything else, as expressions.
    """

    imports: tuple[str, ...]
    names: dict[str, str]
    setup: tuple[str, ...] = ()


def beginning(adapter: Adapter, spec: str) -> Beginning | None:
    """How a script reaches the implementation, or ``None`` when only its adapter knows."""
    module = getattr(adapter, "module", None)
    if not isinstance(module, ModuleType):
        return None
    words = adapter.script_words
    imports = ["import torch", f"import {module.__name__}"]
    names = {
        "backend": f"backend = {module.__name__}",
        "Graph": _graph(adapter, module, spec),
        "DIALECT": f"DIALECT = {adapter.dialect!r}",
        "REVISION": f"REVISION = {adapter.revision!r}",
        "CAPABILITIES": f"CAPABILITIES = {dict(adapter.capabilities)!r}",
        "DEVICE": f"DEVICE = {str(adapter.device)!r}",
        "RUNTIME": _runtime(adapter.runtime),
        "make_tensor": _function(
            "make_tensor(data, dtype=None)",
            words.get("tensor", "torch.as_tensor(data, dtype=dtype).to(DEVICE, copy=True)"),
        ),
        "make_pinned": _function(
            "make_pinned(data, dtype=None)",
            words.get("pinned", "torch.as_tensor(data, dtype=dtype).clone().pin_memory()"),
        ),
        "read_tensor": _function("read_tensor(tensor)", words.get("read", "tensor.detach().to('cpu', copy=True)")),
    }
    if "use" in words:
        names["backend"] += f"\n{words['use']}"
    setup = (words["setup"],) if "setup" in words else ()
    return Beginning(tuple(imports), names, setup)


def _function(head: str, value: str) -> str:
    return f"def {head}:\n    return {value}\n"


def _runtime(runtime: Any) -> str:
    name = getattr(runtime, "__name__", None)
    if not isinstance(runtime, ModuleType) or name is None:
        return "RUNTIME = None"
    return f"import importlib\nRUNTIME = importlib.import_module({name!r})"


def _graph(adapter: Adapter, module: ModuleType, spec: str) -> str:
    cls = adapter.graph_class
    if getattr(module, cls.__qualname__, None) is cls:
        return f"Graph = backend.{cls.__qualname__}"
    place, _, attribute = spec.rpartition(":")
    if place.endswith(".py"):
        # As the command line named it, hence from the same folder: a record is published, and homes are private.
        folder = Path(place).parent.as_posix()
        return (
            "import importlib.util\nimport sys\n"
            f"sys.path.append({folder!r})\n"
            f"_found = importlib.util.spec_from_file_location({Path(place).stem!r}, {place!r})\n"
            "_module = importlib.util.module_from_spec(_found)\n"
            "sys.modules[_found.name] = _module\n"
            "_found.loader.exec_module(_module)\n"
            f"Graph = _module.{attribute}"
        )
    if place:
        return f"import importlib\nGraph = importlib.import_module({place!r}).{attribute}"
    if cls.__module__ in sys.modules and importlib.util.find_spec(cls.__module__) is not None:
        return f"import importlib\nGraph = importlib.import_module({cls.__module__!r}).{cls.__qualname__}"
    return f"Graph = backend.{cls.__qualname__}"
