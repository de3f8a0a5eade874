"""What a probe of a 2025-11-25 server works with: sessions, requests that no client sends, tasks, and checks."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from mcptasks.conformance.engine.wire25_interpreter import TTL_MS
from mcptasks.conformance.engine.wire25_server import OpenServer25, ServerSource25
from mcptasks.conformance.engine.wire_profiles import Control, Step, step_of
from mcptasks.conformance.probes.findings import ProbeFindings
from mcptasks.conformance.probes.raw import RawAnswer, RawSender
from mcptasks.conformance.probes.session import ProbeOver, ProbeSkipped
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.json_text import encode
from mcptasks.conformance.wire.names import TERMINAL_STATUSES
from mcptasks.conformance.wire.problems import RequestsSpentError, WireProblem
from mcptasks.conformance.wire_2025.events import ResumableReader
from mcptasks.conformance.wire_2025.forms import Forms25
from mcptasks.conformance.wire_2025.names import HEADER_EVENT, HEADER_SESSION, HEADER_VERSION
from mcptasks.conformance.wire_2025.problems import BROKEN, SessionProblem
from mcptasks.conformance.wire_2025.session import Notice, Question, Session, Waiting
from mcptasks.conformance.wire_2025.transcript import Transcript25
from mcptasks.strategies.json_values import JSON, text_of
from mcptasks.strategies.operations import Create, Operation

__all__ = ["ProbeOver", "ProbeSession25", "ProbeSkipped", "ProbeTask25"]

_ENDING: Final[dict[str, JSON]] = {"content": [{"type": "text", "text": "ended by the conformance suite"}]}
_DEADLINE_S: Final = 2.0
_IN_VAIN: Final = 3
_RECONNECTS: Final = 20
_PULSE_S: Final = 0.05
"""Seconds after which a session must still be there."""
_IDS: Final = itertools.count(1)
"""Of requests sent as they are: none comes twice in a session (MCP 2025-11-25, basic/index, "Requests")."""


def _has_response(messages: Sequence[JSON]) -> bool:
    return any(isinstance(item, dict) and ("result" in item or "error" in item) for item in messages)


class ProbeTask25:
    """A task that a probe has opened."""

    def __init__(self, name: str, reply: Mapping[str, Any], session: Session) -> None:
        self.name = name
        self.created: Mapping[str, Any] = reply
        """The whole ``CreateTaskResult``."""
        inner = reply.get("task")
        self.task: Mapping[str, Any] = inner if isinstance(inner, Mapping) else reply
        """The task in it."""
        self.id: str = self.task["taskId"]
        self.session = session
        self.ended = False
        """Whether the probe itself has ended it."""


class ProbeSession25(ProbeFindings):
    """One run of one probe on one server.

    Args:
        source: the server.
        probe: the probe's name.
        exercised: counts of observations by requirement, added to.
        choices: counts of what was observed where the specification leaves a choice, added to.
        known: fingerprints already reported.
    """

    def __init__(
        self,
        source: ServerSource25,
        probe: str,
        *,
        exercised: Counter[str],
        choices: Counter[tuple[str, str]] | None = None,
        known: set[str] | None = None,
    ) -> None:
        super().__init__(probe, exercised, choices, known)
        self.source = source
        self.server: OpenServer25 = source.opened
        self.introduction = source.opened.introduction
        self.client = source.opened.client
        self.profile = source.opened.profile
        self.forms: Forms25 = source.opened.forms
        self.client.exercised = exercised
        self.tasks: list[ProbeTask25] = []
        self._more: list[Session] = []
        self._waiting: list[Waiting] = []
        self._transcript = Transcript25(source.url, source.spec.sent_headers, source.spec.other_sent_headers)
        self._sender = RawSender(source.url, self.client.limits.answer_s, self.client.spend)

    # --- sessions --------------------------------------------------------------------------

    async def session(self) -> Session:
        """The session that the whole run shares.

        Raises:
            TargetUnusableError: none can be begun any more.
        """
        return await self.server.session()

    async def another(
        self, *, other: bool = False, capabilities: Mapping[str, JSON] | None = None, listens: bool = True
    ) -> Session:
        """A further session, ended when the probe is over.

        Args:
            other: of the second caller.
            capabilities: declared instead of the usual ones.
            listens: whether the stream of the GET is opened.

        Raises:
            ProbeSkipped: the server begins none.
        """
        session = Session(self.client, other=other, capabilities=capabilities, listens=listens)
        self._more.append(session)
        self._transcript.begin(self._number(session), other=other)
        try:
            reply = await session.open()
        except WireProblem as problem:
            raise ProbeSkipped(f"no further session can be begun: the server {problem.text}") from problem
        if reply.error is not None:
            raise ProbeSkipped(f"no further session can be begun: initialize is answered with error {reply.code}")
        return session

    def _number(self, session: Session) -> int:
        """The number of a session in the commands of a breach: 1 is the shared one."""
        return next((number for number, known in enumerate(self._more, 2) if known is session), 1)

    # --- requests --------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Mapping[str, JSON] | None = None,
        *,
        session: Session | None = None,
        creates: str = "",
        seconds: float | None = None,
    ) -> Reply:
        """Send a request in a session (the shared one by default) and read its answer, which may be an error.

        Raises:
            ProbeSkipped: the answer cannot be read.
            ProbeOver: the session broke at it, which is a breach.
        """
        speaking = await self.session() if session is None else session
        if method == "tools/call":  # one for the end of each task, and of the one that this may create
            self.client.reserve = max(self.client.reserve, len(self.tasks) + 1)
        self._transcript.add(method, params, creates=creates, session=self._number(speaking))
        try:
            reply = await speaking.request(method, params, seconds=seconds)
        except SessionProblem as problem:
            await self.broken(problem, method, speaking)
            raise ProbeSkipped(f"the server {problem.text}") from problem
        self.exercised[f"{'refused' if reply.error is not None else 'answered'}:{method}"] += 1
        return reply

    async def broken(self, problem: SessionProblem, method: str, session: Session) -> None:
        """Report a session that broke at a request; nothing where the trouble is no breach.

        Raises:
            ProbeOver: it is one.
        """
        if problem.requirement is None:
            return
        if problem.requirement == BROKEN:
            session.lost = session.lost or problem.text
        self.check(
            problem.requirement,
            False,
            expected="a JSON-RPC answer; whatever fails inside is error -32603, and the session goes on",
            actual=problem.text,
            message=f"{method}: the server {problem.text}",
            aspect="lost" if problem.lost else problem.kind,
            warning=problem.warning,
        )

    async def begin(self, method: str, params: Mapping[str, JSON], *, session: Session | None = None) -> Waiting:
        """Send a request whose answer may take long, such as ``tasks/result``; left when the probe is over."""
        speaking = await self.session() if session is None else session
        self._transcript.add(method, params, note="waits", session=self._number(speaking))
        waiting = speaking.begin(method, params)
        self._waiting.append(waiting)
        return waiting

    async def over(self, waiting: Waiting, seconds: float | None = None, *, session: Session | None = None) -> bool:
        """Wait until a request is answered; false if it is not in time."""
        speaking = await self.session() if session is None else session
        limit = self.deadline if seconds is None else seconds
        await speaking.until(lambda: waiting.done or bool(speaking.lost), limit)
        return waiting.reply is not None

    async def until(
        self, condition: Callable[[], bool], seconds: float | None = None, *, session: Session | None = None
    ) -> bool:
        """Wait until something is so, looking whenever a message has come in the session; false if it is not in time."""
        speaking = await self.session() if session is None else session
        return await speaking.until(condition, self.deadline if seconds is None else seconds)

    @property
    def deadline(self) -> float:
        """Seconds until an effect must show."""
        return _DEADLINE_S if self.source.spec.settle is None else self.source.spec.settle

    def message(
        self, method: str, params: Mapping[str, JSON] | None = None, *, request_id: JSON = None
    ) -> dict[str, Any]:
        """A whole request as a JSON object, to send as it is or to change first; by default with an id of its own."""
        found: JSON = f"p{next(_IDS)}" if request_id is None else request_id
        out: dict[str, Any] = {"jsonrpc": "2.0", "id": found, "method": method}
        if params is not None:
            out["params"] = dict(params)
        return out

    async def raw(
        self,
        body: JSON | bytes = b"",
        *,
        headers: Mapping[str, str | None] | None = None,
        http_method: str = "POST",
        session: Session | None = None,
        in_session: bool = True,
        fresh: bool = False,
        until: Callable[[Sequence[JSON]], bool] | None = None,
        seconds: float | None = None,
    ) -> RawAnswer:
        """Send an HTTP request exactly so.

        Args:
            body: a JSON value such as :meth:`message` makes, or bytes.
            headers: set over those of a session's request; ``None`` leaves one out.
            http_method: such as ``GET``.
            session: whose headers are sent; the shared one by default.
            in_session: false: no header of a session is sent, neither its id nor the version.
            fresh: on a new connection.
            until: see :meth:`.probes.raw.RawSender.send`.
            seconds: that the answer may take.

        Raises:
            ProbeSkipped: nothing listens any more.
        """
        speaking = await self.session() if session is None else session
        wanted = {name.lower(): value for name, value in (headers or {}).items()}
        left_out = set(wanted) | (set() if in_session else {HEADER_SESSION.lower(), HEADER_VERSION.lower()})
        lines = [
            (name, value)
            for name, value in speaking.headers(posts=http_method != "GET")
            if name.decode().lower() not in left_out
        ]
        lines += [(name.encode(), value.encode("utf-8")) for name, value in wanted.items() if value is not None]
        data = body if isinstance(body, bytes) else encode(body)
        apart = {} if in_session else {HEADER_SESSION.lower(): None, HEADER_VERSION.lower(): None}
        self._transcript.raw(
            http_method, {**apart, **wanted}, data.decode("utf-8", "backslashreplace"), session=self._number(speaking)
        )
        self.client.spend()
        await self.client.pacer.turn()
        try:
            answer = await self._sender.send(http_method, lines, data, fresh=fresh, until=until, seconds=seconds)
            if http_method == "POST" and until is None and in_session:
                answer = await self._resumed(answer, speaking)
            return answer
        except WireProblem as problem:
            raise ProbeSkipped(f"the server {problem.text}") from problem

    async def _resumed(self, answer: RawAnswer, session: Session) -> RawAnswer:
        """An answer whose stream was closed behind an event with an id, with what a GET from there on brings."""
        for _ in range(_RECONNECTS):
            if answer.kind != "text/event-stream" or answer.response is not None or not answer.ended:
                break
            reader = ResumableReader()
            list(reader.messages(answer.body))
            if reader.last_id is None:
                break
            await self.client.pacer.sleep(0.1 if reader.retry_ms is None else min(reader.retry_ms / 1000, 5.0))
            lines = [*session.headers(posts=False), (HEADER_EVENT.encode(), reader.last_id.encode())]
            self.client.spend()
            again = await self._sender.send("GET", lines, b"", until=_has_response)
            if again.status != 200:
                break
            messages = (*answer.messages, *again.messages)
            answer = replace(answer, messages=messages, body=answer.body + again.body)
        return answer

    # --- tasks -----------------------------------------------------------------------------

    def creation(
        self, *wanted: Operation, task: Mapping[str, JSON] | None = None, meta: Mapping[str, JSON] | None = None
    ) -> dict[str, JSON]:
        """Parameters of a ``tools/call`` that creates a task.

        Args:
            wanted: what is to happen to it, for servers whose tasks move by themselves: by default it is long at work.
            task: its member ``task``, instead of a long ttl.
            meta: its ``_meta``.
        """
        name = f"t{len(self.tasks) + 1}"
        params = self.profile.opening(name, [Create(name), *wanted])
        params["task"] = {"ttl": TTL_MS} if task is None else dict(task)
        if meta is not None:
            params["_meta"] = dict(meta)
        return params

    async def open_task(
        self,
        *wanted: Operation,
        task: Mapping[str, JSON] | None = None,
        meta: Mapping[str, JSON] | None = None,
        session: Session | None = None,
    ) -> ProbeTask25:
        """Open a task; it is ended when the probe is over.  See :meth:`creation`.

        Raises:
            ProbeSkipped: the server makes none.
        """
        speaking = await self.session() if session is None else session
        params = self.creation(*wanted, task=task, meta=meta)
        reply = await self.request("tools/call", params, session=speaking, creates=f"t{len(self.tasks) + 1}")
        return self.adopt(reply, speaking)

    def adopt(self, reply: Reply, session: Session) -> ProbeTask25:
        """Take charge of the task that a request of the probe's own has made.

        Raises:
            ProbeSkipped: it has made none.
        """
        result = reply.result or {}
        nested = result.get("task")
        inner: Mapping[str, Any] = nested if isinstance(nested, Mapping) else result
        if not isinstance(inner.get("taskId"), str) or not inner["taskId"]:
            told = f"error {reply.code}" if reply.error else "a result without a task"
            raise ProbeSkipped(f"the call makes no task: it gives {told}")
        task = ProbeTask25(f"t{len(self.tasks) + 1}", result, session)
        self.server.seen_ids.add(task.id)
        self.tasks.append(task)
        return task

    async def step(self, task: ProbeTask25, step: Mapping[str, JSON]) -> Step:
        """Step a task with ``task_step`` (contract, section 4).

        Raises:
            ProbeSkipped: the server's tasks cannot be stepped.
        """
        if not isinstance(self.profile, Control):
            raise ProbeSkipped("the server's tasks cannot be stepped")
        params = self.profile.stepping(task.id, dict(step))
        return step_of(await self.request("tools/call", params, session=task.session))

    async def ask(self, task: ProbeTask25, request: Mapping[str, JSON], key: str = "q") -> Step:
        """Have a task send a request to the client."""
        return await self.step(task, {"action": "request_input", "requests": {key: dict(request)}})

    async def complete(self, task: ProbeTask25, result: Mapping[str, JSON] | None = None) -> Step:
        """Complete a task."""
        task.ended = True  # also where it is not answered: a server that hangs is not asked twice
        try:
            return await self.step(task, {"action": "complete", "result": dict(_ENDING if result is None else result)})
        except RequestsSpentError:
            task.ended = False
            raise

    async def get(self, task: ProbeTask25) -> dict[str, Any]:
        """The task as ``tasks/get`` shows it.

        Raises:
            ProbeSkipped: it shows none.
        """
        reply = await self.request("tasks/get", {"taskId": task.id}, session=task.session)
        if reply.result is None:
            raise ProbeSkipped(f"tasks/get of a task of its own is refused with error {reply.code}")
        if "status" not in reply.result:  # which every such read tells; here it would only be mistaken for a change
            raise ProbeSkipped("tasks/get shows no status")
        return reply.result

    async def end(self, task: ProbeTask25) -> dict[str, Any]:
        """Bring a task into a terminal state; what ``tasks/get`` then shows.

        Raises:
            ProbeSkipped: it does not end.
        """
        if isinstance(self.profile, Control):
            await self.complete(task)
        else:
            await self.request("tasks/cancel", {"taskId": task.id}, session=task.session)
        return await self.shown(task, TERMINAL_STATUSES)

    async def shown(self, task: ProbeTask25, statuses: frozenset[str]) -> dict[str, Any]:
        """The task, once it is shown in one of these statuses.

        Raises:
            ProbeSkipped: it is not in time.
        """
        end = time.monotonic() + self.deadline
        while True:
            asked = time.monotonic()
            shown = await self.get(task)
            if shown.get("status") in statuses:
                task.ended = shown["status"] in TERMINAL_STATUSES
                return shown
            if asked >= end or self.server.missed[f"shown-{sorted(statuses)[0]}"] >= _IN_VAIN:
                self.server.missed[f"shown-{sorted(statuses)[0]}"] += 1
                raise ProbeSkipped(f"a task is not {' or '.join(sorted(statuses))} in time")
            await self.client.pacer.sleep(0.05)

    @staticmethod
    def notices(session: Session, method: str, since: int = 0) -> list[Notice]:
        """The notifications of that method that have come in a session, from number ``since`` of all on."""
        return [notice for notice in session.notices[since:] if notice.method == method]

    @staticmethod
    def questions(session: Session, since: int = 0) -> list[Question]:
        """The requests of the server's that have come in a session, from number ``since`` on."""
        return session.questions[since:]

    async def close(self) -> None:
        """End what the probe has opened."""
        for waiting in self._waiting:
            waiting.drop()
        ended: Session | None = None
        while self.tasks:
            task = self.tasks.pop()
            if not task.ended and not task.session.lost:
                await self._end_silently(task)
                ended = task.session
        for session in self._more:
            for question in session.questions:
                if not question.answered:
                    with suppress(WireProblem):
                        await session.answer(question, None, {"code": -1, "message": "over"}, beyond=True)
            await session.close()
        if self._more:
            # There are servers that the end of one session spoils for all others: what follows has a new one.
            await self.server.leave()
        elif ended is not None:
            await self._pulse(ended)
        self.client.reserve = 0
        await self._sender.close()

    async def _pulse(self, session: Session) -> None:
        """Leave a session that has not outlived the end of the tasks in it: the next probe must not answer for that."""
        await self.client.pacer.sleep(_PULSE_S)
        try:
            await session.request("ping", beyond=True, seconds=2.0)
        except WireProblem:
            await self.server.leave()

    async def _end_silently(self, task: ProbeTask25) -> None:
        params: dict[str, JSON] = {"taskId": task.id}
        method = "tasks/cancel"
        if isinstance(self.profile, Control):
            method = "tools/call"
            params = self.profile.stepping(task.id, {"action": "complete", "result": dict(_ENDING)})
        with suppress(WireProblem):
            await task.session.request(method, params, beyond=True, seconds=2.0)

    def commands(self) -> tuple[str, ...]:
        """Commands that show what was sent so far."""
        return self._transcript.commands({task.name: task.id for task in self.tasks})

    @staticmethod
    def told(reply: Reply) -> str:
        """An answer in a few words."""
        if reply.error is not None:
            return f"error {reply.code}: {text_of(reply.error['message'], 80)}"
        return f"the result {text_of(reply.result, 160)}"
