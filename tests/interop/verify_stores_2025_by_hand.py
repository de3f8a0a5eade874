"""What three stores of 2025-11-25 do against the specification, shown without the suite.

    python verify_stores_2025_by_hand.py mcp                     # needs mcp==1.30.0; the SDK alone
    python verify_stores_2025_by_hand.py typescript CMD …        # a raw conversation with the bridge CMD
    python verify_stores_2025_by_hand.py rust CMD …

Nothing of this project is imported.  Exit code 0: all of it is still what the installed version does.  With
``--fingerprints`` after the name it prints which findings of the suite these cases verify, and runs nothing.
"""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LONG = 2**31
"""Milliseconds: 24.8 days, one more than a signed 32-bit number holds."""


@dataclass(frozen=True)
class Case:
    run: Callable[[Any], Any]
    actual: Any
    """What it does."""
    why: str
    """What is wrong with that, and where it says so."""
    fingerprints: tuple[str, ...] = ()


# --- over a bridge -----------------------------------------------------------------------------


class Conversation:
    """A bridge process and the requests sent to it, one after the other."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._count = 0
        self.events: list[dict[str, Any]] = []
        self.ask("store/open")

    def ask(self, method: str, **params: Any) -> Any:
        """The result, or the error's message as a text that begins with ``error``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._count += 1
        request = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        while True:
            answer = json.loads(self._process.stdout.readline())
            if "method" in answer:
                self.events.append(answer["params"])
            elif answer["id"] == self._count:
                return f"error: {answer['error']['message']}" if "error" in answer else answer["result"]

    def create(self, session: str | None = None, **options: Any) -> str:
        request = {"method": "tools/call", "params": {"name": "n", "arguments": {}}}
        more = {} if session is None else {"sessionId": session}
        task: dict[str, str] = self.ask("store25/create", options=options, requestId=1, request=request, **more)
        return task["taskId"]

    def end(self, task: str, status: str, result: int) -> None:
        if status == "cancelled":
            self.ask("store25/updateStatus", taskId=task, status=status)
        else:
            self.ask("store25/storeResult", taskId=task, status=status, result={"n": result})

    def status(self, task: str) -> str:
        found = self.ask("store25/get", taskId=task)
        return "none" if found is None else str(found["status"])

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


ENDS = ("completed", "failed", "cancelled")


def rust_statuses(talk: Conversation) -> dict[str, str]:
    """After each end, each other status set: what a read shows then."""
    shown = {}
    for end in ENDS:
        for status in ("working", "input_required", *ENDS):
            if status != end:
                task = talk.create()
                talk.end(task, end, 1)
                talk.ask("store25/updateStatus", taskId=task, status=status)
                shown[f"{end}, then {status}"] = talk.status(task)
    return shown


def rust_results(talk: Conversation) -> dict[str, str]:
    """After each end, a result stored: status and result that reads show then."""
    shown = {}
    for end in ENDS:
        for status in ("completed", "failed"):
            task = talk.create()
            talk.end(task, end, 1)
            talk.end(task, status, 2)
            result = talk.ask("store25/getResult", taskId=task)
            shown[f"{end}, then {status}"] = f"{talk.status(task)} {result['n']}"
    return shown


def rust_ids(talk: Conversation) -> bool:
    """Whether ids are a number in base64 that counts up by one."""
    numbers = []
    for _ in range(5):
        text = talk.create().removeprefix("tsk")
        numbers.append(int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), "big"))
    steps = {later - earlier for earlier, later in zip(numbers, numbers[1:], strict=False)}
    return len(steps) == 1


def rust_cursor(talk: Conversation) -> int:
    """How many tasks a cursor brings that the store never gave."""
    talk.create("c")
    return len(talk.ask("store25/list", sessionId="c", cursor="no-such-cursor")["tasks"])


def rust_events(talk: Conversation) -> list[str]:
    """The status that the event of each change tells: to input_required, to working, to cancelled."""
    task = talk.create()
    talk.events.clear()
    for status in ("input_required", "working", "cancelled"):
        talk.ask("store25/updateStatus", taskId=task, status=status)
    time.sleep(0.1)
    talk.status(task)
    return [event["status"] for event in talk.events]


def typescript_ttl(talk: Conversation) -> dict[str, str]:
    """For lifetimes of about 25 days: the status a moment after the creation."""
    tasks = {name: talk.create(ttl=ttl) for name, ttl in (("2^31 - 1", LONG - 1), ("2^31", LONG), ("2^32", 2 * LONG))}
    time.sleep(0.1)
    return {name: talk.status(task) for name, task in tasks.items()}


