"""A session with ``--impl``: what runs, what each test's verdict is, and what the session comes to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import hypothesis
import pytest

# Before pytester takes stock of modules: a session in this process forgets what it imported, and torch loads only once.
from conformance import property_tests, start  # noqa: F401
from conformance.records.verdicts import RunVerdict, Verdict
from conformance.session import executor, fixtures, recorder  # noqa: F401
from tests.conformance.conftest import Kit

pytest_plugins = ["pytester"]

PASSES = """
    @requirement("alpha.one")
    def test_one(impl): ...
"""


@pytest.fixture
def same_hypothesis_profile() -> Iterator[None]:
    """For sessions in this process that run property tests: these load a profile of their own."""
    before = hypothesis.settings.default
    yield
    hypothesis.settings.register_profile("before", before)
    hypothesis.settings.load_profile("before")


# -- verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "verdict", "message"),
    [
        ("...", Verdict.PASS, ""),
        ("expect(False, 'it holds', 'it does not')", Verdict.FAIL, "promised: it holds\nseen: it does not"),
        ("assert 1 == 2", Verdict.FAIL, "assert 1 == 2"),
        ("impl.new_graph().replay()", Verdict.FAIL, "RuntimeError: replay is broken"),
        ("raise NotImplementedError('the class lacks it')", Verdict.FAIL, "NotImplementedError: the class lacks it"),
        ("impl.problem = 'a stream still captures'", Verdict.FAIL, "left behind: a stream still captures"),
        ("impl.recover = lambda: 1 / 0", Verdict.FAIL, "left behind: recovering raised ZeroDivisionError"),
        ("raise HarnessError('the suite is lost')", Verdict.ERROR, "the suite is lost"),
        ("impl.memory_allocated()", Verdict.ERROR, "the adapter 'fake' does not implement memory_allocated()"),
        ("observe('a', object())", Verdict.ERROR, "observe('a', …) takes JSON values"),
        ("observe('a', float('nan'))", Verdict.ERROR, "observe('a', …) takes JSON values"),
        ("pytest.skip('not today')", Verdict.SKIPPED, "not today"),
        ("pytest.xfail('known')", Verdict.FAIL, "known"),
    ],
)
def test_a_body_gives_a_verdict(kit: Kit, body: str, verdict: Verdict, message: str) -> None:
    kit.tests(f"""
        @requirement("alpha.one")
        def test_one(impl, observe):
            {body}
    """)
    _, record = kit.recorded()
    (result,) = record.results
    assert result.verdict is verdict
    assert result.message.startswith(message)
    assert result.phase == "call"
    assert result.test == "test_it.py::test_one"
    assert result.requirements == ("alpha.one",)


@pytest.mark.parametrize(
    ("wrapped", "message"),
    [
        ("expect_no_raise('p', impl.memory_allocated)", "does not implement memory_allocated()"),
        ("expect_raises('p', impl.memory_allocated)", "does not implement memory_allocated()"),
    ],
)
def test_a_gap_in_the_adapter_is_an_error_inside_checks_too(kit: Kit, wrapped: str, message: str) -> None:
    kit.tests(f"""
        from conformance.checks import expect_no_raise, expect_raises

        @requirement("alpha.one")
        def test_one(impl):
            {wrapped}
    """)
    _, record = kit.recorded()
    assert record.results[0].verdict is Verdict.ERROR
    assert message in record.results[0].message


@pytest.mark.parametrize(
    ("fixture", "verdict", "phase"),
    [
        ("raise OSError('no disk')", Verdict.ERROR, "setup"),
        ("fail('p', 's')", Verdict.FAIL, "setup"),
        ("pytest.skip('why')", Verdict.SKIPPED, "setup"),
        ("yield; raise OSError('no disk')", Verdict.ERROR, "teardown"),
    ],
)
def test_a_fixture_gives_a_verdict(kit: Kit, fixture: str, verdict: Verdict, phase: str) -> None:
    kit.tests(f"""
        @pytest.fixture
        def around(impl):
            {fixture}

        @requirement("alpha.one")
        def test_one(impl, around): ...
    """)
    _, record = kit.recorded()
    assert (record.results[0].verdict, record.results[0].phase) == (verdict, phase)


def test_a_failing_teardown_does_not_hide_a_rejection(kit: Kit) -> None:
    kit.tests("""
        @pytest.fixture
        def around(impl):
            yield
            raise OSError("no disk")

        @requirement("alpha.one")
        def test_one(impl, around): fail("p", "s")
    """)
    _, record = kit.recorded()
    assert record.results[0].verdict is Verdict.FAIL
    assert record.results[0].message.endswith("afterwards, in teardown: OSError: no disk")


def test_a_failure_keeps_what_was_left_behind_too(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_one(impl):
            impl.problem = "a mess"
            fail("p", "s")
    """)
    _, record = kit.recorded()
    assert record.results[0].left_behind == "a mess"
    assert (record.results[0].expected, record.results[0].seen) == ("p", "s")


