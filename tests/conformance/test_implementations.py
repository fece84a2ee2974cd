"""From what --impl names to an adapter, and every way to name the wrong thing."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import itertools
import sys
import textwrap
import types
from pathlib import Path

import pytest

from conformance import start  # noqa: F401 - before pytester takes stock of modules
from conformance.adapter import ModuleAdapter
from conformance.adapters import reference, torch_cuda
from conformance.adapters.implementations import KNOWN, resolve, resolve_all
from conformance.adapters.names import longer_names
from conformance.errors import ImplementationError, Unsupported, UsageError
from tests.conformance.conftest import IMPLEMENTATION, Kit

pytest_plugins = ["pytester"]

USERS = """
    from fake import Fake, Graph
    from conformance.adapter import Adapter

    ready = Fake()
    number = 7

    def make(): return Fake()
    def make_on(device="here"):
        made = Fake()
        made.name = f"fake on {device}"
        return made
    def make_nothing(): return None
    def make_trouble(): return 1 // 0

    class Stranger: ...
    class Lookalike(Graph): ...
    class Raising(Graph):
        def __init__(self): raise OSError("no room")
    class Needy(Graph):
        def __init__(self, size): ...
    class Deaf:
        def capture_begin(self): ...
        def capture_end(self): ...
        def reset(self): ...

    def around(cls, **values):
        made = Fake()
        made.graph_class = cls
        vars(made).update(values)
        return made

    raising, needy, deaf = around(Raising), around(Needy), around(Deaf)
    no_class = around("Graph")
    no_name, bracketed = around(Graph, name=""), around(Graph, name="a[b]")
    odd_dialect = around(Graph, dialect="metal")
    odd_revision = around(Graph, revision="newest")
    odd_capability = around(Graph, capabilities={"pool": True})
    odd_declaration = around(Graph, capabilities={"pools": "yes"})
    odd_capabilities = around(Graph, capabilities=["pools"])

    class Unfinished(Adapter):
        name = "unfinished"
        graph_class = Graph

    class Outer:
        Inner = Fake
"""


@pytest.fixture(scope="module", autouse=True)
def _users(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("users")
    files = {
        "fake.py": IMPLEMENTATION,
        "users.py": USERS,
        "broken.py": "import os\n\nimport nothing_of_this_name\n",
        "worse.py": "value = 1\nraise ValueError('two\\nlines')\n",
        "leaving.py": "import sys\nsys.exit('bye')\n",
        "garbled.py": "value = 1\ndef\n",
        "neighbourly.py": "from users import ready\n",
    }
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path, str(folder)])
        yield
    for name in files:
        sys.modules.pop(name.removesuffix(".py"), None)


# -- what works -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attribute", ["ready", "make", "Fake", "Outer.Inner", "make_on"])
@pytest.mark.parametrize("place", ["users", "users.py", "./users.py"])
def test_an_adapter_is_found(place: str, attribute: str) -> None:
    adapter = resolve(f"{place}:{attribute}")
    assert adapter.name in {"fake", "fake on here"}


def test_a_file_may_import_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = Path("neighbourly.py").resolve()
    monkeypatch.chdir(tmp_path)
    assert resolve(f"{where}:ready").name == "fake"


def test_the_device_goes_to_a_factory_that_takes_one() -> None:
    assert resolve("users:make_on", device="there").name == "fake on there"


def test_the_revision_replaces_the_adapters() -> None:
    assert resolve("users:make", revision="2.8").revision == "2.8"


def test_several_are_kept_in_order() -> None:
    assert list(resolve_all(["users:make_on", "users:make"])) == ["fake on here", "fake"]


def test_known_names_are_loaded_from_where_they_say() -> None:
    assert set(KNOWN) >= {"reference", "torch.cuda"}
    for implementation in KNOWN.values():
        module, _, attribute = implementation.factory.partition(":")
        assert module.startswith("conformance.adapters.")
        assert callable(getattr(importlib.import_module(module), attribute))


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module in the reference's place that has just what its adapter needs."""
    module = types.ModuleType("reference_impl")
    code = """
        import contextlib

        class CUDAGraph:
            def __init__(self, keep_graph=False): ...
            def capture_begin(self, pool=None): ...
            def capture_end(self): ...
            def replay(self): ...
            def reset(self): ...

        devices = []
        def use_device(device):
            if device == "cuda:9":
                raise RuntimeError("there is no such GPU")
            devices.append(device)
        def cudart(): return "the runtime"
        def tensor(data, dtype=None): return ("tensor", data, dtype)
        def pinned(data): return ("pinned", data.tolist())
    """
    exec(textwrap.dedent(code), vars(module))  # noqa: S102 - a module without a file
    vars(module)["CUDAGraph"].__module__ = "reference_impl.graphs.cuda_graph"
    monkeypatch.setitem(sys.modules, "reference_impl", module)
    return module


