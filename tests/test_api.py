"""check_store and check_sequence, in a child process and in this one."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest

from mcptasks.conformance import StoreReport, check_sequence, check_store
from mcptasks.conformance.errors import TargetUnusableError, UsageError
from mcptasks.conformance.outcomes import ExitCode
from mcptasks.fixtures.stores.memory import MemoryTaskStore
from mcptasks.reports.pytest_file import pytest_source
from mcptasks.strategies.operations import Cancel, Create, Fail, Get

BUDGET = "1500"


class CancelSaysTrue(MemoryTaskStore):
    """set_cancelled answers True whatever it did."""

    async def set_cancelled(self, task_id: str) -> bool:
        await super().set_cancelled(task_id)
        return True


class Exits(MemoryTaskStore):
    """set_failed ends the process."""

    async def set_failed(self, task_id: str, error: object) -> None:
        os._exit(3)


def _raises() -> MemoryTaskStore:
    raise RuntimeError("no database")


def _verdicts(report: StoreReport) -> list[tuple[str, str]]:
    return [(item.id, item.verdict) for item in report.requirements]


def test_a_conformant_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = check_store("mcptasks.fixtures.stores.memory:MemoryTaskStore", budget=BUDGET)
    assert report.conformant, report
    assert report.exit_code is ExitCode.CONFORMANT
    assert report.outcome == "conformant"
    assert not report.findings
    assert "conformant" in str(report)
    assert list(tmp_path.iterdir()) == []


def test_the_same_verdicts_in_a_child_and_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    child = check_store(CancelSaysTrue, budget=BUDGET, isolated=True)

    def factory(clock: object = None, default_ttl_ms: int | None = 60_000) -> CancelSaysTrue:
        return CancelSaysTrue(clock=clock, default_ttl_ms=default_ttl_ms)  # type: ignore[arg-type]

    here = check_store(factory, budget=BUDGET)
    assert child.outcome == here.outcome == "nonconformant"
    assert _verdicts(child) == _verdicts(here)
    assert [item.fingerprint for item in child.findings] == [item.fingerprint for item in here.findings]
    assert "cancel(t1)" in str(here)
    assert list(tmp_path.iterdir()) == []


def test_a_class_runs_in_a_child_by_itself() -> None:
    report = check_store(Exits, budget="500", select="store.misc.*")
    assert [item.requirement for item in report.findings] == ["store.misc.call-ends"]


def test_report_files(tmp_path: Path) -> None:
    check_store(CancelSaysTrue, budget="500", report_dir=tmp_path / "out", isolated=False)
    assert {"events.jsonl", "report.json", "report.html"} <= {path.name for path in (tmp_path / "out").iterdir()}


def test_it_can_be_called_inside_a_running_loop() -> None:
    async def body() -> str:
        return check_store(lambda: MemoryTaskStore(), budget="300", select="store.cancel.*").outcome

    assert asyncio.run(body()) == "conformant"


def test_fail_fast_stops_at_the_first_finding_that_counts() -> None:
    options = {"budget": "20k", "fail_fast": True, "isolated": False}
    stopped = check_store(CancelSaysTrue, **options)  # type: ignore[arg-type]
    assert len(stopped.findings) == 1
    # Its fault is not selected, so nothing stops the run.
    other = check_store(CancelSaysTrue, **{**options, "budget": "1000"}, select="store.get.*")  # type: ignore[arg-type]
    assert other.conformant


def test_a_factory_that_raises_is_unusable() -> None:
    for isolated in (True, False):
        report = check_store(_raises, isolated=isolated)
        assert report.outcome == "unusable"
        assert "no database" in report.reason


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": "soon"}, "'soon' is no budget"),
        ({"select": "store.cancl.*"}, "no requirement on a store matches"),
        ({"level": "most"}, "must, should, may"),
        ({"timeout": 0}, "above zero"),
        ({"baseline": "nowhere.yaml"}, "cannot read the baseline"),
        ({"fail_on": "pass"}, "fail_on"),
        ({"adapter": "nothing"}, "unknown adapter"),
    ],
)
def test_wrong_arguments(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_store(lambda: MemoryTaskStore(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("isolated", [True, False])
def test_a_name_that_is_no_store(isolated: bool) -> None:
    with pytest.raises(UsageError, match="lacks create_task"):
        check_store("builtins:dict", isolated=isolated)
    with pytest.raises(UsageError, match="there is no module"):
        check_store("no_such_module:Store", isolated=isolated)


def test_a_closure_cannot_be_isolated() -> None:
    with pytest.raises(UsageError, match="cannot run in a child process"):
        check_store(lambda: MemoryTaskStore(), isolated=True)


def test_an_interrupt_leaves_a_report(tmp_path: Path) -> None:
    started = threading.Event()

    def interrupt() -> None:
        started.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    def factory() -> MemoryTaskStore:
        started.set()
        return MemoryTaskStore()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        check_store(factory, budget="60s", report_dir=tmp_path)
    thread.join()
    assert '"outcome": "interrupted"' in (tmp_path / "report.json").read_text()


# --- one sequence --------------------------------------------------------------------------

TWICE = [Create("t1"), Cancel("t1"), Cancel("t1")]


@pytest.mark.parametrize("store", [CancelSaysTrue, lambda: CancelSaysTrue(), f"{__name__}:CancelSaysTrue"])
def test_a_sequence_that_shows_a_deviation(store: object) -> None:
    (found,) = check_sequence(store, TWICE)
    assert found.requirement == "store.cancel.false-terminal"
    assert found.verdict == "fail"
    assert check_sequence(store, [Create("t1"), Cancel("t1"), Get("t1")]) == []


def test_a_sequence_as_json_on_a_store_that_behaves() -> None:
    operations = [{"op": "create", "as": "t1"}, {"op": "cancel", "task": "t1"}, {"op": "cancel", "task": "t1"}]
    assert check_sequence(MemoryTaskStore, operations, store_options={"default_ttl_ms": 1000}) == []


def test_only_the_requirement_asked_for() -> None:
    assert check_sequence(CancelSaysTrue, [Create("t1"), Cancel("t1")], requirement="store.cancel.true") == []
    # Another one that ends the sequence counts too.
    (found,) = check_sequence(CancelSaysTrue, [*TWICE, Get("t1")], requirement="store.get.current")
    assert found.requirement == "store.cancel.false-terminal"


def test_a_sequence_that_ends_the_process() -> None:
    (found,) = check_sequence(Exits, [Create("t1"), Fail("t1", {})], requirement="store.misc.call-ends")
    assert found.requirement == "store.misc.call-ends"
    assert "exit code 3" in found.actual


@pytest.mark.parametrize("isolated", [True, False])
def test_guessable_ids_are_judged_by_a_sample(isolated: bool) -> None:
    operations = [Create("t1"), Create("t2"), Create("t3")]
    requirement = "store.create.id-unguessable"
    (found,) = check_sequence(Counting, operations, requirement=requirement, isolated=isolated)
    assert found.requirement == requirement
    assert check_sequence(MemoryTaskStore, operations, requirement=requirement, isolated=isolated) == []


class Counting(MemoryTaskStore):
    """Task ids are numbers in order."""

    def __init__(self) -> None:
        super().__init__()
        self.renamed: dict[str, str] = {}

    async def create_task(self) -> object:
        record = await super().create_task()
        name = f"task-{len(self.renamed) + 1}"
        self.renamed[name] = record.task_id
        return {
            "task_id": name,
            "status": record.status,
            "created_at": record.created_at,
            "last_updated_at": record.last_updated_at,
            "ttl_ms": record.ttl_ms,
            "poll_interval_ms": record.poll_interval_ms,
        }

    async def get_task(self, task_id: str) -> object:
        record = await super().get_task(self.renamed.get(task_id, task_id))
        if record is None:
            return None
        return {
            "task_id": task_id,
            "status": record.status,
            "created_at": record.created_at,
            "last_updated_at": record.last_updated_at,
            "ttl_ms": record.ttl_ms,
            "poll_interval_ms": record.poll_interval_ms,
        }


def test_wrong_sequences() -> None:
    with pytest.raises(UsageError, match="check_sequence"):
        check_sequence(MemoryTaskStore, [{"op": "explode"}])
    with pytest.raises(UsageError, match="store option"):
        check_sequence(MemoryTaskStore, TWICE, store_options={"colour": "red"})
    with pytest.raises(TargetUnusableError, match="no database"):
        check_sequence(_raises, TWICE)


def test_the_pytest_file_of_a_finding_fails_and_passes(tmp_path: Path) -> None:
    report = check_store(CancelSaysTrue, budget="500", select="store.cancel.*")
    source = pytest_source(report.findings[0], report.target.target)
    scope: dict[str, object] = {}
    exec(compile(source, "test_finding.py", "exec"), scope)
    test = next(value for name, value in scope.items() if name.startswith("test_"))
    assert callable(test)
    with pytest.raises(AssertionError, match="expected: cancel"):
        test()
    exec(source.replace(":CancelSaysTrue", ":MemoryTaskStore"), scope)
    fixed = next(value for name, value in scope.items() if name.startswith("test_"))
    assert callable(fixed)
    fixed()
