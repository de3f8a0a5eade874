"""How many requests may still be sent to a server, and how many were, by whichever client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mcptasks.conformance.wire.problems import RequestsSpentError, WireProblem

__all__ = ["Allowance", "Spender", "Words"]


class Words(Protocol):
    """A row of counters, in shared memory or a plain list."""

    def __getitem__(self, index: int, /) -> int:
        """One counter."""

    def __setitem__(self, index: int, value: int, /) -> None:
        """Set one counter."""


class Allowance:
    """What may be sent to a server in one run.

    Args:
        most: requests that may be sent; ``None``: as many as there are.
        beat: ``beat[0]`` is incremented for every request.
        alive: called to show a watchdog that waiting is no hang.
    """

    def __init__(self, most: int | None, beat: Words | None = None, alive: Callable[[], None] | None = None) -> None:
        self.requests = 0
        self.reserve = 0
        """Requests kept back to end tasks that are open; other ends (of a session, a question) get what is left."""
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

    def spares(self, kept: int) -> bool:
        """Whether more than ``kept`` requests may still be sent."""
        return self._left is None or self._left > kept


class Spender:
    """A client as far as it counts what it sends.

    Args:
        allowance: what it may send, together with other clients of the run.
    """

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        self.alive = allowance.alive
        self.spend = allowance.spend

    @property
    def requests(self) -> int:
        """How many were sent in the run."""
        return self.allowance.requests

    @property
    def reserve(self) -> int:
        """See :attr:`Allowance.reserve`."""
        return self.allowance.reserve

    @reserve.setter
    def reserve(self, kept: int) -> None:
        self.allowance.reserve = kept
