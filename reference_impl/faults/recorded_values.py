"""Defects of the recorder and the replayer with some values only: dtypes, sizes and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from reference_impl.devices import operators
from reference_impl.faults.fault import Faults, replaced
from reference_impl.faults.recorder import Run, changed_rerun, tensors_in
from reference_impl.runtime.executables import Step

FAULTS = Faults("recorder")


# -- dtypes and sizes -------------------------------------------------------------------------------------------------


def _only_where(condition: Callable[[torch.Tensor], bool]) -> AbstractContextManager[Any]:
    """Leave the second half of every output and target unwritten for which `condition` holds."""

    def changed(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        written = outputs or operators.written_tensors(func, args, kwargs)
        hit = [tensor for tensor in written if condition(tensor)]
        if not hit:
            return None
        run: Run = original(func, args, kwargs, outputs)

        def half() -> None:
            before = [tensor.clone() for tensor in hit]
            run()
            for tensor, old in zip(hit, before, strict=True):
                flat = tensor.view(-1) if tensor.is_contiguous() else None
                if flat is not None:
                    flat[flat.numel() // 2 :].copy_(old.view(-1)[flat.numel() // 2 :])

        return half

    return changed_rerun(changed)


@FAULTS.patch("replay.dtypes")
def halves_written_to_the_half() -> AbstractContextManager[Any]:
    """Of 16-bit floats the first half of the elements is written: elements are counted in words of four bytes."""
    return _only_where(lambda tensor: tensor.dtype in (torch.float16, torch.bfloat16))


@FAULTS.patch("replay.dtypes")
def bytes_written_to_the_half() -> AbstractContextManager[Any]:
    """Of bytes and booleans the first half of the elements is written."""
    return _only_where(lambda tensor: tensor.dtype in (torch.bool, torch.uint8, torch.int8))


@FAULTS.patch("replay.dtypes")
def long_integers_cut() -> AbstractContextManager[Any]:
    """64-bit integers lose what does not fit into 32 bits: the second half of the elements is not written."""
    return _only_where(lambda tensor: tensor.dtype == torch.int64)


@FAULTS.patch("replay.dtypes")
def doubles_cut() -> AbstractContextManager[Any]:
    """Of 64-bit floats the first half of the elements is written."""
    return _only_where(lambda tensor: tensor.dtype == torch.float64)


@FAULTS.patch("replay.dtypes")
def complex_numbers_cut() -> AbstractContextManager[Any]:
    """Of complex numbers the first half of the elements is written: they are counted as reals."""
    return _only_where(lambda tensor: tensor.dtype.is_complex)


@FAULTS.patch("replay.large-tensors")
def large_tensors_cut() -> AbstractContextManager[Any]:
    """Of tensors with more than 65535 elements the second half is not written: a launch grid that overflows."""
    return _only_where(lambda tensor: tensor.numel() > 65535)


@FAULTS.patch("replay.zero-size")
def empty_tensors_refused() -> AbstractContextManager[Any]:
    """An operator on a tensor without elements cannot be captured: a launch of zero blocks."""

    def changed(_: Any, __: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        if any(tensor.numel() == 0 for tensor in (*outputs, *tensors_in((args, kwargs)))):
            raise RuntimeError("invalid configuration argument")
        return None

    return changed_rerun(changed)


# -- random numbers ---------------------------------------------------------------------------------------------------


def _random(changed: Callable[[Run, list[int]], Run]) -> AbstractContextManager[Any]:
    """Let ``changed(run, turns)`` be what nodes run that draw random numbers."""

    def remade(original: Any, func: Any, args: Any, kwargs: Any, outputs: Any) -> Run | None:
        if not operators.is_random(func):
            return None
        return changed(original(func, args, kwargs, outputs), [])

    return changed_rerun(remade)


@FAULTS.patch("replay.random-fresh")
def random_state_frozen() -> AbstractContextManager[Any]:
    """Every replay draws the same numbers: seed and offset are part of the recording."""

    def changed(run: Run, _: list[int]) -> Run:
        state = torch.get_rng_state()

        def frozen() -> None:
            torch.set_rng_state(state)
            run()

        return frozen

    return _random(changed)


@FAULTS.patch("replay.random-as-eager")
def tenth_draw_is_repeated() -> AbstractContextManager[Any]:
    """From its tenth replay on a graph draws what it drew then: offsets were reserved for so many."""

    def changed(run: Run, turns: list[int]) -> Run:
        tenth: list[torch.Tensor] = []

        def draw() -> None:
            turns.append(1)
            if len(turns) == 10:
                tenth.append(torch.get_rng_state())
            for state in tenth:
                torch.set_rng_state(state)
            run()

        return draw

    return _random(changed)


@FAULTS.patch("replay.random-as-eager")
def random_state_advanced_twice() -> AbstractContextManager[Any]:
    """A replay advances the generator by twice what it used, so that no replay draws what eager work would."""

    def changed(run: Run, _: list[int]) -> Run:
        def twice() -> None:
            run()
            run()

        return twice

    return _random(changed)


@FAULTS.patch("replay.random-as-eager")
def random_state_put_back() -> AbstractContextManager[Any]:
    """A replay leaves the generator as it found it, so that eager work behind it draws the same numbers again."""

    def changed(run: Run, turns: list[int]) -> Run:
        def put_back() -> None:
            state = torch.get_rng_state()
            for _ in range(len(turns) + 1):
                run()
            turns.append(1)
            torch.set_rng_state(state)

        return put_back

    return _random(changed)


@FAULTS.patch("replay.random-reseed")
def seed_kept_from_the_capture() -> AbstractContextManager[Any]:
    """Seeding between replays has no effect: each graph carries a generator state of its own along."""

    def changed(run: Run, _: list[int]) -> Run:
        own = [torch.get_rng_state()]

        def with_own() -> None:
            outside = torch.get_rng_state()
            torch.set_rng_state(own[0])
            run()
            own[0] = torch.get_rng_state()
            torch.set_rng_state(outside)

        return with_own

    return _random(changed)


@FAULTS.patch("replay.random-fresh", "replay.random-as-eager")
def second_draw_repeats_the_first() -> AbstractContextManager[Any]:
    """All draws of one replay begin at the same offset."""

    def changed(run: Run, _: list[int]) -> Run:
        def repeated() -> None:
            state = torch.get_rng_state()
            run()
            after.append(torch.get_rng_state())
            torch.set_rng_state(state)

        return repeated

    after: list[Any] = []
    return _random(changed)


@FAULTS.patch("replay.random-as-eager")
def draws_in_any_order() -> AbstractContextManager[Any]:
    """Random operators on forked streams draw in whichever order they happen to run."""
    return replaced(Step, "serial", lambda _: property(lambda self: None))
