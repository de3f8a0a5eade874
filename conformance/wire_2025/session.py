"""One session with a server of 2025-11-25 over Streamable HTTP (MCP 2025-11-25, basic/transports and lifecycle).

A session is what ``initialize`` begins: it may have an id, which then goes with every request.  Requests are
answered as JSON or as a stream of events, on which the server may send requests and notifications of its own; it may
also send them on the one stream that the client opens by GET.  Whatever comes is kept here: who drives the session
decides when the server's requests are answered.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import httpx

from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.envelopes import read_answer
from mcptasks.conformance.wire.json_text import BadTextError, decode, encode
from mcptasks.conformance.wire.names import METHOD_NOT_FOUND
from mcptasks.conformance.wire.pacing import retry_after
from mcptasks.conformance.wire.problems import RequestsSpentError, Smell, WireProblem
from mcptasks.conformance.wire.sending import is_refused
from mcptasks.conformance.wire_2025.client import Client25
from mcptasks.conformance.wire_2025.events import ResumableReader
from mcptasks.conformance.wire_2025.inbox import Inbox, Notice, Question
from mcptasks.conformance.wire_2025.names import HEADER_EVENT, HEADER_SESSION, HEADER_VERSION, VERSION
from mcptasks.conformance.wire_2025.problems import BROKEN, SessionProblem, broken_off, kind_of, no_answer
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["CAPABILITIES", "Notice", "Question", "Session", "Waiting"]

CAPABILITIES: Final[Mapping[str, JSON]] = {"elicitation": {}, "sampling": {}}
"""What the suite declares at ``initialize``."""

_LONGEST_WAIT: Final = 60.0
_ATTEMPTS: Final = 10
_EVENTS: Final = 10_000
_DRAIN_S: Final = 0.1
"""Seconds that a stream may stay open behind its answer before it is left."""
_RECONNECT_S: Final = 0.2
"""Seconds before a broken stream is taken up again where the server names no time."""
_RECONNECTS: Final = 200
_LISTENING_S: Final = 1.0
"""Seconds until the answer to the GET must begin; nothing is made of it if it does not."""
_READS: Final = frozenset({"tasks/get", "tasks/list", "tools/list", "initialize"})
"""Methods that change nothing: sent again when a kept-alive connection turns out to be closed."""
_ACCEPT: Final = (b"Accept", b"application/json, text/event-stream")
_EVERY_REPLY: Final = ("rpc.version", "rpc.id-echo", "rpc.result-xor-error")


class Waiting:
    """A request under way."""

    def __init__(self, method: str, params: Mapping[str, JSON]) -> None:
        self.method = method
        self.params = params
        self.reply: Reply | None = None
        self.problem: SessionProblem | None = None
        self.begun = time.monotonic()
        self.ended: float | None = None
        """When the answer was complete, by :func:`time.monotonic`."""
        self.opened = False
        """Whether an answer has begun: of a stream the headers."""
        self.task: asyncio.Task[None] | None = None

    @property
    def done(self) -> bool:
        """Whether it was answered, or will never be."""
        return self.reply is not None or self.problem is not None

    def drop(self) -> None:
        """Wait no longer: its connection is closed."""
        if self.task is not None:
            self.task.cancel()


class Session(Inbox):
    """One session.

    Args:
        client: of the server.
        other: whether it is the second caller's.
        capabilities: declared at ``initialize``.
        listens: whether the stream of the GET is opened.
        identity: name of the client.
    """

    def __init__(
        self,
        client: Client25,
        *,
        other: bool = False,
        capabilities: Mapping[str, JSON] | None = None,
        listens: bool = True,
        identity: str = "mcptasks",
    ) -> None:
        super().__init__(client, self._at_once)
        self.client = client
        self.id: str | None = None
        self.version = VERSION
        self.capabilities: Mapping[str, JSON] = dict(CAPABILITIES if capabilities is None else capabilities)
        self.initialized: Mapping[str, JSON] = {}
        """The ``InitializeResult``."""
        self.listening: bool | None = None
        """Whether the server gives a stream for a GET; ``None``: not asked, or not answered."""
        self.lost: str = ""
        """Why the session is gone, as a clause about the server; empty while it is not."""
        self._wants_listening = listens
        self._identity = identity
        self._own = client.headers(other=other)
        self._ids = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    # --- beginning and end -----------------------------------------------------------------

    async def open(self) -> Reply:
        """Initialize; the answer, which may be an error: then there is no session.

        Raises:
            WireProblem: there is no answer that can be read.
        """
        params: dict[str, JSON] = {
            "protocolVersion": VERSION,
            "capabilities": dict(self.capabilities),
            "clientInfo": {"name": self._identity, "version": self.client.version},
        }
        reply = await self.request("initialize", params)
        if reply.result is None:
            return reply
        self.initialized = reply.result
        version = reply.result.get("protocolVersion")
        self.version = version if isinstance(version, str) and version.isascii() and version else VERSION
        await self.notify("notifications/initialized")
        if self._wants_listening and self.version == VERSION:
            await self._listen()
        return reply

    async def close(self) -> None:
        """End the session, and leave every stream."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2.0)
        if self.id is not None and not self.lost:
            with suppress(WireProblem):
                await self._send("DELETE", b"", "DELETE", beyond=True)

    def headers(self, *, posts: bool = True) -> list[tuple[bytes, bytes]]:
        """The headers of a request in this session."""
        out: list[tuple[bytes, bytes]] = [(b"Accept-Encoding", b"identity")]
        if posts:
            out += [(b"Content-Type", b"application/json"), _ACCEPT]
        else:
            out.append((b"Accept", b"text/event-stream"))
        if self.initialized:
            out.append((HEADER_VERSION.encode(), self.version.encode()))
        if self.id is not None:
            out.append((HEADER_SESSION.encode(), self.id.encode("latin-1")))
        return [*out, *self._own]

    # --- requests --------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Mapping[str, JSON] | None = None,
        *,
        beyond: bool = False,
        seconds: float | None = None,
    ) -> Reply:
        """Send a request and read its answer.

        Args:
            method: such as ``tasks/get``.
            params: whole; left out if ``None``.
            beyond: it ends a task that is open: see :meth:`.Allowance.spend`.
            seconds: that the answer may take, instead of the usual.

        Raises:
            SessionProblem: there is no answer that can be read.
            RequestsSpentError, WireProblem: no request is left.
        """
        limit = self.client.limits.answer_s if seconds is None else seconds
        waiting = Waiting(method, params or {})
        self.client.spend(beyond=beyond)
        try:
            async with asyncio.timeout(limit):
                return await self._answer(waiting, params)
        except TimeoutError:
            began = "had not finished its answer" if waiting.opened else "gave no answer"
            raise SessionProblem("silent", f"{began} to {method} within {limit:g} s", BROKEN) from None

    def begin(self, method: str, params: Mapping[str, JSON]) -> Waiting:
        """Send a request whose answer may take for ever.

        Raises:
            RequestsSpentError: no request is left.
        """
        self.client.spend()
        waiting = Waiting(method, params)

        async def go() -> None:
            try:
                waiting.reply = await self._answer(waiting, params)
            except SessionProblem as problem:
                waiting.problem = problem
            except RequestsSpentError:
                pass  # the run is at its end; what was not heard is not judged, since nothing can be shown again
            except Exception as error:
                # Whoever waits must learn of it, whatever it is.
                waiting.problem = SessionProblem("not-mcp", f"cannot be read: {type(error).__name__}: {error}")
            waiting.ended = time.monotonic()
            self.news()

        waiting.task = self._spawn(go())
        return waiting

    async def notify(self, method: str, params: Mapping[str, JSON] | None = None) -> int:
        """Send a notification; the HTTP status of the answer.

        Raises:
            SessionProblem: there is none.
        """
        message: dict[str, JSON] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = dict(params)
        return await self._send("POST", encode(message), method)

    async def answer(
        self, question: Question, result: JSON = None, error: Mapping[str, JSON] | None = None, *, beyond: bool = False
    ) -> int:
        """Answer a request of the server's; the HTTP status of what it says to that.

        Raises:
            SessionProblem: there is none.
            RequestsSpentError, WireProblem: no request is left.
        """
        question.answered = True
        message: dict[str, JSON] = {"jsonrpc": "2.0", "id": question.id}
        if error is None:
            message["result"] = result
        else:
            message["error"] = dict(error)
        return await self._send("POST", encode(message), f"the answer to {question.method}", beyond=beyond)

    def _spend_again(self) -> None:
        """Count what a request costs beyond its first sending.

        Raises:
            RequestsSpentError: no request is left.
        """
        try:
            self.client.spend(beyond=True)
        except WireProblem as problem:
            raise RequestsSpentError from problem

    # --- one exchange ----------------------------------------------------------------------

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _send(self, http_method: str, body: bytes, told: str, *, beyond: bool = False) -> int:
        """Send what has no JSON-RPC answer; the HTTP status."""
        self.client.spend(beyond=beyond)
        await self.client.pacer.turn()
        limit = self.client.limits.answer_s
        try:
            async with asyncio.timeout(limit):
                request = httpx.Request(http_method, self.client.url, headers=self.headers(), content=body or None)
                response = await self.client.http.send(request)
                try:
                    status = response.status_code
                    async for _ in self._chunks(response):
                        pass
                finally:
                    await response.aclose()
        except TimeoutError:
            raise SessionProblem("silent", f"gave no answer to {told} within {limit:g} s", BROKEN) from None
        except (httpx.HTTPError, httpx.StreamError, ssl.SSLError, OSError) as error:
            raise self._trouble(told, error, begun=False) from error
        if status == 404 and self.id is not None:
            raise self._gone(told)
        return status

    async def _answer(self, waiting: Waiting, params: Mapping[str, JSON] | None) -> Reply:
        number = next(self._ids)
        # Every eighth id is a text, so that a server that turns one kind into the other is seen.
        request_id: str | int = number if number % 8 else f"r{number}"
        message: dict[str, JSON] = {"jsonrpc": "2.0", "id": request_id, "method": waiting.method}
        if params is not None:
            message["params"] = dict(params)
        body = encode(message)
        waited = 0.0
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._spend_again()
            await self.client.pacer.turn()
            outcome = await self._post(waiting, request_id, body)
            if isinstance(outcome, Reply):
                self.client.pacer.answered()
                return outcome
            self.client.pacer.slow_down(outcome)
            waited += outcome
            if waited > _LONGEST_WAIT:
                break
            await self.client.pacer.sleep(outcome)
        raise SessionProblem(
            "refused", f"asks to wait for more than {_LONGEST_WAIT:g} s in all before it serves a {waiting.method}"
        )

    async def _post(self, waiting: Waiting, request_id: str | int, body: bytes) -> Reply | float:
        """One POST: the answer, or for how many seconds the server asks to wait."""
        try:
            return await self._post_once(waiting, request_id, body)
        except SessionProblem as problem:
            stale = isinstance(problem.__cause__, httpx.RemoteProtocolError) and not waiting.opened
            if not stale or waiting.method not in _READS:
                raise
        self._spend_again()
        return await self._post_once(waiting, request_id, body)

    async def _post_once(self, waiting: Waiting, request_id: str | int, body: bytes) -> Reply | float:
        request = httpx.Request("POST", self.client.url, headers=self.headers(), content=body)
        reader = ResumableReader()
        try:
            response = await self.client.http.send(request)
            try:
                waiting.opened = True
                status = response.status_code
                if status == 429 or (status == 503 and "retry-after" in response.headers):
                    asked = retry_after(response.headers.get("retry-after"))
                    return 1.0 if asked is None else asked
                if waiting.method == "initialize" and status == 200:
                    self.id = response.headers.get(HEADER_SESSION)
                kind = kind_of(response)
                if status != 200 or kind != "text/event-stream":
                    return await self._read_body(waiting, request_id, response, kind, len(body))
                self.news()
                found = await self._read_stream(waiting, request_id, response, reader, len(body))
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.StreamError, ssl.SSLError, OSError) as error:
            if not waiting.opened or reader.last_id is None:
                raise self._trouble(waiting.method, error, begun=waiting.opened) from error
            found = None
        if found is None:
            found = await self._resume(waiting, request_id, reader, len(body))
        return found

    async def _chunks(self, response: httpx.Response) -> Any:
        limit, received = self.client.limits.body_bytes, 0
        async for chunk in response.aiter_bytes():
            received += len(chunk)
            if received > limit:
                raise SessionProblem("too-big", f"an answer is larger than {limit // 2**20} MiB", BROKEN)
            yield chunk

    async def _read_body(
        self, waiting: Waiting, request_id: str | int, response: httpx.Response, kind: str, sent: int
    ) -> Reply:
        method, status = waiting.method, response.status_code
        body = b"".join([chunk async for chunk in self._chunks(response)])
        if status == 413:
            raise SessionProblem("over-limit", f"answers {method} with HTTP 413: the request is too large for it")
        message: JSON = None
        with suppress(BadTextError):
            message = decode(body)
        ours = (
            isinstance(message, dict)
            and message.get("id") == request_id
            and ("result" in message or "error" in message)
        )
        if status == 404 and self.id is not None and method != "initialize" and not (ours and _unknown(message)):
            raise self._gone(method)
        if status >= 400 and not ours:
            error = message.get("error") if isinstance(message, dict) else None
            # Refused before the message was looked at: such an error need not carry its id.
            if isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str):
                return Reply(method, status, "json", None, error, sent)
            raise no_answer(self.client.endpoint, method, response, body)
        if not body or kind != "application/json" or 300 <= status < 400:
            raise no_answer(self.client.endpoint, method, response, body)
        try:
            message = decode(body)
        except BadTextError as error:
            raise SessionProblem("malformed", f"gives {method} an answer that {error}", BROKEN) from error
        return self._reply(waiting, request_id, message, status, "json", sent)

    def _reply(
        self, waiting: Waiting, request_id: str | int, message: JSON, status: int, form: str, sent: int
    ) -> Reply:
        smells: list[Smell] = []
        try:
            answer = read_answer(message, request_id, smells)
        except WireProblem as problem:
            requirement = "rpc.version" if problem.requirement == "http.no-server-requests" else problem.requirement
            raise SessionProblem("malformed", f"{problem.text} ({waiting.method})", requirement) from problem
        exercised = self.client.exercised
        for name in _EVERY_REPLY:
            exercised[name] += 1
        exercised["rpc.error-code" if answer.result is None else "rpc.result-object"] += 1
        exercised[BROKEN] += 1
        return Reply(waiting.method, status, form, answer.result, answer.error, sent, smells)

    # --- streams ---------------------------------------------------------------------------

    async def _read_stream(
        self, waiting: Waiting, request_id: str | int, response: httpx.Response, reader: ResumableReader, sent: int
    ) -> Reply | None:
        """The answer on a stream; ``None`` if the stream ends before it."""
        found: Reply | None = None
        events = 0
        chunks = self._chunks(response)
        end = 0.0
        while True:
            try:
                if found is None:
                    chunk = await anext(chunks)
                else:
                    chunk = await asyncio.wait_for(anext(chunks), max(0.001, end - time.monotonic()))
            except StopAsyncIteration:
                break
            except TimeoutError:
                if found is None:
                    raise
                break
            for data in reader.messages(chunk):
                events += 1
                if events > _EVENTS:
                    raise SessionProblem("endless", f"sends more than {_EVENTS} events before it answers", BROKEN)
                try:
                    message = decode(data)
                except BadTextError as error:
                    raise SessionProblem(
                        "malformed", f"gives {waiting.method} an answer with an event that {error}", BROKEN
                    ) from error
                if self.take(message, waiting.method, waiting.params.get("taskId")):
                    continue
                if found is None:
                    found = self._reply(waiting, request_id, message, response.status_code, "sse", sent)
                    end = time.monotonic() + _DRAIN_S
        return found

    async def _resume(self, waiting: Waiting, request_id: str | int, reader: ResumableReader, sent: int) -> Reply:
        """Take a stream up again that broke off before the answer."""
        method = waiting.method
        for _ in range(_RECONNECTS):
            if reader.last_id is None:
                break
            pause = _RECONNECT_S if reader.retry_ms is None else reader.retry_ms / 1000
            await asyncio.sleep(min(pause, _LONGEST_WAIT))
            headers = [*self.headers(posts=False), (HEADER_EVENT.encode(), reader.last_id.encode("utf-8"))]
            request = httpx.Request("GET", self.client.url, headers=headers)
            again = ResumableReader(reader.last_id)
            self._spend_again()
            try:
                response = await self.client.http.send(request)
                try:
                    if response.status_code != 200 or kind_of(response) != "text/event-stream":
                        break
                    found = await self._read_stream(waiting, request_id, response, again, sent)
                finally:
                    await response.aclose()
            except (httpx.HTTPError, httpx.StreamError, ssl.SSLError, OSError) as error:
                raise self._trouble(method, error, begun=True) from error
            if found is not None:
                return found
            reader = again if again.retry_ms is not None or reader.retry_ms is None else _with_retry(again, reader)
        # A stream should in the end bring the response; only what should be is not kept here.
        raise SessionProblem(
            "closed", f"ends the stream of its answer to {method} without an answer", BROKEN, warning=True
        )

    async def _listen(self) -> None:
        """Open the stream of the GET, if the server has one."""
        opened = asyncio.Event()
        self._spawn(self._follow(opened))
        with suppress(TimeoutError):
            await asyncio.wait_for(opened.wait(), _LISTENING_S)

    async def _follow(self, opened: asyncio.Event) -> None:
        last_id: str | None = None
        for _ in range(_RECONNECTS):
            headers = self.headers(posts=False)
            if last_id is not None:
                headers.append((HEADER_EVENT.encode(), last_id.encode("utf-8")))
            request = httpx.Request("GET", self.client.url, headers=headers)
            reader = ResumableReader(last_id)
            try:
                self.client.spend(beyond=True)
                response = await self.client.http.send(request)
                try:
                    streams = response.status_code == 200 and kind_of(response) == "text/event-stream"
                    if self.listening is None:
                        self.listening = streams
                    opened.set()
                    if not streams:
                        return
                    async for chunk in response.aiter_bytes():
                        for data in reader.messages(chunk):
                            self._heard(data)
                finally:
                    await response.aclose()
            except (httpx.HTTPError, httpx.StreamError, ssl.SSLError, OSError):
                pass
            except WireProblem:  # no request is left
                opened.set()
                return
            opened.set()
            last_id = reader.last_id
            pause = _RECONNECT_S * 5 if reader.retry_ms is None else reader.retry_ms / 1000
            await asyncio.sleep(min(max(pause, 0.02), _LONGEST_WAIT))

    def _heard(self, data: bytes) -> None:
        try:
            message = decode(data)
        except BadTextError:
            return
        self.take(message, "listen")

    def _at_once(self, question: Question) -> None:
        """Answer what nobody has to decide about."""
        unknown = {"code": METHOD_NOT_FOUND, "message": f"the suite has no {question.method}"}
        self._spawn(self._silently(question, {}, None if question.method == "ping" else unknown))

    async def _silently(self, question: Question, result: JSON, error: Mapping[str, JSON] | None) -> None:
        with suppress(WireProblem):
            await self.answer(question, result, error, beyond=True)

    # --- problems --------------------------------------------------------------------------

    def _gone(self, told: str) -> SessionProblem:
        self.lost = f"answers {told} with HTTP 404 in a session that it has given: the session is gone"
        self.news()
        return SessionProblem("closed", self.lost, BROKEN, lost=True, warning=True)

    def _trouble(self, told: str, error: BaseException, *, begun: bool) -> SessionProblem:
        if isinstance(error, httpx.ConnectError):
            words = text_of(str(error), 120)[1:-1]
            self.lost = (
                f"nothing listens at {self.client.endpoint}" if is_refused(error) else f"cannot be reached: {words}"
            )
            self.news()
            return SessionProblem("unreachable", self.lost, BROKEN, lost=True)
        return broken_off(told, error, begun=begun)


def _unknown(message: JSON) -> bool:
    """Whether an error says that there is no such method, which some send with HTTP 404, too."""
    error = message.get("error") if isinstance(message, dict) else None
    return isinstance(error, dict) and error.get("code") == METHOD_NOT_FOUND


def _with_retry(reader: ResumableReader, before: ResumableReader) -> ResumableReader:
    reader.retry_ms = before.retry_ms
    return reader