def test_the_reference_is_a_module_like_any_other(stand_in: types.ModuleType) -> None:
    adapter = resolve("reference", device="cpu")
    assert isinstance(adapter, ModuleAdapter)
    assert (adapter.name, adapter.dialect, adapter.runtime) == ("reference", "cuda", "the runtime")
    assert stand_in.devices == ["cpu"]
    assert adapter.tensor([1]) == ("tensor", [1], None)
    assert adapter.pinned([1]) == ("pinned", [1])


def test_a_new_stream_is_none_that_is_in_use() -> None:
    """The module hands the streams of a pool out in turn."""
    turns = itertools.cycle(range(5))

    @dataclasses.dataclass(slots=True)  # and so without weak references, of which torch's are not safe
    class Stream:
        number: int = dataclasses.field(default_factory=lambda: next(turns))

    graph = types.SimpleNamespace(default_capture_stream=None)
    module = types.SimpleNamespace(Stream=Stream, graph=graph, is_current_stream_capturing=lambda: False)
    adapter = ModuleAdapter("vendor", module, object, device="cpu", revision="2.14")
    streams = [adapter.new_stream(), adapter.new_stream()]
    module.graph.default_capture_stream = Stream()
    streams += [adapter.new_stream(), adapter.new_stream()]
    assert [stream.number for stream in streams] == [0, 1, 3, 4]
    del streams[1]
    streams.append(adapter.new_stream())
    assert streams[-1].number == 1
    with pytest.raises(Unsupported, match="besides the 4 that the test uses"):
        adapter.new_stream()


def test_what_an_earlier_test_left_does_not_run_out_of_streams() -> None:
    turns = itertools.cycle(range(3))

    @dataclasses.dataclass
    class Stream:
        number: int = dataclasses.field(default_factory=lambda: next(turns))

    module = types.SimpleNamespace(Stream=Stream, synchronize=lambda: None, is_current_stream_capturing=lambda: False)
    adapter = ModuleAdapter("vendor", module, object, device="cpu", revision="2.14")
    left = [adapter.new_stream(), adapter.new_stream()]
    adapter.recover()
    own = [adapter.new_stream()]
    assert own[0] not in left, "while there are others"
    own += [adapter.new_stream(), adapter.new_stream()]
    assert sorted(stream.number for stream in own) == [0, 1, 2]
    with pytest.raises(Unsupported):
        adapter.new_stream()


