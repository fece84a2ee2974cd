"""How a probe goes, and what it says of a declaration.

A probe is a small program of the documents that raises unless a capability is there and works.  The adapter's word is
in question, never the class: whatever a probe trips over only means that the class does not have the capability.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from conformance.adapter import Adapter
from conformance.checks import NotConforming
from conformance.errors import HarnessError, Unsupported, one_line
from conformance.requirements.revisions import Revision
from suites.support.captures import open_capture
from suites.support.outcomes import related

#: What a call raises when the class or the adapter does not have it, or not with this argument.
_MISSING = (AttributeError, NotImplementedError, TypeError)
_LIMIT = 200
_WORDS = {True: "present", False: "absent", None: "unstated"}


def judge_declaration(
    impl: Adapter, capability: str, probe: Callable[[], None], observe: Callable[[str, Any], None]
) -> None:
    """Try a capability, and note what came of it.

    Args:
        impl: whose declaration it is.
        capability: its name.
        probe: raises unless the capability is there and works.
        observe: takes the notes.

    Raises:
        HarnessError: it is there and works, and the adapter declares it absent.
    """
    __tracebackhide__ = True
    declared = impl.capabilities.get(capability)
    shortfall = _shortfall(probe)
    observe("declared", _WORDS[declared])
    observe("outcome", shortfall or "there and works")
    if shortfall is None and declared is False:
        # The summary cuts long lines at their end, so what to change comes first.
        raise HarnessError(f"{capability} works: declare it or leave it out; adapter {impl.name!r} says it is absent")


def _shortfall(probe: Callable[[], None]) -> str | None:
    """What `probe` tripped over, in words; ``None`` when it came through."""
    try:
        probe()
        return None
    except (KeyboardInterrupt, pytest.exit.Exception):  # the operator's
        raise
    except BaseException as error:
        words = _in_words(error)
    # The frames that the error held may be in cycles, and hold graphs that must not go while another test captures.
    gc.collect()
    return words


def _in_words(error: BaseException) -> str:
    seen = one_line(error.seen if isinstance(error, NotConforming) else error, _LIMIT)
    causes = related(error)
    if any(isinstance(cause, Unsupported | HarnessError) for cause in causes):
        return f"cannot be tried: {seen}"
    return f"not there: {seen}" if any(isinstance(cause, _MISSING) for cause in causes) else f"there, but: {seen}"


def asked_since(impl: Adapter, revision: str) -> bool:
    """Whether the claimed documents are those of `revision` or later."""
    return Revision(revision) <= Revision(impl.revision)


def record(impl: Adapter, graph: Any, body: Callable[[], Any], **settings: Any) -> Any:
    """Capture `body` into `graph` on a side stream, which captures nothing afterwards; return what `body` returned."""
    with open_capture(impl, graph, **settings):
        result = body()
        graph.capture_end()
    return result
