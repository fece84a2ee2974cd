"""Any sequence of calls: results, pools, handles, hooks and refusals are those of the documented states."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.registry import property_test, requirement
from suites.lifecycle.machine import Machine, run
from suites.lifecycle.rules import Deletions, Failures, Handles, Hooks, Pools, Refusals, RefusalsInCapture


@property_test
@requirement("lifecycle.results")
def test_results(impl: Adapter) -> None:
    """Construction, captures, instantiations, replays, resets and deletions of several graphs, in any order."""
    run(impl, Machine)


@property_test
@requirement("lifecycle.pools")
def test_pools(impl: Adapter) -> None:
    """The same, with captures into private and shared pools."""
    run(impl, Pools)


@property_test
@requirement("lifecycle.handles")
def test_handles(impl: Adapter) -> None:
    """The same, with a look at the raw handles after each call."""
    run(impl, Handles)


@property_test
@requirement("lifecycle.hooks")
def test_hooks(impl: Adapter) -> None:
    """The same, with hooks that come and go."""
    run(impl, Hooks)


@property_test
@requirement("lifecycle.refusals")
def test_refusals(impl: Adapter) -> None:
    """The same, with calls in between that the state of a graph does not allow."""
    run(impl, Refusals)


@property_test
@requirement("lifecycle.refusals-in-capture")
def test_refusals_in_capture(impl: Adapter) -> None:
    """The same, with calls inside captures that a capture does not allow."""
    run(impl, RefusalsInCapture)


@property_test
@requirement("lifecycle.deletions-in-capture")
def test_deletions_in_capture(impl: Adapter) -> None:
    """The same, with graph objects that go while another one captures."""
    run(impl, Deletions)


@property_test
@requirement("lifecycle.failures")
def test_failures(impl: Adapter) -> None:
    """The same, with captures that wait for their own stream."""
    run(impl, Failures)
