"""``--reruns``: what several runs of one test come to, and what everything says that shows it."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
import torch  # noqa: F401 - before pytester takes stock of modules

from conformance import start  # noqa: F401 - before pytester takes stock of modules
from conformance.records.causes import Causes
from conformance.records.result import TestResult
from conformance.records.runs import Runs, verdict_of
from conformance.records.verdicts import Verdict
from conformance.reproducing.alone import Ending
from conformance.reproducing.trials import judged
from conformance.session import executor, recorder  # noqa: F401 - likewise
from reports.words import trial
from tests.conformance.conftest import Kit
from tests.reports.samples import REQUIREMENTS, result, sample

pytest_plugins = ["pytester"]

PASS, FAIL, CRASH, FLAKY = Verdict.PASS, Verdict.FAIL, Verdict.CRASH, Verdict.FLAKY

#: Each fails in the runs that its letters say.
UNSTEADY = """
    from collections import Counter
    RUNS = Counter()

    def come_to(letters):
        RUNS[letters] += 1
        expect(letters[RUNS[letters] - 1] == "p", "it holds", f"it fails in run {RUNS[letters]}")

    @requirement("alpha.one", "beta.pooled", "beta.deadly")
    def test_must(impl): come_to("fpp")

    @requirement("alpha.two")
    def test_should(impl): come_to("ffp")

    @requirement("alpha.left-open")
    def test_open(impl): come_to("fpf")
