"""The caching allocator under tensors: storages, threads and finalizers."""

from __future__ import annotations

import gc
import math
import random
import subprocess
import sys
import textwrap
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from reference_impl.allocator import (
    Block,
    new_pool_id,
)
from reference_impl.allocator.storage import TensorAllocator, alias

from .allocator_kit import ROOT, Streams, current

# Storages


def over(storage: torch.UntypedStorage, count: int) -> torch.Tensor:
    """A float tensor over a storage."""
    return torch.empty(0).set_(storage, 0, (count,), (1,))


def floats(allocator: TensorAllocator, count: int) -> tuple[torch.Tensor, Block]:
    """A float tensor on a block of its own."""
    block = allocator.allocate(4 * count, 0)
    storage = allocator.tensor_storage(block)
    return over(storage, count), block


def test_a_storage_owns_its_block() -> None:
    allocator = TensorAllocator()
    tensor, block = floats(allocator, 7)
    assert tensor.data_ptr() == block.address
    assert tensor.untyped_storage().nbytes() == 28
    assert all(math.isnan(value) for value in tensor.tolist())
    view = tensor[2:]
    del tensor
    view.fill_(3)
    assert allocator.memory_allocated() == 512
    other = alias(block.address, 28)
    assert over(other, 7).tolist()[2:] == [3.0] * 5
    with pytest.raises(RuntimeError, match="owning storage already"):
        allocator.tensor_storage(block)
    del view
    assert allocator.memory_allocated() == 0
    assert all(math.isnan(value) for value in over(other, 7).tolist())
    with pytest.raises(RuntimeError, match="freed"):
        allocator.tensor_storage(block)


def test_storages_of_nothing() -> None:
    allocator = TensorAllocator()
    assert allocator.tensor_storage(allocator.allocate(0, 0)).nbytes() == 0
    assert alias(0, 0).nbytes() == 0


def test_a_block_freed_under_its_storage_is_freed_once() -> None:
    allocator = TensorAllocator()
    tensor, block = floats(allocator, 7)
    allocator.free(block)
    again = allocator.allocate(28, 0)
    del tensor
    assert again.state == "active_allocated"
    assert allocator.memory_allocated() == 512


def test_storages_die_inside_a_garbage_collection() -> None:
    allocator = TensorAllocator()
    baseline = current(allocator)
    for _ in range(50):
        cycle: list[object] = [floats(allocator, 300)[0]]
        cycle.append(cycle)
        del cycle
    gc.collect()
    allocator.empty_cache()
    assert current(allocator) == baseline


def test_memory_outlives_the_allocator_for_its_tensors() -> None:
    allocator = TensorAllocator()
    tensor, block = floats(allocator, 9)
    del allocator, block
    gc.collect()
    assert tensor.fill_(2).sum() == 18


def test_a_held_segment_stays_mapped_and_goes_promptly() -> None:
    allocator = TensorAllocator()
    block = allocator.allocate(64, 0)
    address = block.address
    segment = allocator.segment_of(address)
    assert segment is not None
    allocator.free(block)
    del block
    allocator.empty_cache()
    assert allocator.segment_of(address) is None
    values = over(alias(address, 64), 16)
    assert values.fill_(5).sum() == 80
    del values
    gone = weakref.ref(segment)
    gc.disable()
    try:
        del segment
        assert gone() is None
    finally:
        gc.enable()


def test_an_exit_with_live_tensors_is_silent() -> None:
    script = textwrap.dedent(
        """
        import gc, torch
        from reference_impl.allocator.storage import TensorAllocator
        allocator = TensorAllocator()
        def tensor(n):
            storage = allocator.tensor_storage(allocator.allocate(4 * n, 0))
            return torch.empty(0).set_(storage, 0, (n,))
        torch.kept = [tensor(n) for n in range(1, 50)]
        cycle = [tensor(3)]; cycle.append(cycle)
        """,
    )
    process = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_the_core_does_not_import_torch() -> None:
    script = "import sys, reference_impl.allocator.core as c; sys.exit('torch' in sys.modules)"
    # The package above may import torch, so only this package's path is given.
    probe = (
        "import sys, types; top = types.ModuleType('reference_impl'); "
        "top.__path__ = ['reference_impl']; sys.modules['reference_impl'] = top; " + script
    )
    process = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, check=False)
    assert process.returncode == 0


# Threads and finalizers


def test_threads_return_to_the_baseline() -> None:
    streams = Streams()
    allocator = TensorAllocator(fence=streams.fence)
    baseline = current(allocator)

    def work(seed: int) -> None:
        rng = random.Random(seed)
        tensors: list[tuple[torch.Tensor, int]] = []
        for step in range(600):
            if tensors and rng.random() < 0.5:
                tensor, value = tensors.pop(rng.randrange(len(tensors)))
                assert bool((tensor == value).all())
            else:
                tensor, block = floats(allocator, rng.randrange(1, 2000))
                tensors.append((tensor.fill_(seed * 1000 + step), seed * 1000 + step))
                if rng.random() < 0.2:
                    allocator.use_on_stream(block, 1 + rng.randrange(3))
            if step % 100 == 0:
                allocator.empty_cache()
                allocator.memory_snapshot()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(6) as executor:
            list(executor.map(work, range(6)))
    finally:
        sys.setswitchinterval(interval)
    streams.idle = {1, 2, 3}
    allocator.empty_cache()
    assert current(allocator) == baseline


def test_finalizers_inside_the_allocator_are_put_off() -> None:
    allocator = TensorAllocator()
    pool = new_pool_id()
    baseline = current(allocator)
    tensor, _ = floats(allocator, 5)
    allocator.retain_pool(pool)
    with allocator._gate:  # as if the collector ran during a change
        del tensor
        allocator.release_pool(pool)
        for call in (lambda: allocator.allocate(1, 0), allocator.memory_stats):
            with pytest.raises(RuntimeError, match="finalizer"):
                call()
    assert allocator.memory_allocated() == 0
    assert allocator.use_count(pool) == 0
    allocator.empty_cache()
    assert current(allocator) == baseline


def test_a_finalizer_does_not_wait_for_another_thread() -> None:
    allocator = TensorAllocator()
    tensors = [floats(allocator, 5)[0]]
    with allocator._gate:
        thread = threading.Thread(target=tensors.clear)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
    assert allocator.memory_allocated() == 0
