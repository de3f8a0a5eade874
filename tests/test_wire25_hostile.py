"""Servers of 2025-11-25 that behave as none should: each run ends in time, with one line or a finding."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from wire_campaigns import campaign, findings
from wire_servers import raw_server, read_request, response, result

INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
    "serverInfo": {"name": "hostile", "version": "1"},
}
TOOLS = {
    "tools": [
        {"name": name, "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}}
        for name, support in (("task_open", "required"), ("task_step", "forbidden"))
    ]
}
TASK = {
    "taskId": "b0a3c5d8e7f64c1f9a2b",
    "status": "working",
    "createdAt": "2025-11-25T10:30:00Z",
    "lastUpdatedAt": "2025-11-25T10:30:00Z",
    "ttl": None,
}


async def hang(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def garbage(writer: asyncio.StreamWriter) -> None:
    writer.write(response(b"<html>\xff", kind="text/html"))


async def broken(writer: asyncio.StreamWriter) -> None:
    writer.write(response(b"oops", "500 Internal Server Error", "text/plain"))


async def gone(writer: asyncio.StreamWriter) -> None:
    writer.write(response(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"x"}}', "404 Not Found"))


async def no_json(writer: asyncio.StreamWriter) -> None:
    writer.write(response(b'{"jsonrpc":"2.0","id":1,'))


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    while True:
        writer.write(b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n' * 50)
        await writer.drain()
        await asyncio.sleep(0.001)


async def empty_stream(writer: asyncio.StreamWriter) -> None:
    writer.write(response(b": nothing\n\n", kind="text/event-stream"))


async def redirect(writer: asyncio.StreamWriter) -> None:
    writer.write(response(b"", "307 Temporary Redirect", "text/plain", "Location: http://127.0.0.1:1/"))


def serve(method: str, misbehave: Any) -> Any:
    """A handler that serves all requests but those of one method, and the first of those that make a task."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made = 0
        while True:
            request = await read_request(reader)
            asked = request.get("method")
            name = request.get("params", {}).get("name")
            if request["http"] != "POST":
                writer.write(response(b"", "405 Method Not Allowed", "text/plain"))
            elif "id" not in request:
                writer.write(response(b"", "202 Accepted", "text/plain"))
            elif asked == method and name != "mcptasks_no_such_tool":
                await misbehave(writer)
            elif asked == "initialize":
                writer.write(response(result(request, INITIALIZED), "200 OK", "application/json", "Mcp-Session-Id: s1"))
            elif asked == "tools/list":
                writer.write(response(result(request, TOOLS)))
            elif asked == "tools/call" and name == "task_open":
                made += 1
                task = {**TASK, "taskId": f"{TASK['taskId']}-{id(writer)}-{made}"}
                writer.write(response(result(request, {"task": task})))
            else:
                error = {"code": -32602, "message": "no"}
                body = {"jsonrpc": "2.0", "id": request["id"], "error": error}
                writer.write(response(json.dumps(body).encode()))
            await writer.drain()

    return handle


ALL = [hang, close, garbage, broken, gone, no_json, endless, empty_stream, redirect]


@pytest.mark.parametrize("misbehave", ALL, ids=lambda item: item.__name__)
def test_a_server_that_cannot_be_introduced(misbehave: Any) -> None:
    with raw_server(serve("initialize", misbehave)) as url:
        started = time.monotonic()
        messages = campaign(url, 50, timeout=0.5)
        assert time.monotonic() - started < 30
    [failed] = [item for item in messages if item["kind"] == "failed"]
    assert failed["exit_code"] == 3
    assert "\n" not in failed["message"]
    assert findings(messages) == []


@pytest.mark.parametrize("misbehave", ALL, ids=lambda item: item.__name__)
def test_a_server_that_cannot_make_a_task(misbehave: Any) -> None:
    with raw_server(serve("tools/call", misbehave)) as url:
        started = time.monotonic()
        messages = campaign(url, 60, probes=False, timeout=0.5)
        assert time.monotonic() - started < 40
    failed = [item for item in messages if item["kind"] == "failed"]
    assert all(item["exit_code"] in (3, 4) for item in failed)
    requirements = {item["requirement"] for item in findings(messages)}
    assert requirements <= {"tasks25.err.internal", "tasks25.cap.list-flag", "rpc.version"}
    assert failed or requirements


def test_a_server_whose_gets_hang() -> None:
    with raw_server(serve("tasks/get", hang)) as url:
        started = time.monotonic()
        messages = campaign(url, 60, probes=False, timeout=0.5)
        assert time.monotonic() - started < 40
    assert "tasks25.err.internal" in {item["requirement"] for item in findings(messages)}


def test_a_server_without_tasks_is_inconclusive() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await read_request(reader)
            if "id" in request:
                bare = {**INITIALIZED, "capabilities": {"tools": {}}}
                ok = request["method"] == "initialize"
                body = result(request, bare) if ok else response_error(request)
                writer.write(response(body))
            else:
                writer.write(response(b"", "202 Accepted", "text/plain"))
            await writer.drain()

    def response_error(request: dict[str, Any]) -> bytes:
        error = {"code": -32601, "message": "no"}
        return json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode()

    with raw_server(handle) as url:
        [failed] = [item for item in campaign(url, 50) if item["kind"] == "failed"]
    assert failed["exit_code"] == 4
    assert "tasks.requests.tools.call" in failed["message"]
