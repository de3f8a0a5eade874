"""Adapters without any foreign package: finding them, what they declare, how they wrap factories."""

from __future__ import annotations

import asyncio
import inspect
import sys
import types
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from mcptasks.conformance.adapters import Adapter, AdapterError, adapter_names, find_adapter
from mcptasks.conformance.cli import main


class Foreign:
    def __init__(self, *, clock: Any = None, size: int = 1) -> None:
        self.clock = clock
        self.size = size


class Wrapped:
    """A user's adapter: a class with declarations."""

    name = "shop"
    not_applicable = {"store.event.*": "no events here"}  # noqa: RUF012 - users write it like this
    missing_methods = ("on_input_response",)

    def __init__(self, store: Any, *, default_ttl_ms: int | None = None) -> None:
        self.store = store
        self.ttl = default_ttl_ms


def adapter() -> Adapter:
    return find_adapter(f"{__name__}:Wrapped")


def test_finding_the_built_in_adapter_imports_nothing_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, module)
    found = find_adapter("mcp")
    assert "mcp" not in sys.modules
    assert (found.name, found.revision, found.payloads) == ("mcp", "2026-07-28", "any")
    assert found.keywords == {"default_ttl_ms"}
    assert "mcp" in adapter_names()


def test_the_mcp_adapter_says_what_it_cannot_express() -> None:
    found = find_adapter("mcp")
    assert "input requests" in (found.reason_not_applicable("store.input.merge") or "")
    assert found.reason_not_applicable("store.event.payload")
    assert found.reason_not_applicable("store.completed.terminal-noop") is None
    assert found.missing_methods == {"set_input_requests", "resolve_input_requests", "on_input_response"}


def test_a_missing_sdk_is_one_line_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Complete:
        def create_task(self) -> None: ...

        get_task = update_task = store_result = get_result = create_task

    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.types", None)
    with pytest.raises(AdapterError, match=r"pip install mcp==1\.30\.0") as caught:
        find_adapter("mcp")(Complete())
    assert "\n" not in str(caught.value)


def test_an_object_that_is_no_sdk_store_is_told_what_it_lacks() -> None:
    with pytest.raises(AdapterError, match="it lacks create_task, get_task, update_task, store_result, get_result"):
        find_adapter("mcp")(object())


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("redis", "unknown adapter 'redis': known are mcp"),
        (":x", "unknown adapter"),
        ("no_such_module_at_all:x", "cannot import 'no_such_module_at_all'"),
        (f"{__name__}:nothing", "has no attribute 'nothing'"),
        (f"{__name__}:NOT_CALLABLE", "is not callable"),
        (f"{__name__}:WRONG_REVISION", "revision must be one of 2026-07-28, 2025-11-25"),
        (f"{__name__}:WRONG_PAYLOADS", "payloads must be one of any, call-tool-result"),
        (f"{__name__}:WRONG_GLOBS", "not_applicable must map globs"),
        (f"{__name__}:WRONG_NAMES", "missing_methods must be a collection"),
    ],
)
def test_bad_specs_are_one_clear_line(spec: str, words: str) -> None:
    with pytest.raises(AdapterError) as caught:
        find_adapter(spec)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def _declaring(**members: Any) -> Any:
    def wrap(store: Any) -> Any:
        return store

    for name, value in members.items():
        setattr(wrap, name, value)
    return wrap


NOT_CALLABLE = 3
WRONG_REVISION = _declaring(revision="2024-11-05")
WRONG_PAYLOADS = _declaring(payloads="some")
WRONG_GLOBS = _declaring(not_applicable=["store.input.*"])
WRONG_NAMES = _declaring(missing_methods="on_input_response")


def test_a_users_adapter_declares_by_attributes_and_signature() -> None:
    found = adapter()
    assert (found.name, found.revision, found.payloads) == ("shop", "2026-07-28", "any")
    assert found.keywords == {"default_ttl_ms"}
    assert found.missing_methods == {"on_input_response"}
    assert found.reason_not_applicable("store.event.payload") == "no events here"
    assert find_adapter(f"{__name__}:READY") is READY


READY = Adapter(name="ready", wrap=lambda store: store)


def test_a_wrapped_factory_names_both_sides_keywords() -> None:
    names = inspect.signature(adapter().factory(Foreign)).parameters
    assert set(names) == {"clock", "size", "default_ttl_ms"}
    wrapped = adapter().factory(Foreign)(clock="tick", size=3, default_ttl_ms=5)
    assert (wrapped.store.clock, wrapped.store.size, wrapped.ttl) == ("tick", 3, 5)


