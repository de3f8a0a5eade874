"""Probes of what a server tells of its own accord: status notifications and progress."""

from __future__ import annotations

import time
from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped, ProbeTask25
from mcptasks.conformance.wire.names import TERMINAL_STATUSES
from mcptasks.conformance.wire_2025.names import TASK_STATUS
from mcptasks.conformance.wire_2025.session import Notice, Session
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
    # What every answer about the task shows in a wrong form is no fault of its notifications.
    shown = await probe.get(task)
    known = {item.aspect for item in probe.forms.members("create", task.task)}
    known |= {item.aspect for item in probe.forms.task("tasks/get", shown)}
    for notice in heard:
        probe.exercised["tasks25.notif.full"] += 1
        probe.exercised["tasks25.notif.no-related"] += 1
        for smell in [item for item in probe.forms.notification(notice.params) if item.aspect not in known]:
            probe.check(
                smell.requirement,
                False,
                expected=smell.expected,
                actual=f"a {TASK_STATUS} {smell.actual}",
                message=f"a {TASK_STATUS} {smell.actual}",
                aspect=smell.aspect.removeprefix("!"),
                soft=True,
                warning=smell.aspect.startswith("!"),
            )


async def _progressed(probe: ProbeSession25) -> tuple[Session, list[Notice], int]:
    """A task that was made with a progress token has lived and ended: its session, the progress heard, and how many
    notices had come by its end."""
    session = await probe.session()
    first = len(session.notices)
    task = await probe.open_task(Complete("t1"), meta={"progressToken": _TOKEN}, session=session)
    await _lived(probe, task, session)
    heard = probe.notices(session, _PROGRESS, first)
    if not heard:
        raise ProbeSkipped("the server tells no progress of the task that the suite can make it do")
    return session, heard, len(session.notices)


@GROUP.probe("prog.token-lives", "tasks25.prog.token-lives", deadline_s=40.0)
async def _token(probe: ProbeSession25) -> None:
    """Progress of a task is told under the token of the call that made it."""
    _, heard, _ = await _progressed(probe)
    for notice in heard:
        token = notice.params.get("progressToken")
        probe.check(
            "tasks25.prog.token-lives",
            token == _TOKEN,
            expected=f"progressToken {_TOKEN}, of the call that made the task",
            actual=f"progressToken {text_of(token, 60)}",
            message="progress of a task is told under another token than that of the call that made it",
            aspect="token",
        )


@GROUP.probe("prog.stops", "tasks25.prog.stops", deadline_s=40.0)
async def _stops(probe: ProbeSession25) -> None:
    """No more progress is told of a task that has ended."""
    session, _, ended = await _progressed(probe)
    now = time.monotonic()
    await probe.client.pacer.sleep(_STILL_S)
    # What was under way when the end was read may still have come: only what comes well behind it counts.
    late = [item for item in probe.notices(session, _PROGRESS, ended) if item.at > now + _STILL_S / 6]
    probe.check(
        "tasks25.prog.stops",
        not late,
        expected="no progress behind the end",
        actual=f"{len(late)} more, the first with progress {text_of(late[0].params.get('progress'), 20)}"
        if late
        else "none",
        message="progress is told of a task that tasks/get has shown as ended",
        aspect="late",
    )
