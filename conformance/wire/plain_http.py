"""HTTP on plain connections with as few wake-ups as it takes: a run is thousands of small exchanges, one after the other.

The protocol is h11's, as below httpx; what httpx and httpcore do around it (authentication, redirects, cookies, proxies,
locks) is what this suite must not do or does not need, and is most of what an exchange costs.  The head and the body of a
request leave in one piece, so the server is woken once, and an answer that comes in one piece wakes the suite once.
"""

from __future__ import annotations

import asyncio
import select
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, cast

import h11
import httpx

__all__ = ["TRIAL_S", "PlainTransport"]

_HELD: Final = 1 << 20
"""Bytes that came and were not asked for yet, above which the other side has to wait."""
_HEAD: Final = 100 * 1024
"""Bytes that the head of an answer may have."""
_PIECE: Final = 64 * 1024
TRIAL_S: Final = 0.1
"""Idle seconds that one connection must have lived before any is used again: a server may close without a word."""
_AGAIN: Final = 0.25
"""Of these seconds: how much later it must still live.  Where everything stalls, what is due has not happened yet."""


class _Protocol(asyncio.Protocol):
    """What came on a connection, until somebody reads it."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.chunks: deque[bytes] = deque()
        self.ended_at: float | None = None
        """When the other side was done, if it is."""
        self._waited = True
        self.error: BaseException | None = None
        self._held = 0
        self._paused = False
        self._reader: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way to write."""
        self.transport = cast("asyncio.Transport", transport)
        # What does not fit into the socket at once is kept: a request is small, and an answer may come before its end.
        self.transport.set_write_buffer_limits(high=1 << 30)

    def data_received(self, data: bytes) -> None:
        """Keep it."""
        self.chunks.append(data)
        self._held += len(data)
        if self._held > _HELD and not self._paused and self.transport is not None:
            self._paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Nothing more comes; what is being written may still go."""
        self._end()
        self._wake()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Neither way works any more."""
        self._end()
        self.error = exc
        self._wake()

    async def read(self, limit: int) -> bytes:
        """Some bytes, nothing at the end.

        Raises:
            OSError: the connection broke, and all that came before is read.
        """
        if not self._waited:
            await asyncio.sleep(0)  # others have their turn between pieces, timeouts among them
        self._waited = False
        while not self.chunks:
            if self.ended_at is not None:
                if self.error is not None:
                    raise self.error
                return b""
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
            self._waited = True
        data = self.chunks.popleft()
        if len(data) > limit:
            self.chunks.appendleft(data[limit:])
            data = data[:limit]
        self._held -= len(data)
        if self._paused and self._held <= _HELD and self.transport is not None:
            self._paused = False
            self.transport.resume_reading()
        return data

    def _end(self) -> None:
        if self.ended_at is None:
            self.ended_at = time.monotonic()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


