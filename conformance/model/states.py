"""States of one task in the store model, and calls on it, in canonical and hashable form.

Keys and payloads are small numbers in order of first appearance on the task, so that sequences that
differ only in names share their states: the automaton of :mod:`.automaton` stays small.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = [
    "ABSENT",
    "CANCELLED",
    "COMPLETED",
    "FAILED",
    "GONE",
    "INPUT_REQUIRED",
    "LIVE",
    "NO_PAYLOAD",
    "STATUSES",
    "TERMINAL",
    "WORKING",
    "Call",
    "Successor",
    "TaskState",
]

ABSENT: Final = "absent"
"""Never created."""
GONE: Final = "gone"
"""Was there, expired, and was seen to be absent."""
WORKING: Final = "working"
INPUT_REQUIRED: Final = "input_required"
COMPLETED: Final = "completed"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"

LIVE: Final = frozenset({WORKING, INPUT_REQUIRED})
TERMINAL: Final = frozenset({COMPLETED, FAILED, CANCELLED})
STATUSES: Final = LIVE | TERMINAL
NO_PAYLOAD: Final = -1

Pending = frozenset[tuple[int, int]]


class TaskState(NamedTuple):
    """One state a task may be in."""

    status: str
    pending: Pending = frozenset()
    """Pairs of key number and body number."""
    answered: frozenset[int] = frozenset()
    """Keys that have left the pending set because they were answered."""
    payload: int = NO_PAYLOAD
    """Number of the result (completed) or error (failed)."""
    expired: bool = False
    """Its ttl has elapsed and nobody has seen it absent yet."""
    due: frozenset[int] = frozenset()
    """Pending keys whose answers a server has acknowledged and may still have to act on."""
    message: int = NO_PAYLOAD
    """2025-11-25: number of the status message; ``NO_PAYLOAD``: any message, or none."""


class Call(NamedTuple):
    """A call on one task, in canonical form."""

    name: str
    """``set``, ``resolve``, ``cancel``, ``complete``, ``fail`` or ``expire`` (the clock passed its ttl).

    2025-11-25: see :mod:`.store_2025`.
    """
    entries: tuple[tuple[int, int], ...] = ()
    """``set``: key and body numbers.  ``resolve``: key numbers, each with 0."""
    payload: int = NO_PAYLOAD
    may_raise: bool = False
    """A listener that raises is subscribed: the store may let its exception through."""


class Successor(NamedTuple):
    """One lawful way on: what the call answered and what the task is then."""

    answer: str
    """``ok``, ``raise``, ``true`` or ``false``."""
    state: TaskState
    choice: tuple[str, str] | None = None
    """Requirement and label, where the contract leaves this open."""
    warn: str | None = None
    """Requirement that is breached at warn level by this answer."""
