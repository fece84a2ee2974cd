"""Plug-ins of others that run tests again, repeat, reorder, add or drop them; here as small conftests that do so."""

from __future__ import annotations

import textwrap

import pytest
import torch  # noqa: F401 - before pytester takes stock of modules

from conformance import start  # noqa: F401 - before pytester takes stock of modules
from conformance.records.verdicts import Verdict
from conformance.session import executor, recorder  # noqa: F401 - likewise
from tests.conformance.conftest import Kit

pytest_plugins = ["pytester"]

#: The first run of one test fails, each later one passes; the other test is what gets lost or goes wrong.
FLAKY = """
    runs = []

    @requirement("alpha.one", "alpha.two", "beta.pooled", "beta.deadly")
    def test_flaky(impl):
        runs.append(1)
        expect(len(runs) > 1, "it holds", f"it fails in run {len(runs)}")

    @requirement("alpha.one")
    def test_other(impl): ...
"""
GOOD = FLAKY.replace("> 1", "> 0")

RERUN = """
    from _pytest.runner import runtestprotocol

    def pytest_runtest_protocol(item, nextitem):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for attempt in range(3):
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            for report in reports:
                item.ihook.pytest_runtest_logreport(report=report)
            if all(report.passed for report in reports):
                break
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
"""
LOOP_TWICE = """
    import pytest

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(session):
        for item in session.items * 2:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return True
"""
REPEAT = """
    import pytest

    @pytest.fixture
    def attempt(request): return request.param

    def pytest_generate_tests(metafunc):
        metafunc.fixturenames.append("attempt")
        metafunc.parametrize("attempt", range(2), indirect=True)
"""
DUPLICATE = """
    def pytest_collection_modifyitems(items): items += items
"""
ADD = """
    import pytest

    def pytest_collection_modifyitems(items):
        items.append(pytest.Function.from_parent(items[0].parent, name="test_added", callobj=items[0].function))
"""
REVERSE = """
    def pytest_collection_modifyitems(items): items.reverse()
"""
DROP = """
    def pytest_collection_modifyitems(items): del items[1:]
"""
DROP_FIRST = """
    import pytest

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(items):
        del items[1:]
        return (yield)
"""
NEVER_COLLECT = """
    import pytest

    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makeitem(name):
        made = yield
        return [] if name == "test_other" else made
"""


def _plug_in(kit: Kit, code: str) -> None:
    (kit.folder / "conftest.py").write_text(textwrap.dedent(code), encoding="utf-8")


@pytest.mark.parametrize(
    ("plug_in", "status", "lines"),
    [
        (RERUN, 1, ["DOES NOT CONFORM: *"]),
        (LOOP_TWICE, 3, ["STOPPED: test_it.py::test_* ran more than once: leave *", "NO CLAIM: *"]),
    ],
    ids=["its-failure-is-run-again", "all-tests-run-again"],
)
def test_a_test_has_the_result_of_its_first_run(kit: Kit, plug_in: str, status: int, lines: list[str]) -> None:
    kit.tests(FLAKY)
    _plug_in(kit, plug_in)
    result, record = kit.recorded()
    assert result.ret == status
    assert [entry.verdict for entry in record.results] == [Verdict.PASS, Verdict.FAIL]
    assert record.results[1].seen == "it fails in run 1"
    result.stdout.fnmatch_lines(lines)


@pytest.mark.parametrize(
    ("plug_in", "message"),
    [
        (REPEAT, "a plug-in repeats tests, such as test_it.py::test_flaky*: leave it out"),
        (DUPLICATE, "a plug-in repeats tests, such as test_it.py::test_flaky*: leave it out"),
        (ADD, "a plug-in added the test test_it.py::test_added: leave the plug-in out"),
    ],
    ids=["by-parameters", "twice-in-the-list", "a-new-one"],
)
def test_tests_that_are_not_the_suites_are_refused_before_the_run(kit: Kit, plug_in: str, message: str) -> None:
    kit.tests(GOOD)
    _plug_in(kit, plug_in)
    result = kit.run("--record=out.jsonl")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: conformance: {message}"])
    assert "passed" not in result.stdout.str()
    assert "NO CLAIM" not in result.stdout.str()
    assert not (kit.folder / "out.jsonl").read_bytes()


