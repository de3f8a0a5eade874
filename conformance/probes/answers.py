"""Answers that no question asked for: what a task makes of a response that cannot be read.

Sources: tasks extension, "Task Updates"; MCP 2026-07-28, basic/patterns/mrtr, "Error Handling", by analogy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.refusals import check_lasting
from mcptasks.conformance.probes.session import ProbeSession
from mcptasks.conformance.probes.states import asking_task
from mcptasks.conformance.wire.names import TERMINAL_STATUSES
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_MALFORMED: Final[tuple[tuple[str, JSON], ...]] = (
    ("an empty object", {}),
    ("an action that there is not", {"action": "mcptasks-no-such-action", "content": {}}),
    ("a number", 5),
)
_LATE_S: Final = 0.05
"""Seconds after which it is looked once more whether the task is still there."""


@GROUP.probe("update.malformed", "tasks.update.malformed-response", needs=frozenset({"control"}))
async def malformed(session: ProbeSession) -> None:
    """A response that is none to its question is refused, ignored or passed on; neither server nor task breaks.

    Only with the control tools: a task that works by itself may have its reasons to end.
    """
    for words, response in _MALFORMED:
        task, shown = await asking_task(session)
        check_lasting(task)
        params: dict[str, JSON] = {"taskId": task.id, "inputResponses": dict.fromkeys(shown["inputRequests"], response)}
        answer = await session.ask("tasks/update", params)
        session.check(
            "tasks.update.malformed-response",
            answer.result is not None or answer.error is not None,
            expected="an error, or an acknowledgement",
            actual=answer.told,
            message=f"a tasks/update whose response is {words} is answered with {answer.told}",
            aspect="answer",
            choice="acknowledges what is no response" if answer.result is not None else "refuses what is no response",
        )
        for pause in (0.0, _LATE_S):
            await session.client.pacer.sleep(pause)
            read = await session.ask("tasks/get", {"taskId": task.id})
            session.check(
                "tasks.update.malformed-response",
                _goes_on(read.result),
                expected="the task, waiting or at work",
                actual=f"status {text_of(read.result.get('status'), 40)}" if read.result is not None else read.told,
                message=f"a response that is {words} ends the task",
                aspect="task",
            )


def _goes_on(shown: Mapping[str, JSON] | None) -> bool:
    return shown is not None and shown.get("status") not in TERMINAL_STATUSES
