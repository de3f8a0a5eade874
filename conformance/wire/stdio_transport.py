"""A server over stdio for a client that speaks HTTP: what it posts goes down the channel, what comes back is a response.

So everything that asks a server asks one over stdio in the same words.  The HTTP status stands for what an answer
is; nothing that is judged over stdio hangs on it (see :mod:`.stdio_scope`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Final

import httpx

from mcptasks.conformance.wire.names import METHOD_NOT_FOUND
from mcptasks.conformance.wire.problems import WireProblem
from mcptasks.conformance.wire.stdio_channel import Request, StdioChannel, readable

__all__ = ["STDIO_URL", "StdioTransport"]

STDIO_URL: Final = "http://stdio.invalid/"
"""Stands where a client wants a URL; nothing is looked up."""
_SILENCE_S: Final = 0.1
"""Seconds in which an answer to a notification would come."""
_OPENING_S: Final = 2.0
"""Seconds after which a subscription that is neither acknowledged nor refused counts as open."""
_STREAM: Final = {"content-type": "text/event-stream", "x-accel-buffering": "no"}


def _event(text: bytes) -> bytes:
    return b"data: " + text.replace(b"\n", b" ") + b"\n\n"


def _is_response(text: bytes) -> bool:
    value = json.loads(text)
    return "method" not in value


def _status(text: bytes) -> int:
    error = json.loads(text).get("error")
    if error is None:
        return 200
    return 404 if isinstance(error, dict) and error.get("code") == METHOD_NOT_FOUND else 400


class _Messages(httpx.AsyncByteStream):
    """The messages of one request as server-sent events."""

    def __init__(self, channel: StdioChannel, request: Request, first: asyncio.Future[bytes | None]) -> None:
        self._channel = channel
        self._request = request
        self._first = first

    async def __aiter__(self) -> AsyncIterator[bytes]:
        text = await self._first
        while text is not None:
            yield _event(text)
            if _is_response(text):
                return
            text = await self._request.next()

    async def aclose(self) -> None:
        """Leave: without a response the request is still under way."""
        if not self._first.done():
            self._first.cancel()
        elif not self._first.cancelled():
            self._first.exception()  # looked at, so that nobody warns of it
        self._channel.leave(self._request)


class StdioTransport(httpx.AsyncBaseTransport):
    """Transport of every client of one server; closing a client leaves the server as it is.

    Args:
        channel: to the server.
    """

    def __init__(self, channel: StdioChannel) -> None:
        self._channel = channel

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Serve one request.

        Raises:
            WireProblem: the server is gone, or its output cannot be read.
        """
        body = await request.aread()
        message = readable(body)
        if message is None:
            raise WireProblem("over-limit", "was not sent what is no MCP message: a client over stdio may not")
        if "id" not in message:
            told = await self._channel.notify(body, _SILENCE_S)
            return httpx.Response(202) if told is None else _json(told)
        under_way = await self._channel.request(message)
        try:
            if under_way.listens:
                return await self._listening(under_way)
            told_before: list[bytes] = []
            while (text := await under_way.next()) is not None:
                if _is_response(text):
                    if not told_before:
                        return _json(text)
                    return httpx.Response(200, headers=_STREAM, content=b"".join(map(_event, [*told_before, text])))
                told_before.append(text)
            raise WireProblem("closed", "cancels a request that is no subscription")
        except BaseException:
            self._channel.leave(under_way)
            raise

    async def _listening(self, request: Request) -> httpx.Response:
        first = asyncio.ensure_future(request.next())
        try:
            await asyncio.wait((first,), timeout=_OPENING_S)
        except BaseException:
            first.cancel()
            raise
        if first.done() and (text := first.result()) is not None and _is_response(text):
            return _json(text)
        return httpx.Response(200, headers=_STREAM, stream=_Messages(self._channel, request, first))


def _json(text: bytes) -> httpx.Response:
    return httpx.Response(_status(text), headers={"content-type": "application/json"}, content=text)
