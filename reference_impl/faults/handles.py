"""Graph classes whose handles, dumps, graph data and capture phases are wrong."""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

from reference_impl import CUDAGraph
from reference_impl.faults.fault import Faults
from reference_impl.graphs.debugging import print_dot
from reference_impl.graphs.topology import nodes_of
from reference_impl.xpu import XPUGraph

FAULTS = Faults("class")


# -- raw handles ------------------------------------------------------------------------------------------------------


@FAULTS.graph_class("raw-handles.template-is-int")
class HandsOutHandleObjects(CUDAGraph):
    """raw_cuda_graph() returns the binding's handle object instead of an integer."""

    def raw_cuda_graph(self) -> Any:
        return self._device.runtime.cudaGraph_t(init_value=super().raw_cuda_graph())


@FAULTS.graph_class("raw-handles.exec-is-int")
class HandsOutExecObjects(CUDAGraph):
    """raw_cuda_graph_exec() returns the binding's handle object instead of an integer."""

    def raw_cuda_graph_exec(self) -> Any:
        return self._device.runtime.cudaGraphExec_t(init_value=super().raw_cuda_graph_exec())


@FAULTS.graph_class("raw-handles.template-needs-capture", "misuse.raw-template-needs-live-template")
class NullTemplateHandle(CUDAGraph):
    """Without a live template raw_cuda_graph() returns 0 instead of raising."""

    def raw_cuda_graph(self) -> int:
        return 0 if self._holds.template is None else super().raw_cuda_graph()


@FAULTS.graph_class("raw-handles.exec-needs-executable", "misuse.raw-executable-needs-instantiate")
class NullExecHandle(CUDAGraph):
    """Without an executable raw_cuda_graph_exec() returns 0 instead of raising."""

    def raw_cuda_graph_exec(self) -> int:
        return 0 if self._holds.exec is None else super().raw_cuda_graph_exec()


@FAULTS.graph_class("raw-handles.exec-is-stable")
class AskingForTheExecMakesANewOne(CUDAGraph):
    """Each call of raw_cuda_graph_exec() on a kept graph instantiates again."""

    def raw_cuda_graph_exec(self) -> int:
        if self._state == "instantiated":
            self.instantiate()
        return super().raw_cuda_graph_exec()


@FAULTS.graph_class("raw-handles.exec-launchable")
class OneHandleForBoth(CUDAGraph):
    """raw_cuda_graph_exec() returns the template's handle."""

    def raw_cuda_graph_exec(self) -> int:
        handle = super().raw_cuda_graph_exec()
        return handle if self._holds.template is None else self._holds.template


@FAULTS.graph_class("raw-handles.template-has-captured-nodes")
class HandsOutAnEmptyTemplate(CUDAGraph):
    """raw_cuda_graph() gives a fresh empty graph, not the captured one."""

    def raw_cuda_graph(self) -> int:
        super().raw_cuda_graph()
        if "_empty" not in self.__dict__:
            self._empty = int(self._device.runtime.cudaGraphCreate(0)[1])
        return self._empty


@FAULTS.graph_class("reinstantiation.edit-shown-after-instantiate")
class HandsOutACopy(CUDAGraph):
    """raw_cuda_graph() gives a clone of the template, so that edits of it never count."""

    def raw_cuda_graph(self) -> int:
        template = super().raw_cuda_graph()
        return int(self._device.runtime.cudaGraphClone(template)[1])


@FAULTS.graph_class("raw-handles.handles-follow-recapture")
class RemembersItsFirstTemplate(CUDAGraph):
    """raw_cuda_graph() answers from a cache that a recapture does not clear."""

    _first: int | None = None

    def raw_cuda_graph(self) -> int:
        handle = super().raw_cuda_graph()
        self._first = self._first or handle
        return self._first


@FAULTS.graph_class("raw-handles.refused-while-capturing")
class HandleWhileCapturing(CUDAGraph):
    """raw_cuda_graph() answers during the capture, with the unfinished graph."""

    def raw_cuda_graph(self) -> int:
        if self._holds.capture is not None:
            info = self._device.runtime.cudaStreamGetCaptureInfo(self._holds.capture.stream.cuda_stream)
            return int(info[3])
        return super().raw_cuda_graph()


@FAULTS.graph_class("raw-handles.exec-launchable")
class HandsOutAStaleExec(CUDAGraph):
    """raw_cuda_graph_exec() gives the handle of the executable before the present one."""

    _before: int | None = None

    def _make_executable(self, call: str) -> None:
        self._before = self._holds.exec
        super()._make_executable(call)

    def raw_cuda_graph_exec(self) -> int:
        handle = super().raw_cuda_graph_exec()
        return self._before or handle


