"""Programs that draw random numbers, against eager runs from the same seeds."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.markers import property_test, requirement
from suites.random_programs.scripts import DrawnScript, hold
from suites.support.captures import captured

PROMISE = "from the same seed a replay draws what running the program eagerly at its place would"

#: Each makes 37 random numbers; ``x`` holds as many whole ones.
DRAWS = (
    "torch.rand(37, device=impl.device)",
    "torch.randn(37, device=impl.device)",
    "torch.randint(0, 1 << 20, (37,), device=impl.device)",
    "torch.empty_like(x).uniform_(-1.0, 1.0)",
    "torch.nn.functional.dropout(x + 1, 0.5)",
)


@property_test
@requirement("random-programs.random-numbers")
def test_random_numbers(impl: Adapter) -> None:
    """Several draws a program, seeding and eager draws between the replays."""
    hold(impl, 12, _play)


def _play(script: DrawnScript) -> None:
    script.use(captured)
    script.do("x = impl.tensor([float(place % 7) for place in range(37)])")
    _define(script)
    rounds = [script.one_of("run", "run", "draw", "seed") for _ in range(script.number(3, 5))] + ["run", "run"]
    seeds = [script.number(0, 99) for _ in (0, *rounds)]
    script.do(f"impl.manual_seed({seeds[0]})", "expected = []")
    for what, seed in zip(rounds, seeds[1:], strict=True):
        if what == "seed":
            script.do(f"impl.manual_seed({seed})")
        else:
            script.do(f"expected.append([impl.read(made) for made in {'work()' if what == 'run' else 'eager()'}])")
    # Whether capturing moves the generator is left open, so it is seeded afterwards.
    script.do("graph, static = captured(impl, work)", f"impl.manual_seed({seeds[0]})")
    for what, seed in zip(rounds, seeds[1:], strict=True):
        if what == "seed":
            script.do(f"impl.manual_seed({seed})")
            continue
        script.do("graph.replay()" if what == "run" else "drawn = eager()")
        script.do(
            f"for seen, value in zip({'static' if what == 'run' else 'drawn'}, expected.pop(0)):",
            f"    expect_equal(impl, seen, value, {PROMISE!r})",
        )


def _define(script: DrawnScript) -> None:
    lines, names = ["def work():"], []
    for number in range(script.number(1, 4)):
        name = f"r{number}"
        names.append(name)
        lines.append(f"    {name} = {script.one_of(*DRAWS)}")
        if number and script.one_of(True, False):
            lines.append(f"    {name} = {name} * {names[-2]} + x")
    script.do(*lines, f"    return {', '.join(names)},")
    script.do("def eager():", "    return torch.rand(5, device=impl.device),")
