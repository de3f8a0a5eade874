"""The store bridge: a right one is a store like any other, and what is wrong with one is never charged to the store."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import cast

import pytest

from mcptasks.conformance import check_sequence, check_store
from mcptasks.conformance.bridge.digits import Digits
from mcptasks.conformance.bridge.source import Bridge, open_bridge
from mcptasks.conformance.bridge.stores import BridgedStore25
from mcptasks.conformance.cli import main
from mcptasks.conformance.engine.bridged import may_refuse
from mcptasks.conformance.errors import TargetUnusableError, UsageError
from mcptasks.conformance.targets.store import OpenStore, StoreOptions
from mcptasks.strategies.operations import Complete, Create, Get, Operation, Resolve, SetInput, Subscribe
from mcptasks.strategies.operations_2025 import CreateTask, GetTask, StoreResult

pytest_plugins = ["pytester"]

HERE = Path(__file__).parent
PYTHON = HERE.parent / "fixtures" / "bridges" / "python" / "bridge.py"


def odd(mode: str) -> str:
    return shlex.join([sys.executable, str(HERE / "odd_bridges.py"), mode])


def right(store: str) -> str:
    return shlex.join([sys.executable, str(PYTHON), store])


WRONG = {
    "exits": "has ended with exit code 7: cannot find libstore.so; it has not answered store/describe before",
    "silent": "does not answer store/describe within 1.8 s",
    "speaks-http": 'writes "HTTP/1.1 400 Bad Request" to standard output, which is no JSON-RPC message',
    "not-utf8": "not UTF-8",
    "endless-line": "writes a line of more than 64 MiB",
    "describe-without-revision": "revision: Field required",
    "describe-unknown-keyword": "keywords: 'clock' is none of 2025-11-25; known are clockMs, defaultTtlMs, pageSize",
    "describe-changes": "answers store/describe differently",
    "id-as-text": 'answers with the id "1", which no request has',
    "id-null": "answers with the id null",
    "twice": "answers the request with id 1 twice",
    "no-version": 'without "jsonrpc": "2.0"',
    "unknown-is-null": "answers an unknown method with a result, not with the error -32601",
    "error-is-text": "has no integer code and text message",
    "open-fails": "store/open fails: OSError: no database",
    "no-null": "with neither result nor error, for nothing is written as null",
    "snake": "with the member task_id; members are camelCase, such as taskId",
    "no-record": 'answers store25/create with "t1", which is no record',
    "nan": "writes NaN, which is no JSON number",
    "logs-to-stdout": 'writes "listing tasks" to standard output',
    "one-at-a-time": "does not answer store25/get while store25/waitForResult waits: requests may overlap",
    "notification-without-id": "sends store25/statusChange without taskId",
    "notification-unknown": 'sends the notification "store25/statusChanged"; known is store25/statusChange',
    "notification-bare": "without an object of params",
    "asks": 'sends the request "suite/time"; only notifications go from a bridge to the suite',
}
"""Modes of odd_bridges.py, and the words in which each is told."""


async def use(command: str, timeout: float = 5.0) -> None:
    """Check a bridge, and drive a task behind it to its end."""
    bridge = Bridge(command, timeout=timeout)
    try:
        source, _ = await open_bridge(bridge)
        opened = await source.open(StoreOptions())
        store = opened.store
        assert isinstance(store, BridgedStore25)
        task = await store.create_task({}, 1, {"method": "tools/call"})
        await store.store_task_result(task["taskId"], "completed", {"n": 1})
        assert await store.get_task_result(task["taskId"]) == {"n": 1}
        await opened.close()
    finally:
        await bridge.close()


@pytest.mark.parametrize("mode", WRONG)
def test_what_is_wrong_with_a_bridge_is_told_as_its_fault(mode: str) -> None:
    with pytest.raises(TargetUnusableError) as raised:
        asyncio.run(use(odd(mode), {"silent": 0.3, "one-at-a-time": 5.0}.get(mode, 10.0)))
    assert WRONG[mode] in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_method_that_is_missing_is_a_mistake_of_usage() -> None:
    with pytest.raises(UsageError, match="lacks the method store25/list"):
        asyncio.run(use(odd("lacks-list")))


@pytest.mark.parametrize(
    "mode", ["", "keeps-its-store", "leaves-out-null", "logs-to-stderr", "never-closes", "fractions"]
)
def test_unusual_bridges_are_fine(mode: str) -> None:
    asyncio.run(use(odd(mode), 5.0 if mode == "never-closes" else 10.0))


LAWFUL = {"any-order": "400", "refuses-large": "2500", "rounds": "2500", "keeps-its-store": "400"}


@pytest.mark.parametrize("mode", LAWFUL)
def test_nothing_unusual_about_a_bridge_is_charged_to_the_store(mode: str) -> None:
    report = check_store(bridge=odd(mode), budget=LAWFUL[mode])
    assert report.conformant, report
    assert report.target.target.kind == "bridge"
    assert not report.findings
    told = any("integers beyond 2^53 lose digits over this bridge" in note.message for note in report.target.notes)
    assert told == (mode == "rounds")


def test_both_revisions_and_every_keyword() -> None:
    for store, exercised in (
        ("mcptasks.fixtures.stores.memory:MemoryTaskStore", "store.ttl.no-early"),
        ("mcptasks.fixtures.stores.memory_2025:MemoryTaskStore2025", "store25.wait.completes"),
    ):
        report = check_store(bridge=right(store), budget=2500)
        assert report.conformant, report
        verdicts = {item.id: item for item in report.requirements}
        assert verdicts[exercised].verdict == "pass"
        reason = "all listeners hear one stream of events"
        silent = verdicts.get("store.event.unsubscribe") or verdicts["store25.event.independent"]
        assert silent.verdict == "not_applicable"
        assert reason in silent.reason


@pytest.mark.parametrize(
    ("store", "requirement"),
    [
        ("mcptasks.fixtures.gallery.terminal:CompleteOverwritesCancelled", "store.completed.terminal-noop"),
        ("mcptasks.fixtures.gallery.store25_faults_lists:WaitHangs", "store25.wait.completes"),
    ],
)
def test_faults_behind_a_right_bridge_are_charged_to_the_store(store: str, requirement: str) -> None:
    report = check_store(bridge=right(store), budget=2500)
    assert {item.requirement for item in report.findings} == {requirement}, report


def test_a_clock_that_cannot_be_set_is_not_applicable_and_no_fault_of_the_store() -> None:
    report = check_store(bridge=odd("clock-stands-still"), budget=300)
    assert report.conformant, report
    cleanup = next(item for item in report.requirements if item.id == "store25.ttl.cleanup")
    assert cleanup.verdict == "not_applicable"
    assert "clock/set does not move" in cleanup.reason


def test_waiting_that_is_not_named_is_not_applicable() -> None:
    report = check_store(bridge=odd("without-wait"), budget=300)
    waits = next(item for item in report.requirements if item.id == "store25.wait.completes")
    assert waits.verdict == "not_applicable"


def test_a_call_that_never_ends_is_a_finding_with_a_sequence() -> None:
    report = check_store(bridge=odd("hangs"), budget=150, timeout=1.0)
    found = [item for item in report.findings if item.requirement == "store25.misc.call-ends"]
    assert found, report
    assert "it was still under way" in found[0].actual
    assert "store_result" in [item["op"] for item in found[0].operations[-2:]]
    assert not [item for item in report.findings if item.requirement != "store25.misc.call-ends"]


def test_check_sequence_over_a_bridge() -> None:
    operations = [CreateTask("t1"), StoreResult("t1", "completed", {"n": 1})]
    assert not check_sequence(bridge=odd(""), operations=operations)
    found = check_sequence(bridge=odd("later-dies"), operations=[*operations, GetTask("t1")])
    assert found[0].requirement == "store25.misc.call-ends"
    assert "the bridge's process has ended with exit code 0" in found[0].actual
    with pytest.raises(UsageError, match="bridge goes without a store"):
        check_store("a:b", bridge="c")


def test_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        code = main(["run", "--report-dir", str(tmp_path / "r"), *arguments])
        captured = capfd.readouterr()
        return code, captured.out + captured.err

    code, told = run("--bridge", "no-such-command-here --serve")
    assert code == 2
    assert "--bridge: cannot run no-such-command-here" in told
    code, told = run("--bridge", "'")
    assert code == 2
    code, told = run("--bridge", odd("exits"))
    assert code == 3
    assert "exit code 7" in told.replace("\n", " ")
    code, told = run("--bridge", odd("lacks-list"))
    assert code == 2
    code, told = run("--bridge", "x", "--store", "a:b")
    assert code == 2
    assert "one target at a time" in told
    code, told = run("--bridge", odd(""), "--revision", "2026-07-28")
    assert code == 2
    code, told = run("--bridge", odd("dies"), "--budget", "150", "--fail-fast")
    assert code == 1
    report = json.loads((tmp_path / "r" / "report.json").read_text())
    assert report["target"]["kind"] == "bridge"
    assert report["target"]["name"] == odd("dies")
    finding = report["findings"][0]
    assert finding["requirement"] == "store25.misc.call-ends"
    assert "has ended with exit code 3: panic: no room" in finding["actual"]
    assert main(["replay", str(tmp_path / "r" / finding["replay"])]) == 1
    assert main(["replay", str(tmp_path / "r" / finding["replay"]), "--bridge", odd("")]) == 0


def test_a_class_with_a_bridge(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_bridged=f"""
        from mcptasks.conformance import TaskStoreConformance

        class TestBridged(TaskStoreConformance):
            bridge = {right("mcptasks.fixtures.stores.memory_2025:MemoryTaskStore2025")!r}
            revision = "2025-11-25"
            budget = 300
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] > 20, result.stdout.str()
    assert set(outcomes) <= {"passed", "skipped"}


