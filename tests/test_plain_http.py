"""The transport of plain connections: what is kept, what is closed, and how each way of breaking off is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace

import httpx
import pytest

from mcptasks.conformance.wire import plain_http
from mcptasks.conformance.wire.plain_http import PlainTransport
from mcptasks.fixtures.server import start_server
from mcptasks.fixtures.stores import MemoryTaskStore

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@asynccontextmanager
async def served(serve: Serve) -> AsyncIterator[tuple[str, list[object]]]:
    connections: list[object] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", connections
    finally:
        server.close()


async def request_of(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        (line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-l")), b"0"
    )
    return head + await reader.readexactly(int(length))


async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await request_of(reader)
        writer.write(OK)


async def ask(transport: PlainTransport, url: str, body: bytes = b"{}") -> bytes:
    response = await transport.handle_async_request(httpx.Request("POST", url, content=body))
    try:
        return b"".join([part async for part in response.aiter_bytes()])
    finally:
        await response.aclose()


def run(
    serve: Serve,
    asking: Callable[[PlainTransport, str], Awaitable[None]],
    *,
    kept: int = 2,
    idle_s: float = 60.0,
    trial_s: float = 0.0,
) -> int:
    """Ask; on how many connections that was."""

    async def all_of_it() -> int:
        transport = PlainTransport(kept=kept, idle_s=idle_s, trial_s=trial_s)
        async with served(serve) as (url, connections):
            try:
                async with asyncio.timeout(20):
                    await asking(transport, url)
            finally:
                await transport.aclose()
            return len(connections)

    return asyncio.run(all_of_it())


def test_a_connection_is_kept() -> None:
    async def asking(transport: PlainTransport, url: str) -> None:
        for _ in range(3):
            assert await ask(transport, url) == b"ok"

    assert run(answers, asking) == 1
    assert run(answers, asking, kept=0) == 3
    assert run(answers, asking, idle_s=-1.0) == 3


def test_requests_at_the_same_time_have_a_connection_each() -> None:
    async def asking(transport: PlainTransport, url: str) -> None:
        assert await asyncio.gather(*(ask(transport, url) for _ in range(5))) == [b"ok"] * 5
        assert await ask(transport, url) == b"ok"

    assert run(answers, asking) == 5


def test_a_connection_that_the_server_has_closed_is_not_used_again() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(OK)

    async def asking(transport: PlainTransport, url: str) -> None:
        for _ in range(2):
            assert await ask(transport, url) == b"ok"
            await asyncio.sleep(0.1)

    assert run(once, asking) == 2


@pytest.mark.parametrize(
    ("pauses", "connections"),
    [
        ((0.0, 0.0, 0.0, 0.0), 4),
        ((0.0, 0.9, 0.0, 0.0), 4),
        ((0.0, 1.1, 0.0, 0.0), 4),  # where all has stalled, a server that closes has not done so yet
        ((0.0, 1.1, 0.3, 0.0), 3),
        ((1.1, 0.3, 0.0, 0.0), 2),
    ],
)
def test_no_connection_is_used_again_before_one_has_lived_for_a_while(
    monkeypatch: pytest.MonkeyPatch, pauses: Sequence[float], connections: int
) -> None:
    now = [100.0]
    monkeypatch.setattr(plain_http, "time", SimpleNamespace(monotonic=lambda: now[0]))

    async def asking(transport: PlainTransport, url: str) -> None:
        for pause in pauses:
            assert await ask(transport, url) == b"ok"
            now[0] += pause

    assert run(answers, asking, trial_s=1.0) == connections


def test_a_server_that_closes_without_a_word_loses_no_request() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(OK)
        await asyncio.sleep(0.001)

    async def asking(transport: PlainTransport, url: str) -> None:
        for _ in range(200):
            assert await ask(transport, url) == b"ok"

    assert run(once, asking, trial_s=10.0) == 200


def test_what_follows_an_answer_is_no_other_answer() -> None:
    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(10):
            await request_of(reader)
            writer.write(OK.replace(b"ok", b"%02d" % number) + OK)

    async def asking(transport: PlainTransport, url: str) -> None:
        for _ in range(3):
            assert await ask(transport, url) == b"00"

    assert run(twice, asking) == 3


def test_an_answer_that_is_left_closes_its_connection() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n: x\n\r\n"
        )
        assert await reader.read() == b""  # the client has gone

    async def asking(transport: PlainTransport, url: str) -> None:
        response = await transport.handle_async_request(httpx.Request("POST", url, content=b"{}"))
        assert await anext(response.aiter_bytes()) == b": x\n"
        await response.aclose()
        await response.aclose()
        assert not transport._busy
        assert not transport._idle

    assert run(endless, asking) == 1


def test_an_answer_before_the_end_of_its_request() -> None:
    async def early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await asyncio.sleep(0.2)

    async def asking(transport: PlainTransport, url: str) -> None:
        response = await transport.handle_async_request(httpx.Request("POST", url, content=b"x" * 50_000_000))
        assert response.status_code == 413
        await response.aclose()

    assert run(early, asking) == 1


def test_an_answer_that_comes_faster_than_it_is_read() -> None:
    size = 20_000_000

    async def much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)
        await writer.drain()

    async def asking(transport: PlainTransport, url: str) -> None:
        response = await transport.handle_async_request(httpx.Request("POST", url, content=b"{}"))
        await asyncio.sleep(0.2)
        (connection,) = transport._busy
        assert sum(map(len, connection._protocol.chunks)) < 4_000_000  # the rest waits on the other side
        assert len(b"".join([part async for part in response.aiter_bytes()])) == size
        await response.aclose()

    assert run(much, asking) == 1


@pytest.mark.parametrize(
    ("sent", "error", "words"),
    [
        (b"", httpx.RemoteProtocolError, "disconnected without sending a response"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", httpx.RemoteProtocolError, "illegal status line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", httpx.RemoteProtocolError, "closed connection without"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, httpx.RemoteProtocolError, "too long|Receive buffer"),
    ],
)
def test_what_is_no_answer(sent: bytes, error: type[Exception], words: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(sent)

    async def asking(transport: PlainTransport, url: str) -> None:
        with pytest.raises(error, match=words):
            await ask(transport, url)
        assert not transport._busy
        assert not transport._idle

    run(serve, asking)


def test_nobody_listens() -> None:
    async def asking(transport: PlainTransport, url: str) -> None:
        with pytest.raises(httpx.ConnectError):
            await ask(transport, "http://127.0.0.1:1/mcp")
        with pytest.raises(httpx.UnsupportedProtocol):
            await ask(transport, url.replace("http:", "https:"))
        with pytest.raises(httpx.LocalProtocolError):
            await transport.handle_async_request(httpx.Request("POST", url, headers={"X": "a\nb"}, content=b"{}"))

    run(answers, asking)


def test_informational_answers_are_passed_over() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" + OK)

    async def asking(transport: PlainTransport, url: str) -> None:
        assert await ask(transport, url) == b"ok"

    run(serve, asking)


def test_head_and_body_leave_in_one_piece() -> None:
    pieces: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces.append(await reader.read(65536))
        writer.write(OK)

    async def asking(transport: PlainTransport, url: str) -> None:
        await ask(transport, url, b'{"n": 1}')

    run(serve, asking)
    assert pieces[0].endswith(b'{"n": 1}')


def test_the_reference_server_answers_in_one_piece() -> None:
    async def first_piece(host: str, port: int) -> bytes:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        try:
            async with asyncio.timeout(20):
                return await reader.read(65536)
        finally:
            writer.close()

    with start_server(MemoryTaskStore) as server:
        host, _, port = server.url.removeprefix("http://").partition("/")[0].partition(":")
        piece = asyncio.run(first_piece(host, int(port)))
    assert piece.startswith(b"HTTP/1.1 400")
    assert piece.endswith(b"}")
