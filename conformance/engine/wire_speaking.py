"""How the interpreters speak with a server, and how they report: the part under their operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from mcptasks.conformance.engine.beat import Words, counters
from mcptasks.conformance.engine.breach import Breach, Reporter
from mcptasks.conformance.engine.wire_automaton import WireAutomaton
from mcptasks.conformance.engine.wire_describe import method_of, word
from mcptasks.conformance.engine.wire_profiles import Profile
from mcptasks.conformance.engine.wire_server import OpenServer
from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.model.automaton import Cause
from mcptasks.conformance.wire.client import Reply, WireClient
from mcptasks.conformance.wire.forms import Forms
from mcptasks.conformance.wire.problems import Smell, WireProblem
from mcptasks.conformance.wire.stdio_scope import is_told
from mcptasks.conformance.wire.transcript import Transcript
from mcptasks.strategies.json_values import JSON

__all__ = ["LARGE", "LOOKS", "Speaker", "Speaking"]

LARGE: Final = 32 * 1024
"""Bytes of a request above which a server may refuse it (contract, section 2)."""
LOOKS: Final = 3
"""Reads after which an effect may count as missing: a machine that stalls spends a whole deadline between two."""


class Speaker(Reporter):
    """What both revisions share.  The annotations of a subclass say what its server, model and tasks are.

    Args:
        store: the server (the name is that of the store interpreter's argument).
        automaton: the model; shared by all interpreters of a run, so that counts add up.
        known: fingerprints already reported; at a soft breach of a known kind the sequence goes on.
        settle: seconds until an effect must show; ``None``: the contract's default for the profile.
        beat: ``beat[0]`` is incremented at every request.
    """

    store: Any
    automaton: Any
    client: Any
    forms: Any
    transcript: Any
    _message = "answer"
    """What a message of the server's is called in a breach."""

    def __init__(
        self, store: Any, automaton: Any, known: set[str] | None, settle: float | None, beat: Words | None
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
        self.hung = False
        """Set by a watchdog; here every request has a deadline of its own."""
        self.index = 0
        self._made: dict[str, str] = {}

    @staticmethod
    def _words(name: str, state: str) -> tuple[str, str]:
        """What an operation and a state are called."""
        return method_of(name), word(state)

    def _with_proof(self, found: Breach) -> Breach:
        return replace(found, curl=self.transcript.commands(self._made))

    def soft(self, requirement: str, operation: str, state: str, aspect: str, actual: str, expected: str) -> None:
        """Report what the sequence can go on after."""
        self.breach(requirement, operation, operation, state, aspect, actual, expected, actual, soft=True)

    def inconclusive(self, task: Any, cause: Cause) -> None:
        """An effect did not come in time, where that may have reasons of its own."""
        task.unjudged = True
        method, state = self._words(cause.name, cause.state)
        self.store.note(
            f"{method} on a task that was {state}: no effect within {self.deadline(task):g} s; not judged, "
            "since tasks of this profile move by themselves"
        )

    def smelled(self, smells: Iterable[Smell], operation: str, method: str) -> None:
        """Report what is wrong with the form of a message."""
        for smell in smells:
            if is_told(smell, self.known):
                continue
            actual = f"the {self._message} {smell.actual}"
            self.breach(
                smell.requirement,
                operation,
                operation,
                "every",
                smell.aspect.removeprefix("!"),
                f"{method}: {actual}",
                smell.expected,
                actual,
                soft=True,
                warning=smell.aspect.startswith("!"),
            )

    def deadline(self, task: Any) -> float:
        """Seconds until an effect must show (contract, section 4)."""
        if self.settle is not None:
            return self.settle
        poll = (task.poll_ms or 0) / 1000 if task is not None else 0.0
        return max(2.0, 5 * poll) if self.profile.settles else max(10.0, 20 * poll)


class Speaking(Speaker):
    """Requests to a server of 2026-07-28; see :class:`Speaker` for the arguments."""

    store: OpenServer
    automaton: WireAutomaton
    client: WireClient
    forms: Forms
    transcript: Transcript

    async def send(
        self,
        operation: str,
        method: str,
        params: Mapping[str, JSON],
        *,
        creates: str = "",
        capabilities: Mapping[str, JSON] | None = None,
    ) -> Reply | None:
        """Send a request; ``None`` if the server refuses it for its size.

        Raises:
            Stop: it has no answer that can be read.
            TargetUnusableError: the server cannot be asked at all.
        """
        self.transcript.add(method, params, capabilities, creates)
        try:
            reply = await self.client.request(method, params, capabilities=capabilities)
        except WireProblem as problem:
            if problem.kind == "over-limit":
                return None
            if problem.requirement is None:
                raise TargetUnusableError(f"{self.client.endpoint}: {problem.line}") from problem
            self.breach(
                problem.requirement,
                operation,
                operation,
                "every",
                problem.kind,
                problem.text,
                f"{method} is answered with one JSON-RPC message "
                + ("on a line" if self.client.stdio is not None else "as application/json or text/event-stream"),
                problem.text,
            )
            raise AssertionError("a breach without its stop") from problem
        self.exercised["refused:" + method if reply.error is not None else "answered:" + method] += 1
        if reply.smells:
            self.smelled(reply.smells, operation, method)
        if reply.error is not None and reply.sent_bytes > LARGE:
            return None
        return reply
