"""Integers beyond 2^53, which many languages read as doubles: over a bridge losing their digits is only a warning."""

from __future__ import annotations

from typing import Final

from mcptasks.strategies.json_values import JSON

__all__ = ["Digits"]

_SAFE: Final = 2**53
_KEPT: Final = 1000


class Digits:
    """Remembers the large integers that were sent, and notices where one comes back rounded."""

    def __init__(self) -> None:
        self._sent: dict[float, set[int]] = {}
        self.lost: str | None = None
        """The first one that came back rounded, in words."""

    def send(self, value: JSON) -> None:
        """Note the large integers in what is about to be sent."""
        todo = [value]
        while todo:
            item = todo.pop()
            if isinstance(item, dict):
                todo.extend(item.values())
            elif isinstance(item, list):
                todo.extend(item)
            elif isinstance(item, int) and abs(item) > _SAFE and len(self._sent) < _KEPT:
                self._sent.setdefault(_rounded(item), set()).add(item)

    def receive(self, value: JSON) -> None:
        """Look for numbers that a large integer was rounded to in what came back."""
        todo = [value] if self._sent and self.lost is None else []
        while todo:
            item = todo.pop()
            if isinstance(item, dict):
                todo.extend(item.values())
            elif isinstance(item, list):
                todo.extend(item)
            elif isinstance(item, (int, float)) and abs(item) >= _SAFE:
                exact = self._sent.get(_rounded(item))
                if exact is not None and item not in exact:
                    self.lost = f"{max(exact)} comes back as {item!r}"
                    return


def _rounded(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")
