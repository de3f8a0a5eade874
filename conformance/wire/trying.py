"""Trying a server's tools, to propose which of them does what in a mapping file."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.wire.asking import ask, tool_pages, tools_of
from mcptasks.conformance.wire.client import WireClient
from mcptasks.conformance.wire.mapping import ROLES
from mcptasks.conformance.wire.names import TERMINAL_STATUSES
from mcptasks.conformance.wire.sample_arguments import sample_arguments
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["Found", "list_tools", "mapping_text", "try_tool"]

_PAUSE_S: Final = 0.25


@dataclass(slots=True)
class Found:
    """One tool, and what a call of it did."""

    name: str
    arguments: dict[str, JSON] = field(default_factory=dict)
    did: str = "not tried"
    """In words."""
    role: str | None = None
    """What it can be mapped to."""
    destructive: bool = False
    """It says so of itself, so it is not tried."""


async def list_tools(client: WireClient) -> list[Found]:
    """The tools that a server offers, each with arguments for a first call.

    Raises:
        TargetUnusableError: it does not tell.
    """
    out: list[Found] = []
    async for reply in tool_pages(lambda params: ask(client, "tools/list", params)):
        if reply.result is None:
            raise TargetUnusableError(f"{client.endpoint}: tools/list is answered with error {reply.code}")
        for tool in tools_of(reply):
            notes = tool.get("annotations")
            destructive = isinstance(notes, Mapping) and notes.get("destructiveHint") is True
            out.append(Found(tool["name"], sample_arguments(tool.get("inputSchema")), destructive=destructive))
    return out


async def try_tool(client: WireClient, tool: Found, seconds: float) -> None:
    """Call a tool, watch its task for some seconds, cancel what is left of it, and note what it did.

    Raises:
        TargetUnusableError: the server cannot be talked to any more.
    """
    reply = await ask(client, "tools/call", {"name": tool.name, "arguments": tool.arguments})
    result = reply.result
    if result is None:
        tool.did = f"is refused with error {reply.code}: {text_of((reply.error or {}).get('message'), 80)}"
        return
    task_id = result.get("taskId")
    if result.get("resultType") != "task" or not isinstance(task_id, str):
        kind = result.get("resultType", "complete")
        tool.did = "asks before it makes a task" if kind == "input_required" else "makes no task"
        if kind == "complete" and result.get("isError") is not True:
            tool.role = "plain"
        return
    await _watch(client, tool, task_id, seconds)


async def _watch(client: WireClient, tool: Found, task_id: str, seconds: float) -> None:
    ends = time.monotonic() + seconds
    shown: dict[str, Any] = {}
    while True:
        last = time.monotonic() >= ends  # what was read earlier says nothing of the end of the wait
        reply = await ask(client, "tasks/get", {"taskId": task_id})
        shown = reply.result or {}
        status = shown.get("status")
        if last or reply.result is None or status in TERMINAL_STATUSES or status == "input_required":
            break
        await client.pacer.sleep(_PAUSE_S)
    status = shown.get("status")
    if status == "completed":
        failing = isinstance(shown.get("result"), Mapping) and shown["result"].get("isError") is True
        tool.role = "tool_error" if failing else "completes"
        tool.did = "makes a task that completes" + (" with isError" if failing else "")
    elif status == "failed":
        tool.role, tool.did = "fails", "makes a task that fails"
    elif status == "input_required":
        asked = shown.get("inputRequests")
        count = len(asked) if isinstance(asked, Mapping) else 0
        tool.role = "asks_more" if count > 1 else "asks"
        tool.did = f"makes a task that asks for {count} input{'s' if count != 1 else ''}"
    elif status == "working":
        tool.role, tool.did = "runs_long", f"makes a task that works for more than {seconds:g} s"
    else:
        tool.did = f"makes a task that shows status {text_of(status, 40)}"
    if status not in TERMINAL_STATUSES:
        await ask(client, "tasks/cancel", {"taskId": task_id})


# --- the file ------------------------------------------------------------------------------------

_SAYS: Final[dict[str, str]] = {
    "completes": "its task completes by itself, soon",
    "tool_error": "its task completes with a result that has isError",
    "fails": "its task ends as failed",
    "asks": "its task asks for one input, and completes once it has it",
    "asks_more": "its task asks for two or more inputs at once",
    "runs_long": "its task works for at least ten seconds, and can be cancelled",
    "plain": "it answers at once, without a task, and does no harm",
}


def mapping_text(tools: Sequence[Found], endpoint: str) -> str:
    """A mapping file that says what the tools were seen to do, to be edited."""
    lines = [
        f"# Which tools of {_comment(endpoint)} do what, for: mcptasks run --url … --profile THIS_FILE",
        "# A role that no tool has is left out; what it would reach is then not exercised.",
        "# repeatable = true: the same call always ends in the same way, so a task is compared with a plain call.",
    ]
    for role in ROLES:
        lines += ["", f"# {role}: {_SAYS[role]}"]
        having = [tool for tool in tools if tool.role == role]
        if not having:
            lines += [f"# [tools.{role}]", '# name = "…"', "# arguments = {}"]
            continue
        lines += [f"[tools.{role}]", f"name = {_toml(having[0].name)}", f"arguments = {_toml(having[0].arguments)}"]
        if len(having) > 1:
            lines.append(f"# also: {', '.join(_comment(tool.name) for tool in having[1:])}")
    lines += ["", "# What was seen:"]
    lines += [f"#   {_comment(tool.name)}: {_comment(tool.did)}" for tool in tools]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    return text_of(text, 200)[1:-1]


def _toml(value: JSON) -> str:
    """A value inline; TOML has no null, so members that are null are left out."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        members = [f"{_toml(key)} = {_toml(item)}" for key, item in value.items() if item is not None]
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value if item is not None) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