# -- debug output -----------------------------------------------------------------------------------------------------


@FAULTS.graph_class("debug-dump.writes-file", "debug-dump.dot-format")
class DumpsAnEmptyFile(CUDAGraph):
    """debug_dump makes the file and writes nothing into it."""

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        super().debug_dump(debug_path, verbose=verbose)
        pathlib.Path(os.fspath(debug_path)).write_bytes(b"")


@FAULTS.graph_class("debug-dump.writes-file", "debug-dump.kept-graph")
class DumpsNothing(CUDAGraph):
    """debug_dump returns without an error and without a file."""

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        self._raw_template("debug_dump()")


@FAULTS.graph_class("debug-dump.dump-again")
class DumpDestroysTheTemplate(CUDAGraph):
    """The first dump frees the template, so that a second one has nothing to write."""

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        super().debug_dump(debug_path, verbose=verbose)
        self._drop_template()


@FAULTS.graph_class("debug-dump.shows-the-work", "debug-dump.matches-template")
class DumpsTheFirstNodeOnly(CUDAGraph):
    """The dump lists one node, whatever was captured."""

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        super().debug_dump(debug_path, verbose=verbose)
        pathlib.Path(os.fspath(debug_path)).write_text('digraph dot {\n"graph_1_node_0"[label="0"];\n}\n')


@FAULTS.graph_class("debug-dump.own-graph")
class DumpsTheGraphBefore(CUDAGraph):
    """The dump shows the graph that was captured first in the process: a static buffer."""

    first: Any = None

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        cls = DumpsTheGraphBefore
        alive = cls.first is not None and cls.first._holds.template is not None
        cls.first = cls.first if alive else self
        self._raw_template("debug_dump()")
        print_dot(cls.first, "debug_dump()", debug_path, verbose=verbose)


@FAULTS.graph_class("debug-dump.matches-template", "debug-dump.shows-the-order")
class DumpWithArrowsReversed(CUDAGraph):
    """The dump's arrows lead from what comes later to what it waits for."""

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        super().debug_dump(debug_path, verbose=verbose)
        path = pathlib.Path(debug_path)
        path.write_text(re.sub(r'("[^"]*"|\w+) -> ("[^"]*"|\w+)', r"\2 -> \1", path.read_text()))


@FAULTS.graph_class("debug-dump.verbose-tells-more")
class DumpIgnoresVerbose(CUDAGraph):
    """debug_dump takes verbose and writes the same for both its values."""

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        del verbose
        super().debug_dump(debug_path)


@FAULTS.graph_class("debug-dump.enable-keeps-template")
class DebugModeOfNewGraphsOnly(CUDAGraph):
    """enable_debug_mode does nothing on a graph that has had a capture."""

    _used = False

    def _begun(self) -> None:
        self._used = True
        super()._begun()

    def enable_debug_mode(self) -> None:
        if not self._used:
            super().enable_debug_mode()


@FAULTS.graph_class("debug-dump.enable-during-capture")
class DebugModeEndsTheCapture(CUDAGraph):
    """enable_debug_mode during a capture starts from scratch, and the capture is lost."""

    def enable_debug_mode(self) -> None:
        if self._state == "capturing":
            self.reset()
        super().enable_debug_mode()


@FAULTS.graph_class("debug-dump.unwritable-path")
class DumpHidesItsFailure(CUDAGraph):
    """A file that cannot be written is no error."""

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        self._raw_template("debug_dump()")
        if pathlib.Path(os.fspath(debug_path)).parent.is_dir():
            super().debug_dump(debug_path, verbose=verbose)


@FAULTS.graph_class("misuse.dump-needs-live-template")
class DumpsWithoutATemplate(CUDAGraph):
    """debug_dump without a live template does nothing instead of refusing."""

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        if self._holds.template is not None:
            super().debug_dump(debug_path, verbose=verbose)


@FAULTS.graph_class("debug-dump.enable-keeps-template")
class DebugModeKeepsNothing(CUDAGraph):
    """enable_debug_mode() changes nothing, so that capture_end still destroys what was to be dumped."""

    def enable_debug_mode(self) -> None:
        """Do nothing."""


@FAULTS.graph_class("debug-dump.dump-changes-nothing")
class DumpRunsTheGraph(CUDAGraph):
    """debug_dump launches the graph, to have values to show."""

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        super().debug_dump(debug_path, verbose=verbose)
        self.replay()