def test_var_keywords_of_a_factory_stay_var_keywords() -> None:
    def make(*args: Any, **options: Any) -> Foreign:
        return Foreign()

    parameters = inspect.signature(adapter().factory(make)).parameters
    assert {name: p.kind for name, p in parameters.items()} == {
        "default_ttl_ms": inspect.Parameter.KEYWORD_ONLY,
        "options": inspect.Parameter.VAR_KEYWORD,
    }


def test_an_instance_is_wrapped_as_it_is() -> None:
    foreign = Foreign()
    assert adapter().factory(foreign)(default_ttl_ms=7).store is foreign


def test_async_factories_and_context_managers_are_followed() -> None:
    closed: list[str] = []

    async def make(clock: Any = None) -> Foreign:
        return Foreign(clock=clock)

    @asynccontextmanager
    async def managed(clock: Any = None) -> AsyncIterator[Foreign]:
        yield Foreign(clock=clock)
        closed.append("async")

    @contextmanager
    def plainly_managed(clock: Any = None) -> Iterator[Foreign]:
        yield Foreign(clock=clock)
        closed.append("plain")

    async def late_manager(clock: Any = None) -> Any:
        return managed(clock)

    async def run() -> list[Any]:
        stores = [await adapter().factory(make)(clock=1, default_ttl_ms=9)]
        for factory in (managed, plainly_managed):
            async with adapter().factory(factory)(clock=1, default_ttl_ms=9) as store:
                stores.append(store)
        async with await adapter().factory(late_manager)(clock=1, default_ttl_ms=9) as store:
            stores.append(store)
        return stores

    assert [(s.store.clock, s.ttl) for s in asyncio.run(run())] == [(1, 9)] * 4
    assert closed == ["async", "plain", "async"]


def test_the_mcp_adapter_makes_the_sdks_calls_in_the_sdks_order(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    class Refused(Exception):
        def __init__(self, code: int) -> None:
            self.error = types.SimpleNamespace(code=code)

    async def cancel_task(store: Any, task_id: str) -> None:
        calls.append(f"cancel_task {task_id}")
        if task_id == "refused":
            raise Refused(-32602)
        if task_id == "raced":
            raise ValueError("terminal")
        if task_id == "broken":
            raise Refused(-32603)

    modules = {
        "mcp": types.ModuleType("mcp"),
        "mcp.types": types.SimpleNamespace(
            TaskMetadata=lambda ttl: types.SimpleNamespace(ttl=ttl),
            CallToolResult=types.SimpleNamespace,
            INVALID_PARAMS=-32602,
        ),
        "mcp.shared.experimental.tasks.helpers": types.SimpleNamespace(
            cancel_task=cancel_task, is_terminal=lambda status: status != "working"
        ),
        "mcp.shared.exceptions": types.SimpleNamespace(McpError=Refused),
    }
    for parent in ("mcp.shared", "mcp.shared.experimental", "mcp.shared.experimental.tasks"):
        modules[parent] = types.ModuleType(parent)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)

    class Recording:
        async def create_task(self, metadata: Any) -> Any:
            calls.append(f"create_task ttl={metadata.ttl}")
            return types.SimpleNamespace(
                taskId="a", status="working", createdAt=1, lastUpdatedAt=1, ttl=5, pollInterval=None, statusMessage=None
            )

        async def get_task(self, task_id: str) -> None:
            calls.append("get_task")

        async def store_result(self, task_id: str, result: Any) -> None:
            calls.append(f"store_result {result.structuredContent}")

        async def update_task(self, task_id: str, status: str, status_message: str | None = None) -> None:
            calls.append(f"update_task {status} {status_message}")

        async def get_result(self, task_id: str) -> None: ...

        async def close(self) -> None:
            calls.append("close")

    async def run() -> None:
        store: Any = find_adapter("mcp")(Recording(), default_ttl_ms=5)
        await store.create_task()
        assert await store.get_task("a") is None
        await store.set_completed("a", 1)
        await store.set_failed("a", {"code": 2})
        assert await store.set_cancelled("a") is True
        assert await store.set_cancelled("refused") is False
        assert await store.set_cancelled("raced") is False
        with pytest.raises(Refused):
            await store.set_cancelled("broken")
        await store.close()

    asyncio.run(run())
    assert calls == [
        "create_task ttl=5",
        "get_task",
        "store_result {'payload': 1}",
        "update_task completed None",
        'update_task failed {"error": {"code": 2}}',
        "cancel_task a",
        "cancel_task refused",
        "cancel_task raced",
        "cancel_task broken",
        "close",
    ]


def test_a_store_that_the_adapter_does_not_fit_is_a_mistake_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    reference = "mcptasks.fixtures.stores.memory:MemoryTaskStore"
    assert main(["run", "--store", reference, "--adapter", "mcp", "--no-report"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "is no mcp TaskStore: it lacks update_task" in told
    assert "Traceback" not in told
