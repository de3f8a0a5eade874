"""The reference stores, without the engine: what each does, in the open cells too."""

from __future__ import annotations

import asyncio
import inspect
import json
import multiprocessing
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcptasks.fixtures.stores import InputResponse, MemoryTaskStore, SqliteTaskStore, TaskRecord, ThreadSafeTaskStore

STORES = [MemoryTaskStore, ThreadSafeTaskStore, SqliteTaskStore]
START = datetime(2026, 7, 28, 12, tzinfo=UTC)

Scenario = Callable[[Any], Awaitable[None]]


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, ms: int) -> None:
        self.now += timedelta(milliseconds=ms)


class Calls:
    """A store whose every method is awaited, whether it is plain ``def`` or not."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*arguments: Any) -> Any:
            returned = getattr(self.store, name)(*arguments)
            return await returned if inspect.isawaitable(returned) else returned

        return call


def run(kind: Callable[..., Any], scenario: Callable[..., Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        store = Calls(kind(**options))
        try:
            await scenario(store)
        finally:
            await store.close()

    asyncio.run(main())


@pytest.mark.parametrize("kind", STORES)
def test_a_task_runs_through_its_life(kind: Any) -> None:
    clock = Clock()

    async def scenario(store: Any) -> None:
        created = await store.create_task()
        assert isinstance(created, TaskRecord)
        assert created == await store.get_task(created.task_id)
        assert (created.status, created.created_at, created.last_updated_at) == ("working", START, START)
        assert (created.ttl_ms, created.poll_interval_ms, created.input_requests) == (None, 1000, None)
        clock.advance(5)
        requests = {"a": {"method": "x"}, "b": {"method": "y"}}
        assert await store.set_input_requests(created.task_id, requests) is None
        asked = await store.get_task(created.task_id)
        assert (asked.status, asked.input_requests) == ("input_required", requests)
        assert (asked.created_at, asked.last_updated_at) == (START, clock.now)
        await store.resolve_input_requests(created.task_id, {"a": 1, "zz": 2})
        assert (await store.get_task(created.task_id)).input_requests == {"b": {"method": "y"}}
        await store.resolve_input_requests(created.task_id, {"b": 1, "a": 3})
        working = await store.get_task(created.task_id)
        assert (working.status, working.input_requests) == ("working", None)
        await store.set_completed(created.task_id, {"n": [1.5, "é", True]})
        await store.set_failed(created.task_id, {"code": 1})
        await store.resolve_input_requests(created.task_id, {"b": 1})
        await store.set_input_requests(created.task_id, {"c": 1})
        assert await store.set_cancelled(created.task_id) is False
        done = await store.get_task(created.task_id)
        assert (done.status, done.result, done.error) == ("completed", {"n": [1.5, "é", True]}, None)

    run(kind, scenario, clock=clock)


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("asking", [False, True])
def test_cancel_and_fail_end_a_task_from_both_live_states(kind: Any, asking: bool) -> None:
    async def scenario(store: Any) -> None:
        one, two = await store.create_task(), await store.create_task()
        if asking:
            await store.set_input_requests(one.task_id, {"a": 1})
            await store.set_input_requests(two.task_id, {"a": 1})
        assert await store.set_cancelled(one.task_id) is True
        assert await store.set_cancelled(one.task_id) is False
        await store.set_completed(one.task_id, 1)
        await store.set_failed(two.task_id, {"code": -1})
        cancelled, failed = await store.get_task(one.task_id), await store.get_task(two.task_id)
        assert (cancelled.status, cancelled.result, cancelled.error) == ("cancelled", None, None)
        assert (failed.status, failed.result, failed.error) == ("failed", None, {"code": -1})

    run(kind, scenario)


@pytest.mark.parametrize("kind", STORES)
def test_payloads_come_back_equal_and_share_nothing(kind: Any) -> None:
    result: dict[str, Any] = {
        "": None, "big": 2**70, "float": 0.1, "tiny": 5e-324, "nul": "a\0b", "astral": "𝄞e\u0301", "empty": [{}, []],
        "A": 1, "a": 2, "long": "x" * 100_000,
    }  # fmt: skip

    async def scenario(store: Any) -> None:
        task_id = (await store.create_task()).task_id
        given: dict[str, Any] = {"a\0": {"deep": [result]}, "a": 1}
        await store.set_input_requests(task_id, given)
        given["a\0"]["deep"].clear()
        first = await store.get_task(task_id)
        assert first.input_requests == {"a\0": {"deep": [result]}, "a": 1}
        first.input_requests["a\0"]["deep"].append(1)
        assert (await store.get_task(task_id)).input_requests == {"a\0": {"deep": [result]}, "a": 1}
        await store.set_completed(task_id, result)
        assert json.dumps((await store.get_task(task_id)).result) == json.dumps(result)

    run(kind, scenario)


@pytest.mark.parametrize("kind", STORES)
def test_absent_ids(kind: Any) -> None:
    async def scenario(store: Any) -> None:
        task_id = (await store.create_task()).task_id
        for absent in ("never", task_id[:-1], task_id + "x", task_id + " ", ""):
            assert await store.get_task(absent) is None
            assert await store.set_cancelled(absent) is False
            for call in (
                store.set_completed(absent, 1),
                store.set_failed(absent, 1),
                store.set_input_requests(absent, {"a": 1}),
                store.resolve_input_requests(absent, {"a": 1}),
            ):
                if kind is SqliteTaskStore:
                    await call
                else:
                    with pytest.raises(LookupError, match="no task"):
                        await call
            assert await store.get_task(absent) is None

    run(kind, scenario)


@pytest.mark.parametrize("kind", STORES)
def test_open_cells_are_as_the_package_says(kind: Any) -> None:
    async def scenario(store: Any) -> None:
        events: list[InputResponse] = []
        store.store.on_input_response(events.append)
        task_id = (await store.create_task()).task_id
        await store.set_input_requests(task_id, {})
        empty = await store.get_task(task_id)
        expected: tuple[str, Any] = ("input_required", {}) if kind is ThreadSafeTaskStore else ("working", None)
        assert (empty.status, empty.input_requests) == expected
        await store.resolve_input_requests(task_id, {})
        assert (await store.get_task(task_id)).status == "working"
        await store.set_input_requests(task_id, {"a": 1})
        await store.set_input_requests(task_id, {"a": 2})
        assert (await store.get_task(task_id)).input_requests == {"a": 1 if kind is SqliteTaskStore else 2}
        await store.resolve_input_requests(task_id, {"a": 3, "z": 4})
        keys = ["a", "z"] if kind is ThreadSafeTaskStore else ["a"]
        assert [event.request_id for event in events] == keys
        await store.set_input_requests(task_id, {"a": 5})
        again = await store.get_task(task_id)
        expected = ("working", None) if kind is SqliteTaskStore else ("input_required", {"a": 5})
        assert (again.status, again.input_requests) == expected
        await store.set_input_requests(task_id, {"b": 6})
        await store.set_completed(task_id, 1)
        pending = (await store.get_task(task_id)).input_requests
        assert pending == ({"a": 5, "b": 6} if kind is ThreadSafeTaskStore else None)

    run(kind, scenario)


@pytest.mark.parametrize("kind", STORES)
def test_events(kind: Any) -> None:
    async def scenario(store: Any) -> None:
        events: list[tuple[str, InputResponse]] = []
        seen: list[Any] = []
        subscribe = store.store.on_input_response

        def raising(event: InputResponse) -> None:
            raise ZeroDivisionError

        async def reading(event: InputResponse) -> None:
            seen.append((await store.get_task(event.task_id)).input_requests)

        def reading_at_once(event: InputResponse) -> None:
            seen.append(store.store.get_task(event.task_id).input_requests)

        subscribe(raising)
        remove = subscribe(lambda event: events.append(("one", event)))
        twice = subscribe(lambda event: events.append(("two", event)))
        subscribe(reading if kind is MemoryTaskStore else reading_at_once)
        task_id = (await store.create_task()).task_id
        await store.set_input_requests(task_id, {"a": 1, "b": 2})
        assert events == []

        async def resolve(responses: dict[str, Any]) -> None:
            if kind is ThreadSafeTaskStore:
                with pytest.raises(ZeroDivisionError):
                    await store.resolve_input_requests(task_id, responses)
            else:
                await store.resolve_input_requests(task_id, responses)

        await resolve({"a": {"n": 1}})
        event = InputResponse(task_id, "a", {"n": 1})
        assert events == [("one", event), ("two", event)]
        assert seen == [{"b": 2}]
        remove()
        remove()
        await resolve({"b": 1})
        assert [name for name, _ in events] == ["one", "two", "two"]
        twice()
        await store.set_completed(task_id, 1)
        await store.resolve_input_requests(task_id, {"b": 1})
        assert len(events) == 3
        assert len(seen) == 2

    run(kind, scenario)


@pytest.mark.parametrize("kind", [ThreadSafeTaskStore, SqliteTaskStore])
@pytest.mark.filterwarnings("error")
def test_a_plain_store_drops_a_listeners_coroutine_without_a_warning(kind: Any) -> None:
    async def listener(event: InputResponse) -> None:
        raise AssertionError("must not run")

    store = kind()
    store.on_input_response(listener)
    task_id = store.create_task().task_id
    store.set_input_requests(task_id, {"a": 1})
    store.resolve_input_requests(task_id, {"a": 1})
    assert store.get_task(task_id).status == "working"
    store.close()


def test_several_raising_listeners_of_the_thread_safe_store_make_a_group() -> None:
    store = ThreadSafeTaskStore()
    for _ in range(2):
        store.on_input_response(lambda event: [].pop())
    task_id = store.create_task().task_id
    with pytest.raises(ExceptionGroup) as raised:
        store.resolve_input_requests(task_id, {"a": 1})
    assert [type(error) for error in raised.value.exceptions] == [IndexError, IndexError]


@pytest.mark.parametrize("kind", STORES)
def test_expiry(kind: Any) -> None:
    clock = Clock()

    async def scenario(store: Any) -> None:
        task_id = (await store.create_task()).task_id
        other = (await store.create_task()).task_id
        clock.advance(999)
        assert (await store.get_task(task_id)).ttl_ms == 1000
        clock.advance(1)
        # A mutator on an expired task that nobody has seen gone: a choice of each store.
        assert await store.set_cancelled(other) is (kind is ThreadSafeTaskStore)
        assert await store.get_task(task_id) is None
        clock.advance(-500)
        assert await store.get_task(task_id) is None
        assert await store.set_cancelled(task_id) is False

    run(kind, scenario, clock=clock, default_ttl_ms=1000)


@pytest.mark.parametrize("kind", STORES)
def test_expired_tasks_are_swept_by_create(kind: Any) -> None:
    clock = Clock()

    async def scenario(store: Any) -> None:
        task_id = (await store.create_task()).task_id
        clock.advance(1000)
        await store.create_task()
        clock.advance(-1000)
        assert await store.get_task(task_id) is None

    run(kind, scenario, clock=clock, default_ttl_ms=1000)


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("ttl_ms", [None, 0, -5, 2**53 - 1])
def test_tasks_without_a_positive_ttl_never_expire(kind: Any, ttl_ms: int | None) -> None:
    clock = Clock()

    async def scenario(store: Any) -> None:
        task_id = (await store.create_task()).task_id
        clock.now = datetime(9999, 12, 31, tzinfo=UTC)
        assert (await store.get_task(task_id)).ttl_ms == ttl_ms

    run(kind, scenario, clock=clock, default_ttl_ms=ttl_ms)


@pytest.mark.parametrize("kind", STORES)
def test_last_updated_at_never_goes_back(kind: Any) -> None:
    clock = Clock()

    async def scenario(store: Any) -> None:
        task_id = (await store.create_task()).task_id
        clock.advance(-60_000)
        await store.set_input_requests(task_id, {"a": 1})
        await store.resolve_input_requests(task_id, {"a": 1})
        await store.set_completed(task_id, 1)
        record = await store.get_task(task_id)
        assert (record.status, record.last_updated_at) == ("completed", START)

    run(kind, scenario, clock=clock)


@pytest.mark.parametrize("kind", STORES)
def test_ids_are_new_and_random(kind: Any) -> None:
    async def scenario(store: Any) -> None:
        ids = {(await store.create_task()).task_id for _ in range(200)}
        assert len(ids) == 200
        assert min(map(len, ids)) >= 22

    run(kind, scenario)


@pytest.mark.parametrize("kind", STORES)
def test_wrong_arguments_are_refused_and_change_nothing(kind: Any) -> None:
    for options, error in (
        ({"clock": 5}, TypeError),
        ({"default_ttl_ms": True}, TypeError),
        ({"default_ttl_ms": "1"}, TypeError),
        ({"default_ttl_ms": 2**53}, ValueError),
    ):
        with pytest.raises(error, match=r"clock|default_ttl_ms"):
            kind(**options)

    async def scenario(store: Any) -> None:
        task_id = (await store.create_task()).task_id
        with pytest.raises(TypeError, match="task_id must be a str"):
            await store.get_task(5)
        with pytest.raises(TypeError, match="must be a mapping"):
            await store.set_input_requests(task_id, ["a"])
        with pytest.raises(TypeError, match="keys of input_requests"):
            await store.set_input_requests(task_id, {1: 1})
        with pytest.raises(TypeError, match="input_responses\\['a'\\] is not a JSON value"):
            await store.resolve_input_requests(task_id, {"a": object()})
        with pytest.raises(ValueError, match="result must not be null"):
            await store.set_completed(task_id, None)
        with pytest.raises(ValueError, match="error is not a JSON value"):
            await store.set_failed(task_id, float("nan"))
        with pytest.raises(TypeError, match="listener must be callable"):
            store.store.on_input_response(None)
        assert (await store.get_task(task_id)).status == "working"

    run(kind, scenario)


@pytest.mark.parametrize("kind", STORES)
def test_a_naive_clock_is_refused(kind: Any) -> None:
    async def scenario(store: Any) -> None:
        with pytest.raises(ValueError, match="timezone-aware"):
            await store.create_task()

    run(kind, scenario, clock=lambda: datetime(2026, 7, 28))


@pytest.mark.parametrize("kind", [ThreadSafeTaskStore, SqliteTaskStore])
def test_threads_lose_nothing_and_one_of_them_ends_the_task(kind: Any) -> None:
    store = kind()
    events: list[InputResponse] = []
    store.on_input_response(events.append)
    task_id = store.create_task().task_id
    wins: list[bool] = []

    def in_threads(work: Callable[[int], Any]) -> None:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    in_threads(lambda number: store.set_input_requests(task_id, {f"k{number}": number}))
    assert len(store.get_task(task_id).input_requests) == 8
    in_threads(lambda number: store.resolve_input_requests(task_id, {f"k{number}": number}))
    assert store.get_task(task_id).status == "working"
    assert sorted(event.request_id for event in events) == [f"k{number}" for number in range(8)]
    in_threads(lambda number: wins.append(store.set_cancelled(task_id)))
    assert sorted(wins) == [False] * 7 + [True]
    store.close()


def test_cancelling_a_call_of_the_memory_store_leaves_the_state_whole() -> None:
    async def scenario(store: Any) -> None:
        task_id = (await store.create_task()).task_id
        store.store.on_input_response(lambda event: asyncio.sleep(3600))
        await store.set_input_requests(task_id, {"a": 1})
        call = asyncio.create_task(store.resolve_input_requests(task_id, {"a": 1}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await store.get_task(task_id)).status == "working"

    run(MemoryTaskStore, scenario)


def test_sqlite_data_survive_a_restart_and_are_shared(tmp_path: Path) -> None:
    one, two = SqliteTaskStore(location=tmp_path), SqliteTaskStore(location=str(tmp_path), default_ttl_ms=5)
    events: list[InputResponse] = []
    remove = one.on_input_response(events.append)
    task_id = one.create_task().task_id
    two.set_input_requests(task_id, {"a": 1, "b": 2})
    assert (record := one.get_task(task_id)) is not None
    assert record.input_requests == {"a": 1, "b": 2}
    assert record.ttl_ms is None
    two.resolve_input_requests(task_id, {"a": 3})
    assert events == []
    one.get_task("some call")
    assert events == [InputResponse(task_id, "a", 3)]
    two.resolve_input_requests(task_id, {"b": 4})
    remove()
    assert events[1:] == [InputResponse(task_id, "b", 4)]
    assert one.set_cancelled(task_id)
    assert not two.set_cancelled(task_id)
    one.close()
    two.close()
    two.close()
    remove()
    with pytest.raises(RuntimeError, match="closed"):
        two.get_task(task_id)
    three = SqliteTaskStore(location=tmp_path)
    assert (record := three.get_task(task_id)) is not None
    assert record.status == "cancelled"
    three.close()


def test_a_new_sqlite_listener_hears_nothing_of_before(tmp_path: Path) -> None:
    store = SqliteTaskStore(location=tmp_path)
    task_id = store.create_task().task_id
    store.set_input_requests(task_id, {"a": 1})
    store.resolve_input_requests(task_id, {"a": 1})
    events: list[InputResponse] = []
    store.on_input_response(events.append)
    store.get_task(task_id)
    store.close()
    assert events == []


def test_a_sqlite_location_must_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="existing directory"):
        SqliteTaskStore(location=tmp_path / "absent")


def _work(location: str, number: int) -> None:
    store = SqliteTaskStore(location=location)
    task_id = store.create_task().task_id
    for step in range(20):
        store.set_input_requests(task_id, {f"{number}.{step}": step})
    (Path(location) / f"id{number}").write_text(task_id)
    store.close()


def test_sqlite_processes_share_a_fresh_location(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_work, args=(str(tmp_path), number)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    store = SqliteTaskStore(location=tmp_path)
    for number in range(3):
        record = store.get_task((tmp_path / f"id{number}").read_text())
        assert record is not None
        assert record.input_requests is not None
        assert len(record.input_requests) == 20
    store.close()
