"""The pytest class: every requirement is a test, and nothing is left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Runs inside this process forget what they import; some of it cannot be imported twice.
import mcptasks.conformance.pytest_class
import mcptasks.conformance.pytest_machine
import mcptasks.fixtures.gallery  # noqa: F401

pytest_plugins = ["pytester"]

HEAD = """
    from mcptasks.conformance import TaskStoreConformance
    from mcptasks.fixtures.stores.memory import MemoryTaskStore
"""

GOOD = f"""{HEAD}
    class TestGood(TaskStoreConformance):
        def open_store(self, clock=None, default_ttl_ms=None):
            return MemoryTaskStore(clock=clock, default_ttl_ms=default_ttl_ms)
"""

BAD = f"""{HEAD}
    class TestBad(TaskStoreConformance):
        budget = "1000"

        def open_store(self, clock=None, default_ttl_ms=None):
            class Wrong(MemoryTaskStore):
                async def set_cancelled(self, task_id):
                    await super().set_cancelled(task_id)
                    return True

            return Wrong(clock=clock, default_ttl_ms=default_ttl_ms)
"""

WARNED = """
    from mcptasks.conformance import TaskStoreConformance
    from mcptasks.fixtures.gallery import fault

    class TestWarned(TaskStoreConformance):
        budget = "500"
        select = "store.create.id-unguessable"

        def open_store(self, clock=None):
            return fault("ids-count-up").open_store(clock=clock)
