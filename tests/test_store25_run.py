"""Stores of revision 2025-11-25 from the outside: the command line, its reports, and replays."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mcptasks.conformance import check_sequence, check_store
from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.cli import main
from mcptasks.conformance.engine.beat import Beat, Position
from mcptasks.conformance.engine.plan import BATCH, Features
from mcptasks.conformance.engine.plan_2025 import plan_for
from mcptasks.conformance.runner.deaths import under_way
from mcptasks.fixtures.gallery import store25_faults
from mcptasks.fixtures.stores.memory_2025 import MemoryTaskStore2025
from mcptasks.reports.sequence_text import describe
from mcptasks.strategies.operations import (
    AdvanceClock,
    Create,
    Operation,
    OperationError,
    Tamper,
    Unsubscribe,
    from_json,
    sequence_from_json,
    sequence_to_json,
    to_json,
)
from mcptasks.strategies.operations_2025 import (
    AwaitResult,
    BadCursor,
    CreateTask,
    ForeignCursor,
    GetResult,
    GetTask,
    ListTasks,
    OnStatus,
    StoreResult,
    UpdateStatus,
)

REFERENCE = "mcptasks.fixtures.stores.memory_2025:MemoryTaskStore2025"
FAULTY = "mcptasks.fixtures.gallery.store25_faults"

STORES = """
from mcptasks.fixtures.gallery.store25_base import SimpleStore25

class Half:
    async def create_task(self, options, request_id, request, session_id=None): ...
    async def get_task(self, task_id, session_id=None): ...
    async def update_task_status(self, task_id, status, status_message=None, session_id=None): ...

class Narrow(SimpleStore25):
    async def list_tasks(self, cursor=None): ...