class _Connection:
    """One connection, for one exchange after the other."""

    def __init__(self, protocol: _Protocol, transport: asyncio.Transport) -> None:
        self._protocol = protocol
        self._transport = transport
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)
        self._socket = transport.get_extra_info("socket")
        self._poll = select.poll()
        self._poll.register(self._socket.fileno(), select.POLLIN)
        self.idle_since = 0.0
        self.lived_at = 0.0
        """When it was seen to have lived for long enough, if it was."""
        self._silent = False
        """Whether it was used before, and nothing has come for the exchange under way."""

    def idle_s(self) -> float:
        """For how long it has been idle, or was until it ended."""
        until = self._protocol.ended_at
        return (time.monotonic() if until is None else until) - self.idle_since

    def stale(self) -> bool:
        """Whether an idle connection has something to read, which only its end can be."""
        protocol = self._protocol
        if protocol.ended_at is not None or protocol.chunks or self._http.trailing_data[0] or self._socket.fileno() < 0:
            return True
        return bool(self._poll.poll(0))  # what the event loop has not seen yet

    async def begin(self, request: httpx.Request) -> h11.Response | h11.InformationalResponse:
        """Send a request; the head of its answer.

        Raises:
            httpx.TransportError: none came.
        """
        body = request.content
        try:
            asked = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
            parts = [self._http.send(asked), self._http.send(h11.Data(data=body)) if body else None]
            parts.append(self._http.send(h11.EndOfMessage()))
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        # On a connection that is closed already this does nothing, and reading tells.
        self._transport.write(b"".join(filter(None, parts)))
        while True:
            event = await self._event()
            if isinstance(event, h11.Response) or getattr(event, "status_code", 0) == 101:
                return cast("h11.Response | h11.InformationalResponse", event)

    async def body(self) -> AsyncIterator[bytes]:
        """The body of the answer.

        Raises:
            httpx.TransportError: it breaks off.
        """
        while True:
            event = await self._event()
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, (h11.EndOfMessage, h11.PAUSED)):
                return

    async def _event(self) -> Any:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(str(error)) from error
            if event is not h11.NEED_DATA:
                return event
            try:
                data = await self._protocol.read(_PIECE)
            except OSError as error:
                if self._silent:  # as good as closed before the request came
                    raise httpx.RemoteProtocolError("Server disconnected without sending a response.") from error
                raise httpx.ReadError(str(error)) from error
            if not data and self._http.their_state is h11.SEND_RESPONSE:
                raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
            self._silent = False
            self._http.receive_data(data)

    def ready(self) -> bool:
        """Make it ready for another exchange, if the last one was read to its end and both sides keep it."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        self._silent = True
        self.idle_since, self.lived_at = time.monotonic(), 0.0
        return True

    def close(self) -> None:
        """Close it, without waiting for the other side."""
        self._transport.abort()  # close() would first send what is left of a request, for as long as that takes


class _Body(httpx.AsyncByteStream):
    def __init__(self, connection: _Connection, leave: Callable[[_Connection], None]) -> None:
        self._connection = connection
        self._leave: Callable[[_Connection], None] | None = leave

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._connection.body()

    async def aclose(self) -> None:
        """Leave the rest unread; the connection is used again if there is none."""
        if self._leave is not None:
            leave, self._leave = self._leave, None
            leave(self._connection)


class PlainTransport(httpx.AsyncBaseTransport):
    """Exchanges over plain connections that are kept.

    Args:
        kept: connections that stay open while idle.
        idle_s: seconds for which they do; fewer once the server has closed one earlier.
        trial_s: seconds for which one must have stayed open while idle before any is used again.
    """

    def __init__(self, *, kept: int, idle_s: float, trial_s: float = TRIAL_S) -> None:
        self._kept = kept
        self._trial_s = trial_s
        self._keeps = False
        self._idle_s = idle_s
        self._idle: list[tuple[tuple[str, int], _Connection]] = []
        self._busy: set[_Connection] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the head of its answer has come when this returns.

        Raises:
            httpx.TransportError: there is no answer.
        """
        if request.url.scheme != "http":
            raise httpx.UnsupportedProtocol(f"a plain connection serves no {request.url.scheme} URL")
        origin = request.url.raw_host.decode(), 80 if request.url.port is None else request.url.port
        connection = self._taken(origin) or await self._connected(origin)
        self._busy.add(connection)

        def leave(left: _Connection) -> None:
            self._busy.discard(left)
            if len(self._idle) < self._kept and left.ready():
                self._idle.append((origin, left))
            else:
                left.close()

        try:
            head = await connection.begin(request)
        except BaseException:
            self._busy.discard(connection)
            connection.close()
            raise
        return httpx.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=_Body(connection, leave),
            extensions={"reason_phrase": head.reason, "http_version": b"HTTP/" + head.http_version},
        )

    async def aclose(self) -> None:
        """Close the connections."""
        for connection in (*(idle for _, idle in self._idle), *self._busy):
            connection.close()
        self._idle.clear()
        self._busy.clear()

    def _taken(self, origin: tuple[str, int]) -> _Connection | None:
        """An idle connection; those that cannot be used any more are closed."""
        found = None
        for item in self._idle[::-1]:
            of, connection = item
            idle_s = connection.idle_s()
            if connection.stale():
                # It may close the next one just when a request is on its way, which looks like a crash.
                self._idle_s = min(self._idle_s, idle_s / 2)
            elif idle_s <= self._idle_s:
                self._keeps = self._keeps or self._lives(connection, idle_s)
                found = found or (item if of == origin else None)
                continue
            self._idle.remove(item)
            connection.close()
        if found is None or not self._keeps or found[1].idle_s() > self._idle_s:
            return None
        self._idle.remove(found)
        return found[1]

    def _lives(self, connection: _Connection, idle_s: float) -> bool:
        """Whether the server keeps an idle connection, as two looks at it show."""
        now = time.monotonic()
        if idle_s < self._trial_s:
            return False
        connection.lived_at = connection.lived_at or now
        return now - connection.lived_at >= _AGAIN * self._trial_s

    @staticmethod
    async def _connected(origin: tuple[str, int]) -> _Connection:
        host, port = origin
        try:
            transport, protocol = await asyncio.get_running_loop().create_connection(
                _Protocol, host.strip("[]"), port, happy_eyeballs_delay=0.25
            )
        except UnicodeError as error:  # of the idna codec
            raise httpx.ConnectError(f"{host} is no name of a host") from error
        except OSError as error:
            several = str(error).startswith("Multiple exceptions")
            raise httpx.ConnectError("All connection attempts failed" if several else str(error)) from error
        return _Connection(protocol, transport)
