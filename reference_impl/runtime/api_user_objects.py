# ruff: noqa: N802, N803 - the names are CUDA's
"""CUDA's calls on user objects, which graphs keep alive."""

from __future__ import annotations

from typing import Any

from reference_impl.runtime.bindings import (
    cudaError_t,
    cudaUserObject_t,
    cudaUserObjectFlags,
    cudaUserObjectRetainFlags,
)
from reference_impl.runtime.errors import Refusal, Results, api
from reference_impl.runtime.parameters import host_call
from reference_impl.runtime.templates import find_template
from reference_impl.runtime.user_objects import UserObject, find_user_object, give_back, owned_by_user

_NO_SYNC = int(cudaUserObjectFlags.cudaUserObjectNoDestructorSync)
_MOVE = int(cudaUserObjectRetainFlags.cudaGraphUserObjectMove)


def _counted(count: int) -> int:
    if not 0 < count < 1 << 31:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    return count


@api(1)
def cudaUserObjectCreate(ptr: Any, destroy: Any, initialRefcount: int, flags: int) -> Results:
    """An object with references that the caller owns; `flags` must be cudaUserObjectNoDestructorSync."""
    if int(flags) != _NO_SYNC:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    number, call = _counted(initialRefcount), host_call(destroy, ptr)
    item = UserObject(call.function, call.user_data)
    owned_by_user[item] = number
    return (cudaUserObject_t(init_value=item.handle),)


@api()
def cudaUserObjectRetain(object: Any, count: int) -> None:  # noqa: A002 - the name is CUDA's
    """Give the caller `count` references more."""
    owned_by_user[find_user_object(object)] += _counted(count)


@api()
def cudaUserObjectRelease(object: Any, count: int) -> None:  # noqa: A002 - the name is CUDA's
    """Take `count` references from the caller, where CUDA leaves undefined what more than it has do."""
    give_back(owned_by_user, find_user_object(object), _counted(count))


@api()
def cudaGraphRetainUserObject(graph: Any, object: Any, count: int, flags: int) -> None:  # noqa: A002
    """Give a template `count` references: new ones, or with cudaGraphUserObjectMove the caller's."""
    if int(flags) & ~_MOVE:
        raise Refusal(cudaError_t.cudaErrorInvalidValue)
    template, item, number = find_template(graph), find_user_object(object), _counted(count)
    if int(flags):
        give_back(owned_by_user, item, number)
    template.references[item] += number


@api()
def cudaGraphReleaseUserObject(graph: Any, object: Any, count: int) -> None:  # noqa: A002
    """Take `count` references from a template."""
    give_back(find_template(graph).references, find_user_object(object), _counted(count))
