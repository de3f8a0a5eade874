"""What a server declares of tasks, and whether it keeps to that.

MCP 2025-11-25, basic/utilities/tasks, "Capabilities" and "Task Support and Handling".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.engine.wire_tools import ToolProfile
from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.names import METHOD_NOT_FOUND
from mcptasks.strategies.json_values import JSON

__all__ = ["GROUP", "WITHOUT_TASKS"]

GROUP: Final = ProbeGroup()

WITHOUT_TASKS: Final = frozenset({"cap.declare", "cap.requests-exhaustive", "cap.undeclared-ignores-task"})
"""Probes that also a server can be asked that declares no tasks for tool calls."""

_CANCEL: Final = "tasks25.cap.cancel-flag"
_LIST: Final = "tasks25.cap.list-flag"
_EXHAUSTIVE: Final = "tasks25.cap.requests-exhaustive"
_IGNORES: Final = "tasks25.cap.undeclared-ignores-task"


def _makes_task(reply: Reply) -> bool:
    result = reply.result or {}
    return isinstance(result.get("task"), Mapping) or isinstance(result.get("taskId"), str)


async def _asked_for_a_task(session: ProbeSession25) -> Reply:
    """The answer to a call of the tool that makes tasks, as one for a task."""
    params = session.creation()
    reply = await session.request("tools/call", params, creates="t1")
    if _makes_task(reply) and isinstance((reply.result or {}).get("task"), Mapping):
        session.adopt(reply, await session.session())
    return reply


@GROUP.probe("cap.declare", "tasks25.cap.declare")
async def declare(session: ProbeSession25) -> None:
    """A server that makes tasks says so at initialize."""
    declared = isinstance(session.introduction.capabilities.get("tasks"), Mapping)
    reply = await _asked_for_a_task(session)
    session.check(
        "tasks25.cap.declare",
        declared or not _makes_task(reply),
        expected="capabilities.tasks in the answer to initialize, or calls that are never tasks",
        actual="a task, and no capabilities.tasks",
        message="a tools/call is answered with a task by a server that declares no tasks at initialize",
    )


@GROUP.probe("cap.requests-exhaustive", _EXHAUSTIVE)
async def exhaustive(session: ProbeSession25) -> None:
    """Only requests that ``tasks.requests`` names become tasks."""
    if not session.introduction.declared:
        if not isinstance(session.introduction.capabilities.get("tasks"), Mapping):
            raise ProbeSkipped("the server declares no tasks at all")
        reply = await _asked_for_a_task(session)
        session.check(
            _EXHAUSTIVE,
            not _makes_task(reply),
            expected="an ordinary result: tasks.requests has no tools.call",
            actual="a task",
            message="a tools/call is answered with a task, and capabilities.tasks.requests does not name tools.call",
        )
        return
    reply = await session.request("tools/list", {"task": {"ttl": 60_000}})
    session.check(
        _EXHAUSTIVE,
        not _makes_task(reply),
        expected="the list of tools",
        actual=session.told(reply),
        message="a tools/list with a member task is answered with a task, which no capability covers",
        aspect="tools/list",
    )


@GROUP.probe("cap.undeclared-ignores-task", _IGNORES)
async def ignores(session: ProbeSession25) -> None:
    """A request of a type that is not declared is served as if it had no member ``task``."""
    if not session.introduction.declared:
        await _ignored_by_tools(session)
    reply = await session.request("tools/list", {"task": {"ttl": 60_000}})
    session.check(
        _IGNORES,
        _makes_task(reply) or isinstance((reply.result or {}).get("tools"), list),
        expected="the list of tools",
        actual=session.told(reply),
        message=f"a tools/list with a member task is answered with {session.told(reply)}",
        aspect="tools/list",
    )


async def _ignored_by_tools(session: ProbeSession25) -> None:
    params = _harmless(session)
    plain = await session.request("tools/call", params)
    if plain.error is not None:
        raise ProbeSkipped(f"a plain call of {params['name']} is refused with error {plain.code}")
    reply = await session.request("tools/call", {**params, "task": {"ttl": 60_000}})
    if reply.code == METHOD_NOT_FOUND:
        # What "Tool-Level Negotiation" asks for where a tool is never a task, whatever is declared.
        raise ProbeSkipped("the tool refuses to be called as a task")
    session.check(
        _IGNORES,
        reply.error is None,
        expected="the answer that the call gets without a member task",
        actual=session.told(reply),
        message=f"a tools/call with a member task is refused with {session.told(reply)}; without it is served",
    )


def _harmless(session: ProbeSession25) -> dict[str, Any]:
    """A call that changes nothing, or what the user has named as a plain one."""
    profile = session.profile
    if isinstance(profile, Control):
        step: dict[str, JSON] = {"action": "complete", "result": {"content": []}}
        return profile.stepping("mcptasks-no-such-task", step)
    if isinstance(profile, ToolProfile) and "plain" in profile.roles:
        return profile.roles["plain"].params
    raise ProbeSkipped("the mapping file names no tool that is plain")


@GROUP.probe("cap.list-flag", _LIST)
async def list_flag(session: ProbeSession25) -> None:
    """``tasks/list`` is served exactly where ``tasks.list`` is declared."""
    await session.open_task()
    reply = await session.request("tasks/list", {})
    if session.introduction.lists:
        session.check(
            _LIST,
            reply.code != METHOD_NOT_FOUND,
            expected="a list: tasks.list is declared",
            actual=session.told(reply),
            message="tasks.list is declared, and tasks/list is no method",
        )
    else:
        session.check(
            _LIST,
            reply.error is not None,
            expected="an error: tasks.list is not declared",
            actual=session.told(reply),
            message="tasks/list is served, and tasks.list is not declared",
        )


@GROUP.probe("cap.cancel-flag", _CANCEL)
async def cancel_flag(session: ProbeSession25) -> None:
    """``tasks/cancel`` is served exactly where ``tasks.cancel`` is declared."""
    task = await session.open_task()
    reply = await session.request("tasks/cancel", {"taskId": task.id})
    if session.introduction.cancels:
        session.check(
            _CANCEL,
            reply.code != METHOD_NOT_FOUND,
            expected="the cancelled task: tasks.cancel is declared",
            actual=session.told(reply),
            message="tasks.cancel is declared, and tasks/cancel is no method",
        )
    else:
        session.check(
            _CANCEL,
            reply.error is not None,
            expected="an error: tasks.cancel is not declared",
            actual=session.told(reply),
            message="tasks/cancel is served, and tasks.cancel is not declared",
        )
