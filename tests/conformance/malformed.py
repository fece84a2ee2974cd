"""Adapters that are wrong in one way each: what stands in the file, and what the kit has to say of it."""

from __future__ import annotations

from dataclasses import dataclass

_HEAD = '''
import contextlib
import sys

import torch

import reference_impl
from conformance.adapter import Adapter
from conformance.adapters.reference import OnHost
from conformance.errors import Unsupported


def made(kind=OnHost, cls=reference_impl.CUDAGraph, module=reference_impl, **values):
    made = kind("vendor", module, cls, device="cpu", revision="2.14")
    vars(made).update(values)
    return made


class Without:
    """The device module without a name."""

    def __init__(self, *names):
        self._names = names

    def __getattr__(self, name):
        if name in self._names:
            raise AttributeError(f"the module has no {name}", name=name, obj=self)
        return getattr(reference_impl, name)


'''


@dataclass(frozen=True)
class Malformed:
    """One wrong adapter.

    Attributes:
        name: of the case.
        code: of the file behind its imports, or the whole of it.
        says: parts of what the kit says.
        placed: whether that names the file's line.
        faults: how many lines it takes.
        whole: whether `code` is the whole file.
    """

    name: str
    code: str
    says: tuple[str, ...]
    placed: bool = True
    faults: int = 1
    whole: bool = False

    @property
    def text(self) -> str:
        """Of the file."""
        return self.code if self.whole else _HEAD + self.code


def _member(name: str, code: str, *says: str, placed: bool = True) -> Malformed:
    """An adapter whose class has `code` in place of a member."""
    body = "\n".join(f"    {line}" for line in code.splitlines())
    return Malformed(name, f"class Vendor(OnHost):\n{body}\n\n\ndef adapter(): return made(Vendor)\n", says, placed)


def _value(name: str, values: str, *says: str, placed: bool = False) -> Malformed:
    """An adapter with other values."""
    return Malformed(name, f"def adapter(): return made({values})\n", says, placed)


def _file(name: str, code: str, *says: str, placed: bool = True, whole: bool = False) -> Malformed:
    return Malformed(name, code, says, placed, whole=whole)


_BARE = "class adapter(Adapter):\n    {}\n"

