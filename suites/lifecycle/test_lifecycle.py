"""Any sequence of calls: results, pools, handles, hooks and refusals are those of the documented states."""

from __future__ import annotations

from conformance.adapter import Adapter
from conformance.markers import needs, property_test, requirement
from suites.lifecycle.blocks import Blocks, FailedBlocks, RefusedBlocks
from suites.lifecycle.data import Data
from suites.lifecycle.dumps import Dumps
from suites.lifecycle.executables import Executables
from suites.lifecycle.firing import Firing, RaisingHooks
from suites.lifecycle.inputs import Inputs
from suites.lifecycle.machine import Machine, run
from suites.lifecycle.memory import Abandoned, AfterFailures, Memory
from suites.lifecycle.phases import Phases, PhasesOutOfPlace
from suites.lifecycle.rules import Deletions, Failures, Handles, Hooks, Pools, Refusals, RefusalsInCapture
from suites.lifecycle.scenarios import EXAMPLES, STEPS
from suites.lifecycle.settings import Constructed, Debugged, EnteredAgain
from suites.lifecycle.states import Beginnings, DefaultStream, FailedInstantiations, Messages, Threads


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


@property_test
@requirement("lifecycle.blocks")
def test_blocks(impl: Adapter) -> None:
    """The same, with blocks and all that they can be given."""
    run(impl, Blocks, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.refused-blocks")
def test_refused_blocks(impl: Adapter) -> None:
    """The same, with blocks whose capture cannot begin."""
    run(impl, RefusedBlocks, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.failed-blocks")
def test_failed_blocks(impl: Adapter) -> None:
    """The same, with blocks whose capture cannot be ended."""
    run(impl, FailedBlocks, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.inputs")
def test_inputs(impl: Adapter) -> None:
    """The same, with inputs that die and are watched."""
    run(impl, Inputs, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.dumps")
def test_dumps(impl: Adapter) -> None:
    """The same, with dumps, and debug mode."""
    run(impl, Dumps, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.phases")
@needs("keep_graph")
def test_phases(impl: Adapter) -> None:
    """The same, with captures that end in two phases."""
    run(impl, Phases, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.phases-out-of-place")
def test_phases_out_of_place(impl: Adapter) -> None:
    """The same, with first phases where no capture is underway."""
    run(impl, PhasesOutOfPlace, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.data")
@needs("keep_graph")
def test_data(impl: Adapter) -> None:
    """The same, with questions for graph data."""
    run(impl, Data, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.memory")
def test_memory(impl: Adapter) -> None:
    """The same, with graphs whose memory is counted."""
    run(impl, Memory, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.after-failures")
def test_after_failures(impl: Adapter) -> None:
    """The same, with captures that fail, and a look at what they leave."""
    run(impl, AfterFailures, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.abandoned")
def test_abandoned(impl: Adapter) -> None:
    """The same, with captures whose graph is reset or goes in the middle."""
    run(impl, Abandoned, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.default-stream")
def test_default_stream(impl: Adapter) -> None:
    """The same, with captures that are begun on the default stream."""
    run(impl, DefaultStream, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.beginnings")
def test_beginnings(impl: Adapter) -> None:
    """The same, with captures of nothing and captures into graphs that hold one."""
    run(impl, Beginnings, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.threads")
def test_threads(impl: Adapter) -> None:
    """The same, with replays in other threads."""
    run(impl, Threads, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.messages")
def test_messages(impl: Adapter) -> None:
    """The same, with a look at what refusals say."""
    run(impl, Messages, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.failed-instantiations")
@needs("keep_graph")
def test_failed_instantiations(impl: Adapter) -> None:
    """The same, with templates that cannot be instantiated."""
    run(impl, FailedInstantiations, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.executables")
@needs("keep_graph")
def test_executables(impl: Adapter) -> None:
    """The same, with the runtime's functions on the raw handles."""
    run(impl, Executables, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.firing")
@needs("keep_graph")
def test_firing(impl: Adapter) -> None:
    """The same, with several hooks on one graph."""
    run(impl, Firing, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.raising-hooks")
def test_raising_hooks(impl: Adapter) -> None:
    """The same, with hooks that raise."""
    run(impl, RaisingHooks, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.constructed")
def test_constructed(impl: Adapter) -> None:
    """The same, with graphs that were given settings when they were made."""
    run(impl, Constructed, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.entered-again")
def test_entered_again(impl: Adapter) -> None:
    """The same, with graphs that are entered inside their own capture."""
    run(impl, EnteredAgain, EXAMPLES, STEPS)


@property_test
@requirement("lifecycle.debugged")
def test_debugged(impl: Adapter) -> None:
    """The same, with debug mode and keep_graph together."""
    run(impl, Debugged, EXAMPLES, STEPS)
