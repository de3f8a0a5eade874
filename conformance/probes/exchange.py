"""What a probe sends: whole and correct requests, and those that no client sends; what came of them, for its verdict."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mcptasks.conformance.engine.wire_server import OpenServer, ServerSource
from mcptasks.conformance.probes.commands import Commands
from mcptasks.conformance.probes.findings import ProbeFindings
from mcptasks.conformance.probes.raw import SILENT, RawAnswer, RawSender
from mcptasks.conformance.wire import header_values, names
from mcptasks.conformance.wire.client import Reply, asked
from mcptasks.conformance.wire.json_text import encode
from mcptasks.conformance.wire.pacing import retry_after
from mcptasks.conformance.wire.problems import Smell, WireProblem
from mcptasks.conformance.wire.requests import CAPABILITIES, ROUTED_BY
from mcptasks.strategies.json_values import JSON

__all__ = ["CLIENT", "ProbeExchange", "ProbeSkipped"]


class Auto:
    """Stands for what the session fills in by itself."""


AUTO: Final = Auto()
CLIENT: Final = "mcptasks"
"""The name of the suite's client."""

_ATTEMPTS: Final = 5
_LONGEST_WAIT: Final = 20.0


class ProbeSkipped(Exception):
    """Ends a probe that cannot tell anything on this server; the message says why."""