def test_another_order_changes_nothing_but_the_order(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one", "alpha.two", "beta.pooled")
        def test_one(impl): ...

        @requirement("alpha.one")
        def test_two(impl): ...

        @requirement("beta.deadly")
        def test_deadly(impl): ...
    """)
    _plug_in(kit, REVERSE)
    result, record = kit.recorded()
    assert result.ret == 0
    assert [entry.test for entry in record.results] == [f"test_it.py::test_{name}" for name in ("two", "one", "deadly")]
    result.stdout.fnmatch_lines(["CONFORMS: *"])


@pytest.mark.parametrize("plug_in", [DROP, DROP_FIRST], ids=["late", "early"])
def test_a_test_that_is_dropped_in_silence_leaves_no_claim(kit: Kit, plug_in: str) -> None:
    kit.tests(GOOD)
    _plug_in(kit, plug_in)
    result, record = kit.recorded()
    assert result.ret == 0
    assert record.narrowed
    result.stdout.fnmatch_lines(["NO CLAIM: *only a part of the suites was selected*"])


def _as_suites(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.session.cases.SUITES", kit.folder)
    monkeypatch.setattr("conformance.session.cases.HOME", kit.folder)
    # Before the kit's own suites more is asked of an adapter.
    fake = kit.folder / "fake.py"
    whole = 'capabilities = {"memory_stats": False}\n    needs_side_stream = False\n    graph_class = Graph'
    fake.write_text(fake.read_text(encoding="utf-8").replace("graph_class = Graph", whole), encoding="utf-8")


@pytest.mark.parametrize(
    ("plug_in", "words"),
    [
        (NEVER_COLLECT, ()),
        ("collect_ignore = ['test_second.py']", ()),
        ("", ("-o", "python_functions=test_flaky")),
        ("", ("-o", "python_files=test_it.py")),
    ],
    ids=["function", "file", "names-of-functions", "names-of-files"],
)
def test_what_is_never_collected_leaves_no_claim(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, plug_in: str, words: tuple[str, ...]
) -> None:
    kit.tests(GOOD)
    kit.tests("@requirement('alpha.one')\ndef test_second(impl): ...", "test_second.py")
    _as_suites(kit, monkeypatch)
    assert not kit.recorded()[1].narrowed
    _plug_in(kit, plug_in)
    result, record = kit.recorded(*words)
    assert result.ret == 0
    assert record.narrowed
    result.stdout.fnmatch_lines(["NO CLAIM: *only a part of the suites was selected*"])


@pytest.mark.parametrize(
    ("module", "option", "harmless", "message"),
    [
        ("pytest_rerunfailures", "reruns=2", "reruns=0", "--reruns=2 (pytest-rerunfailures) would run failed tests *"),
        (
            "pytest_rerunfailures",
            "force-reruns=1",
            "",
            "--force-reruns=1 (pytest-rerunfailures) would run tests again*",
        ),
        ("pytest_repeat", "count=2", "count=1", "--count=2 (pytest-repeat) would run each test again*"),
        ("pytest_retry.retry_plugin", "retries=1", "", "--retries=1 (pytest-retry) would run failed tests again*"),
        ("pytest_timeout", "timeout=0.5", "timeout=0", "--timeout=0.5 (pytest-timeout) would turn a slow test into *"),
    ],
)
def test_an_option_that_asks_for_it_is_refused_with_its_name(
    kit: Kit, module: str, option: str, harmless: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit.tests(GOOD)
    name = option.partition("=")[0]
    _plug_in(
        kit,
        f"""
        __name__ = {module!r}

        def pytest_addoption(parser):
            parser.addoption("--{name}")
            parser.addini("{name}", "the same")
        """,
    )
    for words in ((f"--{option}",), ("-o", option)):
        result = kit.run(*words)
        assert result.ret == 4
        result.stderr.fnmatch_lines([f"ERROR: conformance: {message}"])
    if harmless:
        assert kit.run(f"--{harmless}").ret == 0


def test_narrowing_by_the_environment_is_said(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.tests(GOOD)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k flaky")
    result, record = kit.recorded()
    assert result.ret == 0
    assert record.header.options["keyword"] == "flaky"
    result.stdout.fnmatch_lines(["NO CLAIM: *only a part of the suites was selected*"])
