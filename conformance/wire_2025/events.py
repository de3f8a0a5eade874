"""Server-sent events with what resumption needs: the last event's id and the time to wait before reconnecting.

MCP 2025-11-25, "Resumability and Redelivery".
"""

from __future__ import annotations

from collections.abc import Iterator

from mcptasks.conformance.wire.sse import EventReader

__all__ = ["ResumableReader"]


class ResumableReader(EventReader):
    """Turns the bytes of one stream into the data of its events; empty data, which only carries an id, gives nothing.

    Attributes:
        last_id: of the last event that had one, over all connections of the stream.
        retry_ms: what the server asked to wait before reconnecting, in milliseconds; ``None`` if it did not.
    """

    def __init__(self, last_id: str | None = None) -> None:
        super().__init__()
        self.last_id = last_id
        self.retry_ms: int | None = None

    def messages(self, chunk: bytes) -> Iterator[bytes]:
        """The data of every event with data that ends within ``chunk``."""
        return (data for data in self.feed(chunk) if data.strip())

    def _line(self, line: bytes) -> bytes | None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"id" and b"\0" not in value:
            self.last_id = value.decode("utf-8", "replace") or None
        elif field == b"retry" and value.isdigit():
            self.retry_ms = int(value[:9])
        return super()._line(line)
