"""How the interpreter of 2025-11-25 speaks with a server, and how it reports: the part under its operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager

from mcptasks.conformance.engine.beat import Words
from mcptasks.conformance.engine.breach import Breach, Stop
from mcptasks.conformance.engine.wire25_automaton import Wire25Automaton
from mcptasks.conformance.engine.wire25_describe import method_of, word
from mcptasks.conformance.engine.wire25_server import OpenServer25
from mcptasks.conformance.engine.wire25_tasks import Task25
from mcptasks.conformance.engine.wire_speaking import LARGE, Speaker
from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire_2025.client import Client25
from mcptasks.conformance.wire_2025.forms import Forms25
from mcptasks.conformance.wire_2025.problems import BROKEN, SessionProblem
from mcptasks.conformance.wire_2025.session import Session
from mcptasks.conformance.wire_2025.transcript import Transcript25
from mcptasks.strategies.json_values import JSON

__all__ = ["Speaking25"]


class Speaking25(Speaker):
    """Requests in the session of a sequence, and breaches with the commands that show them.

    Args:
        store: the server.
        automaton: the model, whose counts it adds to.
        known: fingerprints already reported.
        settle: seconds until an effect must show; ``None``: the contract's default for the profile.
        beat: ``beat[0]`` is incremented at every request.
        begun: called with the session when the sequence begins to use it.
    """

    store: OpenServer25
    automaton: Wire25Automaton
    client: Client25
    forms: Forms25
    transcript: Transcript25
    _message = "message"

    def __init__(
        self,
        store: OpenServer25,
        automaton: Wire25Automaton,
        known: set[str] | None,
        settle: float | None,
        beat: Words | None,
        begun: Callable[[Session], None],
    ) -> None:
        super().__init__(store, automaton, known, settle, beat)
        self.tasks: dict[str, Task25] = {}
        self._begun = begun
        self.silence()

    @staticmethod
    def _words(name: str, state: str) -> tuple[str, str]:
        return method_of(name), word(state)

    def silence(self) -> None:
        """Forget what was said in the last sequence."""
        self.tasks = {}
        self._made: dict[str, str] = {}
        self._deferred: list[Stop] = []
        self._session: Session | None = None
        self._requests = 0
        self._renewed = False
        self.transcript.clear()

    async def session(self) -> Session:
        """The session of this sequence.

        Raises:
            TargetUnusableError: none can be begun.
        """
        if self._session is None:
            self._session = await self.store.session()
            self._begun(self._session)
        return self._session

    # --- breaches --------------------------------------------------------------------------

    @contextmanager
    def deferring(self) -> Iterator[None]:
        """Keep a breach for the end of the sequence: something else may turn out to be the reason."""
        try:
            yield
        except Stop as stop:
            self._deferred.append(stop)

    def broken(self, problem: SessionProblem, operation: str) -> None:
        """Report a request that broke the session, or had no answer that can be read.

        Raises:
            Stop: always, unless the server cannot be asked at all.
            TargetUnusableError: then.
        """
        if problem.requirement is None:
            raise TargetUnusableError(f"{self.client.endpoint}: {problem.line}") from problem
        silent = problem.kind == "silent"
        aspect = "lost" if problem.lost else problem.kind
        gone = problem.lost or problem.requirement == BROKEN
        found = Breach(
            problem.requirement,
            operation,
            operation,
            # A hang costs its whole timeout every time: the investigator knows it by these two.
            "any" if silent else "session" if gone else "every",
            "life" if silent else aspect,
            f"{method_of(operation)}: the server {problem.text}",
            "a JSON-RPC answer; whatever fails inside is error -32603, and the session goes on",
            problem.text,
            self.index,
            warning=problem.warning,
            # A session may end at any time: that it ends for this has to show again, in a new one.
            waited=problem.lost,
        )
        if self._session is not None and (gone or silent):
            self._session.lost = self._session.lost or problem.text
        raise Stop(self._with_proof(found))

    # --- requests --------------------------------------------------------------------------

    async def send(self, operation: str, method: str, params: Mapping[str, JSON], *, creates: str = "") -> Reply | None:
        """Send a request; ``None`` if the server refuses it for its size.

        Raises:
            Stop: it has no answer that can be read.
        """
        session = await self.session()
        self.transcript.add(method, params, creates=creates)
        self._requests += 1
        try:
            reply = await session.request(method, params)
        except SessionProblem as problem:
            if problem.kind == "over-limit":
                return None
            if problem.lost and self._requests == 1 and not self._renewed:
                # What became of it was not this sequence's doing.
                self.store.note(f"between two sequences the session was lost: the server {problem.text}")
                self._session, self._requests, self._renewed = None, 0, True
                self.transcript.clear()
                return await self.send(operation, method, params, creates=creates)
            self.broken(problem, operation)
            raise AssertionError("a breach without its stop") from problem
        self.took(reply, operation)
        return None if reply.error is not None and reply.sent_bytes > LARGE else reply

    def took(self, reply: Reply, operation: str) -> None:
        """Count an answer, and judge what is wrong with it as a message."""
        if any(not waiting.done for task in self.tasks.values() for waiting in task.waiters):
            self.automaton.choices[("rpc.order-free", "later requests are answered first")] += 1
        self.exercised[f"{'refused' if reply.error is not None else 'answered'}:{reply.method}"] += 1
        if reply.smells:
            self.smelled(reply.smells, operation, reply.method)

    async def said(self, sending: Awaitable[int], operation: str) -> int | None:
        """The HTTP status of what has no JSON-RPC answer.

        Raises:
            Stop: the session broke at it.
        """
        try:
            return await sending
        except SessionProblem as problem:
            self.broken(problem, operation)
            return None
