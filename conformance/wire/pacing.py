"""How fast requests go out: as fast as they are answered, unless the user or the server asks for less."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

__all__ = ["Pacer", "retry_after"]

_SLICE: Final = 0.5
_FIRST_GAP: Final = 0.02
_LARGEST_GAP: Final = 1.0
_FORGIVEN_AFTER: Final = 50


def retry_after(value: str | None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for; ``None`` if it says nothing that can be read."""
    if value is None:
        return None
    value = value.strip()
    if value.isdigit():
        return float(value[:9])
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


class Pacer:
    """Keeps a gap between requests.

    Args:
        rate: requests per second at most; ``None``: no limit of the user's.
        beat: called while waiting, so that a watchdog sees that this is no hang.
    """

    def __init__(self, rate: float | None, beat: Callable[[], None]) -> None:
        self._least = 1.0 / rate if rate else 0.0
        self._gap = self._least
        self._beat = beat
        self._next = 0.0
        self._calm = 0
        self.slowed = 0
        """How often the server asked for less."""

    async def turn(self) -> None:
        """Wait until the next request may go out."""
        if not self._gap:
            return
        now = time.monotonic()
        if self._next > now:
            await self.sleep(self._next - now)
        self._next = max(now, self._next) + self._gap

    def answered(self) -> None:
        """A request was served: after enough of these the gap shrinks again."""
        if self._gap > self._least:
            self._calm += 1
            if self._calm >= _FORGIVEN_AFTER:
                self._calm = 0
                self._gap = self._gap / 2 if self._gap > 2 * _FIRST_GAP else self._least
                self._gap = max(self._gap, self._least)

    def slow_down(self, asked: float) -> None:
        """The server asked to wait ``asked`` seconds: the gap grows, to at most a tenth of that."""
        self.slowed += 1
        self._calm = 0
        most = max(_FIRST_GAP, min(asked / 10, _LARGEST_GAP))
        self._gap = max(self._gap, min(max(self._gap * 2, _FIRST_GAP / 4), most))

    async def sleep(self, seconds: float) -> None:
        """Wait, showing life."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, _SLICE))
            if left > _SLICE:
                self._beat()
