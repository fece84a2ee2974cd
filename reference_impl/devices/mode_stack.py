"""Dispatch modes, and where they belong on the thread's mode stack.

The modes of a thread are called from the top of the stack down, and PyTorch's own ``with`` statement only ever pushes
on top.  A mode that stands for the device has to be the last one called, whatever the user pushed before or pushes
later (a FLOP counter, a tensor tracker): it goes to the bottom, and can be taken out from wherever it is.
"""

from __future__ import annotations

from torch._C import _len_torch_dispatch_stack, _pop_torch_dispatch_stack, _push_on_torch_dispatch_stack
from torch.utils._python_dispatch import TorchDispatchMode


class Mode(TorchDispatchMode):
    """What every dispatch mode here is."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Guarding the mode against the compiler would import the compiler, which takes seconds.
        return False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]


def push_at_bottom(mode: TorchDispatchMode) -> None:
    """Make `mode` the last mode of this thread to see an operator."""
    _rebuild([mode, *_take_all()])


def remove(mode: TorchDispatchMode) -> bool:
    """Take `mode` out of this thread's stack; return whether it was there."""
    stack = _take_all()
    _rebuild([other for other in stack if other is not mode])
    return any(other is mode for other in stack)


def _take_all() -> list[TorchDispatchMode]:
    """Empty the stack; the bottom mode comes first."""
    taken = [_pop_torch_dispatch_stack(None) for _ in range(_len_torch_dispatch_stack())]
    return taken[::-1]


def _rebuild(stack: list[TorchDispatchMode]) -> None:
    for mode in stack:
        _push_on_torch_dispatch_stack(mode)
