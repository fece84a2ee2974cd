"""Declarations that cannot all be so."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.adapter import Adapter

#: What a capability cannot be without.
_NEEDS = {"template_editing": ("raw_handles",)}


def contradictions(adapter: Adapter) -> Iterator[tuple[str, str]]:
    """Each capability that is declared present and cannot be, with what stands against it and what to do."""
    present = [name for name, value in adapter.capabilities.items() if value is True]
    for name in present:
        for other in _NEEDS.get(name, ()):
            if adapter.capabilities.get(other) is False:
                yield (
                    name,
                    (
                        f"{name} is declared present and {other} absent, without which there is none: "
                        f'declare capabilities={{"{name}": False}}, or leave {other} out'
                    ),
                )
    if "template_editing" in present and adapter.runtime is None:
        yield (
            "runtime",
            (
                "template_editing is declared present, and the adapter has no runtime to edit with: give it one, "
                'or declare capabilities={"template_editing": False}'
            ),
        )
