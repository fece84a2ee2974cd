"""What ``graph-conformance run`` runs and shows, as a plug-in of pytest's: all suites, or those that its paths name.

It is loaded by name, so that worker processes, which get the same words, run the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.paths import HOME, SUITES
from conformance.session.progress import Progress


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let paths name suites from any folder, and leave none out when there are no paths."""
    if config.args_source is config.ArgsSource.ARGS:
        config.args[:] = [_located(argument, config.invocation_params.dir) for argument in config.args]
    else:
        config.args_source = config.ArgsSource.ARGS
        config.args[:] = _files(config.getoption("test", [])) or [str(SUITES)]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Show how far the run has come, where the user has not asked for more or less than that."""
    plugins = session.config.pluginmanager
    recorder, reporter = plugins.get_plugin("conformance-recorder"), plugins.get_plugin("terminalreporter")
    if recorder is not None and reporter is not None and not session.config.option.verbose:
        plugins.register(Progress(recorder, reporter), "conformance-progress")


def _located(argument: str, here: Path) -> str:
    """A path, with what it selects in a file, as it is or from the home of the suites."""
    path, _, _ = argument.partition("::")
    return str(HOME / argument) if not (here / path).exists() and (HOME / path).exists() else argument


def _files(tests: list[str]) -> list[str]:
    """The files of tests that are named as in a record, if all of them are there."""
    files = {HOME / test.partition("::")[0] for test in tests}
    return sorted(map(str, files)) if all(file.is_file() for file in files) else []
