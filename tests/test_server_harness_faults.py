"""What a store does wrong is seen on the wire: the harness neither repairs nor hides it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

import pytest
from harness_client import ASK, Client, RefusedError

from mcptasks.conformance.wire.messages import FailedTask
from mcptasks.fixtures.server import HarnessOptions, start_server
from mcptasks.fixtures.stores import MemoryTaskStore, TaskRecord

DONE: dict[str, Any] = {"content": []}


@contextmanager
def served(store: type[Any]) -> Iterator[Client]:
    with start_server(store, options=HarnessOptions(job_delay_s=0.01)) as handle:
        yield Client(handle.url)


def code_of(client: Client, method: str, task_id: str, **params: Any) -> int:
    with pytest.raises(RefusedError) as failure:
        client.task(method, task_id, **params)
    return failure.value.code


class Overwrites(MemoryTaskStore):
    """A late completion replaces the cancellation."""

    async def set_completed(self, task_id: str, result: Any) -> None:
        self._tasks[task_id].status = "working"
        await super().set_completed(task_id, result)


def test_a_late_completion_of_a_cancelled_task() -> None:
    with served(Overwrites) as client:
        task_id = client.open()
        client.task("cancel", task_id)
        assert client.step(task_id, "complete", result=DONE)["applied"] is False
        assert client.task("get", task_id)["status"] == "completed"

        slow = client.tool("slow_compute", {"seconds": 0.05})["taskId"]
        client.task("cancel", slow)
        assert client.until(slow, "completed")["result"]["isError"] is False


class Resurrects(MemoryTaskStore):
    """Mutators make the tasks that they do not find."""

    async def resolve_input_requests(self, task_id: str, input_responses: Any) -> None:
        record = await self.create_task()
        self._tasks[task_id] = replace(self._tasks[record.task_id], task_id=task_id)


def test_a_task_out_of_nowhere() -> None:
    with served(Resurrects) as client:
        assert code_of(client, "update", "nowhere", inputResponses={}) == -32602
        assert client.task("get", "nowhere")["taskId"] == "nowhere"


class Forgets(MemoryTaskStore):
    """A created task is not there."""

    async def get_task(self, task_id: str) -> TaskRecord | None:
        return None


def test_a_task_that_is_not_there() -> None:
    with served(Forgets) as client:
        assert code_of(client, "get", client.open()) == -32602


class Odd(MemoryTaskStore):
    """Records with wrong members."""

    wrong: ClassVar[dict[str, Any]] = {}

    async def get_task(self, task_id: str) -> Any:
        record = await super().get_task(task_id)
        assert record is not None
        members = {name: getattr(record, name) for name in record.__dataclass_fields__} | self.wrong
        return {name: value for name, value in members.items() if value != "left out"}


@pytest.fixture(scope="module")
def odd() -> Iterator[Client]:
    with served(Odd) as client:
        yield client


@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        ({"task_id": "other"}, {"taskId": "other"}),
        ({"status": "done"}, {"status": "done"}),
        ({"created_at": datetime(2030, 1, 2)}, {"createdAt": "2030-01-02T00:00:00"}),
        ({"last_updated_at": "yesterday"}, {"lastUpdatedAt": "yesterday"}),
        ({"ttl_ms": 1.5, "poll_interval_ms": "1"}, {"ttlMs": 1.5, "pollIntervalMs": "1"}),
        ({"result": {"content": []}}, {"result": {"content": []}}),
        ({"error": {"code": 1, "message": "x"}}, {"error": {"code": 1, "message": "x"}}),
        ({"input_requests": {"k": ASK}}, {"inputRequests": {"k": ASK}}),
        ({"status": "input_required", "input_requests": {}}, {"inputRequests": {}}),
    ],
)
def test_wrong_members_reach_the_client(odd: Client, wrong: dict[str, Any], seen: dict[str, Any]) -> None:
    Odd.wrong = wrong
    got = odd.task("get", odd.open())
    assert {name: got[name] for name in seen} == seen


def test_left_out_members_are_left_out(odd: Client) -> None:
    Odd.wrong = {"ttl_ms": "left out", "created_at": "left out", "poll_interval_ms": None}
    assert not {"ttlMs", "createdAt", "pollIntervalMs"} & odd.task("get", odd.open()).keys()


@pytest.mark.parametrize("wrong", [{"status": "left out"}, {"status": 7}, {"result": {1j}}, {"result": float("nan")}])
def test_what_is_no_record_is_an_internal_error(odd: Client, wrong: dict[str, Any]) -> None:
    Odd.wrong = wrong
    assert code_of(odd, "get", odd.open()) == -32603


class Raises(MemoryTaskStore):
    """Raises where it should work."""

    async def resolve_input_requests(self, task_id: str, input_responses: Any) -> None:
        raise RuntimeError("broken")

    async def set_cancelled(self, task_id: str) -> Any:
        return None

    async def set_completed(self, task_id: str, result: Any) -> None:
        raise RuntimeError("broken")


def test_what_the_store_raises_is_an_internal_error() -> None:
    with served(Raises) as client:
        task_id = client.open()
        assert code_of(client, "update", task_id, inputResponses={}) == -32603
        assert code_of(client, "update", "unknown", inputResponses={}) == -32602
        assert code_of(client, "cancel", task_id) == -32603
        with pytest.raises(RefusedError) as failure:
            client.step(task_id, "complete", result=DONE)
        assert failure.value.code == -32603
        assert "broken" in failure.value.error["message"]
        assert client.step("unknown", "complete", result=DONE)["applied"] is False


class WrongKey(MemoryTaskStore):
    """Announces each response under the key of another question."""

    def on_input_response(self, listener: Any) -> Any:
        other = {"a": "b", "b": "a"}

        def swapped(event: Any) -> None:
            listener(replace(event, request_id=other[event.request_id]))

        return super().on_input_response(swapped)


def test_answers_to_the_wrong_question() -> None:
    with served(WrongKey) as client:
        task_id = client.open()
        client.step(task_id, "request_input", requests={"a": ASK, "b": ASK})
        for key in ("a", "b"):
            client.task("update", task_id, inputResponses={key: {"action": "accept", "content": {"key": key}}})
        answers = client.step(task_id, "complete", result=DONE)["answers"]
        assert {key: answer["content"]["key"] for key, answer in answers.items()} == {"a": "b", "b": "a"}


class Deaf(MemoryTaskStore):
    """Takes no listeners."""

    def on_input_response(self, listener: Any) -> Any:
        raise NotImplementedError


def test_without_events_the_rest_still_works() -> None:
    with served(Deaf) as client:
        task_id = client.open()
        client.step(task_id, "request_input", requests={"a": ASK})
        client.task("update", task_id, inputResponses={"a": {"action": "cancel"}})
        assert client.step(task_id, "complete", result=DONE) == {"applied": True, "answers": {}}


class ToFloats(MemoryTaskStore):
    """Keeps every number as a float, which JSON does not tell apart."""

    async def set_failed(self, task_id: str, error: Any) -> None:
        await super().set_failed(task_id, {**error, "code": float(error["code"])})


def test_a_whole_number_is_an_integer_whatever_its_form() -> None:
    with served(ToFloats) as client:
        task_id = client.open()
        client.step(task_id, "fail", error={"code": -7, "message": "x"})
        assert FailedTask.model_validate(client.task("get", task_id)).error.code == -7
