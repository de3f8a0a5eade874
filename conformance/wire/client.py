"""The one client that talks to a server: keep-alive, bounded in bytes and time, nothing followed, nothing guessed.

Whatever the other side does ends in an :class:`Reply` or in a :class:`WireProblem` with one clear line.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

import httpx

from mcptasks.conformance.wire.allowance import Allowance, Spender
from mcptasks.conformance.wire.envelopes import Answer, code_smells, read_answer, read_streamed
from mcptasks.conformance.wire.json_text import BadTextError, decode
from mcptasks.conformance.wire.names import INTERNAL_ERROR
from mcptasks.conformance.wire.pacing import Pacer, retry_after
from mcptasks.conformance.wire.problems import Smell, WireProblem
from mcptasks.conformance.wire.requests import Outgoing, RequestMaker
from mcptasks.conformance.wire.sending import is_refused, sender_for
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.conformance.wire.sse import EventReader
from mcptasks.conformance.wire.stdio_channel import StdioChannel
from mcptasks.conformance.wire.stdio_scope import over_stdio
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["Limits", "Reply", "WireClient", "asked"]

_READS: Final = frozenset({"server/discover", "tools/list", "tasks/get"})
"""Methods that change nothing: sent again when a kept-alive connection turns out to be closed."""
_UNANSWERED: Final = 2
"""Requests of a kind without an answer after which the kind counts as one that hangs."""
_LONGEST_WAIT: Final = 60.0
_ATTEMPTS: Final = 10
_EVENTS: Final = 10_000
_EVERY_REPLY: Final = ("rpc.version", "rpc.id-echo", "rpc.result-xor-error", "http.response-type")
_EVERY_LINE: Final = ("stdio.messages-only", "stdio.one-line", "stdio.no-requests")


@dataclass(frozen=True, slots=True)
class Limits:
    """What an answer may cost."""

    body_bytes: int = 16 * 1024 * 1024
    answer_s: float = 5.0
    """Seconds from sending a request to the last byte of its answer."""
    stream_end_s: float = 1.0
    """Seconds that a stream may stay open behind its final message."""


@dataclass(slots=True)
class Reply:
    """One answer."""

    method: str
    status: int
    """Of HTTP."""
    form: str
    """``json`` or ``sse``."""
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    sent_bytes: int
    smells: list[Smell] = field(default_factory=list)

    @property
    def code(self) -> int | None:
        """The error's code."""
        return None if self.error is None else self.error["code"]


def asked(method: str, params: Mapping[str, JSON]) -> str:
    """What a request asks for, in words: its method, and the tool that it calls."""
    tool = params.get("name")
    return f"{method} of {tool}" if method == "tools/call" and isinstance(tool, str) else method


