"""JSON values as the suite sees them: equality, canonical text, and an immutable holder.

Two JSON values are equal when a JSON reader could not tell them apart: a bool is no number,
numbers compare by value (``1`` equals ``1.0``, ``-0.0`` equals ``0``), the order of keys is free,
and lists and tuples are the same thing.  Python's own ``==`` calls ``True`` and ``1`` equal, which
would hide a store that turns one into the other.
"""

from __future__ import annotations

import json
import marshal
import math
import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["JSON", "MAX_BYTES", "MAX_DEPTH", "Payload", "canonical", "json_equal", "text_of"]

JSON = Any
"""Any JSON value: ``None``, ``bool``, ``int``, ``float``, ``str``, ``list`` or ``dict`` with ``str`` keys."""

MAX_DEPTH: Final = 64
"""Levels of nesting up to which a store must keep a payload (contract, section 2)."""

MAX_BYTES: Final = 2 * 1024 * 1024
"""Size in bytes of UTF-8 JSON text up to which a store must keep a payload."""

# A value that a *target* returns may nest deeper than anything we sent; comparison stops there
# instead of exhausting the interpreter's stack.
_COMPARE_DEPTH: Final = 4 * MAX_DEPTH


def json_equal(left: object, right: object, depth: int = 0) -> bool:
    """Whether two values are the same JSON value.

    Values that are not JSON at all (objects, bytes, NaN) are equal to nothing, themselves included.
    """
    if depth > _COMPARE_DEPTH:
        return False
    if left is None or right is None:
        return left is right
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str) and str(left) == str(right)
    if isinstance(left, (int, float)):
        return isinstance(right, (int, float)) and left == right
    if isinstance(left, Mapping):
        if not isinstance(right, Mapping) or len(left) != len(right):
            return False
        for key, value in left.items():
            if not isinstance(key, str) or key not in right:
                return False
            if not json_equal(value, right[key], depth + 1):
                return False
        return True
    if isinstance(left, (list, tuple)):
        return (
            isinstance(right, (list, tuple))
            and len(left) == len(right)
            and all(json_equal(a, b, depth + 1) for a, b in zip(left, right, strict=True))
        )
    return False


def _normal(value: JSON, depth: int) -> JSON:
    if depth > MAX_DEPTH:
        raise ValueError(f"nests deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value!r} is no JSON number")
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        normal: dict[str, JSON] = {}
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"object key {key!r} is not a string")
            normal[key] = _normal(value[key], depth + 1)
        return normal
    if isinstance(value, (list, tuple)):
        return [_normal(item, depth + 1) for item in value]
    raise ValueError(f"{type(value).__name__} is no JSON value")


def canonical(value: JSON) -> str:
    """One text for all equal JSON values.

    Raises:
        ValueError: the value is not JSON, nests too deep, or holds a lone surrogate.
    """
    text = json.dumps(_normal(value, 0), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("holds a lone surrogate, which is no valid Unicode") from error
    return text


def text_of(value: object, limit: int = 200) -> str:
    """A short text of any value, safe on a terminal: no control characters, at most ``limit`` long.

    Never raises, whatever the value's own ``__repr__`` does.
    """
    try:
        text = (
            json.dumps(value, ensure_ascii=True, sort_keys=True) if _is_plain(value) else _ADDRESS.sub("", repr(value))
        )
        text = text if type(text) is str else f"<{type(value).__name__}>"
    except BaseException:
        text = f"<{type(value).__name__} whose repr raises>"
    head = text[: limit + 1]
    shown = "".join(
        c if c.isascii() and c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in head
    )
    if len(text) <= limit and len(shown) <= limit:
        return shown
    return f"{shown[: limit - 20]}… ({len(text)} characters)"


def _is_plain(value: object) -> bool:
    """Whether a value is made of JSON's own types alone, so that walking through it must come to an end."""
    left, todo = 100_000, [value]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind is dict:
            if any(type(key) is not str for key in item):  # type: ignore[attr-defined]
                return False
            todo.extend(item.values())  # type: ignore[attr-defined]
        elif kind is list or kind is tuple:
            todo.extend(item)  # type: ignore[arg-type]
        elif item is not None and kind not in _SCALARS:
            return False
        left -= 1
        if left < 0:
            return False
    return True


_SCALARS: Final = frozenset({str, int, float, bool})
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
"""Differs from run to run, and says nothing."""


class Payload:
    """An immutable JSON value inside an operation.

    It keeps a serialized copy, so nothing that a target does to an argument reaches the operation;
    ``fresh()`` gives a new, private copy every time.  Equal JSON values make equal payloads.
    """

    __slots__ = ("_blob", "_hash", "_text")

    def __init__(self, value: JSON) -> None:
        """Wrap ``value``.

        Raises:
            ValueError: ``value`` is not a JSON value (see :func:`canonical`).
        """
        self._text: str = canonical(value)
        self._blob: bytes = marshal.dumps(value, 2)
        self._hash: int = hash(self._text)

    @classmethod
    def of(cls, value: JSON | Payload) -> Payload:
        """``value`` itself if it is a payload already, else a payload of it."""
        return value if isinstance(value, Payload) else cls(value)

    @property
    def text(self) -> str:
        """The canonical JSON text."""
        return self._text

    @property
    def blob(self) -> bytes:
        """The value as marshalled bytes: equal bytes mean equal values, unequal bytes say nothing."""
        return self._blob

    @property
    def value(self) -> JSON:
        """A fresh copy of the value."""
        return self.fresh()

    def fresh(self) -> JSON:
        """A fresh copy of the value; nobody else holds it."""
        return marshal.loads(self._blob)

    def matches(self, observed: object) -> bool:
        """Whether ``observed``, which a target returned, is this JSON value.  Never raises."""
        try:
            if marshal.dumps(observed, 2) == self._blob:  # type: ignore[arg-type]  # anything may come back
                return True
        except BaseException:
            pass  # not a plain value: the slow comparison decides
        try:
            return json_equal(marshal.loads(self._blob), observed)
        except BaseException:
            return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payload) and self._text == other._text

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Payload({text_of(self.value, 80)})"

    def __reduce__(self) -> tuple[type[Payload], tuple[JSON]]:
        return (Payload, (self.value,))
