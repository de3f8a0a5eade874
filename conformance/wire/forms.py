"""Is a result of the form that it must have?  Every deviation is charged to one catalogue entry.

The pydantic models of :mod:`.messages` decide; a form found valid is remembered by its shape.  What the models
leave open on purpose (times, signs, old names) is looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from mcptasks.conformance.wire import messages
from mcptasks.conformance.wire.names import SERVER_INFO
from mcptasks.conformance.wire.payloads import CallToolPayload
from mcptasks.conformance.wire.problems import Smell
from mcptasks.conformance.wire.shapes import ShapeMemo
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["Forms", "instant", "same_instant"]

_MEMBERS: Final = {
    "taskId": "tasks.shape.task-id",
    "status": "tasks.shape.status",
    "createdAt": "tasks.shape.createdat",
    "lastUpdatedAt": "tasks.shape.lastupdatedat",
    "ttlMs": "tasks.shape.ttlms",
    "pollIntervalMs": "tasks.shape.pollintervalms",
    "statusMessage": "tasks.shape.statusmessage",
    "_meta": "core.meta.serverinfo",
}
_PAYLOADS: Final = {"input_required": "inputRequests", "completed": "result", "failed": "error"}
_WITHOUT: Final = {
    "inputRequests": "tasks.status.get-input-required",
    "result": "tasks.status.get-completed",
    "error": "tasks.status.get-failed",
}
_INSIDE: Final = {
    "inputRequests": "tasks.update.kinds",
    "result": "tasks.status.result-type-match",
    "error": "tasks.status.error-shape",
}
_RESULT_TYPES: Final = {
    "tools/call": "tasks.rt.create-task",
    "tasks/get": "tasks.rt.get-complete",
    "tasks/update": "tasks.rt.update-complete",
    "tasks/cancel": "tasks.rt.cancel-complete",
    "server/discover": "core.discover.shape",
}
_STATUSES: Final = {
    "working": messages.WorkingTask,
    "input_required": messages.InputRequiredTask,
    "completed": messages.CompletedTask,
    "failed": messages.FailedTask,
    "cancelled": messages.CancelledTask,
}
_MICROSECOND: Final = timedelta(microseconds=1)
_UNITS: Final = (_MICROSECOND, timedelta(milliseconds=1), timedelta(seconds=1))
"""In which times are kept."""
_LEGACY: Final = ("ttl", "pollInterval")


def instant(value: JSON) -> datetime | None:
    """The instant that an ISO 8601 timestamp names (without an offset: UTC), or ``None``."""
    if not isinstance(value, str) or len(value) < 11:
        return None  # a date alone is no timestamp
    try:
        found = datetime.fromisoformat(value.strip().upper())
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def same_instant(one: datetime, other: datetime) -> bool:
    """Whether two instants are one, as far as they tell: either may have been rounded to milliseconds or seconds."""
    apart = abs(one - other)
    return any(
        apart < unit and 0 in (one.microsecond % (unit // _MICROSECOND), other.microsecond % (unit // _MICROSECOND))
        for unit in _UNITS
    )


def _where(location: tuple[int | str, ...], tag: str | None) -> tuple[str, ...]:
    parts = tuple(str(part) for part in location)
    return parts[1:] if tag is not None and parts[:1] == (tag,) else parts


class Forms:
    """Checks forms; one for a run, since it remembers."""

    def __init__(self) -> None:
        self._memo = ShapeMemo()
        self._task: Final[TypeAdapter[Any]] = TypeAdapter(messages.Task)
        self._adapters: Final[dict[str, TypeAdapter[Any]]] = {
            status: TypeAdapter(model) for status, model in _STATUSES.items()
        }
        self._result: Final[TypeAdapter[Any]] = TypeAdapter(CallToolPayload)
        self._discover: Final[TypeAdapter[Any]] = TypeAdapter(messages.DiscoverResult)

    def created(self, result: Mapping[str, JSON]) -> list[Smell]:
        """What is wrong with a ``CreateTaskResult``."""
        smells = self._result_type("tools/call", "task", result)
        inner = result.get("task")
        if "taskId" not in result and isinstance(inner, Mapping) and "taskId" in inner:
            smells.append(
                Smell("tasks.shape.flat", "task", "the task's members at the top level", "wraps the task in 'task'")
            )
            return smells
        smells += self._members("create", result, None)
        if result.get("taskId") == "":
            # The schema takes it (warned of only), and nobody can ask for such a task.
            smells.append(Smell("tasks.shape.task-id", "!empty", "a taskId that names the task", "has an empty taskId"))
        for member in ("result", "error", "inputRequests"):
            # Null is no payload, nor is a map of no requests.
            if result.get(member) is not None and (member != "inputRequests" or result[member] != {}):
                smells.append(
                    Smell(
                        "tasks.create.no-payload",
                        member,
                        "a task without payload",
                        f"already carries member '{member}'",
                    )
                )
        return smells

    def task(self, result: Mapping[str, JSON]) -> list[Smell]:
        """What is wrong with the result of a ``tasks/get``."""
        smells = self._result_type("tasks/get", "complete", result)
        status = result.get("status")
        tag = status if isinstance(status, str) and status in self._adapters else None
        smells += self._members("get", result, tag)
        if tag == "failed" and not result.get("statusMessage"):
            smells.append(
                Smell(
                    "tasks.status.failed-message",
                    "statusMessage",
                    "a failed task says why in statusMessage",
                    "shows a failed task without statusMessage",
                )
            )
        return smells

    def ack(self, method: str, result: Mapping[str, JSON]) -> list[Smell]:
        """What is wrong with the empty result of ``tasks/update`` or ``tasks/cancel``."""
        smells = self._result_type(method, "complete", result)
        more = sorted(set(result) - {"resultType", "_meta"})
        if more:
            requirement = "tasks.update.ack" if method == "tasks/update" else "tasks.cancel.ack"
            smells.append(
                Smell(requirement, "!extra", "an empty result", f"carries {', '.join(map(repr, more[:3]))} as well")
            )
        return smells

    def discovery(self, result: Mapping[str, JSON]) -> list[Smell]:
        """What is wrong with the result of ``server/discover``."""
        return [
            Smell("core.discover.shape", ".".join(where) or "result", message, f"has {shown} at '{'.'.join(where)}'")
            for where, message, shown in self._errors("discover", self._discover, result, None)
        ]

    # --- parts -----------------------------------------------------------------------------

    def _result_type(self, method: str, wanted: str, result: Mapping[str, JSON]) -> list[Smell]:
        found = result.get("resultType")
        smells: list[Smell] = []
        if "resultType" not in result:
            smells.append(Smell("tasks.rt.present", "resultType", f"resultType {wanted}", "has no resultType"))
        elif found != wanted:
            asks = found == "input_required" and method.startswith("tasks/")
            smells.append(
                Smell(
                    "core.mrtr.methods" if asks else _RESULT_TYPES[method],
                    "resultType",
                    f"resultType {wanted}",
                    f"has resultType {text_of(found, 40)}",
                )
            )
        meta = result.get("_meta")
        if not isinstance(meta, Mapping) or SERVER_INFO not in meta:
            smells.append(
                Smell("core.meta.serverinfo", "_meta", f"_meta names {SERVER_INFO}", "does not say which server it is")
            )
        elif "io.modelcontextprotocol/related-task" in meta:
            smells.append(_legacy("_meta related-task"))
        return smells

    def _members(self, kind: str, result: Mapping[str, JSON], tag: str | None) -> list[Smell]:
        smells: list[Smell] = []
        adapter = self._task if tag is None else self._adapters[tag]
        payload = _PAYLOADS.get(tag or "")
        for where, message, shown in self._errors(f"{kind} {tag}", adapter, result, tag):
            member = where[0] if where else ""
            requirement = _MEMBERS.get(member)
            if member == payload:
                requirement = _INSIDE[member] if len(where) > 1 else _WITHOUT[member]
                if member == "inputRequests" and isinstance(result.get(member), list):
                    requirement = "tasks.update.string-keys"
            if requirement is not None:
                place = ".".join(where)
                smells.append(Smell(requirement, member, f"{place}: {message}", f"has {shown} as {place}"))
        if tag == "completed" and isinstance(result.get("result"), Mapping):
            for where, message, shown in self._errors("payload", self._result, result["result"], None):
                place = ".".join(("result", *where))
                smells.append(
                    Smell("tasks.status.result-type-match", "result", f"{place}: {message}", f"has {shown} as {place}")
                )
        smells += self._open_members(result)
        return smells

    def _open_members(self, result: Mapping[str, JSON]) -> list[Smell]:
        smells: list[Smell] = []
        times: dict[str, datetime | None] = {}
        for member in ("createdAt", "lastUpdatedAt"):
            value = result.get(member)
            if isinstance(value, str):
                times[member] = instant(value)
                if times[member] is None:
                    smells.append(
                        Smell(
                            _MEMBERS[member],
                            member,
                            f"{member} is an ISO 8601 timestamp",
                            f"has {text_of(value, 60)} as {member}",
                        )
                    )
        created, updated = times.get("createdAt"), times.get("lastUpdatedAt")
        if created is not None and updated is not None and (created - updated).total_seconds() >= 1:
            smells.append(
                Smell(
                    "tasks.shape.updated-after-created",
                    "lastUpdatedAt",
                    "lastUpdatedAt is not before createdAt",
                    f"has lastUpdatedAt {result['lastUpdatedAt']} before createdAt {result['createdAt']}",
                )
            )
        for member in ("ttlMs", "pollIntervalMs"):
            value = result.get(member)
            if type(value) is int and value < 0:
                smells.append(
                    Smell("tasks.shape.sane-durations", member, f"{member} is not negative", f"has {member} {value}")
                )
        smells += [_legacy(member) for member in _LEGACY if member in result]
        return smells

    def _errors(
        self, kind: str, adapter: TypeAdapter[Any], value: Mapping[str, JSON], tag: str | None
    ) -> list[tuple[tuple[str, ...], str, str]]:
        """Place, what was expected and what stands there, for every error."""
        if self._memo.known_good(kind, value):
            return []
        try:
            adapter.validate_python(value)
        except ValidationError as error:
            out = []
            for item in error.errors(include_url=False, include_context=False)[:8]:
                shown = "nothing" if item["type"] == "missing" else text_of(item.get("input"), 60)
                out.append((_where(item["loc"], tag), str(item["msg"]), shown))
            return out
        self._memo.add(kind, value)
        return []


def _legacy(name: str) -> Smell:
    return Smell(
        "tasks.shape.no-legacy-names", name, "no names of the 2025-11-25 revision", f"uses the old name '{name}'"
    )
