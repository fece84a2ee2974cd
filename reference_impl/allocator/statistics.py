"""Counters behind `memory_stats`."""

from __future__ import annotations


class Counter:
    """One quantity: how much came, how much went, and the most there was at once."""

    __slots__ = ("allocated", "freed", "peak")

    def __init__(self, allocated: int = 0, freed: int = 0, peak: int = 0) -> None:
        self.allocated = allocated
        self.freed = freed
        self.peak = peak

    @property
    def current(self) -> int:
        """What is there now."""
        return self.allocated - self.freed

    def shift(self, amount: int) -> None:
        """Count `amount` in, or out if it is negative."""
        if amount < 0:
            self.freed -= amount
        else:
            self.allocated += amount
            self.peak = max(self.peak, self.current)

    def flat(self, prefix: str) -> dict[str, int]:
        """The four values under the names that torch.cuda gives them."""
        return {
            f"{prefix}.current": self.current,
            f"{prefix}.peak": self.peak,
            f"{prefix}.allocated": self.allocated,
            f"{prefix}.freed": self.freed,
        }


class Tally:
    """The quantities of one size class.  Sizes are bytes; the others count things.

    Those that change at every allocation are plain integers, because a call for each would cost more than the
    allocation itself.  A block is active until it can be handed out again, and allocated until its owner gives it up:
    the difference is pending.  A piece is a free block that is not its whole segment.
    """

    __slots__ = (
        "_allocated_bytes_peak",
        "_allocated_peak",
        "_blocks_freed",
        "_blocks_peak",
        "_blocks_taken",
        "_bytes_freed",
        "_bytes_peak",
        "_bytes_taken",
        "_lagging",
        "_pending",
        "_pending_bytes",
        "_piece_bytes_freed",
        "_piece_bytes_made",
        "_piece_bytes_peak",
        "_pieces_freed",
        "_pieces_made",
        "_pieces_peak",
        "_requested_freed",
        "_requested_peak",
        "_requested_taken",
        "reserved_bytes",
        "segments",
    )

    def __init__(self) -> None:
        self._blocks_taken = self._blocks_freed = self._blocks_peak = 0
        self._bytes_taken = self._bytes_freed = self._bytes_peak = 0
        self._requested_taken = self._requested_freed = self._requested_peak = 0
        self._pieces_made = self._pieces_freed = self._pieces_peak = 0
        self._piece_bytes_made = self._piece_bytes_freed = self._piece_bytes_peak = 0
        self._pending = self._pending_bytes = 0
        # Until something has been pending, what is allocated peaks with what is active.
        self._lagging = False
        self._allocated_peak = self._allocated_bytes_peak = 0
        self.segments = Counter()
        self.reserved_bytes = Counter()

    def took(self, size: int, requested: int) -> None:
        """A block was handed out."""
        self._blocks_taken += 1
        blocks = self._blocks_taken - self._blocks_freed
        # Comparisons, as calls of max() at every tensor add up.
        if blocks > self._blocks_peak:  # noqa: PLR1730
            self._blocks_peak = blocks
        self._bytes_taken += size
        nbytes = self._bytes_taken - self._bytes_freed
        if nbytes > self._bytes_peak:  # noqa: PLR1730
            self._bytes_peak = nbytes
        if self._lagging:
            self._allocated_peak = max(self._allocated_peak, blocks - self._pending)
            self._allocated_bytes_peak = max(
                self._allocated_bytes_peak,
                nbytes - self._pending_bytes,
            )
        self._requested_taken += requested
        nbytes = self._requested_taken - self._requested_freed
        if nbytes > self._requested_peak:  # noqa: PLR1730
            self._requested_peak = nbytes

    def deferred(self, blocks: int, nbytes: int) -> None:
        """Blocks were given up while streams still use them; negative: these streams are done."""
        if not self._lagging:
            self._lagging = True
            self._allocated_peak = self._blocks_peak
            self._allocated_bytes_peak = self._bytes_peak
        self._pending += blocks
        self._pending_bytes += nbytes

    def returned(self, size: int, requested: int) -> None:
        """A block can be handed out again."""
        self._blocks_freed += 1
        self._bytes_freed += size
        self._requested_freed += requested

    def split(self, pieces: int, nbytes: int) -> None:
        """The pieces changed by that many, and by `nbytes` bytes in all."""
        if pieces > 0:
            self._pieces_made += pieces
            current = self._pieces_made - self._pieces_freed
            if current > self._pieces_peak:  # noqa: PLR1730
                self._pieces_peak = current
        elif pieces:
            self._pieces_freed -= pieces
        if nbytes > 0:
            self._piece_bytes_made += nbytes
            current = self._piece_bytes_made - self._piece_bytes_freed
            if current > self._piece_bytes_peak:  # noqa: PLR1730
                self._piece_bytes_peak = current
        else:
            self._piece_bytes_freed -= nbytes

    def reserved(self, segments: int, nbytes: int) -> None:
        """Segments came from the system; negative: went back to it."""
        self.segments.shift(segments)
        self.reserved_bytes.shift(nbytes)

    def reset_peaks(self) -> None:
        """Let every peak start again from what is there now."""
        self._blocks_peak = self._blocks_taken - self._blocks_freed
        self._bytes_peak = self._bytes_taken - self._bytes_freed
        self._requested_peak = self._requested_taken - self._requested_freed
        self._pieces_peak = self._pieces_made - self._pieces_freed
        self._piece_bytes_peak = self._piece_bytes_made - self._piece_bytes_freed
        self._allocated_peak = self._blocks_peak - self._pending
        self._allocated_bytes_peak = self._bytes_peak - self._pending_bytes
        self._lagging = self._pending != 0
        for counter in (self.segments, self.reserved_bytes):
            counter.peak = counter.current

    @property
    def allocated_bytes(self) -> Counter:
        """Bytes in blocks that their owners have not given up."""
        return Counter(
            self._bytes_taken,
            self._bytes_freed + self._pending_bytes,
            self._allocated_bytes_peak if self._lagging else self._bytes_peak,
        )

    def counters(self) -> dict[str, Counter]:
        """Every quantity under the name that torch.cuda gives it."""
        return {
            "active": Counter(self._blocks_taken, self._blocks_freed, self._blocks_peak),
            "active_bytes": Counter(self._bytes_taken, self._bytes_freed, self._bytes_peak),
            "allocated_bytes": self.allocated_bytes,
            "allocation": Counter(
                self._blocks_taken,
                self._blocks_freed + self._pending,
                self._allocated_peak if self._lagging else self._blocks_peak,
            ),
            "inactive_split": Counter(self._pieces_made, self._pieces_freed, self._pieces_peak),
            "inactive_split_bytes": Counter(
                self._piece_bytes_made,
                self._piece_bytes_freed,
                self._piece_bytes_peak,
            ),
            "requested_bytes": Counter(
                self._requested_taken,
                self._requested_freed,
                self._requested_peak,
            ),
            "reserved_bytes": self.reserved_bytes,
            "segment": self.segments,
        }


class Statistics:
    """Tallies of all blocks and of each size class, and the counts of trouble."""

    def __init__(self) -> None:
        self.all = Tally()
        self.small = Tally()
        self.large = Tally()
        self.retries = 0
        self.ooms = 0

    def flat(self) -> dict[str, int]:
        """All values under torch.cuda's keys, sorted.  Sizes are bytes."""
        values = {
            # -1 is torch.cuda's word for no limit on splitting; with none, nothing is oversize.
            "max_split_size": -1,
            "num_alloc_retries": self.retries,
            "num_device_alloc": self.all.segments.allocated,
            "num_device_free": self.all.segments.freed,
            "num_ooms": self.ooms,
            "num_sync_all_streams": 0,
        }
        for name in ("oversize_allocations", "oversize_segments"):
            values |= Counter().flat(name)
        for pool, tally in self._tallies().items():
            for name, counter in tally.counters().items():
                values |= counter.flat(f"{name}.{pool}")
        return dict(sorted(values.items()))

    def reset_peaks(self) -> None:
        """Let every peak start again from what is there now."""
        for tally in self._tallies().values():
            tally.reset_peaks()

    def _tallies(self) -> dict[str, Tally]:
        return {"all": self.all, "small_pool": self.small, "large_pool": self.large}
