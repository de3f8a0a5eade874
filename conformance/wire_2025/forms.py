"""Is what a server shows of a task of the form that it must have?  Every deviation is charged to one catalogue entry.

MCP 2025-11-25, schema.ts and basic/utilities/tasks.  The pydantic models of :mod:`.messages` decide; a form found valid
is remembered by its shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from mcptasks.conformance.wire.forms import instant
from mcptasks.conformance.wire.problems import Smell
from mcptasks.conformance.wire.shapes import ShapeMemo
from mcptasks.conformance.wire_2025 import messages
from mcptasks.conformance.wire_2025.names import IMMEDIATE_RESPONSE, RELATED_TASK
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["Forms25", "related_task"]

_MEMBERS: Final = {
    "taskId": "tasks25.create.id-string",
    "status": "tasks25.shape.status",
    "createdAt": "tasks25.shape.createdat",
    "lastUpdatedAt": "tasks25.shape.lastupdatedat",
    "ttl": "tasks25.shape.ttl",
    "pollInterval": "tasks25.shape.pollinterval",
    "statusMessage": "tasks25.shape.get-flat",
}
_NO_TASK: Final = {
    "tasks/get": "tasks25.shape.get-flat",
    "tasks/cancel": "tasks25.cancel.returns-task",
    "tasks/list": "tasks25.create.id-string",
}
"""By method: the entry breached by what shows no task where one must be."""


def related_task(holder: Mapping[str, JSON]) -> JSON:
    """The ``taskId`` of the related-task member in ``_meta``; ``None`` if there is none that can be read."""
    meta = holder.get("_meta")
    value = meta.get(RELATED_TASK) if isinstance(meta, Mapping) else None
    return value.get("taskId") if isinstance(value, Mapping) else None


def _odd(task: Mapping[str, JSON]) -> list[Smell]:
    """What the schema takes and no task can mean: warned of only."""
    smells: list[Smell] = []
    for member in ("ttl", "pollInterval"):
        value = task.get(member)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
            told = f"has {text_of(value, 40)} as {member}"
            smells.append(Smell(_MEMBERS[member], f"!{member}-negative", f"{member} is no less than 0", told))
    created, updated = instant(task.get("createdAt")), instant(task.get("lastUpdatedAt"))
    if created is not None and updated is not None and (created - updated).total_seconds() >= 1:
        told = f"has lastUpdatedAt {task['lastUpdatedAt']} before createdAt {task['createdAt']}"
        smells.append(Smell(_MEMBERS["lastUpdatedAt"], "!before", "a task is not updated before it was created", told))
    return smells


class Forms25:
    """Checks forms; one for a run, since it remembers."""

    def __init__(self) -> None:
        self._memo = ShapeMemo()
        self._task: Final[TypeAdapter[Any]] = TypeAdapter(messages.Task)

    def created(self, result: Mapping[str, JSON]) -> list[Smell]:
        """What is wrong with a ``CreateTaskResult``."""
        inner = result.get("task")
        if not isinstance(inner, Mapping):
            told = (
                "has the task's members at the top level" if "taskId" in result else f"has {text_of(inner, 60)} as task"
            )
            return [Smell("tasks25.create.result", "task", "a CreateTaskResult, whose member task is the task", told)]
        smells: list[Smell] = []
        if "content" in result:
            smells.append(
                Smell(
                    "tasks25.create.result", "content", "no result beside the task", "carries a tool's content as well"
                )
            )
        meta = result.get("_meta")
        immediate = meta.get(IMMEDIATE_RESPONSE) if isinstance(meta, Mapping) else None
        if immediate is not None and not isinstance(immediate, str):
            smells.append(
                Smell(
                    "tasks25.create.immediate-response-meta",
                    "_meta",
                    f"{IMMEDIATE_RESPONSE} is a text",
                    f"has {text_of(immediate, 60)} as {IMMEDIATE_RESPONSE}",
                )
            )
        return smells + self.members("create", inner)

    def task(self, method: str, result: Mapping[str, JSON]) -> list[Smell]:
        """What is wrong with a result of ``tasks/get`` or ``tasks/cancel`` (without whether it is the right task)."""
        if not isinstance(result.get("taskId"), str):
            shown = "wraps the task in 'task'" if isinstance(result.get("task"), Mapping) else "shows no taskId"
            return [Smell(_NO_TASK[method], "taskId", "a flat Task, with taskId at the top level", shown)]
        return self.members(method, result) + self.unrelated(method, result)

    def listed(self, entry: JSON) -> list[Smell]:
        """What is wrong with an entry of ``tasks/list``."""
        if not isinstance(entry, Mapping):
            return [Smell(_NO_TASK["tasks/list"], "tasks", "tasks are objects", f"lists {text_of(entry, 60)}")]
        return self.members("tasks/list", entry)

    def unrelated(self, method: str, result: Mapping[str, JSON]) -> list[Smell]:
        """Whether a result names its task in ``_meta``, too, which it should not."""
        meta = result.get("_meta")
        if not isinstance(meta, Mapping) or RELATED_TASK not in meta:
            return []
        return [
            Smell("tasks25.rel.server-omit", method, f"no {RELATED_TASK} in _meta", f"has {RELATED_TASK} in its _meta")
        ]

    def notification(self, params: Mapping[str, JSON]) -> list[Smell]:
        """What is wrong with the parameters of a ``notifications/tasks/status``."""
        smells = [
            Smell("tasks25.notif.full", smell.aspect, f"the full task: {smell.expected}", smell.actual)
            for smell in self.members("notification", params)
        ]
        meta = params.get("_meta")
        if isinstance(meta, Mapping) and RELATED_TASK in meta:
            smells.append(
                Smell(
                    "tasks25.notif.no-related",
                    "_meta",
                    f"no {RELATED_TASK} in _meta",
                    f"has {RELATED_TASK} in its _meta",
                )
            )
        return smells

    def members(self, kind: str, task: Mapping[str, JSON]) -> list[Smell]:
        """What is wrong with the members of a task."""
        smells: list[Smell] = []
        for where, message, shown in self._errors(kind, task):
            member = where[0] if where else ""
            requirement = _MEMBERS.get(member)
            if requirement is not None and all(smell.aspect != member for smell in smells):
                smells.append(Smell(requirement, member, f"{member}: {message}", f"has {shown} as {member}"))
        smells += _odd(task)
        for member in ("createdAt", "lastUpdatedAt"):
            value = task.get(member)
            if isinstance(value, str) and instant(value) is None:
                smells.append(
                    Smell(
                        _MEMBERS[member],
                        member,
                        f"{member} is an ISO 8601 timestamp",
                        f"has {text_of(value, 60)} as {member}",
                    )
                )
        if task.get("taskId") == "":
            smells.append(Smell(_MEMBERS["taskId"], "taskId", "a taskId that names the task", "has an empty taskId"))
        return smells

    def _errors(self, kind: str, value: Mapping[str, JSON]) -> list[tuple[tuple[str, ...], str, str]]:
        """Place, what was expected and what stands there, for every error."""
        if self._memo.known_good(kind, value):
            return []
        try:
            self._task.validate_python(value)
        except ValidationError as error:
            out = []
            for item in error.errors(include_url=False, include_context=False)[:12]:
                shown = "nothing" if item["type"] == "missing" else text_of(item.get("input"), 60)
                out.append((tuple(str(part) for part in item["loc"]), str(item["msg"]), shown))
            return out
        self._memo.add(kind, value)
        return []
