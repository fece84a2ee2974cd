"""Drawn programs, replayed at least three times, against the same programs run eagerly."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.markers import property_test, requirement
from suites.random_programs.running import hold


@property_test
@requirement("random-programs.one-capture")
def test_one_capture(impl: Adapter) -> None:
    """Operators, views, in-place and out= calls, and memory freed and used again, on one stream."""
    hold(impl, 25)


@property_test
@requirement("random-programs.one-capture")
def test_long_capture(impl: Adapter) -> None:
    """The same, with more instructions than a small table holds."""
    hold(impl, 8, shortest=30, longest=45)


@property_test
@requirement("random-programs.fork-join")
def test_fork_join(impl: Adapter) -> None:
    """The same, with branches on other streams."""
    hold(impl, 20, forks=True)


@property_test
@requirement("random-programs.several-captures")
def test_several_captures(impl: Adapter) -> None:
    """The same, with captures that read what earlier ones wrote."""
    hold(impl, 15, captures=3, longest=6)


@property_test
@requirement("random-programs.pools")
def test_pools(impl: Adapter) -> None:
    """The same, with captures that share pools."""
    hold(impl, 15, captures=3, longest=6, pools=True)
