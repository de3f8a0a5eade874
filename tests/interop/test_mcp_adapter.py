"""The adapter ``mcp`` over the real SDK: it must show what the SDK's store does, no more and no less."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from mcptasks.conformance.adapters import find_adapter

store_module = pytest.importorskip("mcp.shared.experimental.tasks.in_memory_task_store")
types = pytest.importorskip("mcp.types")


def open_store(**keywords: Any) -> tuple[Any, Any]:
    foreign = store_module.InMemoryTaskStore()
    return find_adapter("mcp")(foreign, **keywords), foreign


def test_records_have_every_member_of_the_protocol() -> None:
    async def run() -> Any:
        store, _ = open_store(default_ttl_ms=60_000)
        created = await store.create_task()
        return created, await store.get_task(created["task_id"])

    created, read = asyncio.run(run())
    assert created == read
    assert created["status"] == "working"
    assert isinstance(created["created_at"], datetime)
    assert created["created_at"].tzinfo is not None
    assert created["ttl_ms"] == 60_000
    assert created["poll_interval_ms"] == 500


@pytest.mark.parametrize(
    "payload",
    [
        True,
        0,
        -0.0,
        1.5e300,
        2**80,
        "",
        "a\x00\U0001f600e\u0301",
        [],
        {},
        [None, {"a": None}],
        {"_meta": {"x": 1}, "content": 3, "isError": "no", "error": {}, "payload": None},
    ],
)
def test_payloads_come_back_unaltered(payload: Any) -> None:
    async def run() -> Any:
        store, _ = open_store()
        done, broken = (await store.create_task())["task_id"], (await store.create_task())["task_id"]
        await store.set_completed(done, payload)
        await store.set_failed(broken, payload)
        return await store.get_task(done), await store.get_task(broken)

    done, broken = asyncio.run(run())
    assert (done["status"], done["result"], type(done["result"])) == ("completed", payload, type(payload))
    assert (broken["status"], broken["error"], type(broken["error"])) == ("failed", payload, type(payload))
    assert "error" not in done
    assert "result" not in broken


def test_late_completion_shows_the_payload_that_the_store_keeps() -> None:
    async def run() -> Any:
        store, _ = open_store()
        task = (await store.create_task())["task_id"]
        assert await store.set_cancelled(task) is True
        with pytest.raises(ValueError, match="terminal"):
            await store.set_completed(task, {"late": True})
        return await store.get_task(task)

    record = asyncio.run(run())
    assert (record["status"], record["result"]) == ("cancelled", {"late": True})


def test_overwritten_payloads_are_visible() -> None:
    async def run() -> Any:
        store, _ = open_store()
        done, broken = (await store.create_task())["task_id"], (await store.create_task())["task_id"]
        for value in (1, 2):
            await store.set_completed(done, value)
            await store.set_failed(broken, value)
        return (await store.get_task(done))["result"], (await store.get_task(broken))["error"]

    assert asyncio.run(run()) == (2, 2)


def test_cancel_is_false_when_the_sdk_refuses() -> None:
    async def run() -> Any:
        store, _ = open_store()
        task = (await store.create_task())["task_id"]
        return [await store.set_cancelled(task), await store.set_cancelled(task), await store.set_cancelled("never")]

    assert asyncio.run(run()) == [True, False, False]


def test_an_unknown_task_is_none_and_completing_it_raises() -> None:
    async def run() -> Any:
        store, _ = open_store()
        with pytest.raises(ValueError, match="not found"):
            await store.set_completed("never", 1)
        with pytest.raises(ValueError, match="not found"):
            await store.set_failed("never", 1)
        return await store.get_task("never")

    assert asyncio.run(run()) is None


@pytest.mark.parametrize(("copies", "expected"), [(False, [1, "tampered"]), (True, [1])])
def test_aliasing_is_the_stores_own(copies: bool, expected: list[Any]) -> None:
    class Copying(store_module.InMemoryTaskStore):  # type: ignore[name-defined,misc]
        async def store_result(self, task_id: str, result: Any) -> None:
            await super().store_result(task_id, result.model_copy(deep=True))

        async def get_result(self, task_id: str) -> Any:
            result = await super().get_result(task_id)
            return result and result.model_copy(deep=True)

    async def run(tamper: Callable[[Any, Any], None]) -> Any:
        store = find_adapter("mcp")(Copying() if copies else store_module.InMemoryTaskStore())
        given: list[Any] = [1]
        task = (await store.create_task())["task_id"]  # type: ignore[attr-defined]
        await store.set_completed(task, given)  # type: ignore[attr-defined]
        tamper(given, await store.get_task(task))  # type: ignore[attr-defined]
        return (await store.get_task(task))["result"]  # type: ignore[attr-defined]

    assert asyncio.run(run(lambda given, record: given.append("tampered"))) == expected
    assert asyncio.run(run(lambda given, record: record["result"].append("tampered"))) == expected


def test_a_store_that_reloads_results_as_plain_results_is_not_accused() -> None:
    class Reloading(store_module.InMemoryTaskStore):  # type: ignore[name-defined,misc]
        async def get_result(self, task_id: str) -> Any:
            result = await super().get_result(task_id)
            return result and types.Result.model_validate_json(result.model_dump_json(by_alias=True, exclude_none=True))

    async def run() -> Any:
        store: Any = find_adapter("mcp")(Reloading())
        task = (await store.create_task())["task_id"]
        await store.set_completed(task, {"deep": [None, {"x": None}]})
        return (await store.get_task(task))["result"]

    assert asyncio.run(run()) == {"deep": [None, {"x": None}]}


def test_a_status_message_of_the_stores_own_is_no_error() -> None:
    async def run() -> Any:
        store, foreign = open_store()
        task = (await store.create_task())["task_id"]
        await foreign.update_task(task, status_message="half way")
        return await store.get_task(task)

    record = asyncio.run(run())
    assert record["status_message"] == "half way"
    assert "error" not in record
