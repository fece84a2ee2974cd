"""Captures that a call spoils, and the same programs captured again."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.checks import expect, expect_no_raise, is_refusal
from conformance.markers import needs, property_test, requirement
from suites.random_programs.scripts import DrawnScript, hold
from suites.support.captures import capture_between, captured
from suites.support.disturbances import attempt
from suites.support.modes import MODES, unsafe, unsafe_elsewhere

REPORTED = "a call that a capture cannot hold raises, there or when the capture ends"
WHOLE = "a capture that ends well although a call in it was refused has the captured work"
ENDS = "capture_end raises when a fork was not joined"
FREE = "after a capture that failed no stream of it is capturing"
AGAIN = "a program whose capture was spoiled gives the right bits when it is captured again"
HELD = "a capture that failed takes nothing from the graphs that were captured before"
#: What spoils a capture, and what spoils one by a second stream.
SPOILERS = ("impl.synchronize", "side.synchronize", "element.item")
FORKED = ("unjoined",)


@property_test
@requirement("random-programs.spoiled")
def test_spoiled(impl: Adapter) -> None:
    """A host read or a wait in the capture, in a pool that another graph holds."""
    hold(impl, 6, lambda script: _play(script, SPOILERS))


@property_test
@requirement("random-programs.spoiled-forks")
def test_spoiled_by_a_fork(impl: Adapter) -> None:
    """A fork that is never joined."""
    hold(impl, 4, lambda script: _play(script, FORKED))


def _play(script: DrawnScript, spoilers: tuple[str, ...]) -> None:
    script.use(attempt, captured, capture_between, expect, expect_no_raise, is_refusal)
    script.do("x, out = impl.tensor([float(place) for place in range(37)]), impl.full(37, -1.0)")
    script.do("element, extra, eager = x[3], impl.full(37, 0.0), []")
    script.do("side, fork = impl.new_stream(), impl.new_stream()")
    factor, offset = script.number(2, 5), script.number(1, 9)
    script.do("def work():", f"    y = x * {factor}", f"    y = y + {offset}", "    out.copy_(y)")
    script.do(
        "def unjoined():",
        "    fork.wait_stream(impl.current_stream())",
        "    with impl.stream(fork):",
        "        extra.add_(1)",
    )
    pools = script.impl.owes("pools")
    pool = ", pool=pool" if pools else ""
    if pools:
        script.do("pool = impl.graph_pool_handle()")
    script.do("result = impl.full(37, -1.0)")
    script.do("def work_before():", "    y = x * 3", "    result.copy_(y + 1)")
    script.do(f"earlier, _ = captured(impl, work_before, stream=side{pool})")
    for turn in range(script.number(1, 2)):
        spoiler = script.one_of(*spoilers)
        script.do(f"outcome = attempt(impl, work, {spoiler}, stream=side{pool})", "ending = outcome.ending")
        if spoiler == "unjoined":
            script.do(f"expect(is_refusal(ending), {ENDS!r}, str(outcome))")
        else:
            reported = "is_refusal(outcome.refusal) or is_refusal(ending)"
            script.do(f"expect({reported}, {REPORTED!r}, str(outcome))")
            script.do(
                "if ending is None:",
                f"    expect_no_raise({WHOLE!r}, outcome.graph.replay)",
                f"    expect_equal(impl, out, impl.read(x) * {factor} + {offset}, {WHOLE!r})",
            )
        script.do(
            "for stream in (side, fork):",
            "    with impl.stream(stream):",
            f"        expect(not impl.is_current_stream_capturing(), {FREE!r}, 'one still is')",
            "        extra.fill_(7).add_(1)",
            "    impl.synchronize()",
            f"expect_equal(impl, extra, 8, {FREE!r})",
            "outcome.graph.reset()" if script.impl.has_reset else "del outcome",
            "impl.empty_cache()",
            "with impl.stream(side):",
            f"    eager.append(impl.full(37, {turn + 50}.0))",
            "impl.synchronize()",
        )
        where = script.one_of("side", "fork")
        script.do(f"again, settings = impl.graph_for({pool.removeprefix(', ')})")
        script.do(f"capture_between(impl, again, work, stream={where}, **settings)")
        for start in (turn + 2, turn - 9):
            script.do(f"x.copy_(impl.tensor([float(place + {start}) for place in range(37)]))", "out.fill_(-1)")
            script.do("again.replay()", f"values = torch.arange(37.0) + {start}")
            script.do(f"expect_equal(impl, out, values * {factor} + {offset}, {AGAIN!r})")
            script.do("earlier.replay()", f"expect_equal(impl, result, values * 3 + 1, {HELD!r})")
        script.do(
            "for number, tensor_then in enumerate(eager):",
            f"    expect_equal(impl, tensor_then, number + 50, {HELD!r})",
        )


@property_test
@requirement("random-programs.error-modes")
@needs("raw_allocation")
def test_error_modes(impl: Adapter) -> None:
    """Captures in several modes, and a potentially unsafe call of the capturing thread in each."""
    hold(impl, 5, lambda script: _modes(script, ("own",)))


@property_test
@requirement("random-programs.error-modes-threads")
@needs("raw_allocation", "capture_modes")
def test_error_modes_of_threads(impl: Adapter) -> None:
    """The same, with calls of other threads."""
    hold(impl, 8, lambda script: _modes(script, ("own", "other", "other")))


def _modes(script: DrawnScript, callers: tuple[str, ...]) -> None:
    script.use(attempt, expect, unsafe, unsafe_elsewhere, is_refusal)
    script.do("x = impl.full(37, 1.0)", "x.mul_(1).add_(0)", "impl.synchronize()")
    script.do("def work():", "    x.mul_(3).add_(1)")
    calls = {"own": "unsafe(impl)", "other": "unsafe_elsewhere(impl)"}
    for turn in range(script.number(3, 4)):
        # The first is always the same, so that what it leaves behind shows in the others.
        mode, caller = script.one_of(*MODES) if turn else MODES[0], script.one_of(*callers)
        script.do(f"outcome = attempt(impl, work, {calls[caller]}, mode={mode!r})")
        script.do(f"expect(not outcome.left_capturing, {FREE!r}, str(outcome))")
        if mode == "global" or (mode == "thread_local" and caller == "own"):
            promise = f"under {mode!r} an unsafe call of the {caller} thread raises"
            script.do(f"expect(is_refusal(outcome.refusal), {promise!r}, str(outcome))")
            script.do("outcome.graph.reset()" if script.impl.has_reset else "del outcome")
            continue
        promise = f"under {mode!r} such a call of the {caller} thread works and leaves the capture whole"
        script.do(
            f"expect(outcome.refusal is None and outcome.ending is None, {promise!r}, str(outcome))",
            f"x.fill_({turn})",
            "outcome.graph.replay()",
            f"expect_equal(impl, x, {3 * turn + 1}, {promise!r})",
        )
