"""Steps on memory, on user objects, and questions about the device and errors."""

from __future__ import annotations

from tests.gpu.recorder import COPY, native

from .player import POST, SLOT, SUCCESS, Player, UserObject
from .step import step

_NO_SYNC = int(native.cudaUserObjectFlags.cudaUserObjectNoDestructorSync)
_MOVE = int(native.cudaUserObjectRetainFlags.cudaGraphUserObjectMove)


@step
def malloc(p: Player, size: int, aside: bool) -> None:
    results = p.call("cudaMalloc", size, aside=aside)
    if results[0] == SUCCESS and results[1]:
        p.blocks.append(results[1])


@step
def malloc_async(p: Player, size: int, stream: int) -> None:
    """Not in a capture, where it would be a node that the model does not have."""
    queue = p.stream(stream)
    if p.captured(queue) is None:
        results = p.work("cudaMallocAsync", size, queue, stream=queue)
        if results[0] == SUCCESS and results[1]:
            p.blocks.append(results[1])


@step
def free(p: Player, aside: bool) -> None:
    """The latest block; an address inside of an allocation where there is none."""
    address = p.blocks[-1] if p.blocks else p.buffer + SLOT
    if p.call("cudaFree", address, aside=aside)[0] == SUCCESS:
        p.blocks.pop()


@step
def free_async(p: Player, stream: int) -> None:
    """The same; in a capture always the address that is no allocation."""
    queue = p.stream(stream)
    known = p.blocks and p.captured(queue) is None
    address = p.blocks[-1] if known else p.buffer + SLOT
    if p.work("cudaFreeAsync", address, queue, stream=queue)[0] == SUCCESS:
        p.blocks.pop()


@step
def fill_now(p: Player, value: int) -> None:
    p.call("cudaMemset", p.slot() if value != 9 else 0, value, 16)


@step
def fill_rows_now(p: Player, value: int, pitch: int) -> None:
    p.call("cudaMemset2D", p.slot(), pitch, value, 8, 2)


@step
def copy_now(p: Player, start: int, size: int) -> None:
    p.call("cudaMemcpy", p.slot(), p.pattern(start) if start >= 0 else 0, size, COPY)


@step
def register_host(p: Player, size: int, aside: bool) -> None:
    p.call("cudaHostRegister", p.page, size and 4096, 0, aside=aside)


@step
def unregister_host(p: Player) -> None:
    p.call("cudaHostUnregister", p.page)


# -- user objects ------------------------------------------------------------------------------------------------------


@step
def create_object(p: Player, owned: int, flags: int) -> None:
    destroy = native.cudaHostFn_t(init_value=POST)
    results = p.call("cudaUserObjectCreate", p.destroyed.address, destroy, owned, _NO_SYNC if flags else 0)
    if results[0] == SUCCESS:
        p.objects.append(UserObject(results[1], owned))
        p.made_objects = True


@step
def retain_object(p: Player, number: int) -> None:
    if p.objects and p.call("cudaUserObjectRetain", p.objects[-1].handle, number)[0] == SUCCESS:
        p.objects[-1].owned += number


@step
def release_object(p: Player, number: int) -> None:
    """No more references than the program has: what more would do is undefined."""
    if p.objects:
        item = p.objects[-1]
        given = min(number, item.owned)
        if p.call("cudaUserObjectRelease", item.handle, given)[0] == SUCCESS:
            item.owned -= given
            if not item.owned:
                p.objects.pop()


@step
def give_object(p: Player, graph: int, number: int, move: bool) -> None:
    """References of a template's own, or the program's, which keeps one, so that its handle stays good."""
    owner = p.owned(graph)
    if p.objects and owner is not None:
        item = p.objects[-1]
        given = min(number, item.owned - 1) if move else number
        flags = _MOVE if move else 0
        if p.call("cudaGraphRetainUserObject", owner.handle, item.handle, given, flags)[0] == SUCCESS:
            owner.references[int(item.handle)] += given
            item.owned -= given if move else 0


@step
def take_object(p: Player, graph: int, number: int) -> None:
    """From a template that has some, where there is one."""
    holders = [each for each in p.graphs if any(each.references[int(item.handle)] for item in p.objects)]
    owner = holders[-1] if holders else p.owned(graph)
    if p.objects and owner is not None:
        item = next((each for each in p.objects if owner.references[int(each.handle)]), p.objects[-1])
        given = min(number, owner.references[int(item.handle)])
        if p.call("cudaGraphReleaseUserObject", owner.handle, item.handle, given)[0] == SUCCESS:
            owner.references[int(item.handle)] -= given


@step
def count_destroyed(p: Player) -> None:
    """How many user objects have been destroyed by now."""
    if p.made_objects:
        p.machine.settle()
    p.log.append((p.at, f"objects destroyed: {p.destroyed.value}"))


# -- the device, and errors --------------------------------------------------------------------------------------------


@step
def device_facts(p: Player) -> None:
    for name in ("cudaGetDevice", "cudaGetDeviceCount", "cudaRuntimeGetVersion", "cudaDriverGetVersion"):
        p.call(name)


@step
def set_device(p: Player, device: int) -> None:
    p.call("cudaSetDevice", device)


@step
def last_error(p: Player, clear: bool) -> None:
    (code,) = p.call("cudaGetLastError" if clear else "cudaPeekAtLastError")
    p.call("cudaGetErrorName", code)
    p.call("cudaGetErrorString", code)
