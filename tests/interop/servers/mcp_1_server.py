"""A tasks server of PyPI ``mcp`` 1.x (revision 2025-11-25) with the suite's control tools.

``python mcp_1_server.py --port 0`` serves Streamable HTTP on loopback, prints the URL and runs until
it is ended.  Needs ``pip install mcp==1.30.0`` and nothing of this project.

Tasks are the SDK's own: ``server.experimental.enable_tasks()`` with its store, its queue and its
handlers of ``tasks/*``; ``validate_for_tool`` says who may call what, ``run_task`` runs the work, and
``elicit`` and ``create_message`` ask.  The tools add no behaviour: the work of a task does as it is
told by ``task_step``, also after the task was cancelled, since the SDK does not stop it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import warnings
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import anyio
import uvicorn
from anyio.streams.memory import MemoryObjectSendStream
from mcp import types
from mcp.server.experimental.task_context import ServerTaskContext
from mcp.server.fastmcp.server import StreamableHTTPASGIApp
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import McpError
from mcp.shared.experimental.tasks.helpers import is_terminal
from starlette.applications import Starlette
from starlette.routing import Route

warnings.filterwarnings("ignore", message="The experimental tasks API is deprecated")

server: Server[Any, Any] = Server("interop-mcp-1", version="1.0.0")
tasks = server.experimental.enable_tasks()

ANYTHING = {"type": "object"}
TOOLS = {
    tool.name: tool
    for tool in (
        types.Tool(
            name="task_open",
            description="Open a task that works until it is told otherwise",
            inputSchema=ANYTHING,
            execution=types.ToolExecution(taskSupport="required"),
        ),
        types.Tool(
            name="task_open_optional",
            description="The same; answers at once where no task is asked for",
            inputSchema=ANYTHING,
            execution=types.ToolExecution(taskSupport="optional"),
        ),
        types.Tool(
            name="task_step",
            description="Tell the work of a task what to do next",
            inputSchema={
                "type": "object",
                "properties": {"taskId": {"type": "string"}, "step": {"type": "object"}},
                "required": ["taskId", "step"],
            },
            execution=types.ToolExecution(taskSupport="forbidden"),
        ),
    )
}


@dataclass
class Work:
    """What runs behind one task: who opened it, the way to tell it a step, and the answers it got by key."""

    session: ServerSession
    steps: MemoryObjectSendStream[dict[str, Any]]
    answers: dict[str, Any] = field(default_factory=dict)


works: dict[str, Work] = {}


async def work(task: ServerTaskContext) -> types.CallToolResult:
    """Take steps until one of them ends the task."""
    send, receive = anyio.create_memory_object_stream[dict[str, Any]](100)
    mine = works[task.task_id] = Work(task._session, send)
    try:
        async with anyio.create_task_group() as questions:
            async for step in receive:
                if step["action"] == "request_input":
                    for key, request in step["requests"].items():
                        questions.start_soon(ask, task, mine, key, request)
                    continue
                # Work that ends does not wait for answers any more.
                questions.cancel_scope.cancel()
                break
    finally:
        del works[task.task_id]
    if step["action"] == "fail":
        raise McpError(types.ErrorData.model_validate(step["error"]))
    return types.CallToolResult.model_validate(step["result"])


async def ask(task: ServerTaskContext, mine: Work, key: str, request: dict[str, Any]) -> None:
    """Send one request to the client and note the result that comes back."""
    params = request.get("params", {})
    # An answer that is an error ends the question and nothing else.
    with contextlib.suppress(McpError):
        answer: types.Result
        if request["method"] == "elicitation/create":
            answer = await task.elicit(params["message"], params["requestedSchema"])
        else:
            messages = [types.SamplingMessage.model_validate(message) for message in params["messages"]]
            answer = await task.create_message(messages, max_tokens=params["maxTokens"])
        mine.answers[key] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    """The control tools."""
    return list(TOOLS.values())


@server.call_tool()
async def call_tool(name: str, arguments: dict[str, Any]) -> types.CallToolResult | types.CreateTaskResult:
    """Open a task, or tell one what to do."""
    context = server.request_context
    context.experimental.validate_for_tool(TOOLS[name])
    if name == "task_step":
        return await step_of(context.session, arguments["taskId"], arguments["step"])
    if not context.experimental.is_task:
        return types.CallToolResult(content=[types.TextContent(type="text", text="done without a task")])
    return await context.experimental.run_task(work)


async def step_of(session: ServerSession, task_id: str, step: dict[str, Any]) -> types.CallToolResult:
    """Hand a step to the work of a task of the same session."""
    running = works.get(task_id)
    if running is None or running.session is not session:
        return told({"applied": False})
    task = await tasks.store.get_task(task_id)
    running.steps.send_nowait(step)
    return told({"applied": task is not None and not is_terminal(task.status), "answers": running.answers})


def told(content: dict[str, Any]) -> types.CallToolResult:
    """A tool result with structured content."""
    return types.CallToolResult(content=[], structuredContent=content)


def app() -> Starlette:
    """The server over Streamable HTTP, with the SDK's defaults."""
    manager = StreamableHTTPSessionManager(server)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    return Starlette(routes=[Route("/mcp", StreamableHTTPASGIApp(manager))], lifespan=lifespan)


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
    asyncio.run(uvicorn.Server(uvicorn.Config(app(), log_level="warning")).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
