"""Things that templates and executables keep alive: they report when the last of these is destroyed."""

from __future__ import annotations

import ctypes
import itertools
import time
from typing import Any

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.errors import Unsupported
from suites.support.handles import runtime_call, runtime_of

#: Seconds until a destruction must have been reported: the runtime reports it from a thread of its own, and a driver
#: may put the work off.  What is reported sooner is not waited for.
SOON_S = 10.0

_numbers = itertools.count(1)
_destroyed_ids: set[int] = set()
# Never freed: an implementation that destroys nothing may have it called at any later time.
_note = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_destroyed_ids.add)


def runtime_with_user_objects(impl: Adapter) -> Any:
    """The runtime module.

    Raises:
        Unsupported: it has no user objects; nothing else reports when a template is destroyed.
    """
    runtime = runtime_of(impl)
    if not hasattr(runtime, "cudaUserObjectCreate"):
        raise Unsupported(f"{runtime.__name__} has no cudaUserObjectCreate, which this test needs")
    return runtime


def keep(impl: Adapter, template: int) -> tuple[int, Any]:
    """Let a template refer to a new user object; return its number and its handle.

    Raises:
        Unsupported: the runtime or the device has no user objects.
    """
    number, runtime = next(_numbers), runtime_with_user_objects(impl)
    destroy = runtime.cudaHostFn_t(init_value=ctypes.cast(_note, ctypes.c_void_p).value)
    alone = runtime.cudaUserObjectFlags.cudaUserObjectNoDestructorSync
    (handle,) = runtime_call(impl, "cudaUserObjectCreate", number, destroy, 1, int(alone))
    move = runtime.cudaUserObjectRetainFlags.cudaGraphUserObjectMove
    subject = runtime.cudaGraph_t(init_value=template)
    runtime_call(impl, "cudaGraphRetainUserObject", subject, handle, 1, int(move))
    return number, handle


def expect_destroyed(number: int, promise: str) -> None:
    """Reject unless the last reference to a user object goes soon."""
    until = time.monotonic() + SOON_S
    while number not in _destroyed_ids and time.monotonic() < until:
        time.sleep(0.001)
    seen = f"{SOON_S:g} s later the runtime still has a template or an executable of it"
    expect(number in _destroyed_ids, promise, seen)


class Kept:
    """A user object of the runtime that one template refers to, and whatever is made of that template from then on.

    Args:
        impl: has the runtime.
        template: handle of the template.

    Raises:
        Unsupported: the runtime or the device has no user objects.
    """

    def __init__(self, impl: Adapter, template: int) -> None:
        self._impl = impl
        self._number, self._handle = keep(impl, template)

    def release(self, template: int) -> None:
        """Take the template's reference away; what was made of the template keeps its own."""
        subject = runtime_of(self._impl).cudaGraph_t(init_value=template)
        runtime_call(self._impl, "cudaGraphReleaseUserObject", subject, self._handle, 1)

    def expect_alive(self, promise: str) -> None:
        """Reject if nothing refers to it any more."""
        expect(self._number not in _destroyed_ids, promise, "all that the runtime had of it is destroyed")

    def expect_destroyed(self, promise: str) -> None:
        """Reject unless its last reference goes soon."""
        expect_destroyed(self._number, promise)
