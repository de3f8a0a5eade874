"""A server that is killed and started again on its data: the tasks that it handed out are still there.

Source: tasks extension, "Task Creation".  The user gives the command, and thereby says that tasks are durable.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Final

from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped, ProbeTask
from mcptasks.conformance.probes.states import asking_task, outline
from mcptasks.conformance.wire.names import TERMINAL_STATUSES
from mcptasks.conformance.wire.restarting import LONGEST_S, restart
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_REQUIREMENT: Final = "tasks.create.survives-restart"
_UP_S: Final = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
"""Pauses before the first request behind a restart is given up: the command returns when the server is up."""


async def _handed_out(session: ProbeSession) -> list[tuple[ProbeTask, dict[str, Any]]]:
    """Tasks in all states that this server's can be brought into, each with what was last shown of it."""
    tasks = [await session.open_task()]
    with suppress(ProbeSkipped):
        tasks.append((await asking_task(session))[0])
    if isinstance(session.profile, Control):
        steps: tuple[dict[str, JSON], ...] = (
            {
                "action": "complete",
                "result": {"content": [{"type": "text", "text": "kept"}], "structuredContent": {"n": 1}},
            },
            {"action": "fail", "error": {"code": 4001, "message": "kept", "data": {"n": 1}}},
        )
        for step in steps:
            tasks.append(await session.open_task())
            await session.step(tasks[-1], step)
    tasks.append(await session.open_task())
    await session.request("tasks/cancel", {"taskId": tasks[-1].id})
    return [(task, await session.get(task)) for task in tasks]


async def _up(session: ProbeSession) -> None:
    for pause in _UP_S:
        await session.client.pacer.sleep(pause)
        if (await session.ask("server/discover", fresh=True)).status:
            return
    raise ProbeSkipped("the server answers nothing behind the restart")


@GROUP.probe("restart.tasks", _REQUIREMENT, needs=frozenset({"restart"}), deadline_s=LONGEST_S + 30)
async def survives(session: ProbeSession) -> None:
    """Every task that was handed out resolves, and a finished one as it was; work under way may have failed."""
    command = session.source.spec.restart_command
    if command is None:
        raise ProbeSkipped("no way to restart the server was given")
    started = time.monotonic()
    tasks = await _handed_out(session)
    session.remark("here the server is killed and started again on the same data (--restart-command)")
    await restart(command, session.client.pacer.sleep)
    await _up(session)
    for task, before in tasks:
        answer = await session.ask("tasks/get", {"taskId": task.id}, fresh=True)
        status = str(before.get("status"))
        ttl = before.get("ttlMs")
        if type(ttl) is int and (time.monotonic() - started) * 1000 > 0.8 * ttl:
            continue  # behind its ttl it may be gone (ambiguity AMB-03)
        session.check(
            _REQUIREMENT,
            answer.result is not None,
            expected=f"the task, which was {status} when the server was killed",
            actual=answer.told,
            message=f"behind a restart, tasks/get of a task that was {status} is answered with {answer.told}",
            aspect=f"{status}-lost",
        )
        if status not in TERMINAL_STATUSES:
            continue
        after = answer.result or {}
        session.check(
            _REQUIREMENT,
            outline(after) == outline(before),
            expected=f"the task as it was: {_shown(before)}",
            actual=_shown(after),
            message=f"behind a restart, a task that was {status} is shown in another way",
            aspect=f"{status}-changed",
        )


def _shown(task: dict[str, Any]) -> str:
    return text_of({name: task[name] for name in ("status", "result", "error") if name in task}, 120)
