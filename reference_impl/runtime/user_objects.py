"""User objects (`cudaUserObject_t`): destroyed once nobody refers to them, neither the user nor a graph."""

from __future__ import annotations

import ctypes
import weakref
from collections import Counter
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from reference_impl.runtime.bindings import cudaError_t
from reference_impl.runtime.errors import Refusal
from reference_impl.runtime.handles import HandleTable, as_int


class UserObject:
    """A C function, called with one pointer when the last reference goes.

    Whoever has references keeps this object alive, a launch in flight too; so Python knows when that is.
    """

    def __init__(self, destroy: int, data: int) -> None:
        self.handle = _handles.reserve()
        self._end = weakref.finalize(self, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(destroy), data)
        self._end.atexit = False
        _objects[self.handle] = self


References: TypeAlias = Counter[UserObject]
"""How many references one holder has to each of some objects."""

_handles: HandleTable[UserObject] = HandleTable()
_objects: WeakValueDictionary[int, UserObject] = WeakValueDictionary()
owned_by_user: References = Counter()


def find_user_object(handle: Any) -> UserObject:
    """The object behind a handle.  Refuses a stale or foreign one with cudaErrorInvalidValue."""
    item = _objects.get(as_int(handle))
    if item is None:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return item


def give_back(references: References, item: UserObject, number: int) -> None:
    """Take references from a holder.  Refuses more than it has with cudaErrorInvalidValue."""
    if references[item] < number:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    references[item] -= number
    if not references[item]:
        del references[item]