def typescript_sessions(talk: Conversation) -> dict[str, Any]:
    """Who sees the task of a session."""
    task = talk.create("a")
    listed = talk.ask("store25/list")["tasks"]
    return {
        "get with another session": talk.ask("store25/get", taskId=task, sessionId="b"),
        "get without one": talk.status(task),
        "listed without one": task in [item["taskId"] for item in listed],
    }


def typescript_ended(talk: Conversation) -> dict[str, str]:
    """After each end, a result stored: the status, and whose result it is."""
    shown = {}
    for end in ENDS:
        task = talk.create()
        talk.end(task, end, 1)
        talk.end(task, "failed", 2)
        result = talk.ask("store25/getResult", taskId=task)
        shown[end] = f"{talk.status(task)} {'no result' if result is None else result['n']}"
    return shown


# --- PyPI mcp, with the SDK alone --------------------------------------------------------------


async def python_results(_: Any) -> dict[str, str]:
    from mcp.shared.experimental.tasks.in_memory_task_store import InMemoryTaskStore
    from mcp.types import CallToolResult, TaskMetadata

    def result(number: int) -> CallToolResult:
        return CallToolResult(content=[], structuredContent={"n": number})

    shown = {}
    for end in ENDS:
        for status in ("completed", "failed"):
            for with_result in (True, False) if end != "cancelled" else (False,):
                store = InMemoryTaskStore()
                task = (await store.create_task(TaskMetadata(ttl=None))).taskId
                if with_result:
                    await store.store_result(task, result(1))
                await store.update_task(task, status=end)  # type: ignore[arg-type]
                await store.store_result(task, result(2))
                try:
                    await store.update_task(task, status=status)  # type: ignore[arg-type]
                    told = "returns"
                except ValueError:
                    told = "raises"
                left: Any = await store.get_result(task)
                found = await store.get_task(task)
                assert found is not None
                name = f"{end} {'with' if with_result else 'without'} result, then {status}"
                shown[name] = f"{told}; {found.status} {left.structuredContent['n']}"
    return shown


async def python_shared(_: Any) -> dict[str, Any]:
    from mcp.shared.experimental.tasks.in_memory_task_store import InMemoryTaskStore
    from mcp.types import CallToolResult, TaskMetadata

    store = InMemoryTaskStore()
    shown = {}
    for how in ("returned", "given"):
        task = (await store.create_task(TaskMetadata(ttl=None))).taskId
        given = CallToolResult(content=[], structuredContent={"n": 1})
        await store.store_result(task, given)
        await store.update_task(task, status="completed")
        held: Any = given if how == "given" else await store.get_result(task)
        held.structuredContent["n"] = "changed"
        read: Any = await store.get_result(task)
        shown[how] = read.structuredContent["n"]
    return shown


async def python_waiters(_: Any) -> list[bool]:
    """Which of two waiters for one task are woken by its end."""
    from mcp.shared.experimental.tasks.in_memory_task_store import InMemoryTaskStore
    from mcp.types import TaskMetadata

    store = InMemoryTaskStore()
    task = (await store.create_task(TaskMetadata(ttl=None))).taskId
    waiters = [asyncio.create_task(store.wait_for_update(task)) for _ in range(2)]
    await asyncio.sleep(0)
    await store.update_task(task, status="completed")
    await asyncio.wait(waiters, timeout=0.2)
    return [waiter.done() for waiter in waiters]


# --- what is recorded --------------------------------------------------------------------------

