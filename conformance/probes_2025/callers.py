"""Probes of who may see a task: the second caller, and whoever says nothing of itself."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped
from mcptasks.conformance.wire_2025.session import Session
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()
_OTHER: Final = frozenset({"second-caller"})
_FOREIGN: Final = "tasks25.sec.reject-foreign"


async def _listed(probe: ProbeSession25, session: Session, task_id: str) -> bool:
    """Whether a session's list shows a task."""
    params: dict[str, JSON] = {}
    for _ in range(100):
        reply = await probe.request("tasks/list", params, session=session)
        tasks = (reply.result or {}).get("tasks")
        if not isinstance(tasks, list):
            raise ProbeSkipped("tasks/list gives no page of tasks")
        if any(isinstance(item, dict) and item.get("taskId") == task_id for item in tasks):
            return True
        cursor = (reply.result or {}).get("nextCursor")
        if not isinstance(cursor, str):
            return False
        params = {"cursor": cursor}
    return False


@GROUP.probe("sec.foreign", _FOREIGN, "tasks25.sec.bind", needs=_OTHER, deadline_s=40.0)
async def _foreign(probe: ProbeSession25) -> None:
    """A second caller neither reads nor moves the first one's task."""
    task = await probe.open_task()
    other = await probe.another(other=True)
    methods = ["tasks/get", "tasks/result", *(["tasks/cancel"] if probe.introduction.cancels else [])]
    for method in methods:
        waiting = await probe.begin(method, {"taskId": task.id}, session=other)
        answered = await probe.over(waiting, other.client.limits.answer_s, session=other)
        refused = waiting.reply is not None and waiting.reply.error is not None
        told = probe.told(waiting.reply) if waiting.reply is not None else "no answer"
        if not answered and method != "tasks/result":
            continue
        if waiting.problem is not None and waiting.reply is None:
            continue  # whatever that was, it gave nothing away
        probe.check(
            _FOREIGN,
            refused,
            expected="an error, as for a task that does not exist",
            actual="it waits for the result" if not answered else told,
            message=f"{method} of another caller's task is not refused",
            aspect=method.partition("/")[2],
            soft=True,
        )
    shown = await probe.get(task)
    probe.check(
        "tasks25.sec.bind",
        shown.get("status") in ("working", "input_required"),
        expected="the task is as it was",
        actual=f"status {text_of(shown.get('status'), 40)}",
        message="a task was moved by a caller whom it does not belong to",
        aspect="moved",
    )


@GROUP.probe("sec.list", "tasks25.sec.list-scope", needs=_OTHER | {"list"}, deadline_s=40.0)
async def _list(probe: ProbeSession25) -> None:
    """A second caller's list shows none of the first one's tasks."""
    task = await probe.open_task()
    other = await probe.another(other=True)
    probe.check(
        "tasks25.sec.list-scope",
        not await _listed(probe, other, task.id),
        expected="tasks of the caller alone",
        actual=f"lists {text_of(task.id, 60)}",
        message="tasks/list shows a task of another caller",
        aspect="foreign",
    )


@GROUP.probe("sec.anonymous", "tasks25.sec.no-list", deadline_s=40.0)
async def _anonymous(probe: ProbeSession25) -> None:
    """Who cannot tell its callers apart should not list their tasks."""
    if not probe.introduction.lists:
        probe.check(
            "tasks25.sec.no-list", True, expected="", actual="", message="", choice="does not declare tasks.list"
        )
        return
    if probe.source.spec.sent_headers:
        raise ProbeSkipped("the suite sends headers by which the server may tell its callers")
    task = await probe.open_task()
    another = await probe.another(listens=False)
    probe.check(
        "tasks25.sec.no-list",
        not await _listed(probe, another, task.id),
        expected="no tasks of others, or no tasks.list",
        actual=f"lists {text_of(task.id, 60)} of another session",
        message="tasks/list shows anybody's tasks to anybody: two sessions without credentials see each other's",
        choice="keeps sessions apart",
    )
