"""What other people's plug-ins of pytest may do with the kit's tests: order them, select among them, and no more.

A test has one result.  One that runs again could hide a failure behind a later pass, so what asks for that is refused.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from _pytest import runner

from conformance.errors import UsageError
from conformance.markers import MARKER
from conformance.session.cases import Case, Selection, is_part


@dataclass(frozen=True)
class _Refusal:
    """An option that does not go with the kit.

    Attributes:
        option: without its dashes; the setting in a configuration file has the same name.
        module: of the plug-in that takes it.
        plugin: what the plug-in is called.
        consequence: what it would do.
        most: the highest value that does nothing of the kind.
    """

    option: str
    module: str
    plugin: str
    consequence: str
    most: float = 0

    def check(self, config: pytest.Config) -> None:
        """Refuse a session that uses it.

        Raises:
            UsageError: it does.
        """
        value = self._value(config)
        with contextlib.suppress(TypeError, ValueError):  # what the plug-in itself does not take is its own business
            if float(value) > self.most:
                text = "" if value is True else f"={value}"
                raise UsageError(f"--{self.option}{text} ({self.plugin}) would {self.consequence}")

    def _value(self, config: pytest.Config) -> Any:
        value = config.getoption(self.option.replace("-", "_"), None)
        if value is None:
            value = os.environ.get(f"PYTEST_{self.option.upper()}")
        if value is None:
            with contextlib.suppress(ValueError, KeyError):  # it has no such setting
                value = config.getini(self.option)
        return value


_AGAIN = "run {} again, and one result could hide another: leave it out"
_REFUSALS = (
    _Refusal(
        "reruns",
        "pytest_rerunfailures",
        "pytest-rerunfailures",
        "run failed tests again, and one result could hide another: with -p no:rerunfailures, --reruns is the kit's",
    ),
    _Refusal("force-reruns", "pytest_rerunfailures", "pytest-rerunfailures", _AGAIN.format("tests")),
    _Refusal("force-flaky", "flaky.flaky_pytest_plugin", "flaky", _AGAIN.format("failed tests")),
    _Refusal("retries", "pytest_retry.retry_plugin", "pytest-retry", _AGAIN.format("failed tests")),
    _Refusal("count", "pytest_repeat", "pytest-repeat", _AGAIN.format("each test"), most=1),
    _Refusal(
        "timeout",
        "pytest_timeout",
        "pytest-timeout",
        "turn a slow test into a failure: use --isolate --test-timeout=S, and --timeout=0 if a file sets it",
    ),
)


def refuse_options(config: pytest.Config) -> None:
    """Refuse what would run tests again, or end them in a way that looks like the implementation's.

    Raises:
        UsageError: an option or a setting of a plug-in asks for that.
    """
    loaded = {getattr(plugin, "__name__", None) for plugin in config.pluginmanager.get_plugins()}
    for refusal in _REFUSALS:
        if refusal.module in loaded:
            refusal.check(config)


class Guard:
    """Runs each test, and notices what plug-ins did to the collection.

    Args:
        cases: by node id; filled at collection.
        selection: what the session leaves out.
    """

    def __init__(self, cases: Mapping[str, Case], selection: Selection) -> None:
        self._cases = cases
        self._selection = selection
        #: How a test is run; as pytest does it, unless it may have to run again.
        self.run: Callable[[pytest.Item, pytest.Item | None], bool] = runner.pytest_runtest_protocol
        self._collected: list[pytest.Item] = []
        self._deselected: set[str] = set()
        #: By test function, the fixtures that a plug-in added to it.
        self._added: dict[Any, set[str]] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> Generator[None, None, None]:
        """Note the fixtures that are added here: that is how plug-ins repeat a test under other names."""
        own = set(metafunc.fixturenames)
        yield
        self._added[metafunc.function] = set(metafunc.fixturenames) - own

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Note a test, whoever may take it away again."""
        self._collected.append(item)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Note what is left out by those who say so."""
        self._deselected.update(item.nodeid for item in items)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Judge the collection when every plug-in has had its way with it."""
        yield
        kept: set[str] = set()
        for item in items:
            self._refuse_repetition(item, kept)
            kept.add(item.nodeid)
        expected = {item.nodeid for item in self._collected if item.get_closest_marker(MARKER)} - self._deselected
        self._selection.narrowed |= not expected <= kept or is_part(self._collected)
        self._collected.clear()
        self._added.clear()
        # The last word on the order is the kit's: what may leave the process unusable comes after all else.
        items.sort(key=lambda item: item.nodeid in self._cases and self._cases[item.nodeid].destructive)
        self._selection.settled = True

    def _refuse_repetition(self, item: pytest.Item, kept: set[str]) -> None:
        if item.nodeid not in self._cases:
            if item.get_closest_marker(MARKER):
                raise pytest.UsageError(f"conformance: a plug-in added the test {item.nodeid}: leave the plug-in out")
            return
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        added = self._added.get(getattr(item, "function", None), set()).intersection(parameters)
        if item.nodeid in kept or added:
            raise pytest.UsageError(f"conformance: a plug-in repeats tests, such as {item.nodeid}: leave it out")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test before a plug-in could run it several times."""
        return self.run(item, nextitem) if item.nodeid in self._cases else None
