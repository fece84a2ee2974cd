"""What programs leave of their memory when they are gone."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import property_test, requirement
from suites.random_programs.scripts import DrawnScript, hold
from suites.support.captures import captured
from suites.support.memory import usage, usage_since

COUNTED = "memory of a capture's outputs counts as allocated while they live, as that of other tensors does"
ALLOCATED = "allocated memory is back where it was once graphs and tensors are gone"
RESERVED = "reserved memory is back where it was once graphs and tensors are gone and the cache is emptied"
SIZES = (30_011, 37, 700_001)


@property_test
@requirement("random-programs.memory-returns")
def test_memory_returns(impl: Adapter) -> None:
    """Two rounds of the same captures, replays and endings, after a first one."""
    hold(impl, 3, _play)


def _play(script: DrawnScript) -> None:
    script.use(captured, expect, usage, usage_since)
    pools = script.impl.owes("pools")
    # Where only graphs have tokens, a handle would be one of a graph that stays: there the first graph's is the pool.
    handle = pools and script.impl.dialect != "accelerator"
    lines, names = ["def once(allocated):", "    pool = impl.graph_pool_handle()" if handle else "    pool = None"], []
    token_known = handle
    for number in range(script.number(2, 3)):
        size = script.one_of(*SIZES)
        shared = ", pool=pool" if pools and script.one_of(True, False) else ""
        lines += [
            f"    x_{number} = impl.full({size}, 1.0)",
            f"    graph_{number}, out_{number} = captured(impl, lambda: (x_{number} + 1) * 2 + 3{shared})",
            f"    graph_{number}.replay()",
        ]
        if shared and not token_known:
            lines.append(f"    pool = graph_{number}.pool()")
            token_known = True
        names.append(number)
    living = " + ".join(f"x_{number}.nbytes + out_{number}.nbytes" for number in names)
    lines += [
        "    impl.synchronize()",
        "    now = impl.memory_allocated()",
        f"    expect(now >= allocated + {living}, {COUNTED!r}, f'{{now}} bytes after {{allocated}}')",
    ]
    for number in script.order(names):
        end = f"    graph_{number}.reset()" if script.impl.has_reset else f"    del graph_{number}"
        lines += script.one_of((end,), (f"    del out_{number}", end), ())
    script.do(*lines)
    script.do(
        "once(0)",
        "before = usage(impl)",
        "for _ in range(2):",
        "    once(before[0])",
        "    after = usage_since(impl, before)",
        f"    expect(after[0] == before[0], {ALLOCATED!r}, f'{{after[0]}} bytes after {{before[0]}}')",
        f"    expect(after[1] <= before[1], {RESERVED!r}, f'{{after[1]}} bytes after {{before[1]}}')",
    )
