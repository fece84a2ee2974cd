"""The beginning of a script: where it finds the implementation, in plain imports."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from conformance.adapter import Adapter


@dataclass(frozen=True)
class Beginning:
    """What defines ``Graph``, the class under test.

    Attributes:
        module: the device module's name.
        imports: what to import.
        lines: the definitions.
        setup: context managers to enter before anything else, as expressions.
    """

    module: str
    imports: tuple[str, ...]
    lines: tuple[str, ...]
    setup: tuple[str, ...] = ()


def beginning(adapter: Adapter, spec: str) -> Beginning | None:
    """How a script reaches the implementation, or ``None`` when only its adapter knows."""
    module = getattr(adapter, "module", None)
    if not isinstance(module, ModuleType):
        return None
    words = adapter.script_words
    lines = [words["use"]] if "use" in words else []
    setup = (re.sub(r"\bbackend\b", module.__name__, words["setup"]),) if "setup" in words else ()
    imports = ("import torch", f"import {module.__name__}")
    return Beginning(module.__name__, imports, (*lines, _graph(adapter, module, spec)), setup)


def _graph(adapter: Adapter, module: ModuleType, spec: str) -> str:
    cls = adapter.graph_class
    if getattr(module, cls.__qualname__, None) is cls:
        return f"Graph = {module.__name__}.{cls.__qualname__}"
    place, _, attribute = spec.rpartition(":")
    if place.endswith(".py"):
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
            f"Graph = _module.{attribute}"
        )
    if place:
        return f"import importlib\nGraph = importlib.import_module({place!r}).{attribute}"
    if cls.__module__ in sys.modules and importlib.util.find_spec(cls.__module__) is not None:
        return f"import importlib\nGraph = importlib.import_module({cls.__module__!r}).{cls.__qualname__}"
    return f"Graph = {module.__name__}.{cls.__qualname__}"