def test_digits() -> None:
    digits = Digits()
    digits.send({"a": [2**53 + 1, 10**30, 5, True], "b": {"c": -(2**63)}})
    digits.receive({"a": [2**53 + 1, 10**30], "b": {"c": -(2**63)}, "d": 2**54, "e": True})
    assert digits.lost is None
    digits.receive({"a": [float(10**30)]})
    assert digits.lost == f"{10**30} comes back as 1e+30"


@pytest.mark.parametrize(
    ("operation", "may"),
    [
        (Complete("t1", "x" * 40_000), True),
        (SetInput("t1", {"a": "x" * 40_000}), True),
        (Resolve("t1", {"a": "x" * 20_000, "b": "x" * 20_000}), True),
        (SetInput("t1", {"a": 1}), False),
        (Get("t1"), False),
    ],
)
def test_large_bodies_may_be_refused_wherever_they_stand(operation: Operation, may: bool) -> None:
    class Bridged:
        bridged = True

    assert may_refuse(cast("OpenStore", Bridged()), operation) is may


def test_what_comes_late_is_not_taken_for_what_a_second_listener_hears() -> None:
    asked = [Create("t1"), Subscribe("l1"), SetInput("t1", {"a": 1}), Resolve("t1", {"a": 1})]
    again = [Subscribe("l2"), Resolve("t1", {"a": 2}), Get("t1")]
    late = f"{odd('late')} mcptasks.fixtures.stores.memory:MemoryTaskStore"
    assert not check_sequence(bridge=late, operations=[*asked, *again])