LIFECYCLE = "basic/utilities/tasks.mdx, 'Task Status Lifecycle': a task in a terminal status must not change it"
MUTATORS = ("update-working", "update-input_required", "update-completed", "update-failed", "update-cancelled")
RECORDED: dict[str, dict[str, Case]] = {
    "rust": {
        "update_task_status overwrites every end": Case(
            rust_statuses,
            {
                f"{end}, then {status}": status
                for end in ENDS
                for status in ("working", "input_required", *ENDS)
                if status != end
            },
            LIFECYCLE,
            tuple(
                f"store25.status.terminal/{name}/{end}/status"
                for name in MUTATORS
                for end in ENDS
                if not name.endswith(end)
            ),
        ),
        "store_task_result overwrites every end, and the result": Case(
            rust_results,
            {f"{end}, then {status}": f"{status} 2" for end in ENDS for status in ("completed", "failed")},
            f"{LIFECYCLE}; 'Result Retrieval': tasks/result must return what the request would have returned",
            (
                "store25.result.terminal/store-completed/completed/result",
                "store25.result.terminal/store-failed/failed/result",
                *(
                    f"store25.result.terminal/store-{status}/{end}/status"
                    for status, end in (
                        ("completed", "failed"),
                        ("completed", "cancelled"),
                        ("failed", "completed"),
                        ("failed", "cancelled"),
                    )
                ),
            ),
        ),
        "ids count up": Case(
            rust_ids,
            True,
            "'Task Isolation and Access Control': without a context ids must be hard to guess (a warning)",
            ("store25.create.id-unguessable/create/absent/identity",),
        ),
        "a cursor that was never given brings the first page": Case(
            rust_cursor,
            1,
            "'Protocol Errors': an invalid cursor is -32602, which a server cannot tell here (a warning)",
            ("store25.list.bad-cursor/list/list/return",),
        ),
        "the event of a change tells the status before it": Case(
            rust_events,
            ["working", "input_required", "working"],
            "TaskStatusSignal; update_task_status publishes before it sets the status (a warning)",
            ("store25.event.on-change/event/change/old-status",),
        ),
    },
    "typescript": {
        "a ttl of 2^31 ms or more is over at once": Case(
            typescript_ttl,
            {"2^31 - 1": "working", "2^31": "none", "2^32": "none"},
            "'TTL and Resource Management': a task may be deleted after its ttl; setTimeout takes 31 bits and fires at once",
            ("store25.ttl.no-early/create/working/life", "store25.ttl.no-early/reread/working/life"),
        ),
        "a caller without a session sees the tasks of all": Case(
            typescript_sessions,
            {"get with another session": None, "get without one": "working", "listed without one": True},
            "documented so; 'Task Isolation and Access Control' leaves it open (a warning)",
            (
                *(
                    f"store25.get.other-session/foreign-get/{status}/appears-unbound"
                    for status in ("working", "input_required", "completed")
                ),
                "store25.list.session/list/list/appears-unbound",
            ),
        ),
        "an end stays as it is": Case(
            typescript_ended,
            {"completed": "completed 1", "failed": "failed 1", "cancelled": "cancelled no result"},
            "as it must be",
        ),
    },
    "mcp": {
        "store_result replaces the result of every end": Case(
            lambda _: asyncio.run(python_results(None)),
            {
                "completed with result, then completed": "returns; completed 2",
                "completed without result, then completed": "returns; completed 2",
                "completed with result, then failed": "raises; completed 2",
                "completed without result, then failed": "raises; completed 2",
                "failed with result, then completed": "raises; failed 2",
                "failed without result, then completed": "raises; failed 2",
                "failed with result, then failed": "returns; failed 2",
                "failed without result, then failed": "returns; failed 2",
                "cancelled without result, then completed": "raises; cancelled 2",
                "cancelled without result, then failed": "raises; cancelled 2",
            },
            "'Result Retrieval': what tasks/result gives changes after the end; store_result never looks at the status",
            (
                "store25.result.terminal/store-completed/completed/result",
                "store25.result.terminal/store-failed/failed/result",
                "store25.result.terminal/store-completed/failed/result",
                "store25.result.terminal/store-failed/completed/result",
                "store25.result.terminal/store-completed/failed/stray",
                "store25.result.terminal/store-failed/completed/stray",
                "store25.result.terminal/store-completed/cancelled/stray",
                "store25.result.terminal/store-failed/cancelled/stray",
            ),
        ),
        "results are shared with reader and writer": Case(
            lambda _: asyncio.run(python_shared(None)),
            {"returned": "changed", "given": "changed"},
            "task_store.rs get_task gives copies (a warning)",
            ("store25.get.snapshot/tamper/completed/result", "store25.get.snapshot/tamper/failed/result"),
        ),
        "of two waiters for one task only the last is woken": Case(
            lambda _: asyncio.run(python_waiters(None)),
            [False, True],
            "left open for a store (STORE-AMB-6); over a server the first client's tasks/result never comes back",
        ),
    },
}


def main(name: str, command: list[str]) -> int:
    cases = RECORDED[name]
    if command == ["--fingerprints"]:
        print("\n".join(fingerprint for case in cases.values() for fingerprint in case.fingerprints))
        return 0
    wrong = 0
    for title, case in cases.items():
        talk = Conversation(command) if command else None
        try:
            actual = case.run(talk)
        finally:
            if talk is not None:
                talk.close()
        same = actual == case.actual
        wrong += not same
        print(f"{'as recorded' if same else 'CHANGED'}: {title}: {json.dumps(actual)}\n    {case.why}")
        if not same:
            print(f"    recorded was {json.dumps(case.actual)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
