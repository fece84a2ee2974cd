"""Sets one pytest session up for conformance testing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

from conformance import fixtures
from conformance.executing import Executor
from conformance.implementations import resolve_all
from conformance.recording import Recorder
from conformance.registry import load_registry
from conformance.selection import Selection

if TYPE_CHECKING:
    import pytest

    from conformance.options import Options

_PROFILE = "conformance"


def start(config: pytest.Config, options: Options) -> None:
    """Register what a session with ``--impl`` needs.

    Raises:
        KitError: a requirement file is malformed.
        UsageError: an implementation cannot be used, or a record cannot be written.
    """
    registry = load_registry()
    adapters = resolve_all(options.implementations, device=options.device, revision=options.revision)
    specs = dict(zip(adapters, options.implementations, strict=True))
    _make_hypothesis_deterministic()
    selection = Selection()
    config.pluginmanager.register(fixtures, "conformance-fixtures")
    executor = Executor(config, options, registry, adapters, specs, selection)
    config.pluginmanager.register(executor, "conformance-executor")
    # The workers of pytest-xdist run tests, and their main process keeps the books.
    if not hasattr(config, "workerinput"):
        recorder = Recorder(config, options, registry, adapters, executor.cases, selection)
        config.pluginmanager.register(recorder, "conformance-recorder")


def _make_hypothesis_deterministic() -> None:
    settings.register_profile(
        _PROFILE,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        # The fixtures are reset by each example's own work, and a slow implementation is not a wrong one.
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    settings.load_profile(_PROFILE)
