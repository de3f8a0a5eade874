"""What only warns: a store that refuses late calls by raising changes nothing, and is not failed for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcptasks.conformance import check_sequence, check_store
from mcptasks.fixtures.stores.memory import MemoryTaskStore

pytest_plugins = ["pytester"]

REQUIREMENTS = {
    "store.input.terminal-noop",
    "store.resolve.terminal-inert",
    "store.completed.terminal-noop",
    "store.failed.terminal-noop",
}


class Refusing(MemoryTaskStore):
    """Raises where the contract asks for a silent no-op."""

    async def _refuse(self, task_id: str) -> None:
        record: Any = await self.get_task(task_id)
        if record is not None and record.status in ("completed", "failed", "cancelled"):
            raise RuntimeError("the task has ended")

    async def set_input_requests(self, task_id: str, input_requests: Any) -> None:
        await self._refuse(task_id)
        await super().set_input_requests(task_id, input_requests)

    async def resolve_input_requests(self, task_id: str, input_responses: Any) -> None:
        await self._refuse(task_id)
        await super().resolve_input_requests(task_id, input_responses)

    async def set_completed(self, task_id: str, result: Any) -> None:
        await self._refuse(task_id)
        await super().set_completed(task_id, result)

    async def set_failed(self, task_id: str, error: Any) -> None:
        await self._refuse(task_id)
        await super().set_failed(task_id, error)


def test_raising_on_an_ended_task_warns() -> None:
    report = check_store(Refusing, budget="8k", isolated=False)
    assert report.conformant, report
    assert {item.id for item in report.requirements if item.verdict == "warn"} == REQUIREMENTS
    assert {(finding.verdict, finding.aspect) for finding in report.findings} == {("warn", "return")}


def test_warnings_count_when_asked() -> None:
    report = check_store(Refusing, budget="2k", isolated=False, fail_on="warn")
    assert report.outcome == "nonconformant"


def test_a_failure_behind_a_warning_is_still_a_failure() -> None:
    class Overwriting(Refusing):
        async def set_completed(self, task_id: str, result: Any) -> None:
            task = self._tasks.get(task_id)
            if task is not None and task.status == "completed":
                task.payload = json.dumps(result)
            await super().set_completed(task_id, result)

    report = check_store(Overwriting, budget="8k", isolated=False)
    assert [finding.fingerprint for finding in report.findings if finding.verdict == "fail"] == [
        "store.completed.terminal-noop/complete/completed/payload"
    ]


def test_a_replay_says_warn_too() -> None:
    sequence = [
        {"op": "create", "as": "t1"},
        {"op": "cancel", "task": "t1"},
        {"op": "complete", "task": "t1", "result": {}},
    ]
    assert [finding.verdict for finding in check_sequence(Refusing, sequence, isolated=False)] == ["warn"]


def test_the_state_machine_passes_over_warnings(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_warnings import Refusing
        from mcptasks.conformance import TaskStoreConformance

        class TestRefusing(TaskStoreConformance):
            budget = "2k"

            def open_store(self):
                return Refusing()
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", "test_state_machine")
    result.assert_outcomes(passed=1)