def test_a_subclass_of_a_known_graph_class_needs_no_adapter(
    stand_in: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("vendor")
    vars(module)["Mine"] = type("Mine", (stand_in.CUDAGraph,), {"__module__": "vendor"})
    monkeypatch.setitem(sys.modules, "vendor", module)
    adapter = resolve("vendor:Mine")
    assert adapter.name == "vendor:Mine"
    assert adapter.graph_class is vars(module)["Mine"]
    assert isinstance(adapter.new_graph(), stand_in.CUDAGraph)


def test_somebodys_own_on_the_software_device_is_judged_asynchronously(
    stand_in: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = []
    vars(stand_in)["session"] = lambda seed: contextlib.nullcontext(seeds.append(seed))
    module = types.ModuleType("vendor")
    vars(module)["Mine"] = type("Mine", (stand_in.CUDAGraph,), {"__module__": "vendor"})
    vars(module)["adapter"] = reference.adapter
    monkeypatch.setitem(sys.modules, "vendor", module)
    for spec, sessions in (("reference", []), ("vendor:Mine", [7]), ("vendor:adapter", [7])):
        seeds.clear()
        adapter = resolve(spec)
        adapter.seed = 7
        with adapter.around_test():
            assert seeds == sessions, spec
        assert ("setup" in adapter.script_words) == bool(sessions), spec


def test_a_device_that_the_reference_refuses_is_named(stand_in: types.ModuleType) -> None:
    with pytest.raises(ImplementationError, match="the device 'cuda:9' cannot be used: there is no such GPU"):
        resolve("reference", device="cuda:9")


def test_a_missing_reference_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reference_impl", None)
    with pytest.raises(ImplementationError, match="reference_impl"):
        resolve("reference")


def test_torch_cuda_without_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ImplementationError, match=r"--impl=torch\.cuda: torch sees no CUDA GPU"):
        resolve("torch.cuda")
    with pytest.raises(ImplementationError, match=r"torch\.cuda runs on cuda or cuda:N, not on 'cpu'"):
        torch_cuda.adapter("cpu")


def test_torch_cuda_names_the_gpus_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(ImplementationError, match="torch sees 2 CUDA GPUs, so there is no cuda:5"):
        torch_cuda.adapter("cuda:5")


@pytest.mark.parametrize(("version", "hooks", "liveness"), [("2.8.0", False, False), ("2.14.1", True, True)])
def test_torch_cuda_declares_what_its_release_documents(
    monkeypatch: pytest.MonkeyPatch, version: str, hooks: bool, liveness: bool
) -> None:
    for name, value in (("is_available", lambda: True), ("device_count", lambda: 1), ("set_device", lambda _: None)):
        monkeypatch.setattr(f"torch.cuda.{name}", value)
    monkeypatch.setattr("torch.__version__", version)
    adapter = torch_cuda.adapter()
    assert adapter.revision == version.rpartition(".")[0]
    assert (adapter.capabilities["hooks"], adapter.capabilities["liveness"]) == (hooks, liveness)
    assert adapter.capabilities["keep_graph"]
    assert adapter.capabilities["raw_handles"]  # of 2.8 the template's is documented, if not yet the executable's
    assert "rng" not in adapter.capabilities


# -- wrong use --------------------------------------------------------------------------------------------------------

WRONG = [
    ("referense", "no implementation has that name; did you mean 'reference'?"),
    ("nothing.here", "no implementation has that name (known: reference, "),
    ("nothing_here:thing", "no module named 'nothing_here'"),
    ("users.inner:thing", "no module named 'users.inner'"),
    ("nothing_here.inner:thing", "no module named 'nothing_here'"),
    ("nothing_here.py:thing", "no file nothing_here.py"),
    ("users.py:", "write package.module:attribute or path/to/file.py:attribute"),
    (":thing", "write package.module:attribute or path/to/file.py:attribute"),
    ("users:redy", "users has no attribute 'redy'; did you mean 'ready'?"),
    ("users.py:Outer.Outest", "users.py has no attribute 'Outer.Outest'"),
    ("users:number", "int 7 is neither an adapter"),
    ("users:Stranger", "class Stranger is no graph class that the kit knows (it has no capture_begin"),
    ("users:make_nothing", "the function returned a NoneType, not a conformance.adapter.Adapter"),
    ("users:make_trouble", "line 14: ZeroDivisionError: "),
    ("users:raising", "a Raising cannot be constructed: OSError: no room"),
    ("users:needy", "a Needy cannot be constructed: TypeError"),
    ("users:deaf", "graph class Deaf has no replay"),
    ("users:no_class", "the adapter's graph_class must be a class, not 'Graph' at "),
    ("users:no_name", "the adapter's name must be printable ASCII without brackets, at most 200 characters, not ''"),
    (
        "users:bracketed",
        "the adapter's name must be printable ASCII without brackets, at most 200 characters, not 'a[b]'",
    ),
    ("users:odd_dialect", "the adapter's dialect must be one of cuda, xpu, accelerator, not 'metal' at "),
    ("users:odd_revision", "the adapter's revision: 'newest' is not a revision"),
    ("users:odd_capability", "declares an unknown capability 'pool'; did you mean 'pools'?"),
    ("users:odd_declaration", "capability 'pools' must be True or False, not 'yes'"),
    ("users:odd_capabilities", "the adapter's capabilities must be a mapping"),
    ("users:Unfinished", "the adapter has no 'revision'"),
    ("broken:thing", "broken.py, line 3: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
    ("broken.py:thing", "broken.py, line 3: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
    ("worse:thing", "worse.py, line 2: ValueError: two lines"),
    ("leaving:thing", "leaving.py, line 2: SystemExit: bye"),
    ("garbled.py:thing", "garbled.py, line 2: SyntaxError"),
]


@pytest.mark.parametrize(("spec", "message"), WRONG, ids=[spec for spec, _ in WRONG])
def test_a_wrong_name_is_refused_in_one_line(spec: str, message: str) -> None:
    with pytest.raises(ImplementationError) as refusal:
        resolve(spec)
    line = str(refusal.value)
    assert line.startswith(f"--impl={spec}: ")
    assert message in line
    assert "\n" not in line


def test_a_device_for_what_takes_none_is_refused() -> None:
    for attribute, reason in (("ready", "the adapter is already made"), ("make", "it takes no device")):
        with pytest.raises(ImplementationError, match=f"--device=there does not apply, since {reason}"):
            resolve(f"users:{attribute}", device="there")


def test_a_wrong_revision_is_refused() -> None:
    with pytest.raises(UsageError, match="--revision=new: 'new' is not a revision"):
        resolve("users:make", revision="new")


def test_one_name_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="--impl names 'fake' twice"):
        resolve_all(["users:ready", "users:make"])


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (("v1", "v2"), ["v1/g.py:G", "v2/g.py:G"]),
        (("a/new", "b/new"), ["a/new/g.py:G", "b/new/g.py:G"]),
        ((".", "v1", "v2"), ["g.py:G", "v1/g.py:G", "v2/g.py:G"]),
    ],
)
def test_namesakes_in_files_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: tuple[str, ...], names: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in folders:
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, "g.py").write_text("import reference_impl\n\nclass G(reference_impl.CUDAGraph): ...\n")
    assert list(resolve_all([f"{folder}/g.py:G" for folder in folders])) == names
    assert list(resolve_all([f"{tmp_path}/{folder}/g.py:G" for folder in folders[-2:]])) == names[-2:]


