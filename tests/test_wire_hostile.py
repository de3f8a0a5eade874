"""Servers that misbehave: each ends in one clear line, within bounded time and memory."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from wire_servers import JSON_TYPE, Handler, always, raw_server, read_request, response, result

from mcptasks.conformance.engine.wire_server import introduce
from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.wire.client import Limits, WireClient
from mcptasks.conformance.wire.spec import ServerSpec

LIMITS = Limits(body_bytes=1 << 20, answer_s=10.0, stream_end_s=0.1)
SHORT = Limits(body_bytes=1 << 20, answer_s=2.0, stream_end_s=0.1)
"""For what ends by the time it takes alone: enough for a machine that stalls, and waited for in full."""
SSE = "text/event-stream"


def event(data: bytes) -> bytes:
    return b"event: message\ndata: " + data + b"\n\n"


def line_of(handler: Handler, limits: Limits = LIMITS) -> str:
    """The one line with which a server behind ``handler`` is given up."""

    async def ask(url: str) -> str:
        spec = ServerSpec(url)
        async with WireClient(spec, url, limits=limits) as client:
            with pytest.raises(TargetUnusableError) as caught:
                await introduce(client, spec)
            return str(caught.value)

    with raw_server(handler) as url:
        started = time.monotonic()
        line = asyncio.run(ask(url))
    assert time.monotonic() - started < 25
    assert "\n" not in line
    assert line.startswith("http://127.0.0.1:")
    return line.partition("/mcp: ")[2]


async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(response(b"", length=1000))
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def sends_headers_forever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: 1\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)


async def closes_midway(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(response(b'{"jsonrpc"', length=500))
    await writer.drain()


async def is_huge(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    size = 100 * 2**20
    writer.write(response(b"", length=size))
    block = b" " * 2**16
    for _ in range(size // len(block)):
        writer.write(block)
        await writer.drain()


async def streams_for_ever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}).encode()
    while True:
        writer.write(event(note) + b": keep-alive\n\n")
        await writer.drain()
        await asyncio.sleep(0.01)


async def streams_without_line_ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")
    while True:
        writer.write(b"x" * 2**16)
        await writer.drain()


async def speaks_another_protocol(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(b"220 mail.example.com ESMTP\r\n\r\n")
    await writer.drain()


def twice(request: dict[str, Any]) -> bytes:
    body = result(request, {})
    return response(event(body) + event(body), "200 OK", SSE, "Connection: close")


HANDLERS: dict[str, tuple[Handler, str]] = {
    "says nothing": (says_nothing, "gave no answer to server/discover within 2 s"),
    "drips": (drips, "had not finished its answer to server/discover after 2 s"),
    "headers without end": (sends_headers_forever, "gave no answer to server/discover within 2 s"),
    "closes": (closes, "closed the connection without an answer"),
    "closes midway": (closes_midway, "closed the connection in the middle of its answer"),
    "100 MiB": (is_huge, "an answer is larger than 1 MiB"),
    "endless stream": (streams_for_ever, "with a stream that did not end within 2 s"),
    "endless line": (streams_without_line_ends, "larger than 1 MiB"),
    "no HTTP": (speaks_another_protocol, "does not speak HTTP"),
}

ANSWERS: dict[str, tuple[Callable[[dict[str, Any]], bytes], str]] = {
    "HTML": (
        lambda r: response(b"<html><body>Welcome</body></html>", "200 OK", "text/html"),
        'with HTTP 200 and text/html: "<html><body>Welcome',
    ),
    "no JSON": (lambda r: response(b"{'jsonrpc': 2}"), "is no JSON"),
    "invalid UTF-8": (lambda r: response(b'{"jsonrpc":"2.0","x":"\xff\xfe"}'), "is not UTF-8"),
    "lone surrogate": (lambda r: response(b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}'), "lone surrogate"),
    "nested": (lambda r: response(b"[" * 50_000 + b"]" * 50_000), "nests too deep"),
    "deep": (lambda r: response(b'{"a":' * 300 + b"1" + b"}" * 300), "levels deep"),
    "NaN": (lambda r: response(b'{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}'), "NaN, which is no JSON number"),
    "same member twice": (lambda r: response(b'{"jsonrpc":"2.0","jsonrpc":"2.0"}'), "twice in one object"),
    "two texts": (lambda r: response(result(r, {}) + result(r, {})), "more than one JSON text"),
    "batch": (lambda r: response(b"[" + result(r, {}) + b"," + result(r, {}) + b"]"), "an array of 2 messages"),
    "wrong id": (lambda r: response(result({"id": 99}, {})), "answers request 1 with 99"),
    "text id": (lambda r: response(result({"id": str(r["id"])}, {})), 'answers request 1 with "1"'),
    "both": (
        lambda r: response(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"a": 1}, "error": {}}).encode()),
        "both result and error",
    ),
    "neither": (lambda r: response(b'{"jsonrpc":"2.0","id":1}'), "neither result and error"),
    "result no object": (lambda r: response(result(r, [1])), "no object"),
    "error without code": (
        lambda r: response(json.dumps({"jsonrpc": "2.0", "id": r["id"], "error": {"message": "x"}}).encode()),
        "lacks an integer code",
    ),
    "two answers": (twice, "answered twice"),
    "stream without answer": (
        lambda r: response(b": nothing\n\n", "200 OK", SSE, "Connection: close"),
        "the stream ends without an answer",
    ),
    "redirect": (
        lambda r: response(b"", "307 Temporary Redirect", JSON_TYPE, "Location: http://127.0.0.1:1/other"),
        'a redirect to "http://127.0.0.1:1/other", which is not followed',
    ),
    "401": (lambda r: response(b"", "401 Unauthorized"), "HTTP 401 (give credentials with --header"),
    "403": (lambda r: response(b"no", "403 Forbidden", "text/plain"), "HTTP 403"),
    "404": (lambda r: response(b"", "404 Not Found", "text/plain"), "HTTP 404"),
    "500": (lambda r: response(b"oops", "500 Internal Server Error", "text/plain"), "HTTP 500 and text/plain"),
    "502": (lambda r: response(b"", "502 Bad Gateway", "text/html"), "HTTP 502"),
    "202": (lambda r: response(b"", "202 Accepted"), "HTTP 202"),
    "method not found": (
        lambda r: response(
            json.dumps({"jsonrpc": "2.0", "id": r["id"], "error": {"code": -32601, "message": "no"}}).encode(),
            "404 Not Found",
        ),
        "speaks no known revision",
    ),
    "old": (
        lambda r: response(
            json.dumps(
                {
                    "jsonrpc": "2.0",
                    "id": r["id"],
                    "error": {"code": -32022, "message": "no", "data": {"supported": ["2025-11-25"]}},
                }
            ).encode(),
            "400 Bad Request",
        ),
        'serves protocol versions ["2025-11-25"], not 2026-07-28',
    ),
}


@pytest.mark.parametrize("name", HANDLERS)
def test_one_line_for_a_connection_that_goes_wrong(name: str) -> None:
    handler, expected = HANDLERS[name]
    assert expected in line_of(handler, SHORT if "2 s" in expected else LIMITS)


@pytest.mark.parametrize("name", ANSWERS)
def test_one_line_for_an_answer_that_is_none(name: str) -> None:
    answer, expected = ANSWERS[name]
    assert expected in line_of(always(answer), Limits(answer_s=3, stream_end_s=0.1))


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"

    async def ask() -> str:
        async with WireClient(ServerSpec(url), url) as client:
            with pytest.raises(TargetUnusableError) as caught:
                await introduce(client, ServerSpec(url))
            return str(caught.value)

    assert asyncio.run(ask()) == f"nothing listens at {url}"


def test_too_many_requests_means_slower_not_failure() -> None:
    seen: list[float] = []

    def answer(request: dict[str, Any]) -> bytes:
        seen.append(time.monotonic())
        if len(seen) == 1:
            return response(b"slow down", "429 Too Many Requests", "text/plain", "Retry-After: 1")
        if len(seen) == 2:
            return response(b"", "503 Service Unavailable", "text/plain", "Retry-After: 0")
        return response(result(request, {"ok": True}))

    async def ask(url: str) -> WireClient:
        async with WireClient(ServerSpec(url), url, limits=LIMITS) as client:
            reply = await client.request("server/discover", {})
            assert reply.result == {"ok": True}
            return client

    with raw_server(always(answer)) as url:
        client = asyncio.run(ask(url))
    assert len(seen) == 3
    assert seen[1] - seen[0] >= 1
    assert client.pacer.slowed == 2
