"""Remembering which shapes of message were found valid, so that each is validated once.

The shape of a value keeps everything that the wire models look at: which members there are, the type of each,
the text of the few members whose value decides, the sign of numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from mcptasks.strategies.json_values import JSON

__all__ = ["ShapeMemo", "shape"]

_DECISIVE: Final = frozenset(
    {"jsonrpc", "resultType", "status", "method", "type", "mode", "action", "role", "cacheScope", "format"}
)
_FREE: Final = frozenset({"structuredContent", "data", "_meta", "arguments"})
"""Members that no model looks into, beyond their type."""
_LIMIT: Final = 20_000
_DEPTH: Final = 12


class _Unlike:
    """Equal to nothing else: the shape of what is not looked into."""


def shape(value: JSON, depth: int = 0) -> Hashable:
    """A hashable that two values share only if the models cannot tell them apart."""
    kind = type(value)
    if kind is str:
        return "s" if value else "s0"
    if kind is dict:
        if depth > _DEPTH:
            return _Unlike()
        return tuple(
            [
                (key, item)
                if type(item) is str and key in _DECISIVE
                else (key, type(item).__name__)
                if key in _FREE and depth
                else (key, shape(item, depth + 1))
                for key, item in value.items()
            ]
        )
    if kind is list:
        return ("l", frozenset([shape(item, depth + 1) for item in value]))
    if kind is bool or value is None:
        return repr(kind is bool)
    if kind is int or kind is float:
        return (kind.__name__, value >= 0, value <= 1)
    return (kind.__name__,)


class ShapeMemo:
    """The shapes found valid, each for a named model."""

    def __init__(self) -> None:
        self._good: set[tuple[str, Hashable]] = set()
        self._last: tuple[str, Hashable] | None = None
        self.validated = 0
        """How often a model had to be asked."""

    def known_good(self, model: str, value: Mapping[str, Any]) -> bool:
        """Whether a value of this shape was valid before; if not, :meth:`add` may say so next."""
        self._last = (model, shape(value))
        if self._last in self._good:
            return True
        self.validated += 1
        return False

    def add(self, model: str, value: Mapping[str, Any]) -> None:
        """The value that :meth:`known_good` was just asked about is valid."""
        key = self._last if self._last is not None and self._last[0] == model else (model, shape(value))
        if len(self._good) >= _LIMIT:
            self._good.clear()
        self._good.add(key)
