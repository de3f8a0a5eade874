"""A second replica of the same deployment: a task is found there as soon as it was handed out here.

Source: tasks extension, "Task Creation".  The user names the replica, and thereby says that it is one.
"""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.refusals import check_lasting
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped
from mcptasks.conformance.probes.states import stranger_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_REQUIREMENT: Final = "tasks.create.consistency"
_TASKS: Final = 4


@GROUP.probe("replicas.at-once", _REQUIREMENT, needs=frozenset({"peer"}))
async def at_once(session: ProbeSession) -> None:
    """Tasks are created here and read there at once, each on a new connection."""
    discovered = await session.ask("server/discover", peer=True)
    if discovered.result is None:
        raise ProbeSkipped(f"the second replica does not serve: server/discover is answered with {discovered.told}")
    for _ in range(_TASKS):
        task = await session.open_task()
        check_lasting(task)
        answer = await session.ask("tasks/get", {"taskId": task.id}, fresh=True, peer=True)
        shown = (answer.result or {}).get("taskId")
        session.check(
            _REQUIREMENT,
            shown == task.id,
            expected="the task",
            actual=answer.told,
            message="a task that was handed out cannot be read on the second replica",
            aspect="there",
        )
        unknown = await session.ask("tasks/get", {"taskId": stranger_of(task.id)}, peer=True)
        if unknown.result is not None:
            raise ProbeSkipped("the second replica shows any task that it is asked for")