def test_each_test_recovers_and_has_the_current_stream_back(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.left-open")
        def test_one(impl): impl.current = "side"

        @requirement("alpha.one")
        def test_two(impl):
            assert impl.current == "default"
            assert impl.recovered >= 1
    """)
    _, record = kit.recorded()
    assert [(entry.verdict, entry.left_behind) for entry in record.results] == [
        (Verdict.FAIL, "another stream was left current"),
        (Verdict.PASS, None),
    ]


def test_an_absent_capability_is_unsupported_with_the_declaration_quoted(kit: Kit) -> None:
    kit.tests("""
        @requirement("beta.pooled")
        def test_one(impl): raise AssertionError("must not run")
    """)
    result, record = kit.recorded(impl="fake.py:Poor")
    assert record.results[0].verdict is Verdict.UNSUPPORTED
    assert record.results[0].message == "the adapter 'poor' declares the capability 'pools' absent"
    result.stdout.fnmatch_lines(["*1 unsupported*"])


def test_what_a_test_needs_besides_and_is_absent_makes_it_unsupported(kit: Kit) -> None:
    kit.tests("""
        import pytest
        from conformance.markers import needs

        @requirement("alpha.one")
        @needs("rng", "pools")
        def test_marked(impl): raise AssertionError("must not run")

        @requirement("alpha.one")
        @pytest.mark.parametrize("pool", [None, "a token"])
        def test_given(impl, pool): assert pool is None

        @requirement("alpha.one")
        def test_tripped(impl): impl.graph_class().pool()
    """)
    _, record = kit.recorded(impl="fake.py:Poor")
    absence = "the adapter 'poor' declares the capability 'pools' absent"
    assert [(entry.verdict, entry.message) for entry in record.results] == [
        (Verdict.UNSUPPORTED, absence),
        (Verdict.PASS, ""),
        (Verdict.UNSUPPORTED, absence),
        (Verdict.UNSUPPORTED, f"{absence}, and the class has no pool"),
    ]


def test_what_is_missing_and_not_declared_is_a_cause_in_the_record(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_tripped(impl): impl.graph_class().debug_dump("x")
    """)
    _, record = kit.recorded()
    (result,) = record.results
    assert result.verdict is Verdict.FAIL
    assert result.cause == {"kind": "missing", "name": "debug_dump", "declare": "debug_dump"}
    assert result.message.startswith(
        'missing: the class has no debug_dump; if that is so, declare capabilities={"debug_dump": False}\n'
    )


def test_what_is_left_open_never_fails_a_session(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.left-open")
        def test_open(impl): fail("p", "s")

        @requirement("alpha.one")
        def test_one(impl): ...
    """)
    result, record = kit.recorded("-x")
    assert result.ret == 0
    assert record.results[0].verdict is Verdict.FAIL
    result.stdout.fnmatch_lines(["*1 passed*1 noted*"])


# -- what is recorded -------------------------------------------------------------------------------------------------


def test_frames_inside_the_implementation_are_kept(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_one(impl): impl.new_graph().replay()
    """)
    _, record = kit.recorded()
    assert re.fullmatch(r"fake\.py:\d+ in replay", record.results[0].frames[-1])