@FAULTS.graph_class("debug-dump.enabled-graph-replays", implementation="reference.xpu")
class XpuDebugModeStopsReplays(XPUGraph):
    """A graph with debug mode on captures and dumps, and its replays do nothing."""

    def replay(self) -> None:
        if not self._debugging or self._state in ("empty", "capturing"):
            super().replay()


# -- graph data -------------------------------------------------------------------------------------------------------


class _Rewrites(CUDAGraph):
    """Changes what get_graph_data() says."""

    def get_graph_data(self) -> dict[str, Any]:
        data = super().get_graph_data()
        self._rewrite(data)
        return data

    def _rewrite(self, data: dict[str, Any]) -> None:
        raise NotImplementedError


@FAULTS.graph_class("graph-data.neighbours-agree", "graph-data.chain")
class DataWithoutDependents(_Rewrites):
    """The nodes tell what they depend on, and never what depends on them."""

    def _rewrite(self, data: dict[str, Any]) -> None:
        for node in data["nodes"]:
            node["dependents"] = []


@FAULTS.graph_class("graph-data.matches-template", "graph-data.after-edit")
class DataWithEdgesReversed(_Rewrites):
    """Dependencies and dependents are exchanged on every node, which a chain does not show."""

    def _rewrite(self, data: dict[str, Any]) -> None:
        for node in data["nodes"]:
            node["dependents"], node["dependencies"] = node["dependencies"], node["dependents"]


@FAULTS.graph_class("graph-data.node-type-tells-types-apart")
class DataWithTypesRotated(_Rewrites):
    """Each node has the type and the name of the node before it, the first those of the last."""

    def _rewrite(self, data: dict[str, Any]) -> None:
        facts = [(node["node_type"], node["kernel_name"]) for node in data["nodes"]]
        for node, (kind, name) in zip(data["nodes"], facts[-1:] + facts[:-1], strict=True):
            node["node_type"], node["kernel_name"] = kind, name


@FAULTS.graph_class("graph-data.node-type-tells-types-apart")
class DataWithNeighboursExchanged(_Rewrites):
    """The first and the last node have each other's neighbours, in both lists and everywhere: a graph of that shape."""

    def _rewrite(self, data: dict[str, Any]) -> None:
        last = len(data["nodes"]) - 1
        if last < 1:
            return
        first, other = data["nodes"][0], data["nodes"][last]
        for key in ("dependencies", "dependents"):
            first[key], other[key] = other[key], first[key]
            for node in data["nodes"]:
                node[key] = [{0: last, last: 0}.get(index, index) for index in node[key]]


@FAULTS.graph_class("graph-data.tools-ids-of-executable")
class DataWithToolsIdsOfTheTemplate(_Rewrites):
    """tools_id is made of the template's id, which no profiler reports."""

    def _rewrite(self, data: dict[str, Any]) -> None:
        runtime = self._device.runtime
        for node, handle in zip(data["nodes"], nodes_of(runtime, self._holds.template or 0), strict=True):
            node["tools_id"] = int(runtime.cudaGraphNodeGetToolsId(handle)[1])


@FAULTS.graph_class("graph-data.kernel-name")
class DataWithNamesReversed(_Rewrites):
    """The kernels' names are listed from the last to the first."""

    def _rewrite(self, data: dict[str, Any]) -> None:
        kernels = [node for node in data["nodes"] if node["kernel_name"] is not None]
        for node, name in zip(kernels, [node["kernel_name"] for node in reversed(kernels)], strict=True):
            node["kernel_name"] = name


@FAULTS.graph_class("graph-data.in-debug-mode")
class DataNotInDebugMode(CUDAGraph):
    """get_graph_data() looks at the constructor's argument alone."""

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__(keep_graph)
        self._asked_to_keep = keep_graph

    def get_graph_data(self) -> dict[str, Any]:
        if not self._asked_to_keep:
            raise self._refuse("get_graph_data()", "use keep_graph=True")
        return super().get_graph_data()


def _attribute_of_the_bindings() -> None:
    try:
        from cuda.bindings import runtime
    except ImportError:
        runtime = None
    assert runtime.cudaError_t is not None


@FAULTS.graph_class("graph-data.without-bindings")
class DataOfMissingBindings(CUDAGraph):
    """Where cuda.bindings is missing, get_graph_data() fails with an attribute of None."""

    def get_graph_data(self) -> dict[str, Any]:
        _attribute_of_the_bindings()
        return super().get_graph_data()


@FAULTS.graph_class("debug-dump.without-bindings")
class DumpWithMissingBindings(CUDAGraph):
    """Where cuda.bindings is missing, debug_dump() fails with an attribute of None."""

    def debug_dump(self, debug_path: Any, *, verbose: bool = True) -> None:
        _attribute_of_the_bindings()
        super().debug_dump(debug_path, verbose=verbose)


