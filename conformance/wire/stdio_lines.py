"""From the bytes of a server's standard output to messages: one a line (MCP 2026-07-28, basic/transports/stdio).

What breaks the framing and can be read all the same is read, and noted as a smell: a run that ends at the first
stray line tells less.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from mcptasks.conformance.wire.problems import Smell
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["LONGEST_LINE", "Lines", "Messages", "TooLongError"]

LONGEST_LINE: Final = 8 * 1024 * 1024
"""Bytes of a line that are read."""
_MOST_LINES: Final = 20_000
"""Lines that one message may be spread over."""


class TooLongError(Exception):
    """A line is longer than :data:`LONGEST_LINE`."""


class Lines:
    """Cuts bytes into lines; holds no more than one of them."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._held = 0
        self._skipping = False
        self.skipped = 0
        """Bytes of the line under way that were thrown away."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that end in ``chunk``, without their ends.

        Raises:
            TooLongError: once for each line that is too long; the rest of ``chunk`` up to its end is skipped.
        """
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            if self._skipping:
                self._skipping, self.skipped = False, 0
                continue
            line = b"".join([*self._parts, piece])
            self._parts, self._held = [], 0
            if len(line) > self._longest:
                raise TooLongError
            yield line.removesuffix(b"\r")
        if self._skipping:
            self.skipped += len(rest)
            return
        self._parts.append(rest)
        self._held += len(rest)
        if self._held > self._longest:
            self.skipped, self._skipping = self._held, True
            self._parts, self._held = [], 0
            raise TooLongError


class Messages:
    """Reads lines as messages.

    Args:
        smell: takes what is wrong with the framing.
    """

    def __init__(self, smell: Callable[[Smell], None]) -> None:
        self._smell = smell
        self._open: list[bytes] = []
        """Lines that may be the beginning of a message."""
        self._size = 0

    def take(self, line: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """The messages that end with ``line``: their text in UTF-8, and what it says."""
        if not line.strip():
            return  # nothing stands between two ends of lines
        line = self._text(line)
        value = _read(line)
        if isinstance(value, dict) and _is_message(value):
            self._give_up()
            yield line, value
            return
        if self._open or (value is None and line.lstrip().startswith((b"{", b"["))):
            yield from self._go_on(line)
            return
        self._stray(line)

    def end(self) -> None:
        """Nothing more comes."""
        self._give_up()

    def _go_on(self, line: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
        self._open.append(line)
        self._size += len(line)
        if line.rstrip().endswith((b"}", b"]")):
            for between in (b"\n", b""):
                whole = between.join(self._open)
                value = _read(whole)
                if isinstance(value, dict) and _is_message(value):
                    self._smell(
                        Smell(
                            "stdio.one-line",
                            "lines",
                            "each message on one line",
                            f"is written to standard output over {len(self._open)} lines",
                        )
                    )
                    self._open, self._size = [], 0
                    yield whole, value
                    return
        if len(self._open) > _MOST_LINES or self._size > LONGEST_LINE:
            self._give_up()

    def _give_up(self) -> None:
        if self._open:
            self._stray(self._open[0])
        self._open, self._size = [], 0

    def _stray(self, line: bytes) -> None:
        shown = text_of(line[:100].decode("utf-8", "backslashreplace"), 100)
        self._smell(
            Smell(
                "stdio.messages-only",
                "output",
                "nothing but MCP messages on standard output",
                f"comes with {shown} on standard output, which is no MCP message",
            )
        )

    def _text(self, line: bytes) -> bytes:
        try:
            line.decode()
        except UnicodeDecodeError as error:
            self._smell(
                Smell(
                    "stdio.utf8", "output", "standard output in UTF-8", f"is not UTF-8 (byte {error.start} of a line)"
                )
            )
            return line.decode("latin-1").encode()
        return line


def _read(text: bytes) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _is_message(value: dict[str, Any]) -> bool:
    """Whether an object has the outline of a message: what is wrong inside is judged where it is read."""
    return "jsonrpc" in value or "method" in value or ("id" in value and ("result" in value or "error" in value))
