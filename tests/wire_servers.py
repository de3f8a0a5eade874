"""Servers for tests that behave as no server should: raw sockets, one behaviour each."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
JSON_TYPE = "application/json"


async def read_request(reader: asyncio.StreamReader) -> dict[str, Any]:
    """One request: its JSON-RPC message (none has no members), its headers under ``headers``, its method under ``http``."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    lines = head.split("\r\n")[1:-2]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    message: dict[str, Any] = json.loads(body) if body else {}
    message["headers"] = headers
    message["http"] = head.partition(" ")[0]
    return message


def response(
    body: bytes, status: str = "200 OK", kind: str = JSON_TYPE, *more: str, length: int | None = None
) -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body) if length is None else length}"]
    return "\r\n".join([*head, *more, "", ""]).encode() + body


def result(request: dict[str, Any], value: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": value}).encode()


@contextmanager
def raw_server(handler: Handler) -> Iterator[str]:
    """The URL of a server on loopback whose connections ``handler`` serves, in a thread of its own."""
    started = threading.Event()
    box: dict[str, Any] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handler(reader, writer)
        with suppress(Exception):
            writer.close()

    async def main() -> None:
        box["stop"] = asyncio.Event()
        box["loop"] = asyncio.get_running_loop()
        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**20)
        box["port"] = server.sockets[0].getsockname()[1]
        started.set()
        await box["stop"].wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield f"http://127.0.0.1:{box['port']}/mcp"
    finally:
        box["loop"].call_soon_threadsafe(box["stop"].set)
        thread.join(10)


def always(answer: Callable[[dict[str, Any]], bytes]) -> Handler:
    """A handler that gives every request the bytes that ``answer`` makes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await read_request(reader)
            writer.write(answer(request))
            await writer.drain()

    return handle
