"""Reading the JSON text of an answer: strictly, and with bounds.

Python's own reader takes ``NaN``, lets the last of two equal members win, and gives lone surrogates; none of
that is JSON between two programs (RFC 8259, sections 4, 6 and 8).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from mcptasks.strategies.json_values import JSON

__all__ = ["MAX_LEVELS", "BadTextError", "decode", "encode"]

MAX_LEVELS: Final = 200
"""Levels of nesting that an answer may have: three times what the suite itself sends."""

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_SHOWN: Final = 60


class BadTextError(ValueError):
    """The bytes are no JSON text that may go between two programs; the message says why, as a clause."""

    def __init__(self, text: str, aspect: str = "json") -> None:
        super().__init__(text)
        self.aspect = aspect
        """``json``, ``utf8``, ``depth`` or ``keys``."""


def _no_constant(name: str) -> JSON:
    raise BadTextError(f"holds {name}, which is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BadTextError(f"has the member {json.dumps(key)[:_SHOWN]} twice in one object", "keys")
            seen.add(key)
    return value


_decoder: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)
_encoder: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(value: JSON) -> bytes:
    """The compact JSON text of ``value`` in UTF-8."""
    return _encoder.encode(value).encode()


def _levels(value: JSON) -> int:
    """How deep ``value`` nests, found without recursion."""
    deepest = 0
    stack: list[tuple[Any, int]] = [(value, 1)]
    while stack:
        item, level = stack.pop()
        deepest = max(deepest, level)
        if isinstance(item, Mapping):
            stack.extend((child, level + 1) for child in item.values() if isinstance(child, (dict, list)))
        elif isinstance(item, list):
            stack.extend((child, level + 1) for child in item if isinstance(child, (dict, list)))
    return deepest


def decode(body: bytes) -> JSON:
    """The value of a JSON text.

    Raises:
        BadTextError: not UTF-8, no JSON, two texts in one body, a repeated member, or nested too deep.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise BadTextError(f"is not UTF-8 (byte {error.start})", "utf8") from error
    try:
        value = _decoder.decode(text)
    except BadTextError:
        raise
    except RecursionError as error:
        raise BadTextError("nests too deep to be read", "depth") from error
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise BadTextError("holds more than one JSON text") from error
        start = json.dumps(text[:_SHOWN]) if text else "nothing"
        raise BadTextError(f"is no JSON: {error.msg} at character {error.pos}; it begins with {start}") from error
    except ValueError as error:
        raise BadTextError(f"is no JSON that can be read: {error}") from error
    if body.count(b"{") + body.count(b"[") > MAX_LEVELS and (levels := _levels(value)) > MAX_LEVELS:
        raise BadTextError(f"nests {levels} levels deep, more than {MAX_LEVELS}", "depth")
    if _SURROGATE.search(body):
        try:
            _encoder.encode(value).encode()
        except UnicodeEncodeError as error:
            raise BadTextError("holds a lone surrogate, which is no Unicode text", "utf8") from error
    return value
