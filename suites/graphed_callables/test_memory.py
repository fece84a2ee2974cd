"""Memory of graphed callables once nobody has them."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.markers import needs, requirement
from suites.graphed_callables.programs import leaf
from suites.support.memory import check_returns
from suites.support.programs import ramp

SIZE = 30011


@requirement("pools.memory-returns-after-delete")
@needs("graphed_callables")
def test_memory_of_a_function_that_is_gone(impl: Adapter) -> None:
    """A function is graphed, called, differentiated and dropped, three times."""

    def work() -> None:
        graphed = impl.make_graphed_callables(lambda x: (x * x + 1.0) * x, (leaf(impl, ramp(SIZE)),))
        graphed(leaf(impl, ramp(SIZE, 3))).sum().backward()

    check_returns(impl, work, "memory returns to its baseline after a graphed function is deleted")