def test_observations_and_distinct_warnings_are_recorded(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_one(impl, observe):
            observe("order", [1, 2])
            for _ in range(50):
                warnings.warn("careful", stacklevel=1)
            for number in range(50):
                warnings.warn(f"number {number}", stacklevel=1)
    """)
    result, record = kit.recorded()
    assert record.results[0].observations == {"order": [1, 2]}
    assert record.results[0].warnings[0] == "UserWarning: careful"
    assert len(record.results[0].warnings) == 20
    result.stdout.fnmatch_lines(["*UserWarning: careful*"])


def test_a_record_is_self_contained(kit: Kit) -> None:
    kit.tests(PASSES)
    _, record = kit.recorded("--revision=2.14")
    header = record.header
    assert (header.implementation, header.dialect, header.revision) == ("fake", "cuda", "2.14")
    assert record.planned == {"test_it.py::test_one": ("alpha.one",)}
    assert {"python", "torch", "platform", "pytest"} <= set(header.environment)
    assert header.options == {"revision": "2.14"}
    assert len(header.requirements) == 8
    assert header.suite_digest == ""  # it would say that the requirements are the kit's own
    assert record.complete
    assert record.footer is not None
    assert record.footer.counts == {"pass": 1}
    assert record.footer.verdict == record.assessment.verdict.value == "narrowed"
    assert record.started == ("test_it.py::test_one",)


def test_an_environment_that_raises_is_told_and_forgiven(kit: Kit) -> None:
    (kit.folder / "odd.py").write_text(
        "from fake import Fake\nclass Odd(Fake):\n    def environment(self): raise OSError('gone')\n", encoding="utf-8"
    )
    kit.tests(PASSES)
    _, record = kit.recorded(impl="odd.py:Odd")
    assert record.header.environment["adapter"] == "environment() raised OSError: gone"


def test_the_record_shows_where_a_killed_run_died(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_one(impl): ...

        @requirement("alpha.one")
        def test_two(impl): pytest.exit("enough")
    """)
    result, record = kit.recorded()
    assert result.ret == 2
    assert not record.complete
    assert record.footer is not None
    assert record.footer.exit_status == 2
    assert [entry.test for entry in record.results] == ["test_it.py::test_one"]
    assert record.assessment.verdict is RunVerdict.INCOMPLETE


def test_several_implementations_have_a_file_each(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        @pytest.mark.parametrize("size", [3, 5])
        def test_one(impl, size): expect(impl.name == "fake" or size == 3, "p", "s")
    """)
    result = kit.run("--record=out", "-v", impl="fake.py:Fake,fake.py:Second")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*::test_one?fake-3? PASSED*", "*::test_one?second-5? FAILED*"])
    lines = {path.stem: path.read_text(encoding="utf-8").splitlines() for path in (kit.folder / "out").iterdir()}
    assert set(lines) == {"fake", "second"}
    tests = [[json.loads(line)["test"] for line in record if '"started"' in line] for record in lines.values()]
    assert tests[0] == tests[1] == ["test_it.py::test_one[3]", "test_it.py::test_one[5]"]


def test_workers_give_the_same_record(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_one(impl, observe): observe("seen", True)

        @requirement("alpha.two")
        def test_two(impl): fail("p", "s")

        @requirement("beta.late")
        def test_late(impl): ...
    """)
    # The workers are processes of their own, so they know the kit's requirements and not this file's.
    (kit.folder / "conftest.py").write_text(
        "import conformance.start, conformance.requirements.registry, pathlib\n"
        f"kit = conformance.requirements.registry.Registry({_areas_source()})\n"
        "conformance.start.load_registry = lambda: kit\n",
        encoding="utf-8",
    )
    result, record = kit.recorded("-n1")
    assert result.ret == 1
    assert {entry.test: entry.verdict for entry in record.results} == {
        "test_it.py::test_one": Verdict.PASS,
        "test_it.py::test_two": Verdict.FAIL,
    }
    assert record.results[0].observations == {"seen": True}
    assert record.not_applicable == ("test_it.py::test_late",)
    assert record.complete


