"""What graphing does to a module: identity, modes and hooks."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch

from conformance.adapter import Adapter
from conformance.checks import expect, expect_equal, expect_no_raise, expect_raises
from conformance.markers import requirement
from suites.graphed_callables.programs import SIZE, Scale, leaf
from suites.support.outcomes import judge_message
from suites.support.programs import ramp

HOOKS = pytest.mark.parametrize(
    "register", ["register_forward_pre_hook", "register_forward_hook", "register_full_backward_hook"]
)


def _scale(impl: Adapter, **settings: Any) -> Scale:
    module: Scale = impl.make_graphed_callables(Scale().to(impl.device), (leaf(impl, ramp(SIZE)),), **settings)
    return module


@requirement("graphed-callables.module-in-place")
def test_module_is_returned(impl: Adapter, observe: Any) -> None:
    """Notes whether the module itself comes back, and whether a model that holds it replays without being told."""
    model = torch.nn.Sequential(Scale(), torch.nn.ReLU()).to(impl.device)
    source = model[0]
    graphed = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    observe("the_module_itself", graphed is source)
    before = source.calls
    model(leaf(impl, ramp(SIZE, 3)))
    observe("its_model_replays", source.calls == before)


@requirement("graphed-callables.module-parameters")
def test_parameters_stay_where_they_are(impl: Adapter) -> None:
    """An optimizer that was made before graphing trains what the graphed module computes with."""
    source = Scale().to(impl.device)
    optimizer = torch.optim.SGD(source.parameters(), lr=2.0)
    before = {name: parameter.data_ptr() for name, parameter in source.named_parameters()}
    graphed = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    after = {name: parameter.data_ptr() for name, parameter in source.named_parameters()}
    expect(after == before, "graphing leaves the module's parameters where they are", f"{after}, before: {before}")
    weight, bias = ramp(SIZE, 1), ramp(SIZE, -9)
    for start in (2, -30, 11):
        promise = "a graphed module works with the parameters that its source has"
        optimizer.zero_grad(set_to_none=True)
        y = graphed(leaf(impl, ramp(SIZE, start)))
        expect_equal(impl, y, weight * ramp(SIZE, start) + bias, promise)
        y.sum().backward()
        optimizer.step()
        weight, bias = weight - 2.0 * ramp(SIZE, start), bias - 2.0


@requirement("graphed-callables.module-parameters")
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_anatomy(impl: Adapter, training: bool) -> None:
    """A graphed module has the parts that its source had, and each is in its mode: it can be saved and loaded."""
    source = torch.nn.Sequential(Scale(), torch.nn.Sequential(torch.nn.Dropout(0.0), torch.nn.Tanh())).to(impl.device)
    source.train(training)
    source[1].eval()
    before = _anatomy(source)
    graphed = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    after = _anatomy(graphed)
    promise = "graphing leaves a module the parts, names and modes that it has"
    expect(after == before, promise, f"{[*after.items() ^ before.items()]}")


def _anatomy(module: torch.nn.Module) -> dict[str, Any]:
    """Each part of a module by its name: a submodule's mode, the shape of a parameter or buffer."""
    parts: dict[str, Any] = {f"submodule {name}": part.training for name, part in module.named_modules()}
    parts |= {f"state {name}": tuple(value.shape) for name, value in module.state_dict().items()}
    return parts


