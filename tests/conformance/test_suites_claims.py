"""The suites as a whole: each testable requirement is decided by some test, and each test decides one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance import start  # noqa: F401 - before pytester takes stock of modules
from conformance.markers import claimed_ids, draws_examples
from conformance.requirements.loading import load_registry
from conformance.requirements.registry import unclaimed
from conformance.session import executor, recorder  # noqa: F401 - likewise
from tests.conformance.conftest import IMPLEMENTATION

pytest_plugins = ["pytester"]

SUITES = Path(__file__).parents[2] / "suites"


class _Claims:
    """Notes what the collected tests claim, whether they apply or not."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.drawing: dict[Path, set[bool]] = {}

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self.ids.update(claimed_ids(item))
        self.drawing.setdefault(item.path.parent, set()).add(draws_examples(item))


def test_every_testable_requirement_has_a_test(pytester: pytest.Pytester) -> None:
    absent = 'capabilities = {"memory_stats": False}\n        needs_side_stream = False\n        graph_class = Graph'
    pytester.makepyfile(fake=IMPLEMENTATION.replace("graph_class = Graph", absent))
    claims = _Claims()
    words = ["--collect-only", "--no-isolate", "-q", "-p", "no:cacheprovider"]
    words += ["--impl=fake.py:Fake", "--import-mode=importlib"]
    status = pytester.inline_run(*words, os.fspath(SUITES), plugins=[claims]).ret
    assert status == 0
    assert claims.ids <= set(load_registry().requirements)
    without = unclaimed(claims.ids, load_registry())
    assert not without, f"decided by no test: {', '.join(without)}"
    # What draws examples says so, or an exploring self-check would leave it out.
    for folder, marked in claims.drawing.items():
        texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
        assert marked == {any("conformance.property_tests" in text for text in texts)}, folder
