"""Loads the compiled backend, and compiles it first: once for each torch and each state of the sources."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import torch

_SOURCES = Path(__file__).parent / "csrc"


def load() -> None:
    """Load the library from the folder that ``HOSTMEM_BUILD`` names, or from ``build`` beside this package.

    Raises:
        RuntimeError: it has to be compiled, and there is no compiler, no ninja, or the installed torch is too old.
    """
    folder = Path(os.environ.get("HOSTMEM_BUILD", _SOURCES.parents[1] / "build"))
    library = folder / f"hostmem_{_digest()}.so"
    if library.exists():
        torch.ops.load_library(library)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        _compile_and_load(library)


def _digest() -> str:
    """Another one for each version of torch and each change of the sources."""
    texts = [path.read_bytes() for path in sorted(_SOURCES.iterdir())]
    return hashlib.sha256(b"\0".join([torch.__version__.encode(), *texts])).hexdigest()[:16]


def _compile_and_load(library: Path) -> None:
    from torch.utils import cpp_extension  # takes a second, and workers start often

    # In a folder of its own, so that processes that start together do not disturb each other.
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        cpp_extension.load(
            library.stem,
            [str(path) for path in sorted(_SOURCES.glob("*.cpp"))],
            extra_cflags=["-O0"],  # what takes time at run time are torch's kernels, which are compiled already
            build_directory=folder,
            is_python_module=False,
        )
        (Path(folder) / library.name).replace(library)
