"""What to write, or to declare, when a member of an adapter is missing or fails."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_SETTINGS = "*, pool=None, stream=None, mode=None, liveness=None"

#: An example for each member that a device may need otherwise than it is by default; ``backend`` is its device module.
_EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "around_test": "def around_test(self): return contextlib.nullcontext()",
        "capture": f"def capture(self, graph, {_SETTINGS}): return backend.graph(graph, stream=stream)",
        "capture_begin": "def capture_begin(self, graph, **settings): graph.capture_begin()",
        "current_stream": "def current_stream(self): return backend.current_stream()",
        "default_stream": "def default_stream(self): return backend.default_stream()",
        "device": 'device = torch.device("backend")',
        "device_count": "def device_count(self): return backend.device_count()",
        "empty_cache": "def empty_cache(self): backend.empty_cache()",
        "environment": 'def environment(self): return {"driver": str(backend.version())}',
        "full": "def full(self, shape, value, dtype=None): return torch.full(size, value, device=self.device)",
        "graph_pool_handle": "def graph_pool_handle(self): return backend.graph_pool_handle()",
        "is_current_stream_capturing": (
            "def is_current_stream_capturing(self): return backend.is_current_stream_capturing()"
        ),
        "make_graphed_callables": (
            "def make_graphed_callables(self, callables, sample_args, **settings): "
            "return backend.make_graphed_callables(callables, sample_args, **settings)"
        ),
        "manual_seed": "def manual_seed(self, seed): backend.manual_seed(seed)",
        "memory_allocated": "def memory_allocated(self): return backend.memory_allocated()",
        "memory_reserved": "def memory_reserved(self): return backend.memory_reserved()",
        "memory_snapshot": "def memory_snapshot(self): return backend.memory_snapshot()",
        "new_event": "def new_event(self): return backend.Event()",
        "new_graph": "def new_graph(self, keep_graph=None, *, pool=None, mode=None): return self.graph_class()",
        "new_mem_pool": "def new_mem_pool(self): return backend.MemPool()",
        "new_stream": "def new_stream(self): return backend.Stream()",
        "pinned": "def pinned(self, data, dtype=None): return torch.as_tensor(data, dtype=dtype).pin_memory()",
        "read": 'def read(self, tensor): self.synchronize(); return tensor.detach().to("cpu", copy=True)',
        "recover": "def recover(self): return None",
        "release_library_memory": "def release_library_memory(self): ...",
        "stream": "def stream(self, stream): return backend.stream(stream)",
        "synchronize": "def synchronize(self): backend.synchronize()",
        "tensor": "def tensor(self, data, dtype=None): return torch.as_tensor(data, dtype=dtype).to(self.device)",
        "unsafe_call": "def unsafe_call(self): backend.raw_allocation(1 << 16)",
    }
)

#: The capability that an adapter may decline instead of writing the member.
CAPABILITY_OF: Mapping[str, str] = MappingProxyType(
    {
        "graph_pool_handle": "pools",
        "make_graphed_callables": "graphed_callables",
        "manual_seed": "rng",
        "memory_allocated": "memory_stats",
        "memory_reserved": "memory_stats",
        "memory_snapshot": "memory_stats",
        "new_event": "fork_join",
        "new_mem_pool": "pools",
    }
)


def remedy(member: str) -> str:
    """What to do about `member`: an example, and the declaration that goes without it; empty for one without either."""
    example, capability = _EXAMPLES.get(member), CAPABILITY_OF.get(member)
    parts = [f"write `{example}`"] if example is not None else []
    parts += [f'declare capabilities={{"{capability}": False}}'] if capability is not None else []
    return ", or ".join(parts)