def _areas_source() -> str:
    return (
        "[conformance.requirements.registry.Area('alpha', 't', (R('alpha.one', 'alpha', 'must', 't', ('d',), '2.8'), "
        "R('alpha.two', 'alpha', 'must', 't', ('d',), '2.8'))), "
        "conformance.requirements.registry.Area('beta', 't', (R('beta.late', 'beta', 'must', 't', ('d',), '2.14'),))]"
    ).replace("R(", "conformance.requirements.registry.Requirement(")


# -- selection --------------------------------------------------------------------------------------------------------


def test_what_does_not_apply_is_left_out_and_counted(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_one(impl): ...

        @requirement("alpha.one", "beta.late")
        def test_late(impl): fail("p", "s")

        @requirement("beta.other")
        def test_other(impl): fail("p", "s")
    """)
    result, record = kit.recorded()
    assert result.ret == 0
    assert record.not_applicable == ("test_it.py::test_late", "test_it.py::test_other")
    result.stdout.fnmatch_lines(["*2 tests do not apply to the dialect cuda and the revision 2.13*"])


def test_a_later_revision_asks_more(kit: Kit) -> None:
    kit.tests("""
        @requirement("beta.late")
        def test_late(impl): fail("p", "s")
    """)
    assert kit.run("--revision=2.14").ret == 1


def test_destructive_tests_run_last(kit: Kit) -> None:
    kit.tests("""
        @requirement("beta.deadly")
        def test_deadly(impl): ...

        @requirement("alpha.one")
        def test_one(impl): ...
    """)
    _, record = kit.recorded()
    assert [entry.test for entry in record.results] == ["test_it.py::test_one", "test_it.py::test_deadly"]


def test_one_test_can_be_named_as_the_record_names_it(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        @pytest.mark.parametrize("size", [3, 5])
        def test_one(impl, size): ...
    """)
    _, record = kit.recorded("--test=test_it.py::test_one[5]")
    assert [entry.test for entry in record.results] == ["test_it.py::test_one[5]"]
    assert record.narrowed
    assert record.assessment.verdict is RunVerdict.NARROWED


ALL = """
    @requirement("alpha.one", "alpha.two", "beta.pooled", "beta.deadly")
    def test_all(impl): ...

    @requirement("alpha.one")
    def test_more(impl): ...
"""


@pytest.mark.parametrize(
    ("words", "verdict"),
    [((), "CONFORMS"), (("-k", "all"), "NO CLAIM"), (("--deselect", "test_it.py::test_more"), "NO CLAIM")],
)
def test_only_a_whole_run_passes(kit: Kit, words: tuple[str, ...], verdict: str) -> None:
    kit.tests(ALL)
    result = kit.run(*words)
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"{verdict}: fake as cuda 2.13: 3 of 3 musts met; 1 of 1 pieces of advice followed*"])


def test_a_skipped_test_is_never_a_pass(kit: Kit) -> None:
    kit.tests(ALL + "    pytestmark = pytest.mark.skip(reason='later')\n")
    result = kit.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["NO CLAIM: fake as cuda 2.13: 0 *skipped*"])


@pytest.mark.usefixtures("same_hypothesis_profile")
def test_property_tests_are_deterministic_and_may_use_the_fixtures(kit: Kit) -> None:
    kit.tests("""
        import hypothesis, random, torch
        from hypothesis import strategies as st

        drawn = []

        @requirement("alpha.one")
        @hypothesis.given(st.integers())
        def test_property(impl, observe, number):
            drawn.append(number)
            observe("drawn", drawn[-10:])

        @requirement("alpha.one")
        def test_settings(impl, observe):
            settings = hypothesis.settings()
            assert settings.derandomize and settings.database is None and settings.deadline is None
            observe("random", [random.random(), float(torch.rand(()))])
    """)
    first, second = (kit.recorded()[1].results for _ in range(2))
    assert [entry.verdict for entry in first] == [Verdict.PASS, Verdict.PASS]
    assert [entry.observations for entry in first] == [entry.observations for entry in second]


