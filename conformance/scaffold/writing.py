"""The files that a vendor begins with."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from string import Template

from conformance.requirements.revisions import of_version
from conformance.requirements.vocabulary import CAPABILITIES, Dialect

_DIALECTS: Mapping[Dialect, str] = {
    "cuda": "pool and mode go to capture_begin",
    "xpu": "pool goes to capture_begin, there are no modes",
    "accelerator": "pool and mode go to the constructor, the graph is its own context manager",
}
_STAND_IN = """
    # The kit's own software device stands in for yours.  Put your package in its place, and delete what follows.
    module = reference_impl
    device = torch.device("cpu")

    def tensor(self, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        return reference_impl.tensor(data, dtype=dtype)

    def pinned(self, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        return reference_impl.pinned(torch.as_tensor(data, dtype=dtype))
"""


@dataclass(frozen=True)
class Subject:
    """What the files are about.

    Attributes:
        name: of the implementation, such as ``"torch.mine"``.
        package: to import, such as ``"torch_mine"``.
        graph_class: an expression for the class, such as ``"torch.mine.MINEGraph"``.
        dialect: the documented shape of the class.
        stand_in: whether the kit's software device is put in the place of the package.
    """

    name: str
    package: str
    graph_class: str
    dialect: Dialect
    stand_in: bool

    @classmethod
    def of(cls, name: str, *, dialect: Dialect = "cuda", stand_in: bool = False) -> Subject:
        """The one with the names that vendors use: ``torch_mine``, ``torch.mine`` and ``torch.mine.MINEGraph``."""
        device = name.removeprefix("torch.")
        if stand_in:
            return cls(name, "reference_impl", "reference_impl.CUDAGraph", "cuda", stand_in=True)
        package = f"torch_{device}" if name.startswith("torch.") else name
        return cls(name, package, f"{name}.{device.rpartition('.')[2].upper()}Graph", dialect, stand_in=False)

    @property
    def adapter(self) -> str:
        """The name of the adapter's class."""
        words = re.split(r"[^A-Za-z0-9]+", self.name.removeprefix("torch."))
        return "".join(word[:1].upper() + word[1:] for word in words) + "Adapter"


def files_for(subject: Subject, folder: str, today: dt.date) -> dict[str, str]:
    """The text of each file, by its name in `folder`."""
    word = re.sub(r"[^A-Za-z0-9]+", "-", subject.name).strip("-")
    values = {
        "name": subject.name,
        "adapter": subject.adapter,
        "class_name": subject.graph_class.rpartition(".")[2],
        "graph_class": subject.graph_class,
        "revision": of_version(version("torch")),
        "dialect": subject.dialect,
        "dialects": _DIALECTS[subject.dialect],
        "imports": _imports(subject),
        "capabilities": _capabilities(subject.dialect),
        "members": _STAND_IN.rstrip() if subject.stand_in else "",
        "folder": folder,
        "record": word,
        "label": word,
        "expires": (today + dt.timedelta(days=90)).isoformat(),
    }
    return {
        name.removesuffix(".txt"): _template(name).substitute(values).rstrip() + "\n"
        for name in ("adapter.py.txt", "waivers.toml.txt", "workflow.yml.txt", "readme.md.txt")
    }


def _template(name: str) -> Template:
    return Template((files("conformance.scaffold") / name).read_text(encoding="utf-8"))


def _imports(subject: Subject) -> str:
    if subject.stand_in:
        return "from typing import Any\n\nimport reference_impl\nimport torch"
    if subject.name.startswith("torch."):
        return f"import {subject.package}  # noqa: F401  # which registers {subject.name}\nimport torch"
    return f"import {subject.package}"


def _capabilities(dialect: Dialect) -> str:
    owed = [entry for entry in CAPABILITIES.values() if dialect in entry.dialects]
    return "\n".join(f'        # "{entry.name}": False,  # {entry.meaning}' for entry in owed)
