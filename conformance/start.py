"""Sets one pytest session up for conformance testing: in this process, or in workers that it controls."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.adapters.implementations import check_name, is_software
from conformance.errors import UsageError
from conformance.files import refuse_to_replace
from conformance.requirements.loading import load_registry
from conformance.session import outcome
from conformance.session.cases import Case, Selection, names_suites
from conformance.session.conclusion import Conclusion
from conformance.session.other_plugins import Guard, refuse_options
from conformance.session.record_paths import is_one_file
from conformance.session.recorder import Recorder
from conformance.waivers.clock import today
from conformance.waivers.reading import read_waivers
from conformance.waivers.session_waivers import SessionWaivers

if TYPE_CHECKING:
    import pytest

    from conformance.adapter import Adapter
    from conformance.session.options import Options

_PROFILE = "conformance"


def start(config: pytest.Config, options: Options) -> None:
    """Register what a session with ``--impl`` needs.

    Raises:
        KitError: a requirement file is malformed.
        UsageError: an implementation cannot be used, a record cannot be written, or a waiver file is malformed.
    """
    for spec in options.implementations:
        check_name(spec)
    refuse_options(config)
    config.pluginmanager.register(outcome, "conformance-outcome")
    if hasattr(config, "workerinput"):
        from conformance.isolation.messages import START_UP

        start_up = config.workerinput[START_UP]
        _execute(config, options, {}, Selection(), trial=start_up["trial"] and not start_up["spare"])
        return
    _refuse_to_replace_a_record(config, options)
    if _is_isolated(config, options):
        _supervise(config, options, _waivers(config, options))
    else:
        _in_this_process(config, options, _waivers(config, options))


def _is_isolated(config: pytest.Config, options: Options) -> bool:
    distributed = bool(config.getoption("tx", None))
    if options.isolate == "none" and distributed:
        raise UsageError("--no-isolate runs the tests in this process; leave -n and --tx out")
    if options.isolate is not None:
        return options.isolate != "none"
    return distributed or not all(is_software(spec, options.device) for spec in options.implementations)


def _refuse_to_replace_a_record(config: pytest.Config, options: Options) -> None:
    """At once, where its name is known before an implementation is; files in a folder are when they are opened."""
    record = options.record
    if record is None or options.resume is not None or config.option.collectonly:
        return
    if is_one_file(record, len(options.implementations)):
        refuse_to_replace("--record", Path(record), force=options.force)


def _waivers(config: pytest.Config, options: Options) -> SessionWaivers:
    """Only where the user started the session: workers leave it to that process to accept what they report."""
    registry = load_registry()
    file = None if options.waivers is None else read_waivers(Path(options.waivers), registry, config.rootpath)
    return SessionWaivers(file, today())


def _in_this_process(config: pytest.Config, options: Options, waivers: SessionWaivers) -> None:
    from conformance.isolation.process_control import share
    from conformance.records.subject import Subject
    from conformance.records.tested import accelerator_of

    cases: dict[str, Case] = {}
    selection = Selection()
    specs = _execute(config, options, cases, selection, alone=True)
    recorder = Recorder(config, options, load_registry(), cases, selection, waivers)
    accelerators = list(filter(None, (accelerator_of(adapter) for adapter, _ in specs)))
    if not config.option.collectonly and share(accelerators):
        recorder.note_other_run()
    recorder.open(Subject.of(adapter, spec) for adapter, spec in specs)
    if options.reruns:
        _run_again_here(config, options, recorder, cases)
    _register(config, recorder)


def _run_again_here(config: pytest.Config, options: Options, recorder: Recorder, cases: dict[str, Case]) -> None:
    from conformance.session.executor import Executor
    from conformance.session.reruns import InThisProcess, Reruns

    guard, executor = (config.pluginmanager.get_plugin(f"conformance-{name}") for name in ("guard", "executor"))
    assert isinstance(guard, Guard)
    assert isinstance(executor, Executor)
    guard.run = InThisProcess(Reruns(options.reruns, recorder), cases.__getitem__, executor.is_usable).run


def _execute(
    config: pytest.Config,
    options: Options,
    cases: dict[str, Case],
    selection: Selection,
    *,
    trial: bool = True,
    alone: bool = False,
) -> list[tuple[Adapter, str]]:
    # Only in a process that runs tests: these import the implementation.
    from conformance.adapters.implementations import resolve_all
    from conformance.session import fixtures, process_state
    from conformance.session.executor import Executor

    adapters = resolve_all(
        options.implementations,
        device=options.device,
        revision=options.revision,
        trial=trial,
        suites=names_suites(config),
        around_trial=process_state.put_back,
    )
    specs = dict(zip(adapters, options.implementations, strict=True))
    _settle_hypothesis(options.explore, options.examples)
    config.pluginmanager.register(fixtures, "conformance-fixtures")
    config.pluginmanager.register(Guard(cases, selection), "conformance-guard")
    executor = Executor(config, options, load_registry(), adapters, specs, cases, selection)
    executor.alone = alone
    config.pluginmanager.register(executor, "conformance-executor")
    return [(adapter, specs[name]) for name, adapter in adapters.items()]


def _supervise(config: pytest.Config, options: Options, waivers: SessionWaivers) -> None:
    if not config.pluginmanager.has_plugin("xdist"):
        raise UsageError("worker processes need the plug-in pytest-xdist; without it, run with --no-isolate")
    if config.getoption("usepdb", False):
        raise UsageError("--pdb needs the tests in this process: add --no-isolate")
    from conformance.isolation.controller import Controller

    cases: dict[str, Case] = {}
    selection = Selection()
    recorder = Recorder(config, options, load_registry(), cases, selection, waivers)
    _register(config, recorder)
    controller = Controller(config, options, load_registry(), recorder, cases, selection)
    config.pluginmanager.register(controller, "conformance-controller")


def _register(config: pytest.Config, recorder: Recorder) -> None:
    config.pluginmanager.register(recorder, "conformance-recorder")
    config.pluginmanager.register(Conclusion(recorder), "conformance-conclusion")


def _settle_hypothesis(explore: int | None, times: float) -> None:
    """Let property tests draw the same examples every time, or `times` as many from the seed `explore`."""
    from hypothesis import HealthCheck, core, settings

    from conformance.property_tests import draw

    draw(1.0 if explore is None else times)
    # What hypothesis's own option for a seed sets; it takes precedence over every other seed.
    core.global_force_seed = explore  # type: ignore[assignment]  # only its default is None
    # Hypothesis would mix in numbers from the source of modules that are not installed, so that a checkout of the kit
    # or of a backend would draw other examples than an installed one.
    with contextlib.suppress(ImportError):  # versions without the module do not do so
        from hypothesis.internal.conjecture import providers

        vars(providers)["is_local_module_file"] = lambda _: False

    settings.register_profile(
        _PROFILE,
        derandomize=explore is None,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        # The fixtures are reset by each example's own work, and a slow implementation is not a wrong one.
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    settings.load_profile(_PROFILE)
