"""Server-sent events, as far as an MCP answer needs them (HTML standard, "Server-sent events").

The reader is fed with bytes as they come and gives the data of each event.  It holds no more than one
event at a time; how many bytes may come in all is the caller's affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["EventReader"]

_BOM: Final = b"\xef\xbb\xbf"
# A lone CR ends a line too, but one at the end of the buffer may be the first half of CRLF.
_LINE: Final = re.compile(rb"([^\r\n]*)(\r\n|\n|\r(?=[^\n]))")


class EventReader:
    """Turns the bytes of a stream into the data of its events."""

    def __init__(self) -> None:
        self._buffer = b""
        self._parts: list[bytes] = []
        self._data: list[bytes] = []
        self._started = False
        self.comments = 0
        """Lines that are comments: keep-alives."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of every event that ends within ``chunk``; events without data give nothing."""
        self._parts.append(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            return  # a long line in many chunks is put together once
        text = self._buffer = self._joined()
        if not self._started:
            text = text.removeprefix(_BOM)
            self._started = True
        position = 0
        while (match := _LINE.match(text, position)) is not None:
            position = match.end()
            data = self._line(match[1])
            if data is not None:
                yield data
        self._buffer = text[position:]

    def _joined(self) -> bytes:
        text = b"".join([self._buffer, *self._parts])
        self._parts.clear()
        return text

    @property
    def unfinished(self) -> bool:
        """Whether bytes came after the last complete event."""
        return bool(self._buffer.strip()) or any(map(bytes.strip, self._parts)) or bool(self._data)

    def _line(self, line: bytes) -> bytes | None:
        if not line:
            if not self._data:
                return None
            data, self._data = b"\n".join(self._data), []
            return data
        if line.startswith(b":"):
            self.comments += 1
            return None
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
        return None
