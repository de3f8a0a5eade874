"""Requests that a client would not send, and their answers as they come: status, headers, bytes, messages."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import httpx

from mcptasks.conformance.wire.json_text import BadTextError, decode
from mcptasks.conformance.wire.problems import WireProblem
from mcptasks.conformance.wire.sending import HttpSender, sender_for
from mcptasks.conformance.wire.sse import EventReader
from mcptasks.conformance.wire.stdio_channel import StdioChannel
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["SILENT", "RawAnswer", "RawSender"]

_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of an answer that are read; no probe asks for more."""


@cache
def _verification() -> ssl.SSLContext:
    """Made once: reading the certificates takes longer than most probes."""
    return httpx.create_ssl_context()


SILENT: Final = "gave no answer in time"
"""Of an answer of which nothing came by the deadline."""


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """One HTTP answer."""

    status: int
    """Of HTTP; 0 if none came."""
    headers: httpx.Headers
    body: bytes
    messages: tuple[JSON, ...]
    """The JSON values in it: one of a JSON body, those of the events of a stream."""
    seconds: float
    """From sending to the last byte read."""
    ended: bool = True
    """Whether it was read to its end: false of a stream that was left, or at the deadline."""
    problem: str = ""
    """Why there is no answer, or only part of one, as a clause about the server."""
    stdio: bool = False
    """Whether it came over stdio: then HTTP status and headers stand for nothing."""

    @property
    def kind(self) -> str:
        """The media type, without parameters."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()

    @property
    def response(self) -> dict[str, Any] | None:
        """The one JSON-RPC response in it: a message with a result or an error."""
        found = [item for item in self.messages if isinstance(item, dict) and ("result" in item or "error" in item)]
        return found[0] if len(found) == 1 else None

    @property
    def result(self) -> dict[str, Any] | None:
        """The result, if it is an object and no error stands beside it."""
        found = self.response
        result = None if found is None or "error" in found else found["result"]
        return result if isinstance(result, dict) else None

    @property
    def error(self) -> dict[str, Any] | None:
        """The error, if it is an object with an integer code."""
        found = self.response
        error = None if found is None else found.get("error")
        return error if isinstance(error, dict) and type(error.get("code")) is int else None

    @property
    def code(self) -> int | None:
        """The error's code."""
        error = self.error
        return None if error is None else error["code"]

    @property
    def told(self) -> str:
        """The answer in a few words."""
        if not self.status:
            return self.problem
        error, result = self.error, self.result
        if error is not None:
            status = "" if self.stdio else f" (HTTP {self.status})"
            return f"error {error['code']}: {text_of(error.get('message'), 80)}{status}"
        if result is not None:
            return f"a result: {text_of(result, 120)}"
        shown = text_of(self.body[:80].decode("utf-8", "backslashreplace"), 100) if self.body else "no body"
        return f"HTTP {self.status}, {self.kind or 'no content type'}, {shown}"


class RawSender:
    """Sends requests byte for byte.

    Args:
        url: of the endpoint.
        answer_s: seconds that an answer may take.
        spend: counts a request that is sent once more, since its connection turns out to be closed.
        stdio: the channel to a server over stdio, instead of HTTP.
    """

    def __init__(self, url: str, answer_s: float, spend: Callable[[], None], stdio: StdioChannel | None = None) -> None:
        self._url = httpx.URL(url).copy_with(userinfo=b"")
        self._answer_s = answer_s
        self._spend = spend
        self._stdio = stdio
        self._clients: dict[bool, HttpSender] = {}

    def _client(self, fresh: bool) -> HttpSender:
        """The client that keeps its connections, or the one that makes a new one every time."""
        client = self._clients.get(fresh)
        if client is None:
            client = self._clients[fresh] = sender_for(
                self._url,
                kept=0 if fresh else 2,
                stdio=self._stdio,
                verify=_verification() if self._url.scheme == "https" else None,
            )
        return client

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            with suppress(Exception):
                await client.aclose()

    async def send(
        self,
        http_method: str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        *,
        fresh: bool = False,
        until: Callable[[Sequence[JSON]], bool] | None = None,
        seconds: float | None = None,
    ) -> RawAnswer:
        """One exchange.

        Args:
            fresh: on a connection of its own.
            until: told the messages of a stream so far, first of none when it opens; once it says so, the rest is
                left unread and the connection closed.
            seconds: that the answer may take, instead of the usual.

        Raises:
            WireProblem: nothing listens any more.
        """
        client = self._client(fresh)
        answer = await self._exchange(client, http_method, headers, body, until, seconds)
        if not fresh and not answer.status and "disconnected" in answer.problem:
            # A kept-alive connection may have been closed in the meantime; a second one is new.
            self._spend()
            answer = await self._exchange(client, http_method, headers, body, until, seconds)
        return answer

    async def _exchange(
        self,
        client: HttpSender,
        http_method: str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        until: Callable[[Sequence[JSON]], bool] | None,
        seconds: float | None,
    ) -> RawAnswer:
        reading = _Reading(until)
        started = time.monotonic()
        ended, problem = False, ""
        try:
            async with asyncio.timeout(self._answer_s if seconds is None else seconds):
                request = httpx.Request(http_method, self._url, headers=list(headers), content=body or None)
                if not body and http_method in ("POST", "PUT"):
                    request.headers["Content-Length"] = "0"
                response = await client.send(request)
                try:
                    ended = await reading.read(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            problem = SILENT if not reading.status else "did not finish its answer in time"
        except WireProblem as error:
            if error.kind == "unreachable":
                raise
            problem = error.text
        except httpx.ConnectError as error:
            raise WireProblem("unreachable", f"nothing listens at {self._url.host} any more") from error
        except (httpx.HTTPError, httpx.StreamError, ssl.SSLError, OSError) as error:
            problem = f"closed the connection without an answer ({text_of(str(error), 80)[1:-1]})"
        return RawAnswer(
            reading.status,
            reading.headers,
            reading.body,
            tuple(reading.messages),
            time.monotonic() - started,
            ended,
            problem,
            self._stdio is not None,
        )


class _Reading:
    """An answer as far as it has come."""

    def __init__(self, until: Callable[[Sequence[JSON]], bool] | None) -> None:
        self._until = until
        self.status = 0
        self.headers = httpx.Headers()
        self.body = b""
        self.messages: list[JSON] = []

    async def read(self, response: httpx.Response) -> bool:
        """Read it; whether its end was seen."""
        self.status, self.headers = response.status_code, response.headers
        streams = self.headers.get("content-type", "").lower().startswith("text/event-stream")
        reader = EventReader()
        if streams and self._until is not None and self._until(self.messages):
            return False
        async for chunk in response.aiter_bytes():
            self.body += chunk
            for data in reader.feed(chunk) if streams else ():
                self._take(data)
            if len(self.body) > _LIMIT or (streams and self._until is not None and self._until(self.messages)):
                return False
        if not streams and self.body:
            self._take(self.body)
        return True

    def _take(self, data: bytes) -> None:
        with suppress(BadTextError):
            self.messages.append(decode(data))