"""

QUICK = ("-p", "no:cacheprovider", "--mcptasks-budget=500")


def _names(result: pytest.RunResult) -> str:
    return result.stdout.str()


@pytest.fixture(autouse=True)
def _no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("HYPOTHESIS_STORAGE_DIRECTORY", raising=False)


def test_each_requirement_is_an_item_and_nothing_is_left(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_good=GOOD)
    result = pytester.runpytest_subprocess(*QUICK, "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*TestGood::test_requirement[[]store.cancel.true[]] PASSED*", "*test_state_machine PASSED*"]
    )
    assert "needs calls that overlap" in _names(pytester.runpytest_subprocess(*QUICK, "-rs", "-k", "conc"))
    left = {path.name for path in pytester.path.iterdir() if not path.name.startswith("runpytest-")}
    assert left - {"stdout", "stderr"} == {"test_good.py"}


def test_selecting_items(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_good=GOOD)
    result = pytester.runpytest_inprocess("--collect-only", "-q", "-k", "cancel and not late")
    result.stdout.fnmatch_lines(["*test_requirement[[]store.cancel.true[]]"])
    assert "store.get" not in _names(result)
    narrowed = pytester.runpytest_inprocess(
        "--collect-only", "-q", "--mcptasks-select=store.cancel.*", "--mcptasks-level=must"
    )
    assert _names(narrowed).count("test_requirement[") == 5


def test_a_failure_is_the_finding(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_bad=BAD)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--mcptasks-report-dir=out", "--junitxml=j.xml")
    text = _names(result)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*TestBad.test_requirement*store.cancel.false-absent*",
            "store.cancel.false-absent (MUST): *",
            "*1  cancel(t1)",
            "expected: cancel returns False",
            "see: *",
        ]
    )
    result.stdout.fnmatch_lines(["*TestBad.test_state_machine*", "store.cancel.false-*", "expected: *"])
    assert "Traceback" not in text
    assert "During handling" not in text
    assert list((pytester.path / "out").glob("test_bad.TestBad*/report.json"))
    assert "store.cancel.true" in (pytester.path / "j.xml").read_text()


def test_a_baseline_expects_failures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_bad=BAD)
    pytester.path.joinpath("b.yaml").write_text(
        "requirements:\n"
        "  store.cancel.false-terminal: {reason: our clients rely on it}\n"
        "  store.cancel.false-absent: {reason: the same}\n"
        "  store.create.working: {reason: fixed long ago}\n"
    )
    result = pytester.runpytest_inprocess("-rx", "-p", "no:cacheprovider", "--mcptasks-baseline=b.yaml")
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1  # the stale entry
    assert outcomes["xfailed"] >= 1
    result.stdout.fnmatch_lines(["*baseline: store.create.working: the entry is stale*"])
    result.stdout.fnmatch_lines(["XFAIL *store.cancel.false-absent* expected by the baseline: the same"])


def test_a_warning_is_a_warning_unless_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_warned=WARNED)
    arguments = ("-p", "no:cacheprovider", "-k", "test_requirement")
    result = pytester.runpytest_inprocess(*arguments)
    result.assert_outcomes(passed=1, warnings=1, deselected=1)
    result.stdout.fnmatch_lines(["*ConformanceWarning: store.create.id-unguessable*"])
    strict = pytester.runpytest_inprocess(*arguments, "--mcptasks-fail-on=warn")
    strict.assert_outcomes(failed=1, deselected=1)


def test_a_store_that_cannot_be_checked_fails_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_none="""
        from mcptasks.conformance import TaskStoreConformance

        class TestNothing(TaskStoreConformance):
            pass

        class TestNumber(TaskStoreConformance):
            def open_store(self):
                return 5
        """
    )
    result = pytester.runpytest_inprocess("-rs", "-p", "no:cacheprovider", "--mcptasks-select=store.cancel.*")
    result.assert_outcomes(failed=2, skipped=10)
    result.stdout.fnmatch_lines(["*TestNothing must define open_store()", "*int lacks create_task*"])


def test_open_store_sees_fixtures_and_may_be_async(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_fixture=f"""{HEAD}
    import pytest
    from contextlib import asynccontextmanager

    class TestFixture(TaskStoreConformance):
        budget = 300
        select = ("store.cancel.true", "store.get.current")

        @pytest.fixture(autouse=True)
        def _place(self, tmp_path):
            self.place = tmp_path

        @asynccontextmanager
        async def open_store(self):
            assert self.place.exists()
            yield MemoryTaskStore()
    """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--mcptasks-budget=soon", "--mcptasks-budget: 'soon' is no budget"),
        ("--mcptasks-select=zebra", "--mcptasks-select: no requirement on a store matches 'zebra'"),
        ("--mcptasks-level=most", "--mcptasks-level must be one of"),
        ("--mcptasks-seed=x", "--mcptasks-seed must be a number"),
        ("--mcptasks-baseline=none.yaml", "cannot read the baseline"),
        ("--mcptasks-profile=fast", "--mcptasks-profile must be one of"),
        ("--mcptasks-fail-on=x", "--mcptasks-fail-on must be"),
    ],
)
def test_a_wrong_option_is_one_line(pytester: pytest.Pytester, option: str, words: str) -> None:
    pytester.makepyfile(test_good=GOOD)
    result = pytester.runpytest_inprocess(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: mcptasks: *{words}*"])


def test_a_wrong_attribute_names_the_class(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_good=GOOD.replace("def open_store", "budget = 'soon'\n\n        def open_store"))
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["mcptasks: TestGood.budget: 'soon' is no budget*"])


def test_the_ini_file_and_what_goes_before_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_good=GOOD)
    pytester.makeini("[pytest]\nmcptasks_select = store.cancel.*\n")
    assert _names(pytester.runpytest_inprocess("--collect-only", "-q")).count("test_requirement[") == 5
    more = pytester.runpytest_inprocess("--collect-only", "-q", "--mcptasks-select=store.cancel.true")
    assert _names(more).count("test_requirement[") == 1


def test_it_works_under_xdist(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(test_bad=BAD)
    result = pytester.runpytest_subprocess(
        "-n", "2", "-p", "no:cacheprovider", "--mcptasks-select=store.cancel.*", "--mcptasks-report-dir=out"
    )
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] >= 1
    assert outcomes["failed"] + outcomes.get("passed", 0) + outcomes.get("skipped", 0) == 6


def test_the_plugin_loads_neither_hypothesis_nor_the_engine() -> None:
    code = (
        "import sys, mcptasks.conformance, mcptasks.conformance.pytest_plugin\n"
        "print(sorted(name for name in sys.modules if name.startswith(('mcptasks.', 'hypothesis', 'pydantic'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert eval(done.stdout) == [
        "mcptasks.conformance",
        "mcptasks.conformance.errors",
        "mcptasks.conformance.pytest_plugin",
    ]


def test_a_run_without_such_a_class_loads_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_loaded():
            loaded = {name for name in sys.modules if name.startswith("mcptasks.")}
            assert "mcptasks.conformance.pytest_plugin" in loaded
            assert not any("engine" in name or "fixtures" in name for name in loaded)
            assert "hypothesis" not in sys.modules
        """
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest", "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_the_state_machine_subclassed_by_hand(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from hypothesis import settings
        from mcptasks.conformance import TaskStoreMachine
        from mcptasks.conformance.profiles import CI, profile
        from mcptasks.fixtures.stores.memory import MemoryTaskStore

        class Machine(TaskStoreMachine):
            def open_store(self, clock=None, default_ttl_ms=None):
                return MemoryTaskStore(clock=clock, default_ttl_ms=default_ttl_ms)

        TestMachine = Machine.TestCase
        TestMachine.settings = settings(profile(CI), max_examples=5)
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


STORE_2025 = """
    from hypothesis import settings
    from mcptasks.conformance import TaskStoreConformance, TaskStoreMachine2025
    from mcptasks.conformance.profiles import CI, profile
    from mcptasks.fixtures.gallery import fault
    from mcptasks.fixtures.stores.memory_2025 import MemoryTaskStore2025

    class TestGood(TaskStoreConformance):
        revision = "2025-11-25"

        def open_store(self, clock=None, default_ttl=None, page_size=None):
            return MemoryTaskStore2025(clock=clock, page_size=page_size)

    class TestBad(TaskStoreConformance):
        revision = "2025-11-25"
        select = "store25.status.terminal"

        def open_store(self):
            return fault("store25-cancel-after-completed").open_store()

    class Machine(TaskStoreMachine2025):
        def open_store(self, clock=None, page_size=None):
            return MemoryTaskStore2025(clock=clock, page_size=page_size)

    TestMachine = Machine.TestCase
    TestMachine.settings = settings(profile(CI), max_examples=5)
"""


def test_stores_of_the_other_revision(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(STORE_2025)
    chosen = "requirement or TestMachine"
    result = pytester.runpytest_subprocess(*QUICK[:2], "--mcptasks-budget=2k", "-k", chosen)
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1, _names(result)
    assert outcomes["passed"] > 30
    result.stdout.fnmatch_lines(["*FAILED*TestBad::test_requirement*store25.status.terminal*"])


def test_storage_of_the_user_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hypothesis import configuration

    from mcptasks.conformance.profiles import storage_apart

    monkeypatch.chdir(tmp_path)
    before = vars(configuration).get("__hypothesis_home_directory")
    configuration.set_hypothesis_home_dir(None)
    try:
        with storage_apart():
            inside = Path(configuration.storage_directory("examples").path)
            assert not inside.is_relative_to(tmp_path)
        assert not inside.parent.exists()
        configuration.set_hypothesis_home_dir(tmp_path)
        with storage_apart():
            assert Path(configuration.storage_directory("examples").path).is_relative_to(tmp_path)
    finally:
        configuration.set_hypothesis_home_dir(before)