CASES = (
    # -- files and what they hold
    _file("syntax", "def adapter(:\n", "importing ", "SyntaxError", whole=True),
    _file("import", "import no_such_vendor\n", "importing ", "No module named 'no_such_vendor'", whole=True),
    _file("name-error", "vendor = torhc.nn\n", "importing ", "NameError: name 'torhc' is not defined"),
    _file("exit", "sys.exit('not here')\n", "importing ", "SystemExit: not here"),
    _file("nothing", "adaptor = made\n", "has no attribute 'adapter'; did you mean 'adaptor'?", placed=False),
    _file("number", "adapter = 5\n", "int 5 is neither an adapter", placed=False),
    _file("returns-none", "def adapter(): ...\n", "returned a NoneType, not a", placed=False),
    _file("factory-raises", "def adapter(): raise OSError('no driver')\n", "making the adapter failed", "no driver"),
    _file("adapter-raises", _BARE.format("def __init__(self): self.nmae"), "making the adapter failed", "nmae"),
    _file(
        "no-graph-class", "class adapter: ...\n", "is no graph class that the kit knows", "capture_begin", placed=False
    ),
    # -- what an adapter says of itself
    _file("no-name", _BARE.format("revision, graph_class = '2.14', reference_impl.CUDAGraph"), "has no 'name'"),
    _file("no-revision", _BARE.format("name, graph_class = 'vendor', reference_impl.CUDAGraph"), "has no 'revision'"),
    _file("no-class", _BARE.format("name, revision = 'vendor', '2.14'"), "has no 'graph_class'"),
    _value("brackets", "name='vendor[0]'", "name must be printable ASCII without brackets", "'vendor[0]'"),
    _value("name-of-bytes", "name=b'vendor'", "name must be printable ASCII"),
    _value("dialect", "dialect='CUDA'", "the adapter's dialect must be one of cuda, xpu, accelerator, not 'CUDA'"),
    _value("revision", "revision='newest'", "'newest' is not a revision such as '2.8'"),
    _value("revision-to-come", "revision='99.1'", "the kit quotes no document that is later"),
    _value("revision-of-floats", "revision=2.14", "the adapter's revision: "),
    _value("capabilities", "capabilities=['pools']", "capabilities must be a mapping"),
    _value("capability", "capabilities={'pool': False}", "unknown capability 'pool'; did you mean 'pools'?"),
    _value("capability-no", "capabilities={'pools': 'no'}", "capability 'pools' must be True or False, not 'no'"),
    _value(
        "contradiction",
        "capabilities={'template_editing': True, 'raw_handles': False}, runtime=reference_impl.cudart()",
        "capability 'template_editing' is declared True and 'raw_handles' False",
    ),
    _value(
        "no-runtime",
        "capabilities={'template_editing': True}",
        "'template_editing' is declared True, and the adapter has no 'runtime' to edit with",
    ),
    _value("side-stream", "needs_side_stream='no'", "needs_side_stream must be a bool, not 'no'"),
    _value(
        "visible-devices",
        "visible_devices=0",
        "visible_devices must be the name of an environment variable, or None, not 0",
    ),
    # -- the class
    _value("instance", "cls=reference_impl.CUDAGraph()", "the adapter's graph_class must be a class, not <"),
    _file(
        "no-replay", "class Graph: ...\ndef adapter(): return made(cls=Graph)\n", "has no capture_begin", placed=False
    ),
    _file(
        "class-raises",
        "class Graph(reference_impl.CUDAGraph):\n    def __new__(cls): raise OSError('no room')\n\n\n"
        "def adapter(): return made(cls=Graph)\n",
        "a Graph cannot be constructed: OSError: no room",
    ),
    # -- members that are not there
    _value("no-synchronize", "module=Without('synchronize')", "synchronize raised AttributeError", "write `def sync"),
    _value("no-capturing", "module=Without('is_current_stream_capturing')", "write `def is_current_stream_capturing("),
    _value("no-stream", "module=Without('stream')", "stream raised AttributeError", "write `def stream(self, stream)"),
    _member("misspelt", "def synchronise(self): ...", "no adapter has a member 'synchronise'; did you mean 'synch"),
    # -- members of another kind
    _member("attribute", "synchronize = 5", "synchronize is 5, which is no method"),
    _member("property", "@property\ndef synchronize(self): ...", "synchronize is a property, which is no method"),
    _member("arity", "def read(self): ...", "the adapter's read takes no 'tensor'"),
    _member(
        "arity-2",
        "def synchronize(self, device): ...",
        "the adapter's synchronize cannot be called: missing a required argument: 'device'",
    ),
    _member("coroutine", "async def synchronize(self): ...", "synchronize is a coroutine function"),
    _value("device-method", "device=lambda: None", "device gives function ", "which is not a torch.device"),
    _value("device-name", "device='cpu'", "device gives str 'cpu', which is not a torch.device"),
    # -- what members give
    _member("no-current", "def current_stream(self): ...", "current_stream gives NoneType None, which is not a stream"),
    _member("no-new-stream", "def new_stream(self): ...", "new_stream gives NoneType None, which is not a stream with"),
    _member("number-stream", "def new_stream(self): return 7", "new_stream gives int 7, which is not a stream with"),
    _member("no-event", "def new_event(self): ...", "new_event gives NoneType None, which is not an event with record"),
    _member(
        "no-context", "def stream(self, stream): ...", "stream gives NoneType None, which is not a context manager"
    ),
    _member(
        "no-around", "def around_test(self): ...", "around_test gives NoneType None, which is not a context manager"
    ),
    _member(
        "elsewhere",
        "def full(self, shape, value, dtype=None): return torch.full((shape,), value, device='meta')",
        "full gives Tensor of shape (2,) on meta, which is not a tensor on cpu",
    ),
    _member(
        "unread", "def read(self, tensor): return tensor.to('meta')", "read gives Tensor ", "not a tensor on the host"
    ),
    _member(
        "read-list",
        "def read(self, tensor): return tensor.tolist()",
        "read gives list [",
        "which is not a tensor on the host",
    ),
    _member(
        "read-other",
        "def read(self, tensor): return tensor + 1.0",
        "read gives Tensor [",
        "the values that were written, 1.0",
    ),
    _member(
        "bytes", "def memory_allocated(self): return '2 MiB'", "memory_allocated gives str '2 MiB', which is not an"
    ),
    _member("no-bool", "def is_current_stream_capturing(self): ...", "gives NoneType None, which is not a bool"),
    _member("facts", "def environment(self): return {'driver': 5}", "which is not a dictionary of strings"),
    _member("recovered", "def recover(self): return 0", "recover gives int 0, which is not None or a str"),
    _member("capture", "def capture(self, graph, **settings): return graph", "write `def capture(self, graph, *"),
    # -- what members raise
    _member("raises", "def synchronize(self): raise OSError('lost')", "synchronize raised OSError: lost"),
    _member("recover-raises", "def recover(self): raise OSError('lost')", "recover raised OSError: lost"),
    _member("slip", "def current_stream(self): return self.modul.current_stream()", "did you mean 'module'?"),
    # -- several
    Malformed(
        "several",
        "class Vendor(OnHost):\n    synchronize = 5\n    def new_stream(self): ...\n"
        "    def full(self, shape, value, dtype=None): ...\n\n\n"
        "def adapter(): return made(Vendor, capabilities={'template_editing': True})\n",
        ("synchronize is 5", "new_stream gives NoneType", "full gives NoneType", "no 'runtime' to edit with"),
        faults=4,
    ),
)
