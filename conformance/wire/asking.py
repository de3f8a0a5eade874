"""What is asked of a server before it is known whether it can be used at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.wire.client import Reply, WireClient
from mcptasks.conformance.wire.problems import WireProblem
from mcptasks.strategies.json_values import JSON

__all__ = ["ask", "tool_pages", "tools_of"]

_PAGES: Final = 20


async def ask(client: WireClient, method: str, params: Mapping[str, JSON]) -> Reply:
    """The answer to a request.

    Raises:
        TargetUnusableError: there is none that can be read.
    """
    try:
        return await client.request(method, params)
    except WireProblem as problem:
        line = problem.line if problem.kind == "unreachable" else f"{client.endpoint}: {problem.line}"
        raise TargetUnusableError(line) from problem


async def tool_pages(asking: Callable[[Mapping[str, JSON]], Awaitable[Reply]]) -> AsyncIterator[Reply]:
    """The answers to ``tools/list``, page after page; ``asking`` sends it with these parameters."""
    params: dict[str, JSON] = {}
    for _ in range(_PAGES):
        reply = await asking(params)
        yield reply
        cursor = (reply.result or {}).get("nextCursor")
        if not isinstance(cursor, str):
            return
        params = {"cursor": cursor}


def tools_of(reply: Reply) -> list[Mapping[str, Any]]:
    """The tools on a page that have a name."""
    tools = (reply.result or {}).get("tools")
    return [
        tool
        for tool in (tools if isinstance(tools, list) else [])
        if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)
    ]
