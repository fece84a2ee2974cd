"""One test for each way to speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from talker import ESCAPES, WORDS

from conformance.adapter import Adapter
from conformance.markers import requirement


@requirement("hostile.behaves")
@pytest.mark.parametrize("name", WORDS)
def test_it(impl: Adapter, observe: Callable[[str, Any], None], name: str) -> None:
    observe(f"said {ESCAPES}", [ESCAPES, {"deep": ESCAPES}])
    impl.new_graph().replay()
