"""JSON text that any reader takes: ASCII only, no NaN, no raw control character."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["json_text"]


def json_text(value: JSON, indent: int | None = None) -> str:
    """``value`` as ASCII JSON text; with ``indent`` on several lines.

    What JSON cannot say (NaN, an object that slipped into an option) is written as a string that
    describes it: a report with one odd member is worth more than none.
    """
    try:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent)
    except (TypeError, ValueError):
        text = json.dumps(_plain(value), ensure_ascii=True, allow_nan=False, indent=indent)
    # DEL is the one control character that JSON leaves as it is; it can only stand inside a string.
    return text.replace("\x7f", "\\u007f")


def _plain(value: object) -> JSON:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        # Python refuses to write integers beyond some thousand digits.
        return value if value.bit_length() < 10_000 else text_of(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else text_of(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return text_of(value)