"""


# -- what runs come to ------------------------------------------------------------------------------------------------


def test_runs_are_never_as_good_as_the_best() -> None:
    """Of any three runs: what one rejects is rejected, and by nothing milder than the worst unless one passed."""
    for verdicts in itertools.product([each for each in Verdict if each not in {FLAKY, Verdict.WAIVED}], repeat=3):
        verdict = verdict_of(Counter(verdicts))
        rejections = [each for each in verdicts if each.rejects]
        assert verdict.rejects == bool(rejections)
        if rejections:
            worst = max(rejections, key=lambda each: each.severity)
            assert verdict is (FLAKY if PASS in verdicts else worst)


def test_the_gravest_run_is_the_evidence() -> None:
    runs = Runs()
    for number, verdict in enumerate((FAIL, PASS, CRASH, Verdict.ERROR)):
        runs.add(TestResult("t", (), verdict, message="" if verdict is PASS else f"message {number}"))
    assert runs.result.verdict is FLAKY
    assert runs.result.message == "failed 2 of 4 times (1 pass, 1 fail, 1 crash, 1 error): message 2"
    assert runs.result.runs == {"pass": 1, "fail": 1, "crash": 1, "error": 1}
    assert runs.result.rejection is CRASH
    assert runs.result.is_loss


def test_one_that_fails_each_time_keeps_its_verdict_and_its_words() -> None:
    runs = Runs()
    for _ in range(3):
        runs.add(TestResult("t", (), FAIL, message="the same"))
    assert (runs.result.verdict, runs.result.message, runs.result.runs) == (FAIL, "the same", {"fail": 3})


# -- a session --------------------------------------------------------------------------------------------------------


def test_a_must_with_a_flaky_test_is_not_met(kit: Kit) -> None:
    kit.tests(UNSTEADY)
    session, record = kit.recorded("--reruns=2")
    assert session.ret == 1
    should, left_open, must = record.results
    assert (must.verdict, must.runs, must.seen) == (FLAKY, {"pass": 2, "fail": 1}, "it fails in run 1")
    assert must.message == "failed 1 of 3 times: promised: it holds\nseen: it fails in run 1"
    assert (should.verdict, should.runs) == (FLAKY, {"pass": 1, "fail": 2})
    # What is left open is recorded and not judged, so nothing is won by running it again.
    assert (left_open.verdict, left_open.runs) == (FAIL, None)
    assert record.assessment.requirements["alpha.one"] is FLAKY
    assert record.assessment.exceptions == ("alpha.two",)
    session.stdout.fnmatch_lines(
        ["flaky *2*", "*failed 2 of 3 times*", "DOES NOT CONFORM: * 0 of 3 musts met, 3 not *"]
    )
    assert "now and then: it fails in run 1" in session.stdout.str()


def test_without_it_one_run_decides(kit: Kit) -> None:
    kit.tests(UNSTEADY)
    _, record = kit.recorded()
    assert [(one.verdict, one.runs) for one in record.results] == [(FAIL, None)] * 3


def test_the_letter_and_the_word(kit: Kit) -> None:
    kit.tests(UNSTEADY)
    kit.run("--reruns=2", "-v").stdout.fnmatch_lines(["test_it.py::test_must* FLAKY *", "*2 failed*"])


def test_the_first_failure_ends_a_session_once_it_has_run_again(kit: Kit) -> None:
    kit.tests(UNSTEADY)
    session, record = kit.recorded("--reruns=2", "-x")
    assert [(one.test, one.verdict) for one in record.results] == [("test_it.py::test_should", FLAKY)]
    assert session.ret == 1
    assert not record.complete


def test_each_run_begins_as_the_first(kit: Kit) -> None:
    """Fixtures of a wider scope are made anew, and the generators seeded again."""
    kit.tests("""
        import random
        MADE, DRAWN = [], []

        @pytest.fixture(scope="module")
        def module_wide():
            MADE.append(1)
            return len(MADE)

        @requirement("alpha.one")
        def test_it(impl, module_wide):
            DRAWN.append(random.random())
            expect(len(set(DRAWN)) == 1, "the same number", str(DRAWN))
            expect(module_wide == 2, "the second", str(module_wide))
    """)
    _, record = kit.recorded("--reruns=2")
    assert record.results[0].runs == {"pass": 1, "fail": 2}


def test_a_failure_around_a_test_and_what_it_leaves_run_again_too(kit: Kit) -> None:
    kit.tests("""
        RUNS = []

        @requirement("alpha.one")
        def test_leaves(impl):
            RUNS.append(1)
            if len(RUNS) == 1:
                impl.problem = "a capture was open"
    """)
    _, record = kit.recorded("--reruns=1")
    (one,) = record.results
    assert (one.verdict, one.runs, one.left_behind) == (FLAKY, {"pass": 1, "fail": 1}, "a capture was open")


def test_the_kits_own_errors_never_run_again(kit: Kit) -> None:
    kit.tests("""
        @requirement("alpha.one")
        def test_it(impl): raise HarnessError("the suite is lost")
    """)
    session, record = kit.recorded("--reruns=3")
    assert [(one.verdict, one.runs) for one in record.results] == [(Verdict.ERROR, None)]
    assert session.ret == 3


@pytest.mark.parametrize("text", ["-1", "two", "", "1.5", "101", "9" * 5000, "²", "1\n2", "0x1"])
def test_a_bad_number_is_one_line(kit: Kit, text: str) -> None:
    kit.tests(UNSTEADY)
    session = kit.run(f"--reruns={text}")
    assert session.ret == 4
    (line,) = [line for line in session.errlines if line]
    assert line.startswith("ERROR: conformance: --reruns=")
    assert line.endswith(": give a whole number from 0 to 100")
    assert len(line) < 200


@pytest.mark.parametrize("text", ["0", "00", "100"])
def test_a_good_number_is_taken(kit: Kit, text: str) -> None:
    kit.tests("@requirement('alpha.one', 'beta.pooled', 'beta.deadly')\ndef test_it(impl): ...")
    assert kit.run(f"--reruns={text}").ret == 0


# -- what is said of it -----------------------------------------------------------------------------------------------


def _flaky(**more: object) -> TestResult:
    values: dict[str, object] = {"message": "failed 1 of 3 times: m", "runs": {"pass": 2, "fail": 1}, **more}
    return result("t.py::test_it", "modes.strict", FLAKY, **values)


def test_a_record_that_says_otherwise_than_its_runs_is_refuted(tmp_path: Path) -> None:
    asked = {"options": {"reruns": 2}}
    assert not sample(tmp_path / "good.jsonl", [_flaky()], **asked).defects
    for number, (one, options) in enumerate(
        [
            (_flaky(runs=None), asked),
            (_flaky(runs={"fail": 3}), asked),
            (_flaky(runs={"pass": 3}), asked),
            (_flaky(), {"options": {"reruns": 1}}),
            (_flaky(), {}),
            (result("t.py::test_it", "modes.strict", PASS, runs={"pass": 2, "fail": 1}), asked),
            (result("t.py::test_it", "modes.strict", FAIL, runs={"fail": 1, "crash": 1}), asked),
        ]
    ):
        record = sample(tmp_path / f"{number}.jsonl", [one], **options)
        assert any("has another verdict than its runs come to" in defect for defect in record.defects), number
        assert record.claim.line.startswith("NO CLAIM")


def test_a_waiver_accepts_a_flaky_test_and_says_that_it_is_one(tmp_path: Path) -> None:
    waiver = {"reason": "r", "link": "l", "owner": "o", "expires": "2031-01-01", "verdict": "flaky"}
    waived = _flaky(waiver=waiver)
    record = sample(
        tmp_path / "run.jsonl", [TestResult(**{**vars(waived), "verdict": Verdict.WAIVED})], options={"reruns": 2}
    )
    assert not record.defects
    assert record.assessment.musts[Verdict.WAIVED] == 1


def test_what_comes_and_goes_has_a_cause_of_its_own() -> None:
    seen = {"seen": "5 of 15 elements differ from what was to be there"}
    tests = [_flaky(**seen), _flaky(**seen), result("t.py::test_other", "modes.strict", FAIL, **seen)]
    tests.append(result("t.py::test_more", "modes.strict", FAIL, **seen))
    words = [cause.words for cause in Causes.of(tests, REQUIREMENTS).ranked()]
    assert sorted(words) == [seen["seen"], f"now and then: {seen['seen']}"]


def test_a_script_that_passes_says_nothing_of_what_went_before() -> None:
    reproduction = judged(_flaky(), Ending(0))
    assert reproduction is not None
    assert reproduction.outcome == "passed"
    assert trial(_flaky(reproduction={"outcome": "passed", "why": reproduction.why})) == (
        "it passed this time: the failure comes and goes"
    )