class WireClient(Spender):
    """A client of one server.

    Args:
        spec: the server.
        limits: of every answer.
        allowance: what it may send; by default what the spec allows.
        version: of the suite.
        exercised: counts of observations by requirement, added to.
        stdio: the channel to a server over stdio, instead of HTTP.
    """

    def __init__(
        self,
        spec: ServerSpec,
        url: str,
        *,
        limits: Limits | None = None,
        allowance: Allowance | None = None,
        version: str = "0",
        exercised: Counter[str] | None = None,
        stdio: StdioChannel | None = None,
    ) -> None:
        super().__init__(allowance or Allowance(spec.max_requests))
        self.limits = limits or Limits()
        self.stdio = stdio
        self.exercised: Counter[str] = Counter() if exercised is None else exercised
        self._url = httpx.URL(url).copy_with(userinfo=b"")  # it goes as a header
        self.endpoint = _endpoint(url) if stdio is None else stdio.name
        self._unanswered: Counter[str] = Counter()
        self.pacer = Pacer(spec.rate, self.alive)
        self._maker = RequestMaker(version, [(line.name, line.resolved()) for line in spec.sent_headers])
        self.impatient: Callable[[str], bool] = lambda fingerprint: False
        """Whether a smell is known already, so that no time is spent to see it again."""
        self._http = sender_for(self._url, kept=4, idle_s=600.0, stdio=stdio)

    async def close(self) -> None:
        """Close its connections."""
        with suppress(Exception):
            await self._http.aclose()

    async def __aenter__(self) -> WireClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def request(
        self,
        method: str,
        params: Mapping[str, JSON],
        *,
        capabilities: Mapping[str, JSON] | None = None,
        beyond: bool = False,
    ) -> Reply:
        """Send a request and read its one answer.

        Args:
            method: such as ``tasks/get``.
            params: without ``_meta``.
            capabilities: declared instead of the usual ones.
            beyond: it ends a task that is open: see :meth:`.Allowance.spend`.

        Raises:
            WireProblem: there is no answer that can be read.
            RequestsSpentError: no request is left.
        """
        outgoing = self._maker.make(method, params, capabilities=capabilities)
        waited = 0.0
        for attempt in range(_ATTEMPTS):
            self.spend(beyond=beyond)
            await self.pacer.turn()
            try:
                reply = await self._exchange(outgoing, again=attempt == 0 and method in _READS)
            except WireProblem as problem:
                if problem.kind == "silent":
                    self.unanswered(method, params)
                if self.stdio is None:
                    raise
                raise self._over_stdio(problem) from problem
            if isinstance(reply, Reply):
                if self.stdio is not None:
                    self._framing(self.stdio, reply)
                self.pacer.answered()
                return reply
            self.pacer.slow_down(reply)
            waited += reply
            if waited > _LONGEST_WAIT:
                break
            await self.pacer.sleep(reply)
        raise WireProblem(
            "refused", f"asks to wait for more than {_LONGEST_WAIT:g} s in all before it serves a {method}"
        )

    def _framing(self, stdio: StdioChannel, reply: Reply) -> None:
        """Judge what came on standard output with an answer, and nothing that HTTP alone has."""
        for requirement in _EVERY_LINE:
            self.exercised[requirement] += 1
        kept: list[Smell] = []
        for smell in (*reply.smells, *stdio.smells()):
            judged = over_stdio(smell.requirement)
            if judged is not None:
                kept.append(Smell(judged, smell.aspect, smell.expected, smell.actual))
        reply.smells = kept

    def _over_stdio(self, problem: WireProblem) -> WireProblem:
        """The problem as one of a server over stdio."""
        assert self.stdio is not None
        text = problem.text
        if problem.kind == "silent":
            text += "".join(f"; its output {smell.actual}" for smell in self.stdio.smells()[:1])
        return WireProblem(problem.kind, text, over_stdio(problem.requirement), problem.hint)

    def hangs(self, method: str, params: Mapping[str, JSON]) -> bool:
        """Whether requests of this kind have so often had no answer in time that another would be time wasted."""
        return self._unanswered[asked(method, params)] >= _UNANSWERED

    def unanswered(self, method: str, params: Mapping[str, JSON]) -> None:
        """Note that such a request had no answer in time."""
        self._unanswered[asked(method, params)] += 1

    async def _exchange(self, outgoing: Outgoing, *, again: bool) -> Reply | float:
        """One exchange: the answer, or for how many seconds the server asks to wait."""
        progress = _Progress()
        started = time.monotonic()
        try:
            async with asyncio.timeout(self.limits.answer_s):
                request = httpx.Request("POST", self._url, headers=outgoing.headers, content=outgoing.body)
                response = await self._http.send(request)
                progress.status = response.status_code
                try:
                    return await self._read(outgoing, response, progress)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise self._late(outgoing.method, progress) from None
        except httpx.RemoteProtocolError as error:
            if again and progress.status is None and "disconnected" in str(error):
                self.spend()
                return await self._exchange(outgoing, again=False)
            raise self._broken(outgoing.method, error, progress) from error
        except httpx.ConnectError as error:
            raise self._unreachable(error) from error
        except (httpx.TransportError, httpx.DecodingError, ssl.SSLError, OSError) as error:
            raise self._broken(outgoing.method, error, progress, time.monotonic() - started) from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise WireProblem("closed", f"{outgoing.method}: {_words(error)}") from error

    # --- reading an answer -----------------------------------------------------------------

    async def _read(self, outgoing: Outgoing, response: httpx.Response, progress: _Progress) -> Reply | float:
        status = response.status_code
        if status == 429 or (status == 503 and "retry-after" in response.headers):
            asked = retry_after(response.headers.get("retry-after"))
            return 1.0 if asked is None else asked
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if status == 200 and kind == "text/event-stream":
            return await self._read_stream(outgoing, response, progress)
        body = b"".join([chunk async for chunk in self._chunks(response, progress)])
        if kind != "application/json" or not body or 300 <= status < 400:
            self._no_answer(outgoing.method, response, kind, body)
        try:
            message = decode(body)
        except BadTextError as error:
            if status >= 400 and error.aspect == "json":
                self._no_answer(outgoing.method, response, kind, body)
            raise self._bad_text(outgoing.method, error) from error
        if not body.isascii():
            self.exercised["http.utf8" if self.stdio is None else "stdio.utf8"] += 1
        smells: list[Smell] = []
        try:
            answer = read_answer(message, outgoing.id, smells)
        except WireProblem as problem:
            if status >= 400 and status not in (400, 404) and problem.requirement != "rpc.id-echo":
                self._no_answer(outgoing.method, response, kind, body)
            raise WireProblem(problem.kind, f"{outgoing.method}: it {problem.text}", problem.requirement) from problem
        if answer.result is not None and status != 200:
            raise WireProblem(
                "malformed", f"{outgoing.method}: a result comes with HTTP {status}", "http.response-type"
            )
        return self._reply(outgoing, status, "json", answer, smells)

    def _reply(self, outgoing: Outgoing, status: int, form: str, answer: Answer, smells: list[Smell]) -> Reply:
        exercised = self.exercised
        for requirement in _EVERY_REPLY:
            exercised[requirement] += 1
        if answer.error is None:
            exercised["rpc.result-object"] += 1
        else:
            exercised["rpc.error-code"] += 1
            exercised["core.meta.reserved-codes"] += 1
            exercised["core.meta.retired-codes"] += 1
            exercised["core.meta.legacy-range"] += 1
            if status >= 500 or answer.error["code"] == INTERNAL_ERROR:
                exercised["rpc.internal-error"] += 1
            smells += code_smells(answer.error)
        return Reply(outgoing.method, status, form, answer.result, answer.error, len(outgoing.body), smells)

    async def _chunks(self, response: httpx.Response, progress: _Progress) -> Any:
        limit = self.limits.body_bytes
        async for chunk in response.aiter_bytes():
            progress.received += len(chunk)
            if progress.received > limit:
                raise WireProblem(
                    "endless" if progress.streams else "too-big",
                    f"an answer is larger than {limit // 2**20 or limit} {'MiB' if limit >= 2**20 else 'bytes'}",
                )
            yield chunk

    async def _read_stream(self, outgoing: Outgoing, response: httpx.Response, progress: _Progress) -> Reply:
        progress.streams = True
        reader = EventReader()
        smells: list[Smell] = []
        answer: Answer | None = None
        self.exercised["http.accel-buffering"] += 1
        if response.headers.get("x-accel-buffering", "").lower() != "no":
            smells.append(
                Smell(
                    "http.accel-buffering",
                    "stream",
                    "an SSE answer carries X-Accel-Buffering: no",
                    "is an SSE stream without X-Accel-Buffering: no",
                )
            )
        events = 0
        chunks = self._chunks(response, progress)
        while True:
            try:
                if answer is None:
                    chunk = await anext(chunks)
                else:
                    chunk = await asyncio.wait_for(anext(chunks), self._grace())
            except StopAsyncIteration:
                break
            except TimeoutError:
                if answer is None:
                    raise
                smells.append(
                    Smell(
                        "http.final-terminates",
                        "stream",
                        "the stream ends behind the final message",
                        "leaves its stream open behind the final message",
                    )
                )
                break
            for data in reader.feed(chunk):
                events += 1
                if events > _EVENTS:
                    raise WireProblem("endless", f"{outgoing.method}: a stream of more than {_EVENTS} events")
                found = self._event(outgoing, data, smells)
                if found is not None and answer is not None:
                    raise WireProblem(
                        "malformed", f"{outgoing.method}: one request is answered twice on its stream", "rpc.id-echo"
                    )
                answer = found or answer
                progress.answered = answer is not None
        if answer is None:
            what = "in the middle of an event" if reader.unfinished else "without an answer"
            raise WireProblem("closed", f"{outgoing.method}: the stream ends {what}", "http.response-type")
        self.exercised["http.final-terminates"] += 1
        self.exercised["http.no-server-requests"] += 1
        self.exercised["tasks.method.reserved-prefixes"] += 1
        self.exercised["rpc.server-no-requests"] += 1
        return self._reply(outgoing, response.status_code, "sse", answer, smells)

    def _grace(self) -> float:
        return 0.0 if self.impatient("http.final-terminates") else self.limits.stream_end_s

    def _event(self, outgoing: Outgoing, data: bytes, smells: list[Smell]) -> Answer | None:
        try:
            message = decode(data)
        except BadTextError as error:
            raise self._bad_text(outgoing.method, error) from error
        try:
            return read_streamed(message, outgoing.id, smells)
        except WireProblem as problem:
            raise WireProblem(problem.kind, f"{outgoing.method}: it {problem.text}", problem.requirement) from problem

    # --- problems --------------------------------------------------------------------------

    def _bad_text(self, method: str, error: BadTextError) -> WireProblem:
        requirement = {"utf8": "http.utf8", "depth": None, "keys": "core.mrtr.key-unique"}.get(
            error.aspect, "http.response-type"
        )
        return WireProblem("malformed", f"{method}: the answer {error}", requirement)

    def _no_answer(self, method: str, response: httpx.Response, kind: str, body: bytes) -> NoReturn:
        """The HTTP response holds no JSON-RPC message."""
        status = response.status_code
        where = self.endpoint
        if 300 <= status < 400:
            target = response.headers.get("location", "")
            raise WireProblem(
                "refused",
                f"answers {method} with HTTP {status}, a redirect to {text_of(target, 100)}, which is not followed",
                hint="name the address that it points to",
            )
        if status in (401, 403, 407):
            raise WireProblem(
                "refused",
                f"answers {method} with HTTP {status}",
                hint="give credentials with --header 'Authorization: Bearer env:TOKEN'",
            )
        if status in (404, 405):
            raise WireProblem(
                "not-mcp", f"answers a POST of {method} with HTTP {status}", hint=f"is {where} the MCP endpoint?"
            )
        if status == 413:
            raise WireProblem("over-limit", f"answers {method} with HTTP 413: the request is too large for it")
        shown = text_of(body[:80].decode("utf-8", "backslashreplace"), 100)
        told = f"HTTP {status} and {kind or 'no content type'}" + (f": {shown}" if body else ", without a body")
        if status >= 500:
            raise WireProblem("refused", f"answers {method} with {told}", "rpc.internal-error")
        raise WireProblem("not-mcp", f"answers {method} with {told}", "http.response-type")

    def _late(self, method: str, progress: _Progress) -> WireProblem:
        seconds = f"{self.limits.answer_s:g} s"
        if progress.status is None:
            return WireProblem("silent", f"gave no answer to {method} within {seconds}")
        if progress.streams:
            return WireProblem(
                "endless", f"answers {method} with a stream that did not end within {seconds}", "http.final-terminates"
            )
        return WireProblem(
            "silent", f"had not finished its answer to {method} after {seconds} ({progress.received} bytes came)"
        )

    def _unreachable(self, error: httpx.ConnectError) -> WireProblem:
        if is_refused(error):
            return WireProblem("unreachable", f"nothing listens at {self.endpoint}")
        return WireProblem("unreachable", f"cannot connect to {self.endpoint}: {_words(error)}")

    @staticmethod
    def _broken(method: str, error: BaseException, progress: _Progress, seconds: float = 0.0) -> WireProblem:
        if progress.status is not None:
            return WireProblem("closed", f"closed the connection in the middle of its answer to {method}")
        if "disconnected" in str(error) or isinstance(error, (httpx.ReadError, httpx.WriteError, OSError)):
            return WireProblem("closed", f"closed the connection without an answer to {method}")
        return WireProblem("not-mcp", f"does not speak HTTP: {_words(error)}")


class _Progress:
    __slots__ = ("answered", "received", "status", "streams")

    def __init__(self) -> None:
        self.status: int | None = None
        self.received = 0
        self.streams = False
        self.answered = False


def _endpoint(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _words(error: BaseException) -> str:
    text = str(error)
    return f"{text_of(text, 160)[1:-1]}" if text else type(error).__name__
