"""The state of the default generator, as programs read and set it while draws from it wait or are captured.

The software device draws from the host's generator.  What is drawn in a session waits in its stream, and what is drawn
in a capture is drawn by the replays: neither may be overtaken by a program that saves and restores the state, as
activation checkpointing does.  PyTorch shows such calls to no mode, so its functions are replaced while they matter.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch

from reference_impl import runtime
from reference_impl.errors import GraphError

#: What draws from the default generator are ordered by.
SERIAL = ("generator", None)

#: Where programs find the functions.
_PLACES = (torch, torch.random)


class Mark:
    """A state that a captured program has read: the one between two draws of each replay.

    Attributes:
        wanted: whether the program has set it again.
    """

    def __init__(self) -> None:
        self.wanted = False
        self._state: torch.Tensor | None = None

    def save(self) -> None:
        if self.wanted:
            self._state = torch.default_generator.get_state()

    def load(self) -> None:
        assert self._state is not None  # what is loaded was saved earlier in the same replay
        torch.default_generator.set_state(self._state)


class Draw:
    """A captured operator that draws, and what the program did to the state around it.

    Args:
        run: performs the operator.
        before: done first.
    """

    def __init__(self, run: Callable[[], Any], before: list[Callable[[], None]]) -> None:
        self._run = run
        self._before = before
        self.after: list[Callable[[], None]] = []

    def __call__(self) -> Any:
        for action in self._before:
            action()
        result = self._run()
        for action in self.after:
            action()
        return result


class CapturedDraws:
    """The draws of one capture from the default generator, whose state does not change while they are recorded."""

    def __init__(self) -> None:
        self._before_the_first: list[Callable[[], None]] = []
        #: What the program does goes here: behind the latest draw, once there is one.
        self._actions = self._before_the_first
        self._marks: list[tuple[torch.Tensor, Mark]] = []
        self._drawn_since_read = False

    def add(self, run: Callable[[], Any]) -> Draw:
        """The operator `run` as one that draws next."""
        draw = Draw(run, self._before_the_first)
        self._before_the_first = []
        self._actions = draw.after
        self._drawn_since_read = True
        return draw

    def read(self) -> torch.Tensor:
        """The state, for the program to set again later in the same capture."""
        state, mark = torch.default_generator.get_state(), Mark()
        self._marks.append((state, mark))
        self._actions.append(mark.save)
        self._drawn_since_read = False
        return state

    def set(self, state: torch.Tensor) -> None:
        """Let later draws go on from a state that was read in this capture.

        Raises:
            GraphError: it was not.
        """
        for known, mark in self._marks:
            if known is state:
                mark.wanted = True
                self._actions.append(mark.load)
                return
        if self._drawn_since_read or _content(state) != _content(torch.default_generator.get_state()):
            raise GraphError(
                "set_rng_state(): the current stream is capturing, and what the capture draws can only go on from a "
                "state that was read in the same capture: set the state before the capture, or before a replay"
            )

    def require_seed(self, seed: int) -> None:
        """Raise unless `seed` is what the generator was last seeded with.

        Raises:
            GraphError: it is not.
        """
        if seed % 2**64 != torch.default_generator.initial_seed():
            raise GraphError(
                "manual_seed(): the current stream is capturing, and replays draw from the generator as it is when "
                "they run: seed it before the capture, or before a replay"
            )


def _content(state: torch.Tensor) -> bytes:
    return bytes(state.numpy().tobytes())  # unlike torch's own comparison nothing that a capture would see


class Watch:
    """Replaces PyTorch's functions for the default generator's state while a session or a capture is underway.

    Args:
        listens: whether it is the program that calls, and not the device's own work.
        capturing: the draws of the calling thread's capture, or ``None``.
    """

    def __init__(self, listens: Callable[[], bool], capturing: Callable[[], CapturedDraws | None]) -> None:
        self._listens = listens
        self._capturing = capturing
        self._lock = threading.Lock()
        self._reasons = 0
        self._originals: dict[str, Callable[..., Any]] = {}
        self._replacements: dict[str, Callable[..., Any]] = {
            name: functools.wraps(getattr(torch, name))(functools.partial(getattr(self, f"_{name}")))
            for name in ("get_rng_state", "set_rng_state", "manual_seed")
        }

    def begin(self) -> None:
        """There is one more reason to watch."""
        with self._lock:
            self._reasons += 1
            if self._reasons == 1:
                self._originals = {name: getattr(torch, name) for name in self._replacements}
                self._put(self._replacements)

    def end(self) -> None:
        """There is one reason less."""
        with self._lock:
            self._reasons -= 1
            if self._reasons == 0:
                self._put(self._originals)

    def _put(self, functions: dict[str, Callable[..., Any]]) -> None:
        for name, function in functions.items():
            for module in _PLACES:
                setattr(module, name, function)

    def manual_seed(self, seed: int) -> None:
        """Seed the default generator, unless a capture is underway that would not see it.

        Raises:
            GraphError: the calling thread's current stream captures, and the seed is another one.
        """
        if self._before_seeding(seed):
            torch.default_generator.manual_seed(seed)

    def _before_seeding(self, seed: int) -> bool:
        """Whether to seed now; what was asked for before comes from the old state."""
        draws = self._draws()
        if draws is None:
            return True
        draws.require_seed(seed)
        return False

    def _get_rng_state(self) -> torch.Tensor:
        draws = self._draws()
        return self._originals["get_rng_state"]() if draws is None else draws.read()

    def _set_rng_state(self, new_state: torch.Tensor) -> None:
        draws = self._draws()
        if draws is None:
            self._originals["set_rng_state"](new_state)
        else:
            draws.set(new_state)

    def _draws(self) -> CapturedDraws | None:
        """The draws of the program's capture; or ``None``, once what the program asked for before has been drawn."""
        if not self._listens():
            return None
        draws = self._capturing()
        if draws is None:
            runtime.finish_serial(SERIAL)
        return draws

    def _manual_seed(self, seed: Any) -> torch.Generator:
        if not self._before_seeding(int(seed)):
            return torch.default_generator
        return self._originals["manual_seed"](seed)  # type: ignore[no-any-return]
