"""Tools that must, may or must not be called as tasks (MCP 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.engine.wire_tools import ToolProfile
from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped
from mcptasks.conformance.wire.names import INVALID_REQUEST, METHOD_NOT_FOUND
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_VALUES: Final = ("required", "optional", "forbidden")


@GROUP.probe("tool.values", "tasks25.tool.values")
async def values(session: ProbeSession25) -> None:
    """``execution.taskSupport`` is one of three values, where it is present."""
    reply = await session.request("tools/list", {})
    tools = (reply.result or {}).get("tools")
    if not isinstance(tools, list) or not tools:
        raise ProbeSkipped("tools/list shows no tools")
    for tool in tools:
        if not isinstance(tool, Mapping):
            continue
        execution = tool.get("execution")
        support = execution.get("taskSupport", "forbidden") if isinstance(execution, Mapping) else "forbidden"
        well = support in _VALUES and (execution is None or isinstance(execution, Mapping))
        shown = text_of(execution, 60) if not isinstance(execution, Mapping) else text_of(support, 60)
        session.check(
            "tasks25.tool.values",
            well,
            expected=f"execution.taskSupport absent, or one of {', '.join(_VALUES)}",
            actual=shown,
            message=f"the tool {text_of(tool.get('name'), 60)} has {shown} as execution.taskSupport",
        )


@GROUP.probe("tool.forbidden-error", "tasks25.tool.forbidden-error")
async def forbidden(session: ProbeSession25) -> None:
    """A tool that is never a task, called as one."""
    params = _of_support(session, "forbidden")
    reply = await session.request("tools/call", {**params, "task": {"ttl": 60_000}})
    session.check(
        "tasks25.tool.forbidden-error",
        reply.code == METHOD_NOT_FOUND,
        expected=f"error {METHOD_NOT_FOUND}",
        actual=session.told(reply),
        message=f"a call for a task of a tool that is never one is answered with {session.told(reply)}",
    )


@GROUP.probe("tool.required-error", "tasks25.tool.required-error")
async def required(session: ProbeSession25) -> None:
    """A tool that is always a task, called plainly; the section on errors offers another code (CON-10)."""
    params = _of_support(session, "required")
    reply = await session.request("tools/call", params, seconds=session.deadline + 1.0)
    told = session.told(reply)
    session.check(
        "tasks25.tool.required-error",
        reply.code == METHOD_NOT_FOUND,
        expected=f"error {METHOD_NOT_FOUND}",
        actual=told,
        message=f"a call without a task of a tool that requires one is answered with {told}",
        aspect="code" if reply.error is not None else "answer",
        warning=reply.code == INVALID_REQUEST,
    )


@GROUP.probe("tool.optional", "tasks25.cap.may-require-task", needs=frozenset({"optional"}))
async def optional(session: ProbeSession25) -> None:
    """A tool that may be a task, called plainly: served, or refused."""
    reply = await session.request("tools/call", {"name": "task_open_optional", "arguments": {}})
    session.check(
        "tasks25.cap.may-require-task",
        True,
        expected="a result, or an error",
        actual=session.told(reply),
        message="",
        choice="serves calls without a task" if reply.error is None else f"refuses them with {reply.code}",
    )


def _of_support(session: ProbeSession25, support: str) -> dict[str, JSON]:
    """A harmless call of a tool of that ``taskSupport``, of those that the suite may call.

    Raises:
        ProbeSkipped: there is none.
    """
    calls: list[dict[str, JSON]] = []
    profile = session.profile
    if isinstance(profile, Control):
        step: dict[str, JSON] = {"action": "complete", "result": {"content": []}}
        calls = [profile.opening("t1", []), profile.stepping("mcptasks-no-such-task", step)]
    elif isinstance(profile, ToolProfile):
        calls = [role.params for role in profile.roles.values()]
    for params in calls:
        if session.introduction.supports.get(str(params["name"])) == support:
            return params
    raise ProbeSkipped(f"none of the tools that the suite may call has taskSupport {support}")
