"""How many examples a property test draws: few and always the same, or with ``--explore`` many new ones."""

from __future__ import annotations

from hypothesis import settings

#: How many times as many examples an exploring session draws.
EXPLORING = 5


def exploring() -> bool:
    """Whether this session draws new examples."""
    return not settings.default.derandomize if settings.default is not None else False


def examples(count: int, *, steps: int = 50) -> settings:
    """Settings for `count` examples in conformance mode, of at most `steps` steps for a state machine."""
    return settings(max_examples=count * EXPLORING if exploring() else count, stateful_step_count=steps)
