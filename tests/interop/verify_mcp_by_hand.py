"""Deviations of the SDK's ``InMemoryTaskStore`` from the store contract, shown with the SDK alone.

Nothing of this project is imported: the calls are those that the SDK's own server code makes
(``TaskContext.complete``, ``TaskContext.fail``, ``cancel_task``).  Run it with
``pip install mcp==1.30.0 && python verify_mcp_by_hand.py``; exit code 0 means that every deviation
and every conforming behaviour listed here is still what the installed version does.  With
``--fingerprints`` it prints which findings of the suite these cases verify, and runs nothing.
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import McpError
from mcp.shared.experimental.tasks.context import TaskContext
from mcp.shared.experimental.tasks.helpers import cancel_task
from mcp.shared.experimental.tasks.in_memory_task_store import InMemoryTaskStore
from mcp.shared.memory import create_connected_server_and_client_session
from mcp.types import CallToolResult, TaskMetadata, TextContent, Tool, ToolExecution


def result_of(value: Any) -> CallToolResult:
    return CallToolResult(content=[], structuredContent={"value": value})


async def opened(ttl: int | None = None) -> tuple[InMemoryTaskStore, TaskContext]:
    store = InMemoryTaskStore()
    return store, TaskContext(task=await store.create_task(TaskMetadata(ttl=ttl)), store=store)


async def attempt(call: Awaitable[Any]) -> str:
    """What a call did, in words: ``returned`` or the exception."""
    try:
        await call
    except McpError as error:
        return f"McpError {error.error.code}"
    except Exception as error:
        return type(error).__name__
    return "returned"


async def seen(store: InMemoryTaskStore, task_id: str) -> str:
    """Status, status message and result of a task, as one text."""
    task = await store.get_task(task_id)
    if task is None:
        return "absent"
    result = await store.get_result(task_id)
    value = "none" if result is None else result.model_dump().get("structuredContent", {}).get("value")
    return f"{task.status}, message {task.statusMessage}, result {value}"


async def complete_twice() -> str:
    store, task = await opened()
    await task.complete(result_of("first"))
    second = await attempt(task.complete(result_of("second")))
    return f"{second}; {await seen(store, task.task_id)}"


async def complete_failed() -> str:
    store, task = await opened()
    await task.fail("broken")
    late = await attempt(task.complete(result_of("late")))
    return f"{late}; {await seen(store, task.task_id)}"


async def complete_cancelled() -> str:
    store, task = await opened()
    await cancel_task(store, task.task_id)
    late = await attempt(task.complete(result_of("late")))
    return f"{late}; {await seen(store, task.task_id)}"


async def fail_twice() -> str:
    store, task = await opened()
    await task.fail("first")
    second = await attempt(task.fail("second"))
    return f"{second}; {await seen(store, task.task_id)}"


async def fail_completed() -> str:
    store, task = await opened()
    await task.complete(result_of("first"))
    late = await attempt(task.fail("late"))
    return f"{late}; {await seen(store, task.task_id)}"


async def fail_cancelled() -> str:
    store, task = await opened()
    await cancel_task(store, task.task_id)
    late = await attempt(task.fail("late"))
    return f"{late}; {await seen(store, task.task_id)}"


async def change_returned_result() -> str:
    store, task = await opened()
    await task.complete(result_of("first"))
    returned = await store.get_result(task.task_id)
    assert isinstance(returned, CallToolResult)
    assert returned.structuredContent is not None
    returned.structuredContent["value"] = "changed by a reader"
    return await seen(store, task.task_id)


async def change_given_result() -> str:
    store, task = await opened()
    given = result_of(["first"])
    await task.complete(given)
    assert given.structuredContent is not None
    given.structuredContent["value"].append("added by the writer")
    return await seen(store, task.task_id)


async def cancel_twice() -> str:
    store, task = await opened()
    first = await attempt(cancel_task(store, task.task_id))
    second = await attempt(cancel_task(store, task.task_id))
    return f"{first}, {second}; {await seen(store, task.task_id)}"


async def unknown_ids() -> str:
    store, task = await opened()
    outcomes = []
    for bad in (task.task_id[:-1], task.task_id + "0", task.task_id.upper(), task.task_id + " "):
        outcomes += [
            await attempt(store.store_result(bad, result_of(1))),
            await attempt(store.update_task(bad, status="completed")),
            await attempt(store.update_task(bad, status="failed", status_message="x")),
            await attempt(cancel_task(store, bad)),
            await seen(store, bad),
        ]
    return ", ".join(sorted(set(outcomes))) + f"; {await seen(store, task.task_id)}"


async def records_are_copies() -> str:
    store, task = await opened()
    record = await store.get_task(task.task_id)
    assert record is not None
    record.status = "failed"
    old = await store.get_task(task.task_id)
    assert old is not None
    await task.complete(result_of(1))
    return f"{old.status}; {await seen(store, task.task_id)}"


async def expired_unseen() -> str:
    store, task = await opened(ttl=20)
    await asyncio.sleep(0.05)
    late = await attempt(task.complete(result_of("late")))
    return f"{late}; {await seen(store, task.task_id)}"


async def expired_seen_gone() -> str:
    store, task = await opened(ttl=20)
    await asyncio.sleep(0.05)
    gone = await seen(store, task.task_id)
    outcomes = [
        await attempt(task.complete(result_of("late"))),
        await attempt(task.fail("late")),
        await attempt(cancel_task(store, task.task_id)),
    ]
    return f"{gone}; {', '.join(outcomes)}; {await seen(store, task.task_id)}"


async def ttl_zero() -> str:
    store, task = await opened(ttl=0)
    return await seen(store, task.task_id)


async def ttl_huge() -> str:
    return await attempt(InMemoryTaskStore().create_task(TaskMetadata(ttl=10**15)))


async def server_after_late_completion() -> str:
    """A server with two tasks; the client cancels one, whose work then finishes all the same."""
    server: Server[Any, Any] = Server("late")
    server.experimental.enable_tasks()
    gate = anyio.Event()

    @server.list_tools()  # type: ignore[no-untyped-call, untyped-decorator]
    async def tools() -> list[Tool]:
        return [Tool(name="slow", inputSchema={"type": "object"}, execution=ToolExecution(taskSupport="required"))]

    @server.call_tool()  # type: ignore[untyped-decorator]
    async def call(name: str, arguments: dict[str, Any]) -> Any:
        async def work(task: Any) -> CallToolResult:
            await gate.wait()
            return CallToolResult(content=[TextContent(type="text", text="late")])

        return await server.request_context.experimental.run_task(work)

    try:
        async with create_connected_server_and_client_session(server) as client:
            doomed = await client.experimental.call_tool_as_task("slow", {})
            await client.experimental.cancel_task(doomed.task.taskId)
            gate.set()
            await anyio.sleep(0.2)
            with anyio.fail_after(5):
                return f"still serving, task {(await client.experimental.get_task(doomed.task.taskId)).status}"
    except BaseExceptionGroup as error:
        leaf: BaseException = error
        while isinstance(leaf, BaseExceptionGroup):
            leaf = leaf.exceptions[0]
        return f"server ended with {type(leaf).__name__}: {leaf}"


@dataclass(frozen=True)
class Case:
    requirement: str
    verdict: str
    sequence: str
    run: Callable[[], Awaitable[str]]
    expected: str
    actual: str
    shows: tuple[str, ...] = ()
    """Fingerprints of the findings of ``mcptasks run --adapter mcp`` that this case shows to be true."""


CASES = [
    Case(
        "store.completed.terminal-noop",
        "fail",
        "create, complete 'first', complete 'second', get",
        complete_twice,
        "completed, message None, result first",
        "returned; completed, message None, result second",
        ("store.completed.terminal-noop/complete/completed/payload",),
    ),
    Case(
        "store.completed.terminal-noop (or store.misc.payload-status)",
        "fail",
        "create, fail, complete 'late', get",
        complete_failed,
        "failed, message broken, result none",
        "ValueError; failed, message broken, result late",
        (
            "store.completed.terminal-noop/complete/failed/stray",
            "store.completed.terminal-noop/complete/failed/return",
        ),
    ),
    Case(
        "store.cancel.no-late-payload",
        "fail",
        "create, cancel, complete 'late', get",
        complete_cancelled,
        "cancelled, message None, result none",
        "ValueError; cancelled, message None, result late",
        (
            "store.cancel.no-late-payload/complete/cancelled/stray",
            "store.completed.terminal-noop/complete/cancelled/return",
        ),
    ),
    Case(
        "store.failed.terminal-noop",
        "fail",
        "create, fail 'first', fail 'second', get",
        fail_twice,
        "failed, message first, result none",
        "returned; failed, message second, result none",
        ("store.failed.terminal-noop/fail/failed/payload",),
    ),
    Case(
        "store.failed.terminal-noop",
        "warn",
        "create, complete, fail",
        fail_completed,
        "no exception",
        "ValueError; completed, message None, result first",
        ("store.failed.terminal-noop/fail/completed/return",),
    ),
    Case(
        "store.failed.terminal-noop",
        "warn",
        "create, cancel, fail",
        fail_cancelled,
        "no exception",
        "ValueError; cancelled, message None, result none",
        ("store.failed.terminal-noop/fail/cancelled/return",),
    ),
    Case(
        "store.get.snapshot",
        "warn",
        "create, complete, change what get returned, get",
        change_returned_result,
        "completed, message None, result first",
        "completed, message None, result changed by a reader",
        ("store.get.snapshot/tamper/completed/payload",),
    ),
    Case(
        "store.get.snapshot",
        "warn",
        "create, complete, change what was given, get",
        change_given_result,
        "completed, message None, result ['first']",
        "completed, message None, result ['first', 'added by the writer']",
        ("store.get.snapshot/tamper/completed/payload",),
    ),
    Case(
        "store.cancel.true, store.cancel.false-terminal",
        "conforms",
        "create, cancel, cancel, get",
        cancel_twice,
        "the second is refused",
        "returned, McpError -32602; cancelled, message None, result none",
    ),
    Case(
        "store.absent.stays-absent, store.get.absent-null, store.cancel.false-absent, store.*.absent",
        "conforms",
        "every operation on an id that never existed, get",
        unknown_ids,
        "raise or no-op; absent",
        "McpError -32602, ValueError, absent; working, message None, result none",
    ),
    Case(
        "store.get.old-snapshot-stable, store.get.snapshot (record)",
        "conforms",
        "create, get, change the record, get, complete",
        records_are_copies,
        "working; completed, message None, result 1",
        "working; completed, message None, result 1",
    ),
    Case(
        "store.ttl.mutate-expired",
        "conforms",
        "create with ttl 20 ms, wait, complete, get",
        expired_unseen,
        "as live or as absent",
        "returned; completed, message None, result late",
    ),
    Case(
        "store.ttl.after, store.ttl.gone-stays-gone",
        "conforms",
        "create with ttl 20 ms, wait, get, complete, fail, cancel, get",
        expired_seen_gone,
        "absent before and after",
        "absent; ValueError, ValueError, McpError -32602; absent",
    ),
    Case("store.ttl.nonpositive", "conforms", "create with ttl 0, get", ttl_zero, "either", "absent"),
    Case(
        "(beyond the contract)",
        "note",
        "create with a ttl of 10**15 ms",
        ttl_huge,
        "a task, or a smaller ttl",
        "OverflowError",
    ),
    Case(
        "(consequence of raising on a terminal task)",
        "note",
        "server: tools/call as task, tasks/cancel, then the work finishes",
        server_after_late_completion,
        "still serving, task cancelled",
        "server ended with ValueError: Cannot transition from terminal status 'cancelled'",
    ),
]


async def main() -> int:
    """Run all cases; 0 when each did what is recorded for it."""
    changed = 0
    print(f"mcp {version('mcp')}")
    for case in CASES:
        actual = await case.run()
        same = actual == case.actual
        changed += not same
        print(
            f"[{case.verdict}] {case.requirement}\n  {case.sequence}\n  expected: {case.expected}\n  actual:   {actual}"
        )
        if not same:
            print(f"  CHANGED, recorded was: {case.actual}")
    print(f"{len(CASES) - changed} of {len(CASES)} as recorded")
    return 1 if changed else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)
    if sys.argv[1:] == ["--fingerprints"]:
        print("\n".join(sorted({fingerprint for case in CASES for fingerprint in case.shows})))
    else:
        sys.exit(asyncio.run(main()))
