"""When the scripts of lost tests are written: the first ones of each cause at once, the others when all tests are over.

A class that costs a worker in each test would otherwise cost a script in each as well, most of which say the same.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from conformance.records.causes import key_of

if TYPE_CHECKING:
    from conformance.records.result import TestResult

#: Scripts of one cause that are written at once; a report shows as many.
AT_ONCE = 10
#: What writing the others may add to the time that the tests took, and the seconds that it may take at least.
SHARE = 0.25
LEAST_S = 5.0


class ScriptPlan:
    """Counts lost tests by their causes, and the time that is left for their scripts."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._until: float | None = None
        self._counts: Counter[tuple[str, ...]] = Counter()

    def is_urgent(self, implementation: str, result: TestResult) -> bool:
        """Whether the script of a test that came to `result` is to be written before any other test runs."""
        key = key_of(result)
        if key is None:  # no other test shows the same
            return True
        cause = implementation, *key
        self._counts[cause] += 1
        return self._counts[cause] <= AT_ONCE

    def has_time(self) -> bool:
        """Whether there is time for one more script, now that all tests are over."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + max(LEAST_S, SHARE * (now - self._begun))
        return now < self._until
