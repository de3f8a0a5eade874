"""``events.jsonl``: one JSON line for each event, on disk as soon as it happened."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from mcptasks.conformance.events import EVENTS_SCHEMA, Event, RunFinished, RunStarted, event_from_json, event_to_json
from mcptasks.reports.errors import EventsError, ReportError
from mcptasks.reports.json_text import json_text
from mcptasks.reports.safe_text import visible

__all__ = ["EventLog", "EventsFile", "read_events"]


@dataclass(frozen=True, slots=True)
class EventLog:
    """What an events file holds."""

    events: tuple[Event, ...]
    """The header is the first."""
    truncated: bool
    """The run did not come to its end: the footer is missing, or the last line is cut off."""


class EventsFile:
    """A handler that appends each event to a new file at ``path``.

    Raises:
        ReportError: the file cannot be made, or written to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # Unbuffered: a line is with the operating system once the call returns, whatever
            # happens to this process next.
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise ReportError(f"cannot write {path}: {error.strerror or error}") from error

    def __call__(self, event: Event) -> None:
        """Append ``event``."""
        line = memoryview(json_text(event_to_json(event)).encode("ascii") + b"\n")
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise ReportError(f"cannot write {self._path}: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file; more than once does no harm."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_events(path: Path) -> EventLog:
    """The events of the file at ``path``.

    A last line that was cut off is left out, and the log then says ``truncated``, as it does when
    the footer is missing.

    Raises:
        EventsError: the file cannot be read, does not begin with the header of an events file, or
            a line before the last is no event.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise EventsError(f"cannot read {path}: {error.strerror or error}") from error
    # What follows the last line feed is a line that was cut off, or nothing.
    cut_off = bool(lines.pop())
    events = [_event_of(line, path, number) for number, line in enumerate(lines, 1)]
    if not events:
        raise EventsError(f"{path} is no events file: it holds no complete line")
    return EventLog(tuple(events), truncated=cut_off or not isinstance(events[-1], RunFinished))


def _event_of(line: bytes, path: Path, number: int) -> Event:
    try:
        value = json.loads(line)
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
        if number == 1 and (value.get("event") != RunStarted.event or value.get("schema") != EVENTS_SCHEMA):
            raise EventsError(f"{path} is no events file: it does not begin with a header of {EVENTS_SCHEMA}")
        return event_from_json(value)
    except (ValueError, RecursionError) as error:
        what = f"{path} is no events file" if number == 1 else f"{path} is damaged"
        raise EventsError(f"{what}: line {number}: {visible(error, 200)}") from error
