"""Trying the tools of a 2025-11-25 server, to propose which of them does what in a mapping file.

The counterpart of :mod:`mcptasks.conformance.wire.trying`, which writes the file.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.wire.asking import tool_pages, tools_of
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.names import TERMINAL_STATUSES
from mcptasks.conformance.wire.problems import WireProblem
from mcptasks.conformance.wire.sample_arguments import sample_arguments
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.conformance.wire.trying import Found
from mcptasks.conformance.wire_2025.client import Client25
from mcptasks.conformance.wire_2025.session import Session
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["find_tools_25"]

_TTL_MS: Final = 600_000
_PAUSE_S: Final = 0.25
_QUESTIONS_S: Final = 0.5
"""Seconds in which the questions of a task that waits for input come."""


async def find_tools_25(spec: ServerSpec, version: str, *, tries: bool, seconds: float) -> list[Found]:
    """The tools of a server, and what each does if it is called as a task.

    Args:
        spec: the server.
        version: of the suite.
        tries: whether they are called; those that call themselves destructive never are.
        seconds: for which the task of each is watched.

    Raises:
        TargetUnusableError: the server cannot be talked to.
    """
    client = Client25(spec, spec.url, version=version)
    session = Session(client)
    try:
        reply = await session.open()
        if reply.error is not None:
            raise TargetUnusableError(f"{client.endpoint}: initialize is answered with error {reply.code}")
        return await _found(session, tries, seconds)
    except WireProblem as problem:
        line = problem.line if problem.kind == "unreachable" else f"{client.endpoint}: {problem.line}"
        raise TargetUnusableError(line) from problem
    finally:
        await session.close()
        await client.close()


async def _found(session: Session, tries: bool, seconds: float) -> list[Found]:
    out: list[Found] = []
    async for reply in tool_pages(lambda params: session.request("tools/list", params)):
        if reply.result is None:
            raise TargetUnusableError(f"{session.client.endpoint}: tools/list is answered with error {reply.code}")
        for shown in tools_of(reply):
            notes, execution = shown.get("annotations"), shown.get("execution")
            support = execution.get("taskSupport") if isinstance(execution, Mapping) else None
            destructive = isinstance(notes, Mapping) and notes.get("destructiveHint") is True
            tool = Found(shown["name"], sample_arguments(shown.get("inputSchema")), destructive=destructive)
            out.append(tool)
            if destructive:
                tool.did = "calls itself destructive: not tried"
            elif tries:
                await _try(session, tool, support in ("required", "optional"), seconds)
    return out


async def _try(session: Session, tool: Found, as_task: bool, seconds: float) -> None:
    params: dict[str, JSON] = {"name": tool.name, "arguments": tool.arguments}
    if as_task:
        params["task"] = {"ttl": _TTL_MS}
    first = len(session.questions)
    reply = await session.request("tools/call", params)
    result = reply.result
    if result is None:
        tool.did = f"is refused with error {reply.code}: {text_of((reply.error or {}).get('message'), 80)}"
        return
    task = result.get("task")
    task_id = task.get("taskId") if isinstance(task, Mapping) else None
    if not isinstance(task_id, str):
        tool.did = "makes no task"
        if result.get("isError") is not True:
            tool.role = "plain"
        return
    await _watch(session, tool, task_id, first, seconds)


async def _watch(session: Session, tool: Found, task_id: str, first: int, seconds: float) -> None:
    waiting = session.begin("tasks/result", {"taskId": task_id})
    ends = time.monotonic() + seconds
    status: Any = None
    while True:
        last = time.monotonic() >= ends  # what was read earlier says nothing of the end of the wait
        reply = await session.request("tasks/get", {"taskId": task_id})
        status = (reply.result or {}).get("status")
        if last or reply.result is None or status in TERMINAL_STATUSES or status == "input_required":
            break
        await session.client.pacer.sleep(_PAUSE_S)
    if status in ("completed", "failed"):
        await session.until(lambda: waiting.done, max(seconds, _QUESTIONS_S))
        tool.role, tool.did = _ended(waiting.reply, status)
    elif status == "input_required":
        several = max(seconds / 2, _QUESTIONS_S)
        await session.until(lambda: len(session.questions) - first > 1, several)
        count = len(session.questions) - first
        tool.role = "asks_more" if count > 1 else "asks"
        tool.did = f"makes a task that asks for {count} input{'s' if count != 1 else ''}"
    elif status == "working":
        tool.role, tool.did = "runs_long", f"makes a task that works for more than {seconds:g} s"
    else:
        tool.did = f"makes a task that shows status {text_of(status, 40)}"
    if status not in TERMINAL_STATUSES:
        await session.request("tasks/cancel", {"taskId": task_id})
    waiting.drop()
    for question in session.questions[first:]:
        await session.answer(question, None, {"code": -1, "message": "the tool was only tried"})


def _ended(reply: Reply | None, status: str) -> tuple[str, str]:
    """The role of a tool whose task has ended, and what it did in words."""
    if reply is not None and reply.result is not None and reply.result.get("isError") is True:
        return "tool_error", "makes a task whose result has isError"
    if status == "completed":
        return "completes", "makes a task that completes"
    return "fails", "makes a task that fails"
