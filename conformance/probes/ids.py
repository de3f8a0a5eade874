"""How well task ids can be guessed, where the campaign's own sample is too small to say it.

Tasks extension, "Security Considerations".  With the control tools the campaign creates enough tasks; tasks that move
by themselves it creates few of, so here are some that end soon.
"""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.engine.entropy import weakness
from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped
from mcptasks.strategies.json_values import Payload
from mcptasks.strategies.operations import Complete

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_SAMPLE: Final = 24


@GROUP.probe("ids.guessable", "tasks.sec.entropy", needs=frozenset({"official"}))
async def guessable(session: ProbeSession) -> None:
    """The ids of tasks that are created one behind the other."""
    ids: list[str] = []
    for number in range(1, _SAMPLE + 1):
        task = await session.open_task(Complete(f"t{number}", Payload({"content": []})))
        ids.append(task.id)
    if len(set(ids)) < len(ids):
        raise ProbeSkipped("equal calls make one task, so there are not enough ids to judge")
    reason = weakness(ids)
    session.check(
        "tasks.sec.entropy",
        reason is None,
        expected="ids that cannot be told from earlier ones",
        actual=str(reason),
        message=f"task ids can be guessed: {reason}",
    )