def made(): return SimpleStore25()
"""

EVERY: list[Operation] = [
    CreateTask("t1", {"ttl": None, "poll_interval": 5, "meta": {"a": 1}}, "A", "r", {"method": "x"}),
    GetTask(),
    GetTask("t1", None),
    StoreResult("t1", "failed", {"n": 1}, "B"),
    GetResult("t1", "B"),
    UpdateStatus("t1", "working", "m"),
    UpdateStatus(),
    ListTasks("A", (CreateTask("t2"), AdvanceClock(3))),
    BadCursor("x", "A"),
    ForeignCursor("B", "A"),
    AwaitResult(),
    OnStatus("l1", "getting"),
    Unsubscribe("l1"),
    Tamper("t1", "given"),
    Create("t9"),
]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "stores25.py").write_text(STORES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["mcptasks", *arguments])
        code = main(list(arguments))
        out, error = capsys.readouterr()
        return code, out, error

    return run


def test_every_operation_survives_json_and_is_told_in_a_line() -> None:
    text = json.dumps(sequence_to_json(EVERY))
    assert list(sequence_from_json(json.loads(text))) == EVERY
    told = [describe(to_json(operation)) for operation in EVERY]
    assert told[2] == "get_task(t1, session=null)"
    assert told[3] == 'store_result(t1, failed, {"n": 1}, session="B")'
    assert told[5] == 'update_status(t1, working, "m")'
    assert all("\n" not in line and "(" in line for line in told)
    assert to_json(GetTask()) == {"op": "get_task", "task": "t1"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"op": "get_task"}, "lacks member 'task'"),
        ({"op": "get_task", "task": "t1", "session": 1}, "member 'session' must be a non-empty string or null"),
        ({"op": "create_task", "as": "t1", "options": {"ttl": "1"}}, "'options.ttl' must be an integer or null"),
        ({"op": "create_task", "as": "t1", "options": {"tll": 1}}, "member 'options' has no 'tll'"),
        ({"op": "store_result", "task": "t1", "status": "cancelled", "result": 1}, "must be completed or failed"),
        ({"op": "update_status", "task": "t1", "status": "done"}, "member 'status' must be one of"),
        ({"op": "list_tasks", "during": [{"op": "get_task", "task": "t1"}]}, "'during' may hold create_task"),
    ],
)
def test_what_is_no_operation(value: dict[str, object], words: str) -> None:
    with pytest.raises(OperationError, match=words):
        from_json(value)


def test_the_reference_is_conformant(run: Run, folder: Path) -> None:
    arguments = ["--store", REFERENCE, "--revision", "2025-11-25", "--budget", "9k"]
    code, out, _ = run("run", *arguments, "--report-dir", "report", "--strict")
    assert code == 0, out
    assert "(2025-11-25): conformant" in out
    report = json.loads((folder / "report" / "report.json").read_text())
    assert report["target"]["revision"] == "2025-11-25"
    told = {item["id"]: item for item in report["requirements"]}
    assert set(told) == {item.id for item in load_catalogue().for_target("store", "2025-11-25")}
    assert told["store25.wait.completes"]["exercised"] > 0
    assert all(item["verdict"] == "pass" for item in told.values())


def test_a_finding_is_reported_and_replayed(run: Run, folder: Path) -> None:
    store = f"{FAULTY}:CompletedWorksAgain"
    code, out, _ = run("run", "--store", store, "--budget", "3k", "--report-dir", "report", "--fail-fast")
    assert code == 1
    assert "store25.status.terminal" in out
    assert "store25.status.terminal" in (folder / "report" / "junit.xml").read_text()
    assert "update_status(t1, working" in (folder / "report" / "summary.md").read_text()
    replays = list((folder / "report" / "replays").glob("*.json"))
    code, out, _ = run("replay", str(replays[0]))
    assert (code, "the finding shows again" in out) == (1, True)
    code, out, _ = run("replay", str(replays[0]), "--store", REFERENCE)
    assert (code, "does not show again" in out) == (0, True)


def test_the_server_above_may_guard(run: Run, folder: Path) -> None:
    store = ["--store", f"{FAULTY}:CompletedWorksAgain", "--guard", "server", "--budget", "3k"]
    code, _, _ = run("run", *store, "--report-dir", "report")
    assert code == 0
    report = json.loads((folder / "report" / "report.json").read_text())
    verdicts = {item["id"]: (item["verdict"], item["reason"]) for item in report["requirements"]}
    verdict, reason = verdicts["store25.status.terminal"]
    assert verdict == "not_applicable"
    assert "--guard server" in reason


def test_what_was_under_way_is_found_by_its_number(tmp_path: Path) -> None:
    features = Features(clock=True, input_requests=False, revision="2025-11-25", wait=True, statuses=True, pages=True)
    plan = plan_for(3, features)
    beat = Beat(tmp_path / "beat", create=True)
    try:
        for phase, sequence, expected in (
            (0, 0, [CreateTask("t1")]),
            (1, 10_000_000 + 2 * BATCH, plan.random_sequence(10_000_000 + 2 * BATCH)),
            (2, 3, plan.phases[2].alphabet.operations((3,)) if plan.phases[2].alphabet else []),
            (10, 100_000_007, plan.random_sequence(100_000_007)),
        ):
            beat.phase(phase)
            beat.sequence(sequence)
            beat.words[0] += 1000
            running = under_way(Position(beat), plan)
            assert running is not None
            assert running.operations == expected
            beat.words[0] = 0
    finally:
        beat.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--store", "stores25:Half", "--revision", "2025-11-25"],
            "lacks store_task_result, get_task_result, list_tasks",
        ),
        (["--store", "stores25:Narrow"], "list_tasks must take 2 positional arguments"),
        (["--store", "stores25:made", "--guard", "nobody"], "write store or server"),
        (["--store", "stores25:made", "--select", "store25.lists.*"], "no requirement on a store matches"),
    ],
)
def test_a_mistake_is_one_clear_line(run: Run, arguments: Sequence[str], words: str) -> None:
    code, _, error = run("run", *arguments, "--no-report")
    assert code == 2
    assert words in " ".join(error.split())


def test_from_python() -> None:
    report = check_store(MemoryTaskStore2025, budget="1k", isolated=False, select="store25.result.*")
    assert report.conformant
    assert {item.id for item in report.target.requirements} >= {"store25.result.store"}
    found = check_sequence(
        store25_faults.CancelAfterCompleted,
        [CreateTask(), StoreResult("t1", "completed", {"n": 1}), UpdateStatus("t1", "cancelled"), GetTask()],
        isolated=False,
    )
    assert [item.requirement for item in found] == ["store25.status.terminal"]


def test_a_factory_is_told_by_what_it_makes(run: Run) -> None:
    code, out, _ = run("run", "--store", "stores25:made", "--budget", "1k", "--no-report", "--select", "store25.list.*")
    assert (code, "(2025-11-25): conformant" in out) == (0, True)
