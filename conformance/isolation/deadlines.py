"""How long a test may take in a worker: less, once its class has hung in several.

A class that hangs often would cost the whole limit each time.  What is shortened must blame nobody who is only slow, so
the first tests that run into the shorter limit run again with the whole one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.session.cases import Case
    from conformance.session.options import Options

#: Tests of a class that have hung for the whole limit, before the others get less.
HANGS = 3
#: Tests that hung for the shorter limit, and not because they are slow, before others that hang are believed at once.
CONFIRMED = 3
#: The shorter limit: so many times as long as any test of the class and of its kind has taken, and no less than so many
#: seconds.
TIMES, LEAST_S = 10.0, 5.0
#: The same once hangs are believed at once.
TIMES_CONFIRMED, LEAST_CONFIRMED_S = 3.0, 2.0


@dataclass
class _History:
    """What is known of a class.

    Attributes:
        hangs: node ids of tests that have hung for the whole limit.
        confirmed: those that had hung for the shorter limit before, and ones that then came back in less than that:
            so the class hangs now and then, and the test is not slow.
        refuted: whether a test has taken longer than the shorter limit, for which it had hung, and come back.
        longest: seconds that a test has taken which came back, of those that draw what they do and of the others: the
            first take a hundred times as long.
    """

    hangs: set[str] = field(default_factory=set)
    confirmed: set[str] = field(default_factory=set)
    refuted: bool = False
    longest: dict[bool, float] = field(default_factory=lambda: {True: 0.0, False: 0.0})


class Deadlines:
    """Sets the limit of each test.

    Args:
        options: what the command line says.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._histories: dict[str, _History] = {}
        #: The tests that must have their whole limit, with the shorter one for which they have hung.
        self._again: dict[str, float] = {}

    def limit(self, case: Case | None) -> float:
        """The seconds that a test may take."""
        whole = self._whole(case)
        if case is None or case.nodeid in self._again or case.seconds > self._options.test_timeout:
            return whole
        history = self._history(case)
        if len(history.hangs) < HANGS or history.refuted:
            return whole
        longest = history.longest[case.draws]
        if len(history.confirmed) < CONFIRMED:
            return min(whole, max(LEAST_S, TIMES * longest))
        return min(whole, max(LEAST_CONFIRMED_S, TIMES_CONFIRMED * longest))

    def came_back(self, case: Case, seconds: float) -> None:
        """Note that a test has come back after so many seconds."""
        history = self._history(case)
        history.longest[case.draws] = max(history.longest[case.draws], seconds)
        hung_for = self._again.get(case.nodeid)
        if hung_for is None:
            return
        if seconds < hung_for:
            history.confirmed.add(case.nodeid)
        else:
            history.refuted = True

    def runs_again(self, case: Case, allowed: float) -> bool:
        """Whether a test that has not come back in `allowed` seconds must have its whole limit before it is judged."""
        history = self._history(case)
        if self.is_whole(case, allowed):
            history.hangs.add(case.nodeid)
            if case.nodeid in self._again:
                history.confirmed.add(case.nodeid)
            return False
        if len(history.confirmed) >= CONFIRMED:
            return False
        self._again[case.nodeid] = allowed
        return True

    def is_whole(self, case: Case, allowed: float) -> bool:
        """Whether `allowed` seconds are all that a test may take."""
        return allowed >= self._whole(case)

    def remark(self, case: Case) -> str:
        """Why a test had less than the whole limit."""
        hangs = len(self._history(case).hangs)
        return f"(less than its {self._whole(case):g} s, for which {hangs} tests had hung)"

    def _history(self, case: Case) -> _History:
        return self._histories.setdefault(case.implementation, _History())

    def _whole(self, case: Case | None) -> float:
        """The limit: more where a test was asked to draw more than usual."""
        if case is None:
            return self._options.test_timeout
        limit = max(self._options.test_timeout, case.seconds)
        exploring = case.draws and self._options.explore is not None
        return limit * max(1.0, self._options.examples) if exploring else limit
