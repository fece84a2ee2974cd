"""The documents' statements: what the loader refuses, and what the kit's own files hold."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from conformance import start  # noqa: F401 - before pytester takes stock of modules
from conformance.errors import RequirementError
from conformance.requirements.loading import load_documents, load_registry
from conformance.requirements.registry import Registry
from conformance.requirements.statements import Document, read_documents

HEAD = """
document = "page"
title = "A page"
revision = "2.8"
dialect = "cuda"
"""
GOOD = """
[[statement]]
id = "page.Graph.says-one"
kind = "sentence"
text = "One."
requirements = ["alpha.one"]
"""
HOPELESS = """
[[statement]]
id = "page.Graph.beta"
kind = "warning"
text = "It may change."
untestable = "it is about the future"
"""


def _read(folder: Path, registry: Registry, text: str, name: str = "page.toml") -> tuple[Document, ...]:
    (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return read_documents(folder, registry)


def test_a_document_is_read(tmp_path: Path, registry: Registry) -> None:
    (page,) = _read(tmp_path, registry, HEAD + GOOD + HOPELESS)
    assert (page.key, page.revision, page.dialect, page.members) == ("page", "2.8", "cuda", ("Graph",))
    one, beta = page.statements
    assert (one.member, one.kind, one.requirements, one.untestable) == ("Graph", "sentence", ("alpha.one",), None)
    assert (beta.requirements, beta.untestable) == ((), "it is about the future")
    assert one.to_dict()["requirements"] == ["alpha.one"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("document = ", "page.toml: not TOML"),
        (GOOD, "page.toml: 'document' is missing"),
        (HEAD.replace('"page"', '"other"') + GOOD, "document is 'other'; it must be the file's name, 'page'"),
        (HEAD.replace("2.8", "new") + GOOD, "'new' is not a revision"),
        (HEAD.replace('"cuda"', '"cpu"') + GOOD, "unknown dialect 'cpu'; known: cuda, xpu, accelerator"),
        (HEAD + "author = 'x'" + GOOD, "unknown key 'author'"),
        (HEAD, "no [[statement]] entries"),
        (HEAD + GOOD + GOOD, "page.Graph.says-one stands there twice"),
        (HEAD + GOOD.replace("page.Graph", "leaf.Graph"), "the id must be 'page.MEMBER.lower-case-words'"),
        (HEAD + GOOD.replace("says-one", "Says"), "the id must be 'page.MEMBER.lower-case-words'"),
        (HEAD + GOOD.replace('"sentence"', '"remark"'), "unknown kind 'remark'; known: member, parameter"),
        (HEAD + GOOD.replace("alpha.one", "alpha.none"), "names the unknown requirement 'alpha.none'"),
        (HEAD + GOOD.replace('["alpha.one"]', "[]"), "'requirements' must be a list of at least one text"),
        (HEAD + GOOD.replace('["alpha.one"]', '["alpha.one", "alpha.one"]'), "names a requirement twice"),
        (HEAD + GOOD + 'untestable = "so"', "give either the requirements that decide it or why it is untestable"),
        (
            HEAD + GOOD.replace("requirements", "#"),
            "give either the requirements that decide it or why it is untestable",
        ),
        (HEAD + GOOD + "member = 'x'", "unknown key 'member'"),
        (HEAD + GOOD.replace("alpha.one", "beta.hopeless"), "rests on beta.hopeless, which is untestable"),
        (HEAD + GOOD.replace("alpha.one", "beta.late"), "which holds since 2.14 for cuda, xpu, accelerator"),
        (HEAD + GOOD.replace("alpha.one", "beta.other"), "for accelerator; the document is about 2.8 for cuda"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, registry: Registry, text: str, message: str) -> None:
    with pytest.raises(RequirementError) as refusal:
        _read(tmp_path, registry, text)
    assert message in str(refusal.value)
    assert str(refusal.value).startswith("page.toml")


def test_the_documents_are_there() -> None:
    described = {(page.key, page.revision, page.dialect) for page in load_documents().values()}
    assert described == {
        ("cuda", "2.14", "cuda"),
        ("cuda-2-8", "2.8", "cuda"),
        ("cuda-1-10", "1.10", "cuda"),
        ("cuda-functions", "2.13", "cuda"),
        ("cuda-notes", "2.13", "cuda"),
        ("xpu", "2.14", "xpu"),
        ("xpu-functions", "2.13", "xpu"),
        ("accelerator", "2.14", "accelerator"),
        ("accelerator-functions", "2.13", "accelerator"),
    }


#: The members that each page describes.
MEMBERS = {
    "cuda": "CUDAGraph capture_begin capture_end capture_end_post capture_end_pre debug_dump enable_debug_mode "
    "get_graph_data instantiate pool pools raw_cuda_graph raw_cuda_graph_exec register_capture_end_hook "
    "register_post_instantiate_hook replay reset",
    "cuda-2-8": "CUDAGraph capture_begin capture_end debug_dump enable_debug_mode instantiate pool raw_cuda_graph "
    "replay reset",
    "cuda-1-10": "module graph_pool_handle CUDAGraph capture_begin capture_end replay reset pool graph "
    "make_graphed_callables",
    "cuda-functions": "is_current_stream_capturing graph_pool_handle graph make_graphed_callables MemPool use_mem_pool",
    "cuda-notes": "cuda_streams introduction why api constraints non_constraints whole_network partial_network amp "
    "streams ddp memory sharing control_flow",
    "xpu": "XPUGraph capture_begin capture_end debug_dump enable_debug_mode instantiate pool raw_xpu_graph "
    "raw_xpu_graph_exec",
    "xpu-functions": "is_current_stream_capturing graph_pool_handle XPUGraph capture_begin capture_end debug_dump "
    "enable_debug_mode instantiate replay reset pool raw_xpu_graph raw_xpu_graph_exec graph make_graphed_callables",
    "accelerator": "Graph capture_begin capture_end debug_dump enable_debug_mode instantiate pool replay",
    "accelerator-functions": "Graph capture_begin capture_end debug_dump enable_debug_mode instantiate pool replay "
    "reset",
}

#: What no test can reach: a PyTorch without the device, other processes, other parts of PyTorch.
OUT_OF_REACH = {
    "cuda-1-10": {"module"},
    "cuda-functions": {"MemPool", "use_mem_pool"},
    "cuda-notes": {"ddp", "control_flow"},
}

_CALLABLES = " ".join(
    f"make_graphed_callables.{slug}" for slug in ("callables", "sample-args", "warm-ups", "unused", "pool")
)

#: The parameters that each page documents, as MEMBER.SLUG of the statement.
PARAMETERS = {
    "cuda": "CUDAGraph.keep-graph capture_begin.pool capture_begin.mode capture_begin.liveness debug_dump.path "
    "debug_dump.verbose register_capture_end_hook.hook register_post_instantiate_hook.hook",
    "cuda-2-8": "CUDAGraph.keep-graph capture_begin.pool capture_begin.mode debug_dump.path",
    "cuda-1-10": "capture_begin.pool graph.cuda-graph graph.pool graph.stream make_graphed_callables.callables "
    "make_graphed_callables.sample-args",
    "cuda-functions": "graph.cuda-graph graph.pool graph.stream graph.mode graph.annotations graph.liveness "
    + _CALLABLES,
    "cuda-notes": "",
    "xpu": "XPUGraph.keep-graph capture_begin.pool debug_dump.path",
    "xpu-functions": "XPUGraph.keep-graph capture_begin.pool debug_dump.path graph.xpu-graph graph.pool graph.stream "
    + _CALLABLES,
    "accelerator": "Graph.keep-graph Graph.pool Graph.mode debug_dump.path",
    "accelerator-functions": "Graph.keep-graph Graph.pool Graph.mode debug_dump.path",
}
#: What it does is told in a private module.
UNDOCUMENTED_PARAMETER = "cuda-functions.graph.annotations"


@pytest.mark.parametrize("key", MEMBERS)
def test_every_member_has_a_requirement(key: str) -> None:
    page = load_documents()[key]
    assert page.members == tuple(MEMBERS[key].split())
    decided = {entry.member for entry in page.statements if entry.requirements}
    assert set(page.members) - decided == OUT_OF_REACH.get(key, set())


@pytest.mark.parametrize("key", PARAMETERS)
def test_every_parameter_has_a_requirement(key: str) -> None:
    page = load_documents()[key]
    parameters = [entry for entry in page.statements if entry.kind == "parameter"]
    assert [entry.id.removeprefix(f"{key}.") for entry in parameters] == PARAMETERS[key].split()
    assert {entry.id for entry in parameters if not entry.requirements} <= {UNDOCUMENTED_PARAMETER}


def test_every_must_is_promised() -> None:
    """By a sentence of a document, for the class that the sentence is about: what code happens to do binds nobody."""
    promised = {
        name
        for page in load_documents().values()
        for entry in page.statements
        if entry.promises
        for name in entry.requirements
    }
    musts = {entry.id for entry in load_registry().requirements.values() if entry.level == "must"}
    assert sorted(musts - promised) == []


#: One for each way in which a document speaks of what callers must do.
OBLIGATIONS = [
    "cuda-1-10.graph.one-capture-at-a-time",
    "cuda-1-10.make_graphed_callables.no-keywords",
    "cuda-functions.make_graphed_callables.no-hooks-before",
    "cuda-notes.constraints.one-capture",
    "cuda-notes.constraints.nothing-beside",
    "cuda-notes.constraints.side-stream",
    "cuda-notes.streams.branch-and-join",
    "xpu-functions.make_graphed_callables.tensors-only",
]


@pytest.mark.parametrize("identity", OBLIGATIONS)
def test_what_binds_the_caller_does_not_bind_the_implementation(identity: str) -> None:
    page = load_documents()[identity.partition(".")[0]]
    (statement,) = (entry for entry in page.statements if entry.id == identity)
    assert statement.requirements == ()
    assert "obligation of the caller" in (statement.untestable or "")


def test_equal_sentences_are_decided_alike() -> None:
    """Documents of one dialect that say the same of the same member are all testable, or none of them is."""
    testable: dict[tuple[str, str, str], set[bool]] = {}
    for page in load_documents().values():
        for entry in page.statements:
            key = (page.dialect, entry.member, entry.text)
            testable.setdefault(key, set()).add(entry.untestable is None)
    assert [key for key, answers in testable.items() if len(answers) > 1] == []


def test_what_is_left_open_alone_is_what_the_documents_leave_open() -> None:
    requirements = load_registry().requirements
    resting = {
        entry.id
        for page in load_documents().values()
        for entry in page.statements
        if entry.promises
        and entry.requirements
        and all(requirements[name].level == "may" for name in entry.requirements)
    }
    assert resting == {
        "accelerator.Graph.mode-of-backend",
        "accelerator.Graph.pool-saves",
        "xpu-functions.reset.method",
        "accelerator-functions.Graph.mode-of-backend",
        "accelerator-functions.Graph.pool-saves",
        "accelerator-functions.reset.method",
        "accelerator-functions.reset.settings",
    }
