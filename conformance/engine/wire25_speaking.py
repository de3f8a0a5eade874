"""How the interpreter of 2025-11-25 speaks with a server, and how it reports: the part under its operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from mcptasks.conformance.engine.beat import Words, counters
from mcptasks.conformance.engine.breach import Breach, Reporter, Stop
from mcptasks.conformance.engine.wire25_automaton import Wire25Automaton
from mcptasks.conformance.engine.wire25_describe import method_of, word
from mcptasks.conformance.engine.wire25_server import OpenServer25
from mcptasks.conformance.engine.wire25_tasks import Task25
from mcptasks.conformance.engine.wire_profiles import Profile
from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.model.automaton import Cause
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.problems import Smell
from mcptasks.conformance.wire_2025.problems import BROKEN, SessionProblem
from mcptasks.conformance.wire_2025.session import Session
from mcptasks.strategies.json_values import JSON

__all__ = ["Speaking"]

_LARGE: Final = 32 * 1024
"""Bytes of a request above which a server may refuse it (contract, section 2)."""


class Speaking(Reporter):
    """Requests in the session of a sequence, and breaches with the commands that show them.

    Args:
        store: the server.
        automaton: the model, whose counts it adds to.
        known: fingerprints already reported.
        settle: seconds until an effect must show; ``None``: the contract's default for the profile.
        beat: ``beat[0]`` is incremented at every request.
        begun: called with the session when the sequence begins to use it.
    """

    def __init__(
        self,
        store: OpenServer25,
        automaton: Wire25Automaton,
        known: set[str] | None,
        settle: float | None,
        beat: Words | None,
        begun: Callable[[Session], None],
    ) -> None:
        self.store = store
        self.client = store.client
        self.profile: Profile = store.profile
        self.forms = store.forms
        self.transcript = store.transcript
        self.automaton = automaton
        self.known = set() if known is None else known
        self.settle = settle
        self.beat: Words = counters() if beat is None else beat
        self.exercised = automaton.exercised
        self.client.exercised = automaton.exercised
        self.repeated: Counter[str] = Counter()
        self.index = 0
        self.tasks: dict[str, Task25] = {}
        self._begun = begun
        self.silence()

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

    def _with_proof(self, found: Breach) -> Breach:
        return replace(found, curl=self.transcript.commands(self._made))

    def soft(self, requirement: str, operation: str, state: str, aspect: str, actual: str, expected: str) -> None:
        """Report what the sequence can go on after."""
        self.breach(requirement, operation, operation, state, aspect, actual, expected, actual, soft=True)

    def inconclusive(self, task: Task25, cause: Cause) -> None:
        """An effect did not come in time, where that may have reasons of its own."""
        task.unjudged = True
        self.store.note(
            f"{method_of(cause.name)} on a task that was {word(cause.state)}: no effect within "
            f"{self.deadline(task):g} s; not judged, since tasks of this profile move by themselves"
        )

    def smelled(self, smells: Iterable[Smell], operation: str, method: str) -> None:
        """Report what is wrong with the form of a message."""
        for smell in smells:
            self.breach(
                smell.requirement,
                operation,
                operation,
                "every",
                smell.aspect.removeprefix("!"),
                f"{method}: the message {smell.actual}",
                smell.expected,
                f"the message {smell.actual}",
                soft=True,
                warning=smell.aspect.startswith("!"),
            )

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

    def deadline(self, task: Task25 | None) -> float:
        """Seconds until an effect must show (contract, section 4)."""
        if self.settle is not None:
            return self.settle
        poll = (task.poll_ms or 0) / 1000 if task is not None else 0.0
        return max(2.0, 5 * poll) if self.profile.settles else max(10.0, 20 * poll)

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
        return None if reply.error is not None and reply.sent_bytes > _LARGE else reply

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
