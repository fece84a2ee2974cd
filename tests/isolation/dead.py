"""The reference's class, of which no graph can be captured in a process any more once a capture of it has failed."""

from __future__ import annotations

from typing import Any

import reference_impl

DEAD: list[BaseException] = []


class Dead(reference_impl.CUDAGraph):
    def capture_begin(self, *settings: Any, **named: Any) -> None:
        _look()
        super().capture_begin(*settings, **named)

    def capture_end(self) -> None:
        _look()
        try:
            super().capture_end()
        except BaseException as error:
            DEAD.append(error)
            raise

    def replay(self) -> None:
        _look()
        super().replay()

    def reset(self) -> None:
        _look()
        super().reset()


def _look() -> None:
    if DEAD:
        raise RuntimeError("the driver is in an error state since a capture failed")
