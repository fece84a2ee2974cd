"""The errors that users of the reference see."""

from __future__ import annotations

from typing import Any


class GraphError(RuntimeError):
    """A call that the graph's state does not allow.  The message names the call, the state and the remedy."""


class DeviceError(RuntimeError):
    """The runtime refused a call; ``code`` is its ``cudaError_t``."""

    def __init__(self, call: str, code: Any, text: str, detail: str = "") -> None:
        super().__init__(f"CUDA error: {text} ({code.name}), returned by {call}." + (f" {detail}" if detail else ""))
        self.code = code


class HostReadInCapture(DeviceError):
    """An operator needs a value on the host while its stream captures, when no values exist yet."""


def check(runtime: Any, call: str, result: tuple[Any, ...], detail: str = "") -> Any:
    """Return what a runtime function gave besides its error code.

    Args:
        runtime: ``cuda.bindings.runtime`` or ``reference_impl.runtime``.
        call: name of the function, for the message.
        result: what the function returned, error code first.
        detail: one sentence for the user, added to the message.

    Returns:
        ``None``, the one further value, or the tuple of further values.

    Raises:
        DeviceError: the code is not ``cudaSuccess``.
    """
    code = result[0]
    if code:
        text = runtime.cudaGetErrorString(code)[1]
        raise DeviceError(call, code, text.decode() if isinstance(text, bytes) else str(text), detail)
    if len(result) == 2:
        return result[1]
    return result[1:] or None
