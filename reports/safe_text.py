"""Text from a target made safe to show: what cannot be seen, or would act, is written as an escape.

Terminal escapes, line breaks, right-to-left overrides, zero-width characters, lone surrogates and
everything else that Python does not call printable come out as ``\\x1b`` or ``\\u202e``.  All report
formats rest on this: after it no text holds a character that XML 1.0 forbids or UTF-8 cannot encode.
"""

from __future__ import annotations

from typing import Final

__all__ = ["LONG", "visible", "visible_block"]

LONG: Final = 2000
"""Characters of one value that a report meant for reading shows; the replay file holds the whole."""


def visible(text: object, limit: int | None = None) -> str:
    """``text`` on one line, with every character that is not printable escaped.

    With ``limit``, text that is longer is cut to that many characters and its length is named.
    """
    raw = text if isinstance(text, str) else str(text)
    cut = raw if limit is None or len(raw) <= limit else raw[:limit]
    shown = cut if cut.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in cut)
    return shown if cut is raw else f"{shown}… ({len(raw):,} characters)"


def visible_block(text: str, limit: int | None = None) -> str:
    """Like :func:`visible`, but line feeds are kept, so that output of several lines stays legible."""
    return "\n".join(visible(line) for line in (text if limit is None else _shortened(text, limit)).split("\n"))


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def _escaped(character: str) -> str:
    # unicode_escape encodes lone surrogates too, which no other codec here does.
    return character.encode("unicode_escape").decode("ascii")
