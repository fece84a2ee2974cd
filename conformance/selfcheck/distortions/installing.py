"""Puts a distorted call in the place of the plain one."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import torch

from conformance.adapter import Adapter
from conformance.selfcheck.distortions.call import Act, Call
from conformance.selfcheck.distortions.operator import Operator
from conformance.selfcheck.distortions.sites import Place, Site, Through

_Wrap = Callable[[Any], Any]


def installed(site: Site, operator: Operator, act: Act, adapter: Adapter) -> AbstractContextManager[type | None]:
    """A context in which the call of `site` is `act`; it gives the graph class to test, or ``None``."""
    own = _wrap(site, operator, act)
    if site.through is Through.METHOD:
        return _at(site, adapter, _answering(lambda answer: _with_method(answer, site.called, own)))
    if site.through is Through.CALL:
        return _at(site, adapter, _answering(lambda answer: _each_callable(answer, own)))
    return _at(site, adapter, own)


def _at(site: Site, adapter: Adapter, wrap: _Wrap) -> AbstractContextManager[type | None]:
    if site.place is Place.GRAPH:
        return contextlib.nullcontext(_subclass(adapter.graph_class, site.attribute, wrap))
    module: Any = adapter.module  # a site of a module was found on one
    present = getattr(module, site.member)
    changed = _subclass(present, site.attribute, wrap) if site.place is Place.CLASS else wrap(present)
    return _patched(module, site.member, changed)


@contextlib.contextmanager
def _patched(module: Any, name: str, value: Any) -> Iterator[None]:
    with mock.patch.object(module, name, value):
        yield


def _wrap(site: Site, operator: Operator, act: Act) -> _Wrap:
    def wrap(original: Any) -> Any:
        @functools.wraps(original)
        def distorted(*args: Any, **kwargs: Any) -> Any:
            return act(Call(original, args, kwargs, site.signature, site.is_method))

        if operator.signature is not None:
            distorted.__signature__ = operator.signature(site.signature)  # type: ignore[attr-defined]
        return distorted

    return wrap


def _subclass(cls: type, attribute: str, wrap: _Wrap) -> type:
    """A class that differs from `cls` in one method."""
    body = {
        attribute: wrap(getattr(cls, attribute)),
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    return type(cls.__name__, (cls,), body)


def _answering(change: Callable[[Any], Any]) -> _Wrap:
    """Wraps a function so that its answer is changed."""

    def wrap(original: Any) -> Any:
        @functools.wraps(original)
        def distorted(*args: Any, **kwargs: Any) -> Any:
            return change(original(*args, **kwargs))

        return distorted

    return wrap


def _with_method(answer: Any, name: str, wrap: _Wrap) -> Any:
    """The same object, of a class that differs in one method."""
    answer.__class__ = _subclass(type(answer), name, wrap)
    return answer


def _each_callable(answer: Any, wrap: _Wrap) -> Any:
    """The same functions and modules with their calls wrapped."""
    if isinstance(answer, tuple):
        return tuple(_each_callable(each, wrap) for each in answer)
    if isinstance(answer, torch.nn.Module):
        answer.forward = wrap(answer.forward)
        return answer
    return wrap(answer) if callable(answer) else answer