def test_namesakes_in_homes_and_in_one_file_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("g.py").write_text("import reference_impl\n\nclass G(reference_impl.CUDAGraph): ...\n")
    with pytest.raises(UsageError, match=r"'g\.py:G' twice; tell them apart by the 'name' of an adapter for each"):
        resolve_all(["g.py:G", "./g.py:G"])
    assert longer_names(["/home/one/g.py:G", "/home/other/g.py:G"]) is None


def test_the_reference_adapter_imports_nothing_by_itself() -> None:
    tree = ast.parse(Path(reference.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [name for name in imported if name.split(".")[0] == "reference_impl"]


# -- wrong use of a session -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--impl=nope",), "no implementation has that name"),
        (("--impl=fake.py:Nope",), "has no attribute 'Nope'"),
        (("--impl=",), "--impl needs a name"),
        (("--impl=fake.py:Fake,",), "--impl needs a name"),
        (("--impl=fake.py:Fake,fake.py:Fake",), "names 'fake' twice"),
        (("--impl=fake.py:Fake", "--revision=x"), "is not a revision"),
        (
            ("--impl=fake.py:Fake", "--no-isolate", "--record=fake.py/run.jsonl"),
            "the record fake.py/run.jsonl cannot be written",
        ),
        (("--impl=fake.py:Fake,fake.py:Second", "--no-isolate", "--record=fake.py"), "cannot be written"),
        (
            ("--impl=fake.py:Fake", "--no-isolate", "--test=test_it.py::test_none"),
            "--test=test_it.py::test_none: no such test here",
        ),
    ],
)
def test_wrong_use_ends_a_session_with_one_line(kit: Kit, words: tuple[str, ...], message: str) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_one(impl): raise AssertionError("must not run")
    """)
    result = kit.pytester.runpytest_inprocess("-p", "no:cacheprovider", *words)
    assert result.ret == 4
    assert [line for line in result.errlines if line.strip()] == [
        line for line in result.errlines if line.startswith("ERROR: conformance: ") and message in line
    ]
    assert len([line for line in result.errlines if line.strip()]) == 1
    assert "Traceback" not in result.stdout.str()
