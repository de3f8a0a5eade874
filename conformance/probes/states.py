"""Tasks in the states that a probe wants them in, and what tells that one was changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped, ProbeTask
from mcptasks.conformance.wire import translate
from mcptasks.strategies.json_values import JSON, Payload
from mcptasks.strategies.operations import SetInput

__all__ = ["MARK", "answers_to", "asking_task", "outline", "stranger_of"]

MARK: Final = "mcptasks-marked-content"
"""A text in the payloads of tasks of the control profile, to be found where it must not be."""

_GIVEN: Final = "mcptasks-answer"
"""Not the mark: a refusal may repeat what its client has sent, and tells nothing by it."""
_ASKED: Final = {"probe": {"q": MARK}}


def stranger_of(task_id: str) -> str:
    """An id that no task has, of the form of one that a task has: its last letter or digit is another."""
    for position in range(len(task_id) - 1, -1, -1):
        if task_id[position].isalnum():
            other = "1" if task_id[position] != "1" else "2"
            return task_id[:position] + other + task_id[position + 1 :]
    return task_id + "1"


async def asking_task(session: ProbeSession) -> tuple[ProbeTask, dict[str, Any]]:
    """A task that waits for input, and what ``tasks/get`` shows of it.

    Raises:
        ProbeSkipped: the server has none.
    """
    task = await session.open_task(SetInput("t1", _ASKED))
    if isinstance(session.profile, Control):
        request = translate.request_of(Payload(_ASKED["probe"]), "probe", 0).fresh()
        await session.step(task, {"action": "request_input", "requests": {"probe": request}})
    for pause in session.pauses("ask", (0.0, 0.02, 0.05, 0.2, 0.5, 1.0)):
        await session.client.pacer.sleep(pause)
        shown = await session.get(task)
        asked = shown.get("inputRequests")
        if shown.get("status") == "input_required" and isinstance(asked, dict) and asked:
            return task, shown
    session.source.opened.missed["ask"] += 1
    raise ProbeSkipped("no task came to wait for input in time")


def answers_to(shown: Mapping[str, JSON]) -> dict[str, JSON]:
    """A good response to every request that a task shows."""
    return {
        key: translate.response_of(Payload(_GIVEN), Payload(request)).fresh()
        for key, request in shown["inputRequests"].items()
    }


def outline(shown: Mapping[str, JSON]) -> object:
    """What of a task must stay as it is while nothing is done to it."""
    asked = shown.get("inputRequests")
    keys = sorted(asked) if isinstance(asked, dict) else None
    return shown.get("status"), keys, shown.get("result"), shown.get("error")