@pytest.mark.usefixtures("same_hypothesis_profile")
def test_what_is_drawn_does_not_depend_on_the_code_around(kit: Kit) -> None:
    """Hypothesis takes numbers from modules that are not installed, as a backend's in a checkout; the suites do not."""
    kit.tests("""
        import hypothesis
        from hypothesis import strategies as st

        drawn = []

        @requirement("alpha.one")
        @hypothesis.settings(max_examples=200)
        @hypothesis.given(st.integers(0, 10**9))
        def test_one(impl, number):
            drawn.append(number)

        @requirement("alpha.two")
        def test_two(impl, observe):
            observe("drawn", drawn)
    """)
    _, without = kit.recorded()
    numbers = [123_456_789 + 7 * place for place in range(300)]
    (kit.folder / "backend.py").write_text(f"NUMBERS = {numbers}", encoding="utf-8")
    (kit.folder / "conftest.py").write_text("import backend", encoding="utf-8")
    _, with_numbers = kit.recorded()
    assert len(without.results[1].observations["drawn"]) == 200
    assert with_numbers.results[1].observations == without.results[1].observations


# -- what a person reads ----------------------------------------------------------------------------------------------


def test_a_failure_says_what_it_decides_and_how_to_run_it_again(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        @pytest.mark.parametrize("size", ["a b", "c"])
        def test_one(impl, size): expect(size == "c", "it holds", "it does not")
    """)
    result, record = kit.recorded("--revision=2.14")
    command = "pytest --impl=fake.py:Fake --revision=2.14 'test_it.py::test_one[fake-a b]'"
    result.stdout.fnmatch_lines(
        [
            "E   *expected: it holds",
            "E   seen: it does not",
            "*what it decides*",
            "alpha.one (must, since 2.8): One is promised.",
            "    documented in a page",
            "    documented in another page",
            f"run it again: {command.replace('[', '[[]')}",
        ]
    )
    assert record.results[0].command == command


def test_the_summary_counts_then_names_failures_by_requirement(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.two")
        def test_two(impl): fail("p", "the second is wrong")

        @requirement("alpha.one")
        def test_one(impl): fail("p", "the first is wrong")

        @requirement("alpha.one")
        def test_one_more(impl): fail("p", "also")

        @requirement("alpha.left-open")
        def test_open(impl): fail("p", "open")

        @requirement("beta.pooled")
        def test_pool(impl): ...
    """)
    result = kit.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*conformance of fake*",
            "pass * 1 * 1 * 0 *",
            "not_run * 0 * 1 * 0 *",
            "fail * 4 * 1 * 1 *",
            "requirement * level * verdict * tests * reason",
            "alpha.one * must * fail * 2 * expected: p",
            "* seen: the first is wrong",
            "alpha.two * should * fail * 1 * expected: p",
            "* seen: the second is wrong",
            "alpha.left-open * may * fail * 1 * expected: p",
            "* seen: open",
        ]
    )
    assert result.outlines[-1].startswith("DOES NOT CONFORM: fake as cuda 2.13: ")


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def test_one(impl): ...", "names no requirement; decorate it with @requirement"),
        ("@requirement('alpha.six')\ndef test_one(impl): ...", "names the unknown requirement 'alpha.six'"),
        ("@requirement('nowhere.one')\ndef test_one(impl): ...", "no area 'nowhere'"),
        (
            "@requirement('beta.hopeless')\ndef test_one(impl): ...",
            "decides beta.hopeless, which is declared untestable",
        ),
        ("@requirement('alpha.one')\ndef test_one(): ...", "does not take the fixture 'impl'"),
    ],
)
def test_a_suite_that_does_not_fit_the_requirements_is_refused(kit: Kit, code: str, message: str) -> None:
    kit.tests(code)
    result = kit.run()
    assert result.ret == 3
    (line,) = [line for line in result.outlines + result.errlines if message in line]
    assert line.strip("! ").startswith("Exit: conformance: ")
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_test_file_that_cannot_be_read_is_the_kits_failure(kit: Kit) -> None:
    kit.tests("import nothing_of_this_name")
    assert kit.run().ret == 3


