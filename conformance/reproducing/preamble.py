"""The beginning of a script: where it finds the implementation, in plain imports."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch

from conformance.adapter import Adapter
from conformance.adapter.device_module import CompletedModule


@dataclass(frozen=True)
class Beginning:
    """What defines ``Graph``, the class under test.

    Attributes:
        module: the device module's name, or ``None`` when the adapter does without one.
        imports: what to import.
        lines: the definitions.
        setup: context managers to enter before anything else, as expressions.
    """

    module: str | None
    imports: tuple[str, ...]
    lines: tuple[str, ...]
    setup: tuple[str, ...] = ()


def beginning(adapter: Adapter, spec: str) -> Beginning:
    """How a script reaches the implementation."""
    module = getattr(adapter, "module", None)
    module = module.own if isinstance(module, CompletedModule) else module
    if not isinstance(module, ModuleType):
        return Beginning(None, ("import torch",), (_elsewhere(adapter.graph_class, spec),))
    words = adapter.script_words
    lines = [words["use"]] if "use" in words else []
    setup = (re.sub(r"\bbackend\b", module.__name__, words["setup"]),) if "setup" in words else ()
    place, _, name = module.__name__.rpartition(".")
    is_part = place == "torch" and getattr(torch, name, None) is module  # which is there with the whole
    imports = ("import torch",) if is_part else ("import torch", f"import {module.__name__}")
    return Beginning(module.__name__, imports, (*lines, _graph(adapter, module, spec)), setup)


def importing(spec: str) -> Beginning:
    """How a script reaches an implementation whose adapter cannot be written out: as ``--impl`` does."""
    lines = (
        "# The adapter cannot be written out here, so it is imported, and with it the kit that it is written for.",
        f"impl = named({spec!r}, None, None)",
        "Graph = impl.graph_class",
    )
    return Beginning(None, ("import torch", "from conformance.adapters.implementations import named"), lines)


def _graph(adapter: Adapter, module: ModuleType, spec: str) -> str:
    cls = adapter.graph_class
    if getattr(module, cls.__qualname__, None) is cls:
        return f"Graph = {module.__name__}.{cls.__qualname__}"
    return _elsewhere(cls, spec)


def _elsewhere(cls: type, spec: str) -> str:
    """Where the class is that a specification names, or the adapter that it names tests."""
    place, _, attribute = spec.rpartition(":")
    home = sys.modules.get(cls.__module__)
    name = attribute if getattr(home, attribute, None) is cls else cls.__qualname__
    if place.endswith(".py") and _is_file_of(home, Path(place)):
        # As the command line named it, so it runs in the same folder: a record is published, and homes are private.
        file = f"os.path.expanduser({place!r})" if Path(place).is_absolute() or place.startswith("~") else repr(place)
        return (
            "import importlib.util\nimport os.path\nimport sys\n"
            f"_file = {file}\n"
            "sys.path.append(os.path.dirname(_file) or '.')\n"
            f"_found = importlib.util.spec_from_file_location({Path(place).stem!r}, _file)\n"
            "_module = importlib.util.module_from_spec(_found)\n"
            "sys.modules[_found.name] = _module\n"
            "_found.loader.exec_module(_module)\n"
            f"Graph = _module.{name}"
        )
    return f"import importlib\nGraph = importlib.import_module({cls.__module__!r}).{name}"


def _is_file_of(module: ModuleType | None, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path.expanduser().resolve()
