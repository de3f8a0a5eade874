"""Reading what a store returns: records and events in any of the forms that the contract allows.

A record has its members as attributes or mapping keys, in snake_case or camelCase.  Which of these a
type uses is found out once per type, since a record is read after almost every call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from operator import attrgetter
from typing import Any, Final, NamedTuple

from mcptasks.strategies.json_values import text_of

__all__ = ["MISSING", "Event", "Garbage", "Record", "instant", "read_event", "read_record"]


class _Missing:
    def __repr__(self) -> str:
        return "absent"


MISSING: Final = _Missing()
"""Stands for a member that the record does not have at all."""

_MEMBERS: Final = (
    "task_id",
    "status",
    "created_at",
    "last_updated_at",
    "ttl_ms",
    "poll_interval_ms",
    "input_requests",
    "result",
    "error",
)


class Garbage(Exception):
    """What was returned is not of the form that the contract asks for; the message says why."""


class Record(NamedTuple):
    """The members of a task record, as the store gave them; ``MISSING`` where there is none."""

    task_id: Any
    status: Any
    created_at: Any
    last_updated_at: Any
    ttl_ms: Any
    poll_interval_ms: Any
    input_requests: Any
    result: Any
    error: Any


class Event(NamedTuple):
    """The members of an input-response event."""

    task_id: Any
    request_id: Any
    response: Any


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


_CAMEL: Final = {name: _camel(name) for name in (*_MEMBERS, *Event._fields)}


def _from_mapping(raw: Mapping[Any, Any], name: str) -> Any:
    if name in raw:
        return raw[name]
    return raw.get(_CAMEL[name], MISSING)


def _from_object(raw: object, name: str) -> Any:
    value = getattr(raw, name, MISSING)
    return getattr(raw, _CAMEL[name], MISSING) if value is MISSING else value


_new: Final = tuple.__new__

_readers: dict[type[Any], Callable[[Any], tuple[Any, ...]]] = {}


def _slow(raw: object, names: tuple[str, ...]) -> tuple[Any, ...]:
    if isinstance(raw, Mapping):
        return tuple(_from_mapping(raw, name) for name in names)
    return tuple(_from_object(raw, name) for name in names)


def _remember(raw: object) -> None:
    """If all members are attributes of this type, read them in one go from now on."""
    if isinstance(raw, Mapping) or len(_readers) >= 100:
        return
    try:
        names = [name if hasattr(raw, name) else _CAMEL[name] for name in _MEMBERS]
        if all(hasattr(raw, name) for name in names):
            _readers[type(raw)] = attrgetter(*names)
    except BaseException:
        return  # an attribute that could be read once: it stays with the slow way


def read_record(raw: object) -> Record:
    """The members of ``raw``.

    Raises:
        Garbage: ``raw`` has no ``task_id`` or no ``status``, or reading a member raises.
    """
    reader = _readers.get(type(raw))
    if reader is not None:
        try:
            return _new(Record, reader(raw))  # _make without its check: the reader gives all members
        except AttributeError:
            del _readers[type(raw)]
        except BaseException as error:
            raise Garbage(f"reading a record raises {describe_error(error)}") from error
    try:
        record = Record._make(_slow(raw, _MEMBERS))
    except BaseException as error:
        raise Garbage(f"reading a record raises {describe_error(error)}") from error
    if raw is None:
        raise Garbage("None is no record")
    if record.task_id is MISSING or record.status is MISSING:
        raise Garbage(
            f"{text_of(raw, 80)} is no record: it has no {'task_id' if record.task_id is MISSING else 'status'}"
        )
    _remember(raw)
    return record


def read_event(raw: object) -> Event:
    """The members of an event.

    Raises:
        Garbage: a member is missing, or reading one raises.
    """
    try:
        event = Event._make(_slow(raw, Event._fields))
    except BaseException as error:
        raise Garbage(f"reading an event raises {describe_error(error)}") from error
    for name, value in zip(Event._fields, event, strict=True):
        if value is MISSING:
            raise Garbage(f"{text_of(raw, 80)} is no event: it has no {name}")
    return event


def status_text(value: object) -> str:
    """The status as text, whether it is a str or an Enum member.

    Raises:
        Garbage: it is neither.
    """
    if type(value) is str:
        return value
    if isinstance(value, Enum):
        value = value.value
    text = plain_text(value)
    if text is not None:
        return text
    raise Garbage(f"status is {text_of(value, 60)}, not a string")


def plain_text(value: object) -> str | None:
    """A str, or what a subclass of it holds, as a plain str; ``None`` for anything else.  Never raises."""
    return str.__str__(value) if isinstance(value, str) else None


def instant(value: object) -> datetime:
    """A record's time as an aware datetime.

    Raises:
        Garbage: it is missing, naive, or no ISO 8601 time.
    """
    if type(value) is datetime and value.tzinfo is UTC:
        return value
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise Garbage(f"{text_of(value, 60)} is no ISO 8601 time") from None
    if value is MISSING or value is None:
        raise Garbage("is not set")
    if not isinstance(value, datetime):
        raise Garbage(f"{text_of(value, 60)} is no time")
    try:
        if value.utcoffset() is None:
            raise Garbage(f"{text_of(value, 60)} has no timezone")
        return value.astimezone(UTC)
    except Garbage:
        raise
    except BaseException as error:  # out of range, or a timezone of the target's own
        raise Garbage(f"cannot be told in UTC: {describe_error(error)}") from error


def describe_error(error: BaseException) -> str:
    """The type and message of an exception that a target raised, safe to print."""
    try:
        message = str(error)
    except BaseException:
        message = "(its str() raises)"
    return f"{type(error).__name__}: {text_of(message, 160)[1:-1]}" if message else type(error).__name__
