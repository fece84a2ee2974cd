"""Pytest's capture of logs, left out where nobody asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

_PLUGIN = "logging-plugin"
_OPTIONS = ("log_level", "log_cli_level", "log_file", "log_file_level")


def leave_logs_out(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Capture no logs for `items`, unless one of them reads logs or the user has asked for them.

    Around each phase of each test pytest visits every logger that does not propagate.  Torch has dozens, so that this
    takes longer than all that the kit does around a test.  Without it, warnings in a log are on standard error, which
    pytest shows with a failure as well.
    """
    plugin = config.pluginmanager.get_plugin(_PLUGIN)
    if plugin is None:  # as with -p no:logging, where there are no such settings either
        return
    if config.getini("log_cli") or any(config.getoption(name, None) or config.getini(name) for name in _OPTIONS):
        return
    if not any("caplog" in getattr(item, "fixturenames", ()) for item in items):
        plugin.pytest_unconfigure()  # which closes its file
        config.pluginmanager.unregister(plugin)
