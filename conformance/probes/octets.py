"""A request written to a socket byte for byte, for what HTTP libraries put right by themselves."""

from __future__ import annotations

import asyncio
import http.client
import io
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx

from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.session import ProbeSession
from mcptasks.conformance.wire.json_text import BadTextError, decode, encode
from mcptasks.conformance.wire.sse import EventReader
from mcptasks.strategies.json_values import JSON

__all__ = ["exchange"]


class _Bytes:
    """What :mod:`http.client` takes for a socket."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


async def exchange(session: ProbeSession, message: dict[str, Any], headers: Mapping[str, str]) -> RawAnswer:
    """Send a message on a connection of its own, with header values that keep their blanks.

    Args:
        message: as :meth:`ProbeSession.message` makes it.
        headers: set over those that belong to the message.

    Raises:
        RequestsSpentError: no request is left.
    """
    parts = urlsplit(session.source.url)
    body = encode(message)
    lines = {**session.headers_of(message), **headers}
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in lines.items()]
    session.record("POST", pairs, body)
    host = parts.netloc.rpartition("@")[2]
    own = [(line.name.encode(), line.resolved().encode()) for line in session.source.spec.sent_headers]
    head = [
        f"POST {parts.path or '/'}{'?' + parts.query if parts.query else ''} HTTP/1.1".encode(),
        f"Host: {host}".encode(),
        f"Content-Length: {len(body)}".encode(),
        b"Connection: close",
        *(name + b": " + value for name, value in (*pairs, *own)),
    ]
    session.client.spend()
    await session.client.pacer.turn()
    started = time.monotonic()
    data, problem = b"", ""
    context = ssl.create_default_context() if parts.scheme == "https" else None
    port = parts.port or (443 if context else 80)
    try:
        async with asyncio.timeout(session.client.limits.answer_s):
            reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context)
            try:
                writer.write(b"\r\n".join([*head, b"", body]))
                while chunk := await reader.read(65536):
                    data += chunk
            finally:
                writer.close()
    except TimeoutError:
        problem = "gave no answer in time"
    except OSError as error:
        problem = f"closed the connection without an answer ({error})"
    return _answer(data, time.monotonic() - started, problem)


def _answer(data: bytes, seconds: float, problem: str) -> RawAnswer:
    response = http.client.HTTPResponse(_Bytes(data))  # type: ignore[arg-type]  # it asks for no more than makefile
    try:
        response.begin()
        body = response.read()
    except (http.client.HTTPException, OSError, ValueError):
        told = problem or "closed the connection without an answer"
        return RawAnswer(0, httpx.Headers(), b"", (), seconds, False, told)
    headers = httpx.Headers(response.getheaders())
    messages: list[JSON] = []
    streams = headers.get("content-type", "").lower().startswith("text/event-stream")
    for text in EventReader().feed(body) if streams else [body]:
        with suppress(BadTextError):
            messages.append(decode(text))
    return RawAnswer(response.status, headers, body, tuple(messages), seconds, not problem, problem)