@FAULTS.graph_class("graph-data.index-is-position")
class DataCountsFromOne(_Rewrites):
    """Nodes are numbered from one."""

    def _rewrite(self, data: dict[str, Any]) -> None:
        for node in data["nodes"]:
            node["index"] += 1


@FAULTS.graph_class("graph-data.kernel-name")
class DataWithoutKernelNames(_Rewrites):
    """Kernel nodes have no name."""

    def _rewrite(self, data: dict[str, Any]) -> None:
        for node in data["nodes"]:
            node["kernel_name"] = None


@FAULTS.graph_class("graph-data.matches-template", "graph-data.chain")
class DataWithoutTheLastNode(_Rewrites):
    """The last node is missing."""

    def _rewrite(self, data: dict[str, Any]) -> None:
        lost = len(data["nodes"]) - 1
        data["nodes"] = data["nodes"][:-1]
        for node in data["nodes"]:
            for key in ("dependencies", "dependents"):
                node[key] = [index for index in node[key] if index != lost]


@FAULTS.graph_class("graph-data.after-edit")
class DataRemembered(CUDAGraph):
    """The first answer is given forever, also after an edit and a new instantiation."""

    _answer: dict[str, Any] | None = None

    def get_graph_data(self) -> dict[str, Any]:
        now = super().get_graph_data()
        self._answer = self._answer or now
        return self._answer


@FAULTS.graph_class("graph-data.graph-id-of-executable")
class DataWithForeignGraphIds(_Rewrites):
    """The nodes carry the id of the template, not of the executable that profilers report."""

    def _rewrite(self, data: dict[str, Any]) -> None:
        for node in data["nodes"]:
            node["graph_id"] += 1


@FAULTS.graph_class("graph-data.refusal-harmless", "misuse.graph-data-needs-executable")
class DataWithoutAnExecutable(CUDAGraph):
    """get_graph_data() makes the executable that it needs instead of refusing."""

    def get_graph_data(self) -> dict[str, Any]:
        if self._state == "captured":
            self.instantiate()
        return super().get_graph_data()


# -- capture phases ---------------------------------------------------------------------------------------------------


@FAULTS.graph_class("capture-phases.pre-no-executable")
class PreInstantiates(CUDAGraph):
    """capture_end_pre() makes the executable already, so that edits between the phases are lost."""

    def capture_end_pre(self) -> None:
        super().capture_end_pre()
        self._make_executable("capture_end_pre()")


@FAULTS.graph_class("signatures.capture-phases-argument-refused")
class PhasesIgnoreArguments(CUDAGraph):
    """capture_end_pre() and capture_end_post() take whatever they are given, and ignore it."""

    def capture_end_pre(self, *_: Any, **__: Any) -> None:
        super().capture_end_pre()

    def capture_end_post(self, *_: Any, **__: Any) -> None:
        super().capture_end_post()


@FAULTS.graph_class("capture-phases.pre-template-live")
class PreFinalizes(CUDAGraph):
    """capture_end_pre() does all that capture_end does, template destroyed."""

    def capture_end_pre(self) -> None:
        super().capture_end_pre()
        super().capture_end_post()


@FAULTS.graph_class("capture-phases.post-destroys-template")
class PostKeepsTheTemplate(CUDAGraph):
    """capture_end_post() leaves the template of a graph that does not keep it."""

    def capture_end_post(self) -> None:
        keep, self._keep_graph = self._keep_graph, True
        try:
            super().capture_end_post()
        finally:
            self._keep_graph = keep


@FAULTS.graph_class("capture-phases.post-keeps-template")
class PostDropsEveryTemplate(CUDAGraph):
    """capture_end_post() destroys the template also with keep_graph=True."""

    def capture_end_post(self) -> None:
        keep, self._keep_graph = self._keep_graph, False
        try:
            super().capture_end_post()
        finally:
            self._keep_graph = keep


@FAULTS.graph_class("capture-phases.pre-runs-nothing")
class PreRunsTheWork(CUDAGraph):
    """capture_end_pre() runs the captured work once."""

    def capture_end_pre(self) -> None:
        super().capture_end_pre()
        runtime = self._device.runtime
        executable = runtime.cudaGraphInstantiate(self._holds.template, 0)[1]
        self._device.launch(executable)
        runtime.cudaGraphExecDestroy(executable)


@FAULTS.graph_class("capture-phases.pre-again")
class PreAgainIgnored(CUDAGraph):
    """A second capture_end_pre() is no error."""

    def capture_end_pre(self) -> None:
        if self._state != "captured":
            super().capture_end_pre()
