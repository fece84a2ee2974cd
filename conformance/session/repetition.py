"""The same error of the kit's or the adapter's in test after test: no more of them would say anything else."""

from __future__ import annotations

import re
from collections import Counter

from conformance.errors import one_line
from conformance.records.verdicts import Verdict
from conformance.session.outcome import Outcome

#: As many tests of one implementation with the same error end a session.
LIMIT = 10

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


class Repetitions:
    """Counts the errors of a session."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def note(self, outcome: Outcome) -> str | None:
        """Why the session ends with `outcome`; ``None`` while it goes on.

        A want of memory ends nothing: the device has others to serve, and may have some again.
        """
        if outcome.result.verdict is not Verdict.ERROR or outcome.starved:
            return None
        cause = _ADDRESS.sub("0x…", outcome.result.message)
        self._counts[outcome.implementation, cause] += 1
        if self._counts[outcome.implementation, cause] < LIMIT:
            return None
        return (
            f"{LIMIT} tests of {outcome.implementation} ended in the same error, so no other was begun: "
            f"{one_line(outcome.result.message)}"
        )
