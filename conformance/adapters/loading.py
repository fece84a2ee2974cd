"""What ``package.module:attribute`` and ``path/to/file.py:attribute`` name, imported."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.errors import ImplementationError, one_line
from conformance.tracebacks import last_line_in


def target_of(spec: str) -> Any:
    """The object that `spec` names.

    Raises:
        ImplementationError: it names none, or importing it fails.
    """
    place, _, path = spec.rpartition(":")
    if not place or not path:
        raise ImplementationError(f"--impl={spec}: write package.module:attribute or path/to/file.py:attribute")
    module = _load_file(spec, Path(place).expanduser()) if place.endswith(".py") else _load_module(spec, place)
    target: Any = module
    for part in path.split("."):
        try:
            target = getattr(target, part)
        except AttributeError:
            public = {name: None for name in vars(module) if not name.startswith("_")}
            raise ImplementationError(f"--impl={spec}: {place} has no attribute {path!r}{hint(path, public)}") from None
    return target


def _load_module(spec: str, name: str) -> ModuleType:
    # The pytest command, unlike python -m pytest, leaves the current folder off the path.
    _make_importable(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A parent package or the module itself is missing; anything else is missing inside the module.
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise ImplementationError(f"--impl={spec}: no module named {error.name!r}") from None
        raise import_failed(spec, name, error) from None
    except (Exception, SystemExit) as error:
        raise import_failed(spec, name, error) from None


def _load_file(spec: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise ImplementationError(f"--impl={spec}: no file {path}")
    path = path.resolve()
    _make_importable(path.parent)
    # A name of its own for each file, so that two files called adapter.py do not replace each other.
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    module_spec = importlib.util.spec_from_file_location(name, path)
    if module_spec is None or module_spec.loader is None:
        raise ImplementationError(f"--impl={spec}: {path} is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module
    try:
        module_spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise import_failed(spec, str(path), error) from None
    return module


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def import_failed(spec: str, name: str, error: BaseException) -> ImplementationError:
    """The refusal of a module that raises, with the last line of it that ran."""
    where = last_line_in(error)
    return ImplementationError(f"--impl={spec}: importing {name} failed{where}: {one_line(error)}")


def hint(word: str, names: Iterable[str]) -> str:
    """The one of `names` that is nearest to `word`, as a question; nothing if none is near."""
    matches = difflib.get_close_matches(word, list(names), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""