class ProbeExchange(ProbeFindings):
    """The requests of one run of one probe on one server.

    Args:
        source: the server.
        probe: the probe's name.
        exercised: counts of observations by requirement, added to.
        choices: counts of what was observed where the specification leaves a choice, added to.
        known: fingerprints already reported.
    """

    def __init__(
        self,
        source: ServerSource,
        probe: str,
        *,
        exercised: Counter[str],
        choices: Counter[tuple[str, str]] | None = None,
        known: set[str] | None = None,
    ) -> None:
        super().__init__(probe, exercised, choices, known)
        server: OpenServer = source.opened
        self.source = source
        self.client = server.client
        self.profile = server.profile
        self.client.exercised = exercised
        self._held_back = 0
        """Requests that the ends of the probe's tasks will take."""
        self._framing: list[Smell] = []
        """What was wrong on standard output beside the answers."""
        self._asked_at = time.monotonic()
        """When the last request was sent."""
        self._errors: list[dict[str, Any]] = []
        self._streamed: list[list[str]] = []
        """Of each stream that answered a request: its notifications."""
        self._tools: frozenset[str] | None = None
        self._ids = itertools.count(1)
        spec = source.spec
        self._own, self._other = (
            [(line.name.encode(), line.resolved().encode()) for line in lines]
            for lines in (spec.sent_headers, spec.other_sent_headers)
        )
        self._commands = Commands(
            source.url, spec.sent_headers, spec.other_sent_headers, spec.peer_url, command=spec.command
        )
        limit, spend = self.client.limits.answer_s, self.client.spend
        self._sender = RawSender(source.url, limit, spend, self.client.stdio)
        self._peer = RawSender(spec.peer_url, limit, spend) if spec.peer_url else None

    @property
    def over_stdio(self) -> bool:
        """Whether the server is one over stdio."""
        return self.client.stdio is not None

    def message(
        self,
        method: str,
        params: Mapping[str, JSON] | None = None,
        *,
        request_id: JSON | Auto = AUTO,
        capabilities: Mapping[str, JSON] | None = None,
        meta: Mapping[str, JSON] | None = None,
        client: str = CLIENT,
    ) -> dict[str, Any]:
        """A whole request as a JSON object, to send as it is or to change first.

        Args:
            method: such as ``tasks/get``.
            params: without ``_meta``.
            request_id: instead of the next number.
            capabilities: declared instead of the usual ones.
            meta: the whole ``_meta`` instead of the usual one.
            client: the client's name.
        """
        whole: Mapping[str, JSON] = {
            names.PROTOCOL_VERSION: names.VERSION,
            names.CLIENT_INFO: {"name": client, "version": "1"},
            names.CLIENT_CAPABILITIES: dict(CAPABILITIES if capabilities is None else capabilities),
        }
        if meta is not None:
            whole = meta
        found: JSON = f"p{next(self._ids)}" if isinstance(request_id, Auto) else request_id
        return {"jsonrpc": "2.0", "id": found, "method": method, "params": {**(params or {}), "_meta": dict(whole)}}

    @staticmethod
    def headers_of(message: JSON) -> dict[str, str]:
        """The headers that belong to a message: all that the transport wants of a client, the user's own aside."""
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            names.HEADER_VERSION: names.VERSION,
        }
        if isinstance(message, Mapping) and isinstance(message.get("method"), str):
            headers[names.HEADER_METHOD] = message["method"]
            member = ROUTED_BY.get(message["method"])
            params = message.get("params")
            value = params.get(member) if member is not None and isinstance(params, Mapping) else None
            if isinstance(value, str):
                headers[names.HEADER_NAME] = header_values.encode(value)
        return headers

    async def raw(
        self,
        body: bytes | JSON | Auto = AUTO,
        *,
        headers: Mapping[str, str | bytes | None] | None = None,
        more_headers: Sequence[tuple[str, str | bytes]] = (),
        only_headers: bool = False,
        http_method: str = "POST",
        fresh: bool = False,
        until: Callable[[Sequence[JSON]], bool] | None = None,
        seconds: float | None = None,
        own_headers: bool = True,
        other: bool = False,
        peer: bool = False,
        creates: str = "",
    ) -> RawAnswer:
        """Send an HTTP request exactly so.

        Args:
            body: a JSON value such as :meth:`message` makes, or bytes; by default none.
            headers: set over those that belong to the body; ``None`` leaves one out.
            more_headers: added behind, also where the name is there already.
            only_headers: send nothing but the given headers (and what HTTP itself needs).
            http_method: such as ``GET``.
            fresh: on a new connection.
            until: see :meth:`RawSender.send`.
            seconds: that the answer may take.
            own_headers: send the user's headers, which may hold credentials.
            other: send those of the second caller instead.
            peer: send it to the second replica.
            creates: the name of the task that the answer tells of, for the commands of a breach.

        Raises:
            WireProblem: nothing listens any more.
            RequestsSpentError: no request is left.
        """
        data = b"" if isinstance(body, Auto) else body if isinstance(body, bytes) else encode(body)
        wanted: dict[str, str | bytes | None] = {}
        if not only_headers:
            wanted.update(self.headers_of(None if isinstance(body, (bytes, Auto)) else body))
            if isinstance(body, Auto):
                del wanted["Content-Type"]
        for name, value in (headers or {}).items():
            same = next((old for old in wanted if old.lower() == name.lower()), name)
            wanted.pop(same, None)
            wanted[name] = value
        pairs = [(name, value) for name, value in (*wanted.items(), *more_headers) if value is not None]
        lines = [
            (name.encode(), value if isinstance(value, bytes) else value.encode("latin-1")) for name, value in pairs
        ]
        self._commands.add(http_method, lines, data, creates=creates, other=other, peer=peer)
        whole = [
            *lines,
            (b"Accept-Encoding", b"identity"),
            *((self._other if other else self._own) if own_headers else ()),
        ]
        sender = self._peer if peer and self._peer is not None else self._sender
        method = body.get("method") if isinstance(body, Mapping) else None
        if isinstance(method, str):
            given = body.get("params") if isinstance(body, Mapping) else None
            asking: Mapping[str, JSON] = given if isinstance(given, Mapping) else {}
            self._answered(method, asking)
            self._hold_back(method)
        answer = await self._paced(sender, http_method, whole, data, fresh, until, seconds)
        if isinstance(method, str) and answer.problem == SILENT and until is None and seconds is None:
            await self._silent(method, asking)
        if answer.error is not None and all(answer.code != error["code"] for error in self._errors):
            self._errors.append(answer.error)
        if answer.kind == "text/event-stream" and method != "subscriptions/listen":
            told = [item.get("method") for item in answer.messages if isinstance(item, dict)]
            self._streamed.append([name for name in told if isinstance(name, str)])
        if isinstance(method, str) and answer.result is not None:
            self.exercised[f"answered:{method}"] += 1
        elif isinstance(method, str) and answer.error is not None:
            self.exercised[f"refused:{method}"] += 1
        return answer

    def _hold_back(self, method: str) -> None:
        """Keep a request for the end of each task, and of the one that this request may create."""
        if method == "tools/call":
            self.client.reserve = max(self.client.reserve, self._held_back + 1)

    def _answered(self, method: str, params: Mapping[str, JSON]) -> None:
        """Go on only if such requests are answered at all.

        Raises:
            ProbeSkipped: they are not, as several have shown.
        """
        if self.client.hangs(method, params):
            raise ProbeSkipped(f"the server no longer answers {asked(method, params)}")

    async def _silent(self, method: str, params: Mapping[str, JSON]) -> None:
        """Find out whether a request had no answer for what is odd about it, or because no such request has.

        Raises:
            ProbeSkipped: a correct one has none either: that is not what the probe is about.
        """
        plain: dict[str, JSON] = {"taskId": "mcptasks-no-such-task"} if method.startswith("tasks/") else {}
        if method == "tools/call":
            plain = {"name": params.get("name", ""), "arguments": {}}
        if method == "tasks/update":
            plain["inputResponses"] = {}
        await self.request(method, plain)

    def record(self, http_method: str, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
        """Note a request that is sent past :meth:`raw`, for the commands of a breach; the user's headers aside."""
        self._commands.add(http_method, headers, body)

    def remark(self, text: str) -> None:
        """Note what happens between two requests, for the commands of a breach."""
        self._commands.remark(text)

    async def _paced(
        self,
        sender: RawSender,
        http_method: str,
        headers: Sequence[tuple[bytes, bytes]],
        data: bytes,
        fresh: bool,
        until: Callable[[Sequence[JSON]], bool] | None,
        seconds: float | None,
    ) -> RawAnswer:
        pacer, waited = self.client.pacer, 0.0
        for _ in range(_ATTEMPTS):
            self.client.spend()
            await pacer.turn()
            self._asked_at = time.monotonic()
            answer = await sender.send(http_method, headers, data, fresh=fresh, until=until, seconds=seconds)
            if answer.status != 429 and not (answer.status == 503 and "retry-after" in answer.headers):
                pacer.answered()
                return answer
            asked = retry_after(answer.headers.get("retry-after"))
            pause = 1.0 if asked is None else asked
            pacer.slow_down(pause)
            waited += pause
            if waited > _LONGEST_WAIT:
                break
            await pacer.sleep(pause)
        raise ProbeSkipped("the server asks to wait for too long before it serves a request")

    async def ask(
        self,
        method: str,
        params: Mapping[str, JSON] | None = None,
        *,
        capabilities: Mapping[str, JSON] | None = None,
        request_id: JSON | Auto = AUTO,
        meta: Mapping[str, JSON] | None = None,
        client: str = CLIENT,
        fresh: bool = False,
        other: bool = False,
        peer: bool = False,
    ) -> RawAnswer:
        """Send a whole and correct request, except for what is declared or named here; see :meth:`message`.

        With ``other`` it is sent as the second caller, with ``peer`` to the second replica.
        """
        message = self.message(
            method, params, request_id=request_id, capabilities=capabilities, meta=meta, client=client
        )
        return await self.raw(message, fresh=fresh, other=other, peer=peer)

    async def request(
        self, method: str, params: Mapping[str, JSON], *, creates: str = "", beyond: bool = False
    ) -> Reply:
        """Send a request with the suite's client, for what a probe needs and does not judge.

        Raises:
            ProbeSkipped: the answer cannot be read.
        """
        self._answered(method, params)
        self._hold_back(method)
        message = self.message(method, params, request_id=next(self._ids))
        lines = [(name.encode(), value.encode("latin-1")) for name, value in self.headers_of(message).items()]
        self._commands.add("POST", lines, encode(message), creates=creates)
        self._asked_at = time.monotonic()
        try:
            reply = await self.client.request(method, params, beyond=beyond)
        except WireProblem as problem:
            if problem.kind == "unreachable":
                raise
            if problem.kind == "silent":
                raise ProbeSkipped(f"the server gives no answer to {asked(method, params)}") from problem
            raise ProbeSkipped(f"the server {problem.text}") from problem
        self.exercised[f"{'refused' if reply.error is not None else 'answered'}:{method}"] += 1
        if self.over_stdio:
            self._framing += reply.smells
        return reply

    async def tools(self) -> frozenset[str]:
        """The names of the server's tools, as far as its first page has them.

        Raises:
            ProbeSkipped: it does not list them.
        """
        if self._tools is None:
            reply = await self.request("tools/list", {})
            listed = (reply.result or {}).get("tools")
            tools = listed if isinstance(listed, list) else []
            self._tools = frozenset(
                tool["name"] for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)
            )
        return self._tools

    def commands(self) -> tuple[str, ...]:
        """Commands that show what was sent so far."""
        return self._commands.lines()
