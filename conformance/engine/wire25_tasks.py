"""What the 2025-11-25 wire interpreter remembers of one task while a sequence runs."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any, Final

from mcptasks.conformance.model.automaton import Cause, Node
from mcptasks.conformance.model.states import GONE
from mcptasks.conformance.model.wire_2025 import UNKNOWN
from mcptasks.conformance.wire_2025.session import Question, Waiting
from mcptasks.strategies.json_values import JSON, Payload

__all__ = ["Asked", "Task25", "ending_of"]

_NEAR_EXPIRY: Final = 0.8
"""A task is not judged once this share of its ttl has passed."""


def ending_of(value: JSON, *, error: bool) -> Payload | None:
    """How a task ended, as it is compared: its result or its error, told apart; ``None`` if it cannot be read.

    Of a result ``_meta`` and ``isError: false`` are left out: the first is the server's, the second says what its
    absence says.
    """
    if not error and isinstance(value, dict):
        value = {
            key: item for key, item in value.items() if key != "_meta" and not (key == "isError" and item is False)
        }
    try:
        return Payload({"error" if error else "result": value})
    except (ValueError, RecursionError):
        return None


class Asked:
    """A question that the sequence has had a task ask."""

    __slots__ = ("key", "name", "question", "request", "responses", "task")

    def __init__(self, task: Task25, key: str, name: str, request: Payload) -> None:
        self.task = task
        self.key = key
        """The operation's key."""
        self.name = name
        """The key under which it was asked: never one that the task has had."""
        self.request = request
        self.question: Question | None = None
        """As it came from the server."""
        self.responses: list[Payload] = []
        """What was sent in answer."""


class Task25:
    """One task of the sequence."""

    def __init__(self, name: str, task_id: str, node: Node, cause: Cause | None) -> None:
        self.name = name
        self.id = task_id
        self.node = node
        self.cause = cause
        """What happened since the last good read; ``None``: nothing."""
        self.stale: list[Node] = []
        """Where it was before steps whose effect no read has shown yet."""
        self.seen_at = 0
        """The interpreter's count of changes when it was last read."""
        self.unjudged = False
        """Nothing more can be said of it."""
        self.opening: dict[str, Any] = {}
        """Parameters of the call that made it."""
        self.waiters: list[Waiting] = []
        """Requests for its result that are under way."""
        self.waited = False
        """Whether a read has shown it as input_required since it was last asked."""
        self.smells: set[str] = set()
        """Members that some answer has shown in a wrong form."""
        self.moving = (0.0, "")
        """When its last step was sent, by :func:`time.monotonic`, and its status before."""
        self.fetched = False
        """Whether its result was handed out."""
        self.there = False
        """Whether a read has shown it ended before that."""
        self.asked: dict[str, Asked] = {}
        """Its questions, by the key under which each was asked."""
        self.current: dict[str, Asked] = {}
        """The question that an operation's key stands for now."""
        self.keys: dict[str, int] = {}
        self.endings: list[Payload] = []
        self._ending_numbers: dict[Payload, int] = {}
        self.ttl_ms: float | None = None
        self.poll_ms: float | None = None
        self.born = time.monotonic()
        self.created: datetime | None = None
        self.updated: datetime | None = None
        self.was_made = False
        """Whether the sequence has made it: false of an id that never existed."""
        self.was_read = False
        self.outline: object = None
        """What the last read showed, without times."""

    def key_number(self, key: str) -> int:
        """The key's number, in order of first appearance."""
        return self.keys.setdefault(key, len(self.keys))

    def ending_number(self, ending: Payload | None) -> int:
        """The number of an ending: equal ones share one."""
        if ending is None:
            return UNKNOWN
        number = self._ending_numbers.get(ending)
        if number is None:
            number = self._ending_numbers[ending] = len(self.endings)
            self.endings.append(ending)
        return number

    def ending(self) -> dict[str, Any]:
        """How it ended, as far as that is known: ``{"result": …}``, ``{"error": …}`` or empty."""
        number = self.node.payload
        return dict(self.endings[number].value) if 0 <= number < len(self.endings) else {}

    @property
    def near_expiry(self) -> bool:
        """Whether its ttl has passed, or nearly: then it may be gone."""
        if self.ttl_ms is None or self.node.status == GONE:
            return False
        return (time.monotonic() - self.born) * 1000 >= _NEAR_EXPIRY * self.ttl_ms
