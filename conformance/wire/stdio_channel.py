"""Requests and their messages on the one channel that a server over stdio has (basic/transports/stdio).

Messages belong together by JSON-RPC id, and on a subscription by ``io.modelcontextprotocol/subscriptionId``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcptasks.conformance.wire.json_text import encode
from mcptasks.conformance.wire.names import SUBSCRIPTION_ID
from mcptasks.conformance.wire.problems import Smell, WireProblem
from mcptasks.conformance.wire.stdio_lines import LONGEST_LINE, Lines, Messages, TooLongError
from mcptasks.conformance.wire.stdio_process import StdioProcess, shown_command
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["LISTEN", "Request", "StdioChannel", "readable"]

LISTEN: Final = "subscriptions/listen"
_CANCELLED: Final = "notifications/cancelled"
_SUBSCRIBED: Final = (
    "notifications/tasks",
    "notifications/subscriptions/",
    "notifications/tools/",
    "notifications/prompts/",
    "notifications/resources/",
)
_MOST_SMELLS: Final = 50
_MOST_LEFT: Final = 1000
_MOST_QUEUED: Final = 10_000
_FLOOD: Final = 8 * LONGEST_LINE
"""Bytes of one line after which the server is given up."""

Id = str | int


class Request:
    """A request on its way.

    Args:
        message: as the caller made it.
        wire_id: the id that it has on the channel, where an id is not used twice.
    """

    def __init__(self, message: dict[str, Any], wire_id: Id) -> None:
        self.id: Id = message["id"]
        self.wire_id = wire_id
        self.method = message.get("method")
        self.listens = self.method == LISTEN
        self.heard = False
        self._news: asyncio.Queue[bytes | WireProblem | None] = asyncio.Queue()

    def put(self, text: bytes, value: dict[str, Any]) -> None:
        """A message that belongs to it has come."""
        self.heard = True
        if self._news.qsize() < _MOST_QUEUED:
            self._news.put_nowait(text if self.wire_id == self.id else encode(_renamed(value, self.wire_id, self.id)))

    def end(self, problem: WireProblem | None = None) -> None:
        """Nothing more will come: because of a problem, or since the server has cancelled it."""
        self._news.put_nowait(problem)

    async def next(self) -> bytes | None:
        """The text of the next message, or ``None`` if no more will come.

        Raises:
            WireProblem: none can come.
        """
        found = await self._news.get()
        if isinstance(found, WireProblem):
            raise found
        return found


def _renamed(value: dict[str, Any], wire_id: Id, own: Id) -> dict[str, Any]:
    """A message with the caller's id wherever it has that of the channel."""

    def same(found: object) -> bool:
        return type(found) is type(wire_id) and found == wire_id

    out = {**value, "id": own} if same(value.get("id")) else dict(value)
    for member in ("params", "result"):
        inner = out.get(member)
        meta = inner.get("_meta") if isinstance(inner, dict) else None
        if isinstance(meta, dict) and same(meta.get(SUBSCRIPTION_ID)):
            out[member] = {**out[member], "_meta": {**meta, SUBSCRIPTION_ID: own}}
    return out


