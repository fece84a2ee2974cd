"""The pytest plug-in.  Without ``--impl`` it does nothing, because every project of the environment loads it."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from conformance.errors import ConformanceError
from conformance.markers import MARKER, NEED_MARKER, PROPERTY_MARKER, TIME_MARKER
from conformance.paths import SUITES, use_own
from conformance.session import options
from conformance.session.ending import refuse
from conformance.text import visible_line


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options when the command line asks for them."""
    config = pluginmanager.get_plugin("pytestconfig")
    if isinstance(config, pytest.Config) and options.is_requested(config.invocation_params.args):
        options.register(parser, config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """Add the options when only the configuration file asks for them, and keep their values and paths apart."""
    requested = options.is_requested(args)
    if requested:
        options.register(parser, early_config)
        args[:] = options.separate(args)
    result = yield
    if requested:
        options.register_last(parser)
    return result


def pytest_configure(config: pytest.Config) -> None:
    """Find the implementations, so that a wrong name ends the session before it begins."""
    config.addinivalue_line("markers", f"{MARKER}(*ids): the requirements that a conformance test decides")
    config.addinivalue_line("markers", f"{NEED_MARKER}(*capabilities): what a conformance test uses besides")
    config.addinivalue_line("markers", f"{TIME_MARKER}(seconds): how long a conformance test may take")
    config.addinivalue_line("markers", f"{PROPERTY_MARKER}: a conformance test that draws examples")
    try:
        session_options = options.read(config)
        if session_options is not None:
            # Only now: sessions of other projects must not wait for the import.
            from conformance import start

            start.start(config, session_options)
    except ConformanceError as error:
        refuse(error)


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Let the suites find each other, whoever else has a package of their name."""
    if collector.path.is_relative_to(SUITES):
        try:
            use_own(SUITES.name)
        except ConformanceError as error:
            raise pytest.UsageError(f"conformance: {visible_line(error)}") from None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse to run the suites without an implementation."""
    if options.read(config) is None and any(item.get_closest_marker(MARKER) for item in items):
        raise pytest.UsageError(
            "conformance: these tests need an implementation: pytest --impl=NAME "
            "(reference, torch.cuda, package.module:attribute or file.py:attribute)"
        )