@requirement("graphed-callables.module-parameters")
def test_part_of_a_model(impl: Adapter) -> None:
    """A graphed submodule, put where its source was, serves the model, and nothing runs its source's forward."""
    model = torch.nn.Sequential(Scale(), torch.nn.ReLU()).to(impl.device)
    source = model[0]
    model[0] = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    before = source.calls
    for start in (2, -30, 11):
        expected = (ramp(SIZE, 1) * ramp(SIZE, start) + ramp(SIZE, -9)).relu()
        expect_equal(impl, model(leaf(impl, ramp(SIZE, start))), expected, "a model uses its graphed part")
    expect(source.calls == before, "a model uses its graphed part", "the submodule's own forward ran")


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@requirement("graphed-callables.other-mode-runs-source")
def test_other_mode(impl: Adapter, training: bool) -> None:
    """In the mode that it was not graphed in, a module runs its own forward, on any shape."""
    calls: list[torch.Size] = []

    class Noted(Scale):
        """Notes its calls where copies of it do."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            calls.append(x.shape)
            return super().forward(x)

    source = Noted().to(impl.device).train(training)
    module = impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),))
    for other in (False, True, False, True):
        module.train(training != other)
        shape = (3, SIZE) if other else (SIZE,)
        before = len(calls)
        argument = leaf(impl, ramp(shape, 4))
        promise = "in the mode that it was not graphed in, a module takes any shape"
        y = expect_no_raise(promise, functools.partial(module, argument))
        runs = len(calls) - before
        expected = ramp(SIZE, 1) * ramp(shape, 4) + ramp(SIZE, -9)
        expect_equal(impl, y, expected, "both modes compute the module's results")
        if other:
            expect(runs == 1, "in the other mode the module's own forward runs", f"it ran {runs} times")
        else:
            expect(runs == 0, "in the mode of the capture the module replays", f"its own forward ran {runs} times")


@requirement("graphed-callables.random-masks", "replay.random-fresh")
def test_dropout_is_off_in_evaluation(impl: Adapter) -> None:
    """A model graphed for training drops nothing in evaluation mode."""
    model = torch.nn.Dropout(0.5).train()
    graphed = impl.make_graphed_callables(model, (leaf(impl, ramp(SIZE, 1)),))
    graphed.eval()
    expect_equal(impl, graphed(leaf(impl, ramp(SIZE, 1))), ramp(SIZE, 1), "in evaluation mode dropout drops nothing")
    graphed.train()
    values = impl.read(graphed(leaf(impl, ramp(SIZE, 1))))
    expect(bool((values == 0.0).any()), "in training mode dropout drops", "no element is zero")


@HOOKS
@requirement("graphed-callables.hooks-refused")
def test_hooks_before(impl: Adapter, register: str) -> None:
    """A module with hooks is refused, and keeps working."""
    source = Scale().to(impl.device)
    calls = []
    getattr(source, register)(lambda *_: calls.append(register))
    expect_raises(
        "a module with hooks is refused",
        lambda: impl.make_graphed_callables(source, (leaf(impl, ramp(SIZE)),)),
    )
    expected = ramp(SIZE, 1) * ramp(SIZE, 4) + ramp(SIZE, -9)
    expect_equal(impl, source(leaf(impl, ramp(SIZE, 4))), expected, "a refused module works as before")


@HOOKS
@requirement("graphed-callables.hooks-afterwards")
def test_hooks_after(impl: Adapter, register: str) -> None:
    """A hook that is registered on a graphed module is called once in every step."""
    module = _scale(impl)
    calls = []
    getattr(module, register)(lambda *_: calls.append(register))
    for step in range(3):
        y = module(leaf(impl, ramp(SIZE, step)))
        y.sum().backward()
        expect_equal(
            impl, y, ramp(SIZE, 1) * ramp(SIZE, step) + ramp(SIZE, -9), "a module with hooks computes its results"
        )
        expect(len(calls) == step + 1, "hooks registered afterwards are called", f"{len(calls)} of {step + 1} times")


def _with_trainable_buffer(impl: Adapter) -> Scale:
    source = Scale()
    source.register_buffer("offset", torch.ones(SIZE))
    source.to(impl.device).get_buffer("offset").requires_grad_()
    return source


@pytest.mark.parametrize("place", ["module", "submodule", "second-of-a-tuple"])
@requirement("graphed-callables.trainable-buffers-refused")
def test_trainable_buffer(impl: Adapter, place: str) -> None:
    """A buffer that requires grad is refused, wherever it is."""
    source: Any = _with_trainable_buffer(impl)
    samples: Any = (leaf(impl, ramp(SIZE)),)
    if place == "submodule":
        source = torch.nn.Sequential(Scale(), source).to(impl.device)
    elif place == "second-of-a-tuple":
        source, samples = (Scale().to(impl.device), source), (samples, (leaf(impl, ramp(SIZE)),))
    expect_raises("a module with a trainable buffer is refused", lambda: impl.make_graphed_callables(source, samples))


@HOOKS
@requirement("graphed-callables.hooks-refused")
def test_hooks_of_a_later_callable(impl: Adapter, register: str) -> None:
    """A module with hooks is refused as the second of a tuple, too."""
    sources = (Scale().to(impl.device), Scale().to(impl.device))
    getattr(sources[1], register)(lambda *_: None)
    samples = tuple((leaf(impl, ramp(SIZE)),) for _ in sources)
    expect_raises("a module with hooks is refused", lambda: impl.make_graphed_callables(sources, samples))


REASONS = pytest.mark.parametrize("reason", ["hook", "buffer", "sample", "autocast"])


@REASONS
@requirement("graphed-callables.refused-before-running")
def test_refused_before_anything_runs(impl: Adapter, reason: str) -> None:
    """A refusal comes before any callable of the tuple has run, so that statistics and random numbers are untouched."""
    _, runs = _refusal(impl, reason)
    expect(not runs, "what is refused is refused before any callable has run", f"there were {len(runs)} runs")


@REASONS
@requirement("graphed-callables.refusals-say-why")
def test_message_of_a_refusal(impl: Adapter, reason: str) -> None:
    """Whoever is refused is told why."""
    judge_message(_refusal(impl, reason)[0])


def _refusal(impl: Adapter, reason: str) -> tuple[BaseException, list[str]]:
    """What is raised for the second of two callables that must not be graphed, and the runs of both."""
    runs: list[str] = []

    class Noted(Scale):
        """Notes its runs where copies of it do."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            runs.append("a run")
            return super().forward(x)

    first, second = Noted().to(impl.device), Noted().to(impl.device)
    samples: list[Any] = [leaf(impl, ramp(SIZE)), leaf(impl, ramp(SIZE))]
    if reason == "hook":
        second.register_forward_hook(lambda *_: None)
    elif reason == "buffer":
        second.register_buffer("offset", impl.full(SIZE, 1.0).requires_grad_())
    elif reason == "sample":
        samples[1] = 2.0
    cached = torch.autocast(impl.device.type, dtype=torch.bfloat16, enabled=reason == "autocast", cache_enabled=True)
    with cached:
        error = expect_raises(
            f"callables with a wrong {reason} are refused",
            lambda: impl.make_graphed_callables((first, second), tuple((sample,) for sample in samples)),
        )
    return error, runs