class StdioChannel:
    """A server behind its standard streams.

    Args:
        command: that starts it.
        alive: called whenever something comes.
    """

    def __init__(self, command: str, alive: Callable[[], None] = lambda: None) -> None:
        self.command = command
        self.name = shown_command(command)
        self.process: StdioProcess | None = None
        self.late: list[str] = []
        """Methods of notifications that came on a subscription after the server was told that it is cancelled."""
        self._alive = alive
        self._lines = Lines()
        self._messages = Messages(self._smell)
        self._smells: list[Smell] = []
        self._pending: dict[tuple[type, Id], Request] = {}
        self._left: dict[tuple[type, Id], None] = {}
        """Requests that were given up: what still comes for them is nobody's."""
        self._used: set[tuple[type, Id]] = set()
        self._count = 0
        self._nameless: asyncio.Queue[bytes] | None = None
        self._writing = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self._gone: str = ""

    # --- life ------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the server.

        Raises:
            UsageError: the command cannot be run.
        """
        self.process = await StdioProcess.start(self.command)
        self._reader = asyncio.ensure_future(self._read())

    async def close(self, gently: float = 3.0) -> None:
        """End the server: close its input, wait for so many seconds, terminate, kill."""
        if self.process is not None:
            await self.process.stop(gently)
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait((self._reader,))

    def smells(self) -> list[Smell]:
        """What was wrong with the output since this was asked last."""
        found, self._smells = self._smells, []
        return found

    # --- writing ---------------------------------------------------------------------------

    async def request(self, message: dict[str, Any]) -> Request:
        """Send a request.

        Raises:
            WireProblem: the server is gone.
        """
        own: Id = message["id"]
        wire_id = self._fresh(own)
        request = Request(message, wire_id)
        self._pending[type(wire_id), wire_id] = request
        try:
            await self._write(encode({**message, "id": wire_id}))
        except BaseException:
            self._pending.pop((type(wire_id), wire_id), None)
            raise
        return request

    async def notify(self, body: bytes, seconds: float) -> bytes | None:
        """Send a notification; what is answered to it within that time, which should be nothing.

        Raises:
            WireProblem: the server is gone.
        """
        self._nameless = asyncio.Queue()
        try:
            await self._write(body)
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(self._nameless.get(), seconds)
            return None
        finally:
            self._nameless = None

    def leave(self, request: Request) -> None:
        """Give a request up, and say so to the server ("Cancellation")."""
        key = type(request.wire_id), request.wire_id
        if self._pending.pop(key, None) is None:
            return
        self._left[key] = None
        while len(self._left) > _MOST_LEFT:
            del self._left[next(iter(self._left))]
        if self.process is not None and not self._gone:
            params: dict[str, JSON] = {"requestId": request.wire_id, "reason": "no longer needed"}
            self.process.write_at_once(encode({"jsonrpc": "2.0", "method": _CANCELLED, "params": params}))

    def _fresh(self, own: Id) -> Id:
        """The id itself when it is used for the first time, and another one of its type otherwise."""
        found = own
        while (type(found), found) in self._used:
            self._count += 1
            found = f"{own}~{self._count}" if isinstance(own, str) else 1_000_000_000 + self._count
        self._used.add((type(found), found))
        return found

    async def _write(self, line: bytes) -> None:
        if self._gone or self.process is None:
            raise WireProblem("unreachable", self._gone or "is not started")
        async with self._writing:
            try:
                await self.process.write(line)
            except OSError:
                await asyncio.sleep(0.05)  # its end is told by the end of its output
                raise WireProblem("closed", f"{self._gone or 'does not read its standard input'}") from None

    # --- reading ---------------------------------------------------------------------------

    async def _read(self) -> None:
        assert self.process is not None
        while chunk := await self.process.read():
            self._alive()
            try:
                for line in self._lines.feed(chunk):
                    for text, value in self._messages.take(line):
                        self._deliver(text, value)
            except TooLongError:
                self._fail("too-big", f"writes a line of more than {LONGEST_LINE // 2**20} MiB")
            if self._lines.skipped > _FLOOD:
                self._gone = "writes a line without end"
                self._fail("endless", self._gone)
                await self.process.stop(0.0)
                return
        self._messages.end()
        self._gone = await self.process.fate()
        self._fail("closed", self._gone)

    def _fail(self, kind: Any, text: str) -> None:
        """End every request with a problem."""
        pending, self._pending = self._pending, {}
        for request in pending.values():
            asked = f" before it answered {text_of(request.method, 60)[1:-1]}" if kind == "closed" else ""
            request.end(WireProblem(kind, f"{text}{asked}" if ": " not in text else _before(text, asked)))

    def _smell(self, smell: Smell) -> None:
        if len(self._smells) < _MOST_SMELLS:
            self._smells.append(smell)

    def _deliver(self, text: bytes, value: dict[str, Any]) -> None:
        if isinstance(value.get("method"), str):
            # A notification with an id is judged where it is read.
            if "id" in value and not value["method"].startswith("notifications/"):
                self._smell(
                    Smell(
                        "stdio.no-requests",
                        "output",
                        "no request from the server",
                        f"comes with the request {text_of(value['method'], 60)}",
                    )
                )
                return
            self._notification(text, value)
            return
        key = _key(value.get("id"))
        request = self._pending.pop(key, None) if key is not None else None
        if request is None:
            if key in self._left:
                return
            if key is None and self._nameless is not None:
                self._nameless.put_nowait(text)
                return
            request = self._only_one()
            if request is None:
                self._smell(
                    Smell(
                        "rpc.id-echo",
                        "unasked",
                        "one response to each request",
                        f"comes with a response to {text_of(value.get('id'), 40)}, which no request waits for",
                    )
                )
                return
            del self._pending[type(request.wire_id), request.wire_id]
        request.put(text, value)

    def _only_one(self) -> Request | None:
        """The request that a response with a wrong id must be meant for."""
        waiting = [request for request in self._pending.values() if not request.listens]
        waiting = waiting or [request for request in self._pending.values() if not request.heard]
        return waiting[0] if len(waiting) == 1 else None

    def _notification(self, text: bytes, value: dict[str, Any]) -> None:
        params = value.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        tag = _key(meta.get(SUBSCRIPTION_ID)) if isinstance(meta, Mapping) else None
        if value["method"] == _CANCELLED:
            ended = self._pending.get(_key(params.get("requestId")) or (int, 0))
            if ended is not None and ended.listens:
                del self._pending[type(ended.wire_id), ended.wire_id]
                ended.end()
            return
        if tag is not None and tag in self._pending:
            self._pending[tag].put(text, value)
            return
        if tag is not None and tag in self._left:
            self.late.append(value["method"])
            del self.late[:-_MOST_LEFT]
            return
        # Without a tag.  What only subscriptions have is one's own with its tag missing; anything else may be about a
        # request, and which one can be told only where there is one.
        listening = [request for request in self._pending.values() if request.listens]
        waiting = [request for request in self._pending.values() if not request.listens]
        if value["method"].startswith(_SUBSCRIBED):
            for request in listening[:1]:
                request.put(text, value)
        elif len(waiting) == 1:
            waiting[0].put(text, value)


def _before(text: str, asked: str) -> str:
    what, _, words = text.partition(": ")
    return f"{what}{asked}: {words}"


def _key(found: object) -> tuple[type, Id] | None:
    return (type(found), found) if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def readable(body: bytes) -> dict[str, Any] | None:
    """The message that a body is, if it is one that a client may write ("Sending Messages")."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("method"), str):
        return None
    if "id" in value and _key(value["id"]) is None:
        return None
    return value
