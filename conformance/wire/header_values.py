"""Values of routing headers: plain text where that is safe, else the Base64 sentinel.

MCP 2026-07-28, basic/transports/streamable-http, "Value Encoding".
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

__all__ = ["HeaderValueError", "decode", "encode"]

_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="
_PLAIN: Final = re.compile(r"[\t\x20-\x7e]*")


class HeaderValueError(ValueError):
    """A header value holds characters that it may not, or a sentinel that does not decode."""


def _is_sentinel(value: str) -> bool:
    return value.startswith(_PREFIX) and value.endswith(_SUFFIX) and len(value) >= len(_PREFIX) + len(_SUFFIX)


def encode(value: str) -> str:
    """``value`` as a header value.  Raises ``UnicodeEncodeError`` for a lone surrogate."""
    if _PLAIN.fullmatch(value) and value == value.strip(" \t") and value and not _is_sentinel(value):
        return value
    return f"{_PREFIX}{base64.b64encode(value.encode()).decode('ascii')}{_SUFFIX}"


def decode(value: str) -> str:
    """The text that a header value stands for; surrounding blanks do not count.

    Raises:
        HeaderValueError: not visible ASCII, or a sentinel whose inside is not Base64 of UTF-8.
    """
    text = value.strip(" \t")
    if not _PLAIN.fullmatch(text):
        raise HeaderValueError("holds characters that a header value may not hold")
    if not _is_sentinel(text):
        return text
    try:
        return base64.b64decode(text[len(_PREFIX) : -len(_SUFFIX)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise HeaderValueError("is marked as Base64 and does not decode to UTF-8 text") from error
