"""Probes of what a server tells of its own accord: status notifications and progress."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeTask25
from mcptasks.conformance.wire.names import TERMINAL_STATUSES
from mcptasks.conformance.wire_2025.names import TASK_STATUS
from mcptasks.conformance.wire_2025.session import Session
from mcptasks.strategies.json_values import JSON, text_of
from mcptasks.strategies.operations import Complete

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()
_PROGRESS: Final = "notifications/progress"
_TOKEN: Final = "mcptasks-progress-token"
_STILL_S: Final = 0.3
"""Seconds for which nothing more may come."""


async def _lived(probe: ProbeSession25, task: ProbeTask25, session: Session) -> None:
    """Let a task live and end, with a waiter on whose stream things may come."""
    await probe.begin("tasks/result", {"taskId": task.id}, session=session)
    if probe.profile.name == "control":
        question: dict[str, JSON] = {
            "method": "elicitation/create",
            "params": {
                "message": "Is anybody there?",
                "requestedSchema": {"type": "object", "properties": {"answer": {"type": "string"}}},
            },
        }
        await probe.ask(task, question)
        await session.until(lambda: any(not item.answered for item in session.questions), 0.5)
        for item in [item for item in session.questions if not item.answered]:
            await session.answer(item, {"action": "accept", "content": {"answer": "yes"}})
        await probe.client.pacer.sleep(0.1)
        await probe.complete(task)
    await probe.shown(task, TERMINAL_STATUSES)


@GROUP.probe(
    "notif.status", "tasks25.notif.optional", "tasks25.notif.full", "tasks25.notif.no-related", deadline_s=40.0
)
async def _status(probe: ProbeSession25) -> None:
    """Status notifications are optional; those that come show the whole task."""
    session = await probe.session()
    task = await probe.open_task(Complete("t1"), session=session)
    await _lived(probe, task, session)
    await probe.client.pacer.sleep(0.1)
    heard = [item for item in probe.notices(session, TASK_STATUS) if item.params.get("taskId") == task.id]
    if not heard:
        heard = [item for item in probe.notices(session, TASK_STATUS) if "taskId" not in item.params]
    probe.choice("tasks25.notif.optional", "sent" if heard else "not sent")
    for notice in heard:
        probe.exercised["tasks25.notif.full"] += 1
        probe.exercised["tasks25.notif.no-related"] += 1
        for smell in probe.forms.notification(notice.params):
            probe.check(
                smell.requirement,
                False,
                expected=smell.expected,
                actual=f"a {TASK_STATUS} {smell.actual}",
                message=f"a {TASK_STATUS} {smell.actual}",
                aspect=smell.aspect,
                soft=True,
            )


@GROUP.probe("prog.token", "tasks25.prog.token-lives", "tasks25.prog.stops", deadline_s=40.0)
async def _progress(probe: ProbeSession25) -> None:
    """Progress of a task is told under the token of the call that made it, and no more once it has ended."""
    session = await probe.session()
    first = len(session.notices)
    task = await probe.open_task(Complete("t1"), meta={"progressToken": _TOKEN}, session=session)
    await _lived(probe, task, session)
    ended = len(session.notices)
    heard = probe.notices(session, _PROGRESS, first)
    for notice in heard:
        token = notice.params.get("progressToken")
        probe.check(
            "tasks25.prog.token-lives",
            token == _TOKEN,
            expected=f"progressToken {_TOKEN}, of the call that made the task",
            actual=f"progressToken {text_of(token, 60)}",
            message="progress of a task is told under another token than that of the call that made it",
            aspect="token",
            soft=True,
        )
    if not heard:
        return
    await probe.client.pacer.sleep(_STILL_S)
    # Those that were under way when the end was read may still have come: only what came well behind it counts.
    ended_at = session.notices[ended - 1].at if ended else 0.0
    late = [item for item in probe.notices(session, _PROGRESS, ended) if item.at > ended_at + _STILL_S / 3]
    probe.check(
        "tasks25.prog.stops",
        not late,
        expected="no progress behind the end",
        actual=f"{len(late)} notifications, the first with progress {text_of(late[0].params.get('progress'), 20)}"
        if late
        else "none",
        message="progress is told of a task that tasks/get has shown as ended",
        aspect="late",
    )
