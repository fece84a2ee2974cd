"""Steps on executables."""

from __future__ import annotations

from tests.gpu.recorder import native

from .player import SUCCESS, TYPES, Executable, Graph, Player
from .step import step
from .steps_templates import source_of


@step
def instantiate(p: Player, graph: int, flags: int, way: int) -> None:
    target = p.graph(graph)
    if way == 2:
        params = native.cudaGraphInstantiateParams()
        params.flags = flags
        results = p.call("cudaGraphInstantiateWithParams", target, params)
    else:
        results = p.call("cudaGraphInstantiateWithFlags" if way else "cudaGraphInstantiate", target, flags)
    if results[0] == SUCCESS:
        source = next((each for each in p.graphs if int(each.handle) == int(target)), None)
        p.executables.append(Executable(results[1], source or Graph(target, intact=False)))


@step
def destroy_executable(p: Player, executable: int) -> None:
    found = p.executable(executable)
    if p.call("cudaGraphExecDestroy", p.launchable(executable))[0] == SUCCESS and found is not None:
        p.executables.remove(found)


@step
def update(p: Player, executable: int, graph: int) -> None:
    p.call("cudaGraphExecUpdate", p.launchable(executable), p.graph(graph))


@step
def executable_facts(p: Player, executable: int) -> None:
    p.call("cudaGraphExecGetFlags", p.launchable(executable))
    p.call("cudaGraphExecGetId", p.launchable(executable))


@step
def enable(p: Player, executable: int, node: int, graph: int, on: bool) -> None:
    """A memset node where there is one."""
    found = p.node(source_of(p, executable, graph), node, TYPES.cudaGraphNodeTypeMemset)
    p.call("cudaGraphNodeSetEnabled", p.launchable(executable), found, int(on))
    p.call("cudaGraphNodeGetEnabled", p.launchable(executable), found)