def test_an_error_of_the_kit_is_graver_than_a_failure(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_one(impl): fail("p", "s")

        @requirement("alpha.one")
        def test_two(impl): raise HarnessError("lost")
    """)
    assert kit.run().ret == 3


def test_nothing_selected_is_wrong_use(kit: Kit) -> None:
    kit.tests(PASSES)
    assert kit.run("-k", "nothing").ret == 4


@pytest.mark.usefixtures("same_hypothesis_profile")
@pytest.mark.parametrize(
    ("options", "drawn"), [((), 8), (("--explore=5",), 32), (("--explore=5", "--examples=0.5"), 4)]
)
def test_number_of_examples(kit: Kit, options: tuple[str, ...], drawn: int) -> None:
    """Four times as many as usual when they are new, or as many times as many as asked for; the record says so."""
    kit.tests("""
        import hypothesis
        from hypothesis import strategies as st

        from conformance.property_tests import examples

        seen = []

        @requirement("alpha.one")
        @examples(8)
        @hypothesis.given(st.integers())
        def test_one(impl, number):
            seen.append(number)

        @requirement("alpha.two")
        def test_two(impl, observe):
            observe("examples", len(seen))
    """)
    _, record = kit.recorded(*options)
    assert record.results[1].observations["examples"] == drawn
    assert record.header.options.get("examples") == (0.5 if len(options) == 2 else None)


@pytest.mark.usefixtures("same_hypothesis_profile")
def test_what_goes_wrong_in_one_example_and_not_again_is_no_pass(kit: Kit) -> None:
    kit.tests("""
        import itertools
        from hypothesis import given, strategies as st

        from conformance.errors import HarnessError
        from conformance.property_tests import Examples, examples
        from conformance.reproducing.script import Script

        def run(example):
            sample, turns = Examples(), itertools.count()

            @examples(10)
            @given(data=st.data())
            def holds(data):
                sample.begin()
                example(next(turns), sample, data.draw)

            sample.run(holds)

        @requirement("alpha.one")
        @pytest.mark.parametrize("error", [OSError("jam"), HarnessError("no paper")], ids=["class", "kit"])
        def test_raises(impl, error):
            def example(turn, sample, draw):
                draw(st.integers())
                if turn == 3:
                    raise error

            run(example)

        @requirement("alpha.one")
        def test_draws(impl):
            run(lambda turn, sample, draw: draw(st.integers() if turn % 2 else st.booleans()))

        @requirement("alpha.two")
        def test_rejects(impl):
            def example(turn, sample, draw):
                draw(st.integers())
                with sample.judged(Script(impl)):
                    if turn == 3:
                        fail("paper", "none")

            run(example)
    """)
    _, record = kit.recorded()
    assert [(result.verdict, result.message) for result in record.results] == [
        (Verdict.FAIL, "OSError: jam"),
        (Verdict.ERROR, "no paper"),
        (Verdict.ERROR, record.results[2].message),
        (Verdict.FAIL, record.results[3].message),
    ]
    assert record.results[2].message.startswith("the test draws otherwise each time: FlakyStrategyDefinition: ")
    assert record.results[3].seen == "none\n(not each time that these calls are made)"


@pytest.mark.parametrize("options", [("--examples=3",), ("--explore=5", "--examples=0")])
def test_numbers_of_examples_that_make_no_sense(kit: Kit, options: tuple[str, ...]) -> None:
    kit.tests(PASSES)
    assert kit.run(*options).ret == 4


def test_other_tests_in_the_session_count_for_its_exit_status(kit: Kit) -> None:
    kit.tests(PASSES)
    (kit.folder / "test_own.py").write_text("def test_own(): assert False\n", encoding="utf-8")
    result = kit.run()
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)


def test_collecting_only_judges_nothing(kit: Kit) -> None:
    kit.tests(PASSES)
    result = kit.run("--collect-only", "--record=out.jsonl")
    assert result.ret == 0
    assert not (kit.folder / "out.jsonl").exists()
    result.stdout.no_fnmatch_line("*musts*")
