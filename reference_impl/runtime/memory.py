"""Memory that the device may touch: known address ranges, and checked fills and copies.

Nothing here can crash the process: a byte outside a known range is refused before it is touched.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right, insort
from dataclasses import dataclass, field
from typing import Any

from reference_impl.poison import POISON
from reference_impl.runtime.bindings import cudaError_t
from reference_impl.runtime.errors import LOCK, Refusal

ALIGNMENT = 256
DEVICE_BYTES = 64 << 30
"""What `cudaMalloc` gives out at most, all allocations together."""


@dataclass(frozen=True)
class Range:
    """`nbytes` bytes at `address`; `owner` keeps them valid while the range is known."""

    address: int
    nbytes: int
    owner: object = field(repr=False, compare=False)


class Ranges:
    """Address ranges by their start.  Ranges of one registry have distinct starts but may nest."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: dict[int, Range] = {}
        self._longest = 0

    def add(self, item: Range) -> bool:
        """False where a range already starts at that address."""
        if item.address in self._ranges:
            return False
        insort(self._starts, item.address)
        self._ranges[item.address] = item
        self._longest = max(self._longest, item.nbytes)
        return True

    def remove(self, address: int) -> Range | None:
        item = self._ranges.pop(address, None)
        if item is not None:
            self._starts.remove(address)
        return item

    def cover(self, address: int, nbytes: int) -> bool:
        """Whether one known range holds all of `nbytes` bytes at `address`."""
        index = bisect_right(self._starts, address)
        while index:
            index -= 1
            item = self._ranges[self._starts[index]]
            if item.address + item.nbytes >= address + nbytes:
                return True
            # No range that starts further left is long enough to reach the address.
            if item.address + self._longest < address + nbytes:
                return False
        return False

    def overlaps(self, address: int, nbytes: int) -> bool:
        return any(
            item.address < address + nbytes and address < item.address + item.nbytes for item in self._ranges.values()
        )

    def __contains__(self, address: int) -> bool:
        return address in self._ranges

    def __len__(self) -> int:
        return len(self._ranges)

    @property
    def nbytes(self) -> int:
        return sum(item.nbytes for item in self._ranges.values())


allocations = Ranges()
host_registered = Ranges()
announced = Ranges()


def register_memory(address: int, nbytes: int, owner: object = None) -> None:
    """Let memory operations reach `nbytes` bytes at `address`, until they are unregistered.

    `owner` is held meanwhile: give what keeps the bytes valid.  Registering an address again replaces its range.
    Raises ValueError unless address and size are positive.
    """
    if address <= 0 or nbytes <= 0:
        raise ValueError(f"register_memory needs a positive address and size, got {address:#x}, {nbytes}")
    with LOCK:
        announced.remove(address)
        announced.add(Range(address, nbytes, owner))


def unregister_memory(address: int) -> None:
    """Forget a range of `register_memory`.  Raises KeyError for an unknown one."""
    with LOCK:
        if announced.remove(address) is None:
            raise KeyError(f"no memory is registered at {address:#x}")


def known(address: int, nbytes: int) -> bool:
    """Whether the device may touch all of `nbytes` bytes at `address`."""
    if address <= 0 or nbytes < 0:
        return False
    with LOCK:
        return (
            allocations.cover(address, nbytes)
            or announced.cover(address, nbytes)
            or host_registered.cover(address, nbytes)
        )


def allocate(nbytes: int) -> int:
    """The address of `nbytes` fresh bytes of poison, aligned as `cudaMalloc` aligns them."""
    if nbytes == 0:
        return 0
    if nbytes < 0 or allocations.nbytes + nbytes > DEVICE_BYTES:
        raise Refusal(cudaError_t.cudaErrorMemoryAllocation)
    try:
        block = (ctypes.c_char * (nbytes + ALIGNMENT))()
    except MemoryError:
        raise Refusal(cudaError_t.cudaErrorMemoryAllocation) from None
    address = -(-ctypes.addressof(block) // ALIGNMENT) * ALIGNMENT
    ctypes.memset(address, POISON, nbytes)
    allocations.add(Range(address, nbytes, block))
    return address


def release(address: int) -> None:
    """Forget an allocation of `allocate`; the null address is nothing to release."""
    if address and allocations.remove(address) is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)


@dataclass(frozen=True)
class Area:
    """Rows of bytes in memory: `depth` slices of `height` rows of `width` bytes."""

    address: int
    width: int
    height: int = 1
    depth: int = 1
    pitch: int = 0
    slice_pitch: int = 0

    @property
    def span(self) -> int:
        """Bytes from the first to behind the last."""
        return (self.depth - 1) * self.slice_pitch + (self.height - 1) * self.pitch + self.width

    @property
    def known(self) -> bool:
        return known(self.address, self.span)

    def rows(self) -> list[int]:
        """The address of each row."""
        return [
            self.address + z * self.slice_pitch + y * self.pitch for z in range(self.depth) for y in range(self.height)
        ]


@dataclass(frozen=True)
class Fill:
    """A memset: `value`'s low `element_size` bytes (1, 2 or 4) over every element of the area."""

    area: Area
    value: int
    element_size: int = 1

    def check(self) -> None:
        """Refuse a memset that `cudaGraphAddMemsetNode` would not take."""
        area = self.area
        if (
            self.element_size not in (1, 2, 4)
            or area.width <= 0
            or area.height <= 0
            or (area.height > 1 and area.pitch < area.width)
            or area.address % self.element_size
            or (area.height > 1 and area.pitch % self.element_size)
            or not area.known
        ):
            raise Refusal(cudaError_t.cudaErrorInvalidValue)

    def __call__(self) -> None:
        with LOCK:
            if not self.area.known:
                raise Refusal(cudaError_t.cudaErrorIllegalAddress)
            for row in self.area.rows():
                if self.element_size == 1:
                    ctypes.memset(row, self.value & 0xFF, self.area.width)
                else:
                    mask = (1 << 8 * self.element_size) - 1
                    element = (self.value & mask).to_bytes(self.element_size, "little")
                    ctypes.memmove(row, element * (self.area.width // self.element_size), self.area.width)


@dataclass(frozen=True)
class Copy:
    """A memcpy between two areas of one shape.  `kind` is kept but not needed: one memory serves all."""

    destination: Area
    source: Area
    kind: Any
    linear: bool = True

    def check(self) -> None:
        """Refuse a memcpy of nothing, of an impossible shape, or outside of known memory."""
        for area in (self.destination, self.source):
            if (
                min(area.width, area.height, area.depth) <= 0
                or (area.height > 1 and area.pitch < area.width)
                or not area.known
            ):
                raise Refusal(cudaError_t.cudaErrorInvalidValue)

    def __call__(self) -> None:
        with LOCK:
            if not (self.destination.known and self.source.known):
                raise Refusal(cudaError_t.cudaErrorIllegalAddress)
            for to, start in zip(self.destination.rows(), self.source.rows(), strict=True):
                ctypes.memmove(to, start, self.source.width)
