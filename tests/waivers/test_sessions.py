"""What waivers make of failures, and which waivers fail a run."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from conformance.cli import main
from conformance.errors import ExitStatus, RecordError
from conformance.records.verdicts import Verdict
from conformance.waivers import applying
from conformance.waivers.checking import RecordedWaivers
from conformance.waivers.waiver import Waiver
from tests.waivers.conftest import FOREIGN, ONE, POOLED, TODAY, TWO, Kit, waiver

pytest_plugins = ["pytester"]

both_ways = pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["here", "workers"])
OPTION = '"test_it.py::test_replay"'


# -- what is waived ---------------------------------------------------------------------------------------------------


@both_ways
def test_failures_of_a_requirement_are_waived(kit: Kit, workers: tuple[str, ...]) -> None:
    result, record = kit.run(waiver(), "-x", *workers)
    assert result.ret == ExitStatus.CONFORMING
    assert record is not None
    verdicts = {each.test: each.verdict for each in record.results}
    assert verdicts == {
        "test_it.py::test_replay": Verdict.WAIVED,
        "test_it.py::test_numbers[1]": Verdict.PASS,
        "test_it.py::test_numbers[2]": Verdict.WAIVED,
        "test_it.py::test_reset": Verdict.PASS,
    }
    assert record.assessment.requirements[ONE] is Verdict.WAIVED
    waived = next(each for each in record.results if each.test == "test_it.py::test_numbers[2]")
    assert waived.waiver == {
        "reason": "the driver",
        "link": "https://example.org/7",
        "owner": "graphs",
        "expires": "2026-12-31",
        "verdict": "fail",
    }
    assert (waived.expected, waived.seen) == ("it is two", "it is not")
    assert record.header.options["waivers"].startswith("known.toml sha256:")
    assert [each["place"] for each in record.header.waivers] == ["known.toml:1"]
    assert record.footer is not None
    assert (record.footer.waiver_problems, record.footer.exit_status) == ((), 0)
    result.stdout.fnmatch_lines(
        [
            f"known.toml:1: 2 tests of {ONE} waived for fake until 2026-12-31 (305 days left): the driver *",
            "*2 passed, 2 waived in*",
        ]
    )


@both_ways
def test_a_test_that_fails_now_and_then_is_waived_as_such(kit: Kit, workers: tuple[str, ...]) -> None:
    kit.tests("""
        from pathlib import Path

        @requirement(ONE)
        def test_replay(impl):
            Path("runs").open("a").write(".")
            if Path("runs").read_text() == ".":
                fail("it is late", "it is the first run")

        @requirement(TWO)
        def test_reset(impl): ...
    """)
    result, record = kit.run(waiver(), "-x", "--reruns=2", *workers)
    assert result.ret == ExitStatus.CONFORMING
    assert record is not None
    waived = next(each for each in record.results if each.test == "test_it.py::test_replay")
    assert (waived.verdict, waived.runs) == (Verdict.WAIVED, {"pass": 2, "fail": 1})
    assert waived.waiver is not None
    assert waived.waiver["verdict"] == "flaky"
    assert waived.message.startswith("failed 1 of 3 times: ")
    assert record.assessment.requirements[ONE] is Verdict.WAIVED
    assert not record.defects


def test_a_waived_test_has_a_letter_and_a_word_of_its_own(kit: Kit) -> None:
    result, _ = kit.run(waiver())
    result.stdout.fnmatch_lines("test_it.py w.w.*")
    result, _ = kit.run(waiver(), "-v")
    result.stdout.fnmatch_lines("test_it.py::test_replay[[]fake[]] WAIVED*")


@pytest.mark.parametrize(
    ("waived", "status"),
    [
        ([{"requirement": f'"{ONE}"'}], 1),
        ([{"requirement": f'"{TWO}"'}], 1),
        ([{"requirement": f'"{ONE}"'}, {"requirement": f'"{TWO}"', "expires": "2026-06-30", "owner": '"kernels"'}], 0),
        ([{"test": OPTION}], 0),
    ],
)
def test_all_that_a_test_decides_must_be_waived(kit: Kit, waived: list[dict[str, str]], status: int) -> None:
    kit.tests("""
        @requirement(ONE, TWO, OPEN)
        def test_replay(impl): impl.new_graph().replay()
    """)
    result, record = kit.run("\n".join(waiver(**values) for values in waived))
    assert result.ret == status
    assert record is not None
    (outcome,) = record.results
    assert outcome.verdict is (Verdict.FAIL if status else Verdict.WAIVED)
    if status:
        result.stdout.fnmatch_lines(
            "known.toml:1: 1 test of * still rejected for fake, because of what else is decided there and not waived: "
            + ", ".join({ONE, TWO} - {values["requirement"].strip('"') for values in waived})
        )
    elif len(waived) == 2:
        assert outcome.waiver is not None
        assert (outcome.waiver["owner"], outcome.waiver["expires"]) == ("graphs; kernels", "2026-06-30")


def test_a_test_without_parameters_means_all_of_them(kit: Kit) -> None:
    text = waiver(test='"test_it.py::test_numbers"') + waiver(test=OPTION)
    assert kit.run(text)[0].ret == ExitStatus.CONFORMING
    text = waiver(test='"test_it.py::test_numbers[2]"') + waiver(test=OPTION)
    assert kit.run(text)[0].ret == ExitStatus.CONFORMING


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("covering", "lambda waivers, test, scored: tuple(waivers)"),
        ("waive", "lambda result, waivers, scored: replace(result, verdict=Verdict.PASS)"),
    ],
    ids=["covering", "waive"],
)
def test_a_test_that_replaces_what_waives_gains_nothing(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, function: str, answer: str
) -> None:
    # If the session does not put it right, the next test has it right all the same.
    monkeypatch.setattr(applying, function, getattr(applying, function))
    kit.tests(f"""
        from dataclasses import replace

        from conformance.records.verdicts import Verdict
        from conformance.waivers import applying

        @requirement(TWO)
        def test_replaces(impl):
            applying.{function} = {answer}

        @requirement(TWO)
        def test_fails(impl): fail("it works", "it does not")
    """)
    result, record = kit.run(waiver())
    assert result.ret == ExitStatus.NOT_CONFORMING
    assert record is not None
    assert [(each.verdict, each.waiver) for each in record.results] == [(Verdict.FAIL, None)] * 2
    assert record.results[0].left_behind == f"conformance.waivers.applying.{function} was replaced"


@both_ways
def test_errors_of_the_kit_cannot_be_waived(kit: Kit, workers: tuple[str, ...]) -> None:
    kit.tests("""
        @requirement(ONE)
        def test_replay(impl): raise HarnessError("the suite is lost")
    """)
    result, record = kit.run(waiver(test=OPTION), *workers)
    assert result.ret == ExitStatus.KIT_FAILED
    assert record is not None
    assert record.results[0].verdict is Verdict.ERROR


@pytest.mark.parametrize("phase", ["setup", "teardown"])
def test_a_failure_around_a_test_is_waived(kit: Kit, phase: str) -> None:
    kit.tests(f"""
        @pytest.fixture
        def around(impl):
            {"fail('p', 's')" if phase == "setup" else "yield; fail('p', 's')"}

        @requirement(ONE)
        def test_replay(impl, around): ...

        @requirement(TWO)
        def test_reset(impl): ...
    """)
    result, record = kit.run(waiver(), "-x")
    assert result.ret == ExitStatus.CONFORMING
    assert record is not None
    assert [each.verdict for each in record.results] == [Verdict.WAIVED, Verdict.PASS]


def test_a_lost_process_is_waived(kit: Kit) -> None:
    kit.tests("""
        import os, signal, time

        @requirement(ONE)
        def test_replay(impl): os.kill(os.getpid(), signal.SIGKILL)

        @requirement(ONE)
        def test_hang(impl): time.sleep(60)

        @requirement(TWO)
        def test_reset(impl): ...
    """)
    result, record = kit.run(waiver(), "-n2", "-x", "--test-timeout=3")
    assert record is not None
    verdicts = {each.test: (each.verdict, each.waiver and each.waiver["verdict"]) for each in record.results}
    assert verdicts == {
        "test_it.py::test_replay": (Verdict.WAIVED, "crash"),
        "test_it.py::test_hang": (Verdict.WAIVED, "timeout"),
        "test_it.py::test_reset": (Verdict.PASS, None),
    }
    assert all(each.ending for each in record.results if each.waiver)
    assert result.ret == ExitStatus.CONFORMING


def test_maxfail_counts_what_is_not_waived(kit: Kit) -> None:
    kit.tests("""
        @requirement(ONE)
        @pytest.mark.parametrize("number", range(4))
        def test_replay(impl, number): impl.new_graph().replay()

        @requirement(TWO)
        @pytest.mark.parametrize("number", range(4))
        def test_reset(impl, number): fail("p", "s")
    """)
    result, record = kit.run(waiver(), "--maxfail=2")
    assert result.ret == ExitStatus.NOT_CONFORMING
    assert record is not None
    assert [each.verdict for each in record.results] == [Verdict.WAIVED] * 4 + [Verdict.FAIL] * 2


@pytest.mark.parametrize(
    ("scope", "fits"),
    [
        ({"implementation": '"fake"'}, True),
        ({"implementation": '"f*"', "revision": '"2.1?"', "driver": '"13.*"'}, True),
        ({"device": '"Model 7 [[]80 GB]"'}, True),
        ({"device": '"model 7*"'}, False),
        ({"revision": '"2.1"'}, False),
        ({"driver": '"12.*"', "implementation": '"fake"'}, False),
    ],
)
def test_the_scope_decides(kit: Kit, scope: dict[str, str], fits: bool) -> None:
    result, record = kit.run(waiver(**scope))
    assert result.ret == (ExitStatus.CONFORMING if fits else ExitStatus.NOT_CONFORMING)
    assert record is not None
    assert len(record.header.waivers) == fits
    verdicts = {each.verdict for each in record.results}
    assert verdicts == {Verdict.PASS, Verdict.WAIVED if fits else Verdict.FAIL}


# -- waivers that fail a run ------------------------------------------------------------------------------------------

BAD: dict[str, tuple[str, str]] = {
    "expired": (
        waiver(expires="2026-02-28"),
        f"known.toml:1: it expired on 2026-02-28, 1 day ago, and waives {ONE} no longer: delete it, or set a later*",
    ),
    "out-of-scope-device": (
        waiver() + waiver(device='"Model 8"'),
        "known.toml:7: out of scope: device = 'Model 8', and here it is 'Model 7 [[]80 GB[]]': correct its scope*",
    ),
    "out-of-scope-implementation": (
        waiver() + waiver(implementation='"torch.cuda"'),
        "known.toml:7: out of scope: implementation = 'torch.cuda', and here it is 'fake': *",
    ),
    "no-longer-fails": (
        waiver() + waiver(requirement=f'"{TWO}"'),
        f"known.toml:7: {TWO} no longer fails: 1 test came to pass for fake: delete it",
    ),
    "test-no-longer-fails": (
        waiver() + waiver(test='"test_it.py::test_numbers[1]"'),
        "known.toml:7: test_it.py::test_numbers[[]1[]] no longer fails: 1 test came to pass for fake: delete it",
    ),
    "unknown-test": (
        waiver() + waiver(test='"test_it.py::test_gone"'),
        "known.toml:7: it matches nothing: no test called test_it.py::test_gone applies to fake: correct the name*",
    ),
    "unknown-parameters": (
        waiver() + waiver(test='"test_it.py::test_numbers[3]"'),
        "known.toml:7: it matches nothing: no test called test_it.py::test_numbers[[]3[]] applies to fake: *",
    ),
    "another-dialect": (
        waiver() + waiver(requirement=f'"{FOREIGN}"'),
        f"known.toml:7: it matches nothing: no test that decides {FOREIGN} applies to fake: *",
    ),
    "contradictory": (
        waiver() + waiver(driver='"13.*"', reason='"another"'),
        f"known.toml:7: {ONE} is waived at known.toml:1, too, for the same run: keep one of the two",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_waiver_of_no_use_fails_the_run(kit: Kit, name: str) -> None:
    text, message = BAD[name]
    result, record = kit.run(text)
    assert result.ret == ExitStatus.NOT_CONFORMING
    result.stdout.fnmatch_lines(["*= waivers to change =*", message])
    assert record is not None
    assert record.footer is not None
    assert len(record.footer.waiver_problems) == 1
    assert record.footer.exit_status == ExitStatus.NOT_CONFORMING


def test_with_workers_they_fail_the_run_too(kit: Kit) -> None:
    text = "".join(BAD[name][0] for name in ("no-longer-fails",)) + waiver(test='"test_it.py::test_gone"')
    result, _ = kit.run(text + waiver(device='"Model 8"'), "-n2")
    assert result.ret == ExitStatus.NOT_CONFORMING
    result.stdout.fnmatch_lines(["known.toml:7: *no longer*", "known.toml:13: *nothing*", "known.toml:19: *of scope*"])


def test_an_expired_waiver_waives_nothing(kit: Kit) -> None:
    _, record = kit.run(waiver(expires="2026-02-28"))
    assert record is not None
    assert Verdict.WAIVED not in {each.verdict for each in record.results}


@pytest.mark.parametrize(("days", "words"), [(0, "today"), (1, "in 1 day"), (14, "in 14 days"), (15, None)])
def test_expiry_is_announced(kit: Kit, days: int, words: str | None) -> None:
    end = TODAY + timedelta(days=days)
    result, _ = kit.run(waiver(expires=end.isoformat()))
    assert result.ret == ExitStatus.CONFORMING
    if words is None:
        result.stdout.no_fnmatch_line("EXPIRES*")
    else:
        result.stdout.fnmatch_lines(f"EXPIRES SOON: known.toml:1: {ONE}: {words}, on {end}; graphs")


def test_a_waiver_behind_an_absent_capability_is_of_no_use(kit: Kit) -> None:
    kit.tests("""
        @requirement(POOLED)
        def test_replay(impl): impl.new_graph().replay()
    """)
    assert kit.run(waiver(requirement=f'"{POOLED}"'))[0].ret == ExitStatus.CONFORMING
    result, _ = kit.run(waiver(requirement=f'"{POOLED}"'), impl="fake.py:Second")
    assert result.ret == ExitStatus.NOT_CONFORMING
    result.stdout.fnmatch_lines(f"known.toml:1: {POOLED} no longer fails: 1 test came to unsupported for second: *")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-k", "reset"], None),
        (["--test=test_it.py::test_numbers[1]"], None),
        (["--test=test_it.py::test_reset"], "known.toml:7: *no longer fails*"),
        (["--shard=1/2"], None),
    ],
)
def test_what_a_narrowed_run_leaves_out_makes_no_waiver_stale(kit: Kit, words: list[str], problem: str | None) -> None:
    second = waiver(test='"test_it.py::test_reset"') if problem else waiver(test='"test_it.py::test_gone"')
    result, record = kit.run(waiver() + second, *words)
    assert record is not None
    assert record.footer is not None
    assert len(record.footer.waiver_problems) == (problem is not None)
    if problem:
        result.stdout.fnmatch_lines(problem)


def test_a_test_that_was_skipped_or_stopped_makes_no_waiver_stale(kit: Kit) -> None:
    kit.tests("""
        @requirement(TWO)
        def test_first(impl): fail("p", "s")

        @requirement(ONE)
        def test_later(impl): ...

        @requirement(ONE)
        def test_skipped(impl): pytest.skip("not today")
    """)
    for words in ("-x",), ():
        _, record = kit.run(waiver(), *words)
        assert record is not None
        assert record.footer is not None
        assert record.footer.waiver_problems == ()


def test_a_waiver_may_be_for_one_of_two_implementations(kit: Kit) -> None:
    kit.tests("""
        @requirement(ONE)
        def test_replay(impl):
            if impl.name == "second":
                fail("p", "s")
    """)
    names = ["--record=out", "--impl=fake.py:Second"]
    result, _ = kit.run(waiver(implementation='"second"'), *names)
    assert result.ret == ExitStatus.CONFORMING
    result, _ = kit.run(waiver(), *names)
    assert result.ret == ExitStatus.NOT_CONFORMING
    result.stdout.fnmatch_lines(f"known.toml:1: {ONE} no longer fails: 1 test came to pass for fake: narrow its scope")


# -- parts of a run ---------------------------------------------------------------------------------------------------


def test_runs_with_other_waivers_are_other_runs(kit: Kit) -> None:
    text = waiver()
    for number in (1, 2):
        kit.run(text + ("" if number == 1 else "# another\n"), f"--shard={number}/2", f"--record={number}.jsonl")
    words = ["merge", "1.jsonl", "2.jsonl", "--output=all.jsonl"]
    assert main(words) == ExitStatus.USAGE
    kit.run(text, "--shard=2/2", "--record=2.jsonl")
    assert main(words) == ExitStatus.CONFORMING
    result, _ = kit.run(text + "# another\n", "--resume=1.jsonl", "--record=1.jsonl", "--shard=1/2")
    assert result.ret == ExitStatus.USAGE
    result.stderr.fnmatch_lines("*another option waivers: 'known.toml sha256:*")


def test_merging_finds_waivers_that_no_shard_could(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        text = waiver() + waiver(requirement=f'"{TWO}"')
        kit.run(text, f"--shard={number}/2", f"--record={number}.jsonl")
    capsys.readouterr()
    assert main(["merge", "1.jsonl", "2.jsonl", "--output=all.jsonl"]) == ExitStatus.NOT_CONFORMING
    assert f"waiver:  known.toml:7: {TWO} no longer fails: 1 test came to pass for fake: delete it" in (
        capsys.readouterr().out
    )


def test_a_record_with_a_malformed_waiver_is_refused(kit: Kit) -> None:
    _, record = kit.run(waiver())
    assert record is not None
    waivers = ({**record.header.waivers[0], "expires": "later"},)
    with pytest.raises(RecordError, match=r"a malformed waiver in the header \(ValueError: "):
        RecordedWaivers(replace(record.header, waivers=waivers))


def test_files_that_cannot_be_read_make_no_waiver_useless(kit: Kit) -> None:
    kit.tests("import nothing_of_that_name", "test_broken.py")
    result, _ = kit.run(waiver(test='"test_broken.py::test_one"'), "--continue-on-collection-errors")
    assert result.ret == ExitStatus.KIT_FAILED
    result.stdout.no_fnmatch_line("*matches nothing*")


def test_a_day_counts_to_its_end() -> None:
    entry = Waiver("known.toml:1", "r", "l", "o", date(2026, 3, 1), requirement=ONE)
    assert [entry.days_left(date(2026, 3, day)) for day in (1, 2)] == [0, -1]
