"""What the interpreter remembers of one 2025-11-25 task while a sequence runs."""

from __future__ import annotations

from typing import Any

from mcptasks.conformance.engine.tasks import TrackedTask
from mcptasks.conformance.model.automaton import Cause, Node
from mcptasks.conformance.model.states import GONE, STATUSES, TERMINAL

__all__ = ["TrackedTask25"]


class TrackedTask25(TrackedTask):
    """One task of the sequence; ``keys`` are its status messages, ``bodies`` its results."""

    __slots__ = (
        "ends",
        "had",
        "hidden",
        "late",
        "poll_interval",
        "result_cause",
        "result_seen_at",
        "session",
        "ttl_raw",
    )

    def __init__(self, name: str, task_id: str, node: Node, cause: Cause, session: str | None) -> None:
        super().__init__(name, task_id, node, cause)
        self.session = session
        """The session of its creation, as the store was given it."""
        self.result_cause: Cause | None = cause
        """What happened since its result was last read; ``None``: nothing."""
        self.result_seen_at = 0
        """The interpreter's count of changes when its result was last read."""
        self.had: set[str] = set()
        """Every status that it may have had so far."""
        self.ends: set[tuple[str, int]] = set()
        """Every status and result with which it may have ended at some time: what a waiter may have been told."""
        self.hidden = False
        """Its absence was seen in a list, not by a get."""
        self.late = 0
        """The interpreter's count of changes when it was first read long past its ttl; 0: not yet."""
        self.ttl_raw: Any = None
        self.poll_interval: Any = None

    def goes_to(self, node: Node) -> None:
        """Move it to ``node``."""
        self.node = node
        for state, _ in node.states:
            if state.status in STATUSES:
                self.had.add(state.status)
                if state.status in TERMINAL:
                    self.ends.add((state.status, state.payload))

    @property
    def is_gone(self) -> bool:
        """Whether its absence was seen."""
        return self.node.status == GONE
