"""What is asked of the context manager is asked of the implementation's own."""

from __future__ import annotations

import pytest

from conformance.adapter import Adapter


@pytest.fixture(autouse=True)
def _own(impl: Adapter) -> None:
    impl.need_own("graph")
