"""How many requests may still be sent, and how many were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mcptasks.conformance.wire.problems import RequestsSpentError, WireProblem

__all__ = ["Allowance", "Words"]


class Words(Protocol):
    """A row of counters, in shared memory or a plain list."""

    def __getitem__(self, index: int, /) -> int:
        """One counter."""

    def __setitem__(self, index: int, value: int, /) -> None:
        """Set one counter."""


class Allowance:
    """What a client may send.

    Args:
        most: requests that may be sent; ``None``: as many as there are.
        beat: ``beat[0]`` is incremented for every request.
        alive: called to show a watchdog that waiting is no hang.
    """

    def __init__(self, most: int | None, beat: Words | None, alive: Callable[[], None] | None) -> None:
        self.requests = 0
        self.reserve = 0
        """Requests kept back to end what is open."""
        self._left = most
        self._beat: Words = [0] if beat is None else beat
        self.alive: Callable[[], None] = (lambda: None) if alive is None else alive

    def spend(self, *, beyond: bool = False) -> None:
        """Count a request that is about to be sent.

        Args:
            beyond: it ends what is open, and may be one of those kept back.

        Raises:
            RequestsSpentError: none is left.
            WireProblem: not even one of those kept back is.
        """
        if self._left is not None:
            if self._left <= 0 and beyond:
                raise WireProblem("spent", "was sent as many requests as it may be sent")
            if self._left <= self.reserve and not beyond:
                raise RequestsSpentError
            self._left -= 1
        self.requests += 1
        self._beat[0] += 1
