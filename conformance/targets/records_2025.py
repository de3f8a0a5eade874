"""Reading what a 2025-11-25 store returns: tasks, pages, what a waiter gets, and status events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mcptasks.conformance.targets.records import MISSING, Garbage, describe_error
from mcptasks.strategies.json_values import text_of

__all__ = ["Page", "StatusEvent", "TaskRecord", "as_pair", "read_page", "read_status_event", "read_task"]

_LIMIT: Final = 100_000
"""Tasks of one page that are looked at."""


class TaskRecord(NamedTuple):
    """The members of a task, as the store gave them; ``MISSING`` where there is none."""

    task_id: Any
    status: Any
    created_at: Any
    last_updated_at: Any
    ttl: Any
    poll_interval: Any
    status_message: Any


class StatusEvent(NamedTuple):
    """The members of a status event."""

    task_id: Any
    status: Any
    status_message: Any
    session_id: Any


class Page(NamedTuple):
    """One page of a list."""

    tasks: list[Any]
    next_cursor: Any


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def _member(raw: object, name: str) -> Any:
    if isinstance(raw, Mapping):
        return raw[name] if name in raw else raw.get(_camel(name), MISSING)
    value = getattr(raw, name, MISSING)
    return getattr(raw, _camel(name), MISSING) if value is MISSING else value


def _members(raw: object, names: tuple[str, ...], what: str) -> list[Any]:
    try:
        return [_member(raw, name) for name in names]
    except BaseException as error:
        raise Garbage(f"reading {what} raises {describe_error(error)}") from error


def read_task(raw: object) -> TaskRecord:
    """The members of a task.

    Raises:
        Garbage: it has no ``task_id`` or no ``status``, or reading a member raises.
    """
    record = TaskRecord._make(_members(raw, TaskRecord._fields, "a record"))
    if record.task_id is MISSING or record.status is MISSING:
        lacks = "task_id" if record.task_id is MISSING else "status"
        raise Garbage(f"{text_of(raw, 80)} is no record: it has no {lacks}")
    return record


def read_status_event(raw: object) -> StatusEvent:
    """The members of a status event; a missing message or session counts as ``None``.

    Raises:
        Garbage: it has no ``task_id`` or no ``status``, or reading a member raises.
    """
    event = StatusEvent._make(_members(raw, StatusEvent._fields, "an event"))
    for name in ("task_id", "status"):
        if getattr(event, name) is MISSING:
            raise Garbage(f"{text_of(raw, 80)} is no event: it has no {name}")
    return StatusEvent._make(None if value is MISSING else value for value in event)


def read_page(raw: object) -> Page:
    """The members of a page; a missing ``next_cursor`` counts as ``None``.

    Raises:
        Garbage: it has no ``tasks``, they are no list, or reading a member raises.
    """
    tasks, cursor = _members(raw, ("tasks", "next_cursor"), "a page")
    if tasks is MISSING or isinstance(tasks, (str, bytes, Mapping)) or tasks is None:
        raise Garbage(f"{text_of(raw, 80)} is no page: it has no list of tasks")
    try:
        found = [task for _, task in zip(range(_LIMIT), tasks, strict=False)]
    except BaseException as error:
        raise Garbage(f"going through the tasks of a page raises {describe_error(error)}") from error
    return Page(found, None if cursor is MISSING else cursor)


def as_pair(raw: object) -> tuple[Any, Any]:
    """What a waiter got: status and result.

    Raises:
        Garbage: it is no pair.
    """
    pair: Any = raw
    try:
        status, result = pair
    except BaseException:
        raise Garbage(f"{text_of(raw, 80)} is no pair of status and result") from None
    return status, result
