"""Integers beyond 2^53, which many languages read as doubles: over a bridge losing their digits is only a warning."""

from __future__ import annotations

from typing import Final

from mcptasks.strategies.json_values import JSON

__all__ = ["Digits"]

_SAFE: Final = 2**53
_KEPT: Final = 1000


class Digits:
    """Remembers the large integers that were sent, and gives them back where they come rounded."""

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

    def restore(self, value: JSON) -> JSON:
        """``value`` with every number that a large integer was rounded to replaced by that integer."""
        if not self._sent:
            return value
        if isinstance(value, dict):
            return {key: self.restore(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.restore(item) for item in value]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) < _SAFE:
            return value
        exact = self._sent.get(_rounded(value))
        if exact is None or value in exact:
            return value
        found = max(exact)
        self.lost = self.lost or f"{found} comes back as {value!r}"
        return found


def _rounded(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")
