"""The software runtime against the real one: the same calls, compared one by one.

Each script makes calls through a recorder, which writes down what they answer with addresses and
identities replaced by names.  On a machine with a GPU both runtimes must write the same.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from reference_impl import runtime as software

from . import capture_scripts, handle_scripts, template_scripts  # noqa: F401 - their scripts register themselves
from .drawn.machines import why_no_gpu
from .recorder import SCRIPTS, Recorder, native

MISSING = why_no_gpu()
# What the model offers and an older driver answers with these is not compared.
UNAVAILABLE = {"cudaErrorCallRequiresNewerDriver"}


def play(runtime: ModuleType, run: Callable[[Recorder], None]) -> list[str]:
    recorder = Recorder(runtime)
    before = software.cudaThreadExchangeStreamCaptureMode(recorder.mode("g"))[1]
    assert before == recorder.mode("g"), "a script before this one left its thread in another mode"
    runtime.cudaGetLastError()
    run(recorder)
    return recorder.log


@pytest.mark.parametrize("run", SCRIPTS, ids=lambda run: run.__name__)
def test_scripts_leave_no_capture_behind(run: Callable[[Recorder], None]) -> None:
    log = play(software, run)
    assert log == play(software, run), "the same calls were answered differently the second time"
    assert software.live_counts()["captures"] == 0


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
@pytest.mark.parametrize("run", SCRIPTS, ids=lambda run: run.__name__)
def test_software_answers_as_cuda_does(run: Callable[[Recorder], None]) -> None:
    native.cudaFree(0)
    real = play(native, run)
    model = play(software, run)
    differences = [
        f"call {index}:\n    CUDA:  {theirs}\n    model: {ours}"
        for index, (theirs, ours) in enumerate(zip(real, model, strict=False))
        if theirs != ours and not any(each in theirs for each in UNAVAILABLE)
    ]
    assert not differences, "the model answers differently from CUDA\n" + "\n".join(differences)
    assert len(real) == len(model)
