"""Events held back until a target has shown that it exists."""

from __future__ import annotations

from collections.abc import Callable

from mcptasks.conformance.events import BoundReached, Event, FindingReported, Progress

__all__ = ["HeldBack"]

Handler = Callable[[Event], None]


class HeldBack:
    """A handler that opens the real one when the first target has been driven.

    A mistyped ``--store`` then costs one line, and no earlier report its place.

    Args:
        opens: makes the real handler.
    """

    def __init__(self, opens: Callable[[], Handler]) -> None:
        self._opens = opens
        self._handler: Handler | None = None
        self._held: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Take the next event."""
        if self._handler is not None:
            self._handler(event)
            return
        self._held.append(event)
        if isinstance(event, (Progress, BoundReached, FindingReported)):
            self.release()

    def release(self) -> None:
        """Hand over what is held; more than once does no harm."""
        if self._handler is None:
            self._handler = self._opens()
            for event in self._held:
                self._handler(event)
            self._held.clear()
