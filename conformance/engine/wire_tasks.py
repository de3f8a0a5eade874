"""What the wire interpreter remembers of one task while a sequence runs."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Final

from mcptasks.conformance.model.automaton import Cause, Node
from mcptasks.conformance.model.states import GONE
from mcptasks.strategies.json_values import JSON, Payload

__all__ = ["WireTask", "payload_of"]

_NEAR_EXPIRY: Final = 0.8
"""A task is not judged once this share of its ttl has passed (ambiguity AMB-03 of the catalogue)."""

UNREADABLE: Final = -2
"""Number of a payload that is nothing that the suite ever sent."""


def payload_of(value: JSON, *, result: bool = False, error: bool = False) -> Payload | None:
    """A payload as it is compared; ``None`` if it is none that the suite can have sent.

    Of a result, ``_meta``, ``resultType: complete`` and ``isError: false`` are left out: whether they are said is
    open (ambiguity AMB-01 of the catalogue).  Of an error, data that are null: they say no more than none.
    """
    if error and isinstance(value, dict) and "data" in value and value["data"] is None:
        value = {key: item for key, item in value.items() if key != "data"}
    if result and isinstance(value, dict):
        value = {
            key: item
            for key, item in value.items()
            if key != "_meta"
            and not (key == "resultType" and item == "complete")
            and not (key == "isError" and item is False)
        }
    try:
        return Payload(value)
    except (ValueError, RecursionError):
        return None


class WireTask:
    """One task of the sequence: its id, its place in the automaton, its keys, and what was last seen of it."""

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
        self.opening: dict[str, JSON] = {}
        """Parameters of the call that made it."""
        self.steps = 0
        """Steps sent to it."""

        self.keys: list[str] = []
        """Keys as they are asked for, by number."""
        self.key_numbers: dict[str, int] = {}
        self.current: dict[str, str] = {}
        """Under which key an operation's key was last asked."""
        self.requests: dict[str, Payload] = {}
        """What was asked under each key."""
        self.shown_as: dict[str, str] = {}
        """The server's own name for a key."""
        self.known_as: dict[str, str] = {}
        """A key by the server's own name."""
        self.bodies: list[Payload] = []
        self.body_numbers: dict[Payload, int] = {}
        self.meanings: dict[str, Payload | None] = {}
        """What stood under each of the server's keys when it was first shown."""
        self.vanished: set[str] = set()
        """The server's keys that were answered and are gone."""
        self.sent: dict[str, list[Payload]] = {}
        """Responses sent, by key, in order."""
        self.taken: dict[str, int] = {}
        """How many responses had been sent when a key was seen to be answered: later ones are ignored."""
        self.delivered: set[str] = set()
        """Keys whose answer the task's own code was seen to have."""
        self.tells_answers = False

        self.ttl_ms: int | None = None
        self.poll_ms: int | None = None
        self.born = time.monotonic()
        self.created: datetime | None = None
        self.updated: datetime | None = None
        self.status = ""
        """As last shown."""
        self.was_read = False
        """Whether a read has shown it."""
        self.outline: object = None
        """What the last read showed, without times."""

    def key_number(self, key: str) -> int:
        """The key's number, in order of first appearance."""
        number = self.key_numbers.get(key)
        if number is None:
            number = self.key_numbers[key] = len(self.keys)
            self.keys.append(key)
        return number

    def body_number(self, body: Payload | None) -> int:
        """The payload's number: equal values share one."""
        if body is None:
            return UNREADABLE
        number = self.body_numbers.get(body)
        if number is None:
            number = self.body_numbers[body] = len(self.bodies)
            self.bodies.append(body)
        return number

    def fresh_key(self, key: str) -> str:
        """The key under which an operation asks now: never one that the task has had (keys are unique for its life)."""
        name, number = key, 2
        # Nor one that was answered before it was asked: such an answer may still be under way.
        while name in self.requests or name in self.sent:
            name, number = f"{key}#{number}", number + 1
        self.current[key] = name
        return name

    def learn(self, shown: str, body: Payload | None, *, renames: bool = False) -> str:
        """The key that the server shows as ``shown``; a server may name keys itself.

        Args:
            shown: the server's name.
            body: what stands under it.
            renames: whether the server may: then a name that was asked for, too, is taken for that key only if what
                was asked under it stands there.
        """
        known = self.known_as.get(shown)
        if known is not None:
            return known
        if shown not in self.requests or (renames and self.requests[shown] != body):
            key = self._unnamed(body)
            if key is not None:
                self.shown_as[key], self.known_as[shown] = shown, key
                return key
            if shown not in self.requests:
                return shown
        self.shown_as[shown] = self.known_as[shown] = shown
        return shown

    def _unnamed(self, body: Payload | None) -> str | None:
        """The key under which that was asked, if the server's name for it is not known."""
        return next((key for key, asked in self.requests.items() if key not in self.shown_as and asked == body), None)

    def shows_own_name(self, shown: str, body: Payload | None) -> bool:
        """Whether the server shows what was asked under a name that nobody asked for."""
        return shown not in self.requests and shown not in self.known_as and self._unnamed(body) is not None

    @property
    def near_expiry(self) -> bool:
        """Whether its ttl has passed, or nearly: then it may be gone."""
        if self.ttl_ms is None or self.node.status == GONE:
            return False
        return (time.monotonic() - self.born) * 1000 >= _NEAR_EXPIRY * self.ttl_ms
