"""How many of PyTorch's own operator samples the software device captures and replays with eager's bits.

    python benchmarks/operators.py [NAME …]

needs the package ``expecttest``, which PyTorch's sample collection imports.  Prints counts, and each operator that
differs.  A difference is not always a fault: some operators (``linalg.svdvals`` and its relatives) compute in another
way whenever a dispatch mode looks on, and nobody promises what ``empty`` holds.
"""

from __future__ import annotations

import collections
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import reference_impl as ref

DTYPES = (torch.float32, torch.int64, torch.complex64)
SAMPLES = 3
SEED = 42  # the one that PyTorch's samples of random operators set themselves


def samples(names: set[str]) -> Iterator[tuple[Any, torch.dtype, Any]]:
    for operator in op_db:
        if names and operator.name not in names:
            continue
        for dtype in DTYPES:
            if dtype in operator.dtypes:
                for sample in list(operator.sample_inputs("cpu", dtype, requires_grad=False))[:SAMPLES]:
                    yield operator, dtype, sample


def copied(sample: Any) -> tuple[Any, Any, Any]:
    call = (sample.input, sample.args, sample.kwargs)
    copies: tuple[Any, Any, Any] = pytree.tree_map_only(torch.Tensor, torch.clone, call)
    return copies


def tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def same(result: torch.Tensor, expected: torch.Tensor) -> bool:
    if result.dtype != expected.dtype or result.shape != expected.shape:
        return False
    if expected.numel() > 1 and result.stride() != expected.stride():
        return False
    return bool(((result == expected) | ((result != result) & (expected != expected))).all())  # noqa: PLR0124  # NaN


def outcome(operator: Any, sample: Any) -> str:
    torch.manual_seed(SEED)
    first, args, kwargs = copied(sample)
    try:
        expected = operator(first, *args, **kwargs)
    except Exception:  # such a sample says nothing about a graph
        return "fails eagerly"
    expected_all = tensors((expected, first, args, kwargs))
    if any(tensor.layout is not torch.strided for tensor in expected_all):
        return "not strided"

    first, args, kwargs = copied(sample)
    graph = ref.CUDAGraph()
    try:
        with ref.graph(graph):
            result = operator(first, *args, **kwargs)
    except ref.DeviceError as error:
        return "reads on the host" if "Invalidated" in str(error) else f"capture: {error}"
    graph.replay()
    for tensor, fresh in zip(tensors((first, args, kwargs)), tensors(copied(sample)), strict=True):
        tensor.copy_(fresh)
    torch.manual_seed(SEED)
    graph.replay()
    result_all = tensors((result, first, args, kwargs))
    return "same" if all(map(same, result_all, expected_all)) else "differs"


def main() -> None:
    warnings.simplefilter("ignore")
    counts: collections.Counter[str] = collections.Counter()
    differing: dict[str, None] = {}
    for operator, _, sample in samples(set(sys.argv[1:])):
        result = outcome(operator, sample)
        counts[result] += 1
        if result not in ("same", "reads on the host", "not strided", "fails eagerly"):
            differing[f"{operator.name}: {result}"] = None
    print(f"torch {torch.__version__}:", ", ".join(f"{count} {result}" for result, count in counts.most_common()))
    print("\n".join(differing))


if __name__ == "__main__":
    main()
