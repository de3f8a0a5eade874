"""A tasks server of PyPI ``fastmcp[tasks]`` with the official fixture tools.

``python fastmcp_server.py --port 0`` serves Streamable HTTP on loopback (revision 2026-07-28, tasks
in the process' own memory), prints the URL and runs until it is ended.  Needs ``pip install
'fastmcp[tasks]==4.1.4'`` and nothing of this project.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from datetime import timedelta
from typing import Any

import mcp_types
import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension
from mcp.shared.exceptions import MCPError

POLL = timedelta(milliseconds=100)
OPTIONAL = TaskConfig(mode="optional", poll_interval=POLL)
REQUIRED = TaskConfig(mode="required", poll_interval=POLL)

mcp = FastMCP("interop-fastmcp", version="1.0.0")
mcp.add_extension(TasksExtension(url="memory://"))


def ask(message: str, name: str, kind: str) -> mcp_types.ElicitRequest:
    """An elicitation for one required property."""
    return mcp_types.ElicitRequest(
        params=mcp_types.ElicitRequestFormParams(
            message=message,
            requested_schema={"type": "object", "properties": {name: {"type": kind}}, "required": [name]},
        )
    )


def answer(context: Context, key: str, name: str) -> Any:
    """What the client answered for the property, or None for a declined or missing answer."""
    response = (context.input_responses or {}).get(key)
    content = response.get("content") if isinstance(response, dict) else getattr(response, "content", None)
    return (content or {}).get(name)


@mcp.tool
def greet(name: str = "world") -> str:
    """Say hello; never a task."""
    return f"Hello, {name}!"


@mcp.tool(task=OPTIONAL)
async def slow_compute(seconds: float = 1, label: str = "") -> str:
    """Sleep, then say so."""
    await asyncio.sleep(seconds)
    return f"computed {label} in {seconds} s"


@mcp.tool(task=REQUIRED)
async def failing_job() -> str:
    """End with a tool error; only as a task."""
    await asyncio.sleep(0.2)
    raise ToolError("the job failed")


@mcp.tool(task=OPTIONAL)
async def protocol_error_job() -> str:
    """End with a JSON-RPC error."""
    raise MCPError(code=mcp_types.INTERNAL_ERROR, message="the job broke the protocol", data={"reason": "fixture"})


@mcp.tool(task=OPTIONAL)
async def confirm_delete(context: Context, filename: str = "file.txt") -> str | mcp_types.InputRequiredResult:
    """Ask for a confirmation, then answer with it."""
    if context.input_responses is None:
        return mcp_types.InputRequiredResult(
            input_requests={"confirm": ask(f"Delete {filename}?", "confirm", "boolean")}
        )
    return f"deleted {filename}" if answer(context, "confirm", "confirm") else f"kept {filename}"


@mcp.tool(task=OPTIONAL)
async def multi_input(context: Context) -> str | mcp_types.InputRequiredResult:
    """Ask two questions at once, then answer with both names."""
    if context.input_responses is None:
        return mcp_types.InputRequiredResult(
            input_requests={
                "first": ask("First name?", "name", "string"),
                "second": ask("Second name?", "name", "string"),
            }
        )
    return f"first={answer(context, 'first', 'name')} second={answer(context, 'second', 'name')}"


@mcp.tool(name="test_tool_with_task", task=REQUIRED)
async def greet_in_a_task(user_name: str = "") -> str:
    """Ask for a name before the task is made, then greet in the task."""
    return f"Hello, {user_name}!"


class AskBeforeTheTask(Middleware):
    """Gather the name for ``test_tool_with_task`` first: a tool of fastmcp is a task from its first call on."""

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Answer the first round with a question; hand the answer of the second to the tool."""
        message = context.message
        if message.name != "test_tool_with_task":
            return await call_next(context)
        response = (message.input_responses or {}).get("user_name")
        if response is None:
            return InputRequiredToolResult(
                mcp_types.InputRequiredResult(input_requests={"user_name": ask("Your name?", "name", "string")})
            )
        arguments = {"user_name": str((getattr(response, "content", None) or {}).get("name", ""))}
        return await call_next(context.copy(message=message.model_copy(update={"arguments": arguments})))


mcp.add_middleware(AskBeforeTheTask())


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    # With the protocol left at 0 asyncio does not switch Nagle off, and every answer waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", parser.parse_args().port))
    listener.listen(128)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    server = uvicorn.Server(uvicorn.Config(mcp.http_app(path="/mcp"), log_level="warning"))
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
