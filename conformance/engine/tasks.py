"""What the interpreter remembers of one task while a sequence runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from mcptasks.conformance.model.automaton import Cause, Node
from mcptasks.strategies.json_values import Payload
from mcptasks.strategies.operations import Entries

__all__ = ["TrackedTask"]


class TrackedTask:
    """One task of the sequence: its real id, its place in the automaton, and what was last seen of it."""

    __slots__ = (
        "bodies",
        "body_numbers",
        "cause",
        "created",
        "created_raw",
        "expires",
        "expiry_unknown",
        "given",
        "id",
        "key_numbers",
        "keys",
        "moved_at",
        "name",
        "node",
        "raw",
        "seen",
        "seen_at",
        "slack_ms",
        "ttl_ms",
        "unjudged",
        "update_unknown",
        "updated",
        "updated_raw",
    )

    def __init__(self, name: str, task_id: str, node: Node, cause: Cause) -> None:
        self.name = name
        self.id = task_id
        self.node = node
        self.cause: Cause | None = cause
        """What happened since the last good read; ``None``: nothing."""
        self.keys: list[str] = []
        self.key_numbers: dict[str, int] = {}
        self.bodies: list[Payload] = []
        self.body_numbers: dict[Payload, int] = {}
        self.created_raw: Any = None
        self.created: datetime | None = None
        self.updated_raw: Any = None
        self.updated: datetime | None = None
        self.ttl_ms: int | None = None
        self.expires: datetime | None = None
        self.expiry_unknown = False
        """Its times or ttl are unusable (a finding of its own): nobody can say when it may be gone."""
        self.update_unknown = False
        """Its ``last_updated_at`` was unusable from the start."""
        self.slack_ms = 0.0
        self.raw: Any = None
        """The record that the last read returned, held to see whether it changes under the caller."""
        self.seen: tuple[Any, ...] | None = None
        """What that record said then."""
        self.seen_at = 0
        """The interpreter's count of changes when the task was last read."""
        self.moved_at: datetime | None = None
        """Injected time of the last transition."""
        self.given: Any = None
        """The argument last handed to the store for this task."""
        self.unjudged = False
        """The clock was set back behind its expiry: nothing more can be said of it."""

    def key_number(self, key: str) -> int:
        """The key's number, in order of first appearance."""
        number = self.key_numbers.get(key)
        if number is None:
            number = self.key_numbers[key] = len(self.keys)
            self.keys.append(key)
        return number

    def body_number(self, body: Payload) -> int:
        """The payload's number: equal values share one."""
        number = self.body_numbers.get(body)
        if number is None:
            number = self.body_numbers[body] = len(self.bodies)
            self.bodies.append(body)
        return number

    def number(self, entries: Entries) -> tuple[tuple[int, int], ...]:
        """Requests as pairs of key and body numbers."""
        return tuple([(self.key_number(key), self.body_number(body)) for key, body in entries])
