"""The clock that the suite injects, so that expiry is tested without sleeping."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["EPOCH", "SuiteClock"]

EPOCH: Final = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
"""Where injected time starts: far from now, so that a store that ignores the clock shows it."""


class SuiteClock:
    """A zero-argument callable that returns an aware datetime, moved by hand."""

    __slots__ = ("_latest", "_now")

    def __init__(self, start: datetime = EPOCH) -> None:
        self._now = start
        self._latest = start

    def __call__(self) -> datetime:
        """The current injected time, as a store asks for it."""
        return self._now

    @property
    def now(self) -> datetime:
        """The current injected time."""
        return self._now

    @property
    def set_back(self) -> bool:
        """Whether the clock stands before a time that it has already shown."""
        return self._now < self._latest

    def advance(self, milliseconds: int) -> None:
        """Move the clock; a negative amount sets it back.  Bounded so that no date overflows."""
        bounded = max(-(10**12), min(milliseconds, 10**12))
        self._now += timedelta(milliseconds=bounded)
        self._latest = max(self._latest, self._now)

    def catch_up(self) -> None:
        """Return to the latest time shown: a new sequence starts with a clock that was never set back."""
        self._now = self._latest
