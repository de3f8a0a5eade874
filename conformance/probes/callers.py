"""A second caller: nothing of the first one's tasks is told to it, and nothing that it asks for has an effect.

Sources: tasks extension, "Security Considerations".  The user gives the second caller's credentials, and thereby says
that it is another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped, ProbeTask
from mcptasks.conformance.probes.states import MARK, answers_to, asking_task, outline, stranger_of
from mcptasks.conformance.probes.subscription import LISTEN, Subscription
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_REQUIREMENT: Final = "tasks.sec.auth-check"
_ORACLE: Final = "tasks.sec.no-oracle"
_NEEDS: Final = frozenset({"second-caller"})
_LATE_S: Final = 0.05
"""Seconds after which it is looked once more whether a refused request has had an effect."""
_LISTENING_S: Final = 5.0
_SETTLE_S: Final = 0.15
"""Seconds that a notification behind a change may take to be noticed here."""


async def _known(session: ProbeSession) -> None:
    """The second caller is one whom the server serves at all."""
    if not session.source.spec.has_other:
        raise ProbeSkipped("no second caller was given")
    answer = await session.ask("server/discover", other=True)
    if answer.result is None:
        raise ProbeSkipped(f"the second caller is not served at all: server/discover is answered with {answer.told}")


def _params(method: str, task_id: str, responses: dict[str, JSON]) -> dict[str, JSON]:
    params: dict[str, JSON] = {"taskId": task_id}
    if method == "update":
        params["inputResponses"] = responses
    return params


async def _foreign(session: ProbeSession, method: str) -> None:
    await _known(session)
    task, shown = await asking_task(session)
    responses = answers_to(shown)
    stranger = await session.ask(f"tasks/{method}", _params(method, stranger_of(task.id), responses), other=True)
    for state in ("live", "finished"):
        if state == "finished":
            await _finish(session, task)
        before = outline(await session.get(task))
        answer = await session.ask(f"tasks/{method}", _params(method, task.id, responses), other=True)
        _judge(session, method, state, answer, stranger)
        if method != "get":
            await _unchanged(session, method, state, task, before)
    alike = (answer.status, answer.code) == (stranger.status, stranger.code)
    session.choice(
        _ORACLE, "answers foreign tasks like unknown ones" if alike else "tells foreign tasks from unknown ones"
    )


async def _finish(session: ProbeSession, task: ProbeTask) -> None:
    if isinstance(session.profile, Control):
        marked: dict[str, JSON] = {"content": [{"type": "text", "text": MARK}]}
        await session.step(task, {"action": "complete", "result": marked})
    await session.end(task)


def _judge(session: ProbeSession, method: str, state: str, answer: RawAnswer, stranger: RawAnswer) -> None:
    # Who acknowledges anything acknowledges this too, and tells nothing by it: then only effects count.
    empty = method != "get" and stranger.result is not None
    session.check(
        _REQUIREMENT,
        answer.result is None or empty,
        expected="a refusal, such as for an unknown task",
        actual=answer.told,
        message=f"tasks/{method} of another caller's {state} task is answered with {answer.told}",
        aspect=f"{method}-{state}",
    )
    session.check(
        _REQUIREMENT,
        MARK.encode() not in answer.body,
        expected="a refusal that tells nothing of the task",
        actual=answer.told,
        message=f"the refusal of a tasks/{method} of another caller's {state} task tells what is in it",
        aspect=f"{method}-{state}-leak",
    )


async def _unchanged(session: ProbeSession, method: str, state: str, task: ProbeTask, before: object) -> None:
    for pause in (0.0, _LATE_S):
        await session.client.pacer.sleep(pause)
        after = outline(await session.get(task))
        session.check(
            _REQUIREMENT,
            after == before,
            expected="no effect of what another caller asks for",
            actual=f"the task was {_told(before)} and is now {_told(after)}",
            message=f"a tasks/{method} by a second caller takes effect on another one's {state} task",
            aspect=f"{method}-{state}-effect",
        )


def _told(shown: object) -> str:
    return text_of(list(shown), 80) if isinstance(shown, tuple) else "nothing"


@GROUP.probe("callers.listen", _REQUIREMENT, needs=_NEEDS | {"listen"})
async def foreign_listen(session: ProbeSession) -> None:
    """subscriptions/listen for another caller's task, which then ends: nothing is told of it."""
    await _known(session)
    task, _ = await asking_task(session)
    held = Subscription("callers-listen", {"taskIds": [task.id]})
    message = session.message(LISTEN, {"notifications": dict(held.asked)}, request_id=held.id)
    asking = session.raw(message, fresh=True, until=held.take, seconds=_LISTENING_S, other=True)
    held.start(asyncio.ensure_future(asking))
    try:
        await held.opening()
        await _finish(session, task)
        told = await held.until(lambda messages: _tells_of(messages, task.id), _SETTLE_S)
    finally:
        await held.close()
    session.check(
        _REQUIREMENT,
        not told,
        expected="no notification of another caller's task",
        actual=text_of([item for item in held.messages if _tells_of([item], task.id)][:1], 160),
        message="a second caller that listens for another one's task is told of it",
        aspect="listen",
    )


def _tells_of(messages: Sequence[JSON], task_id: str) -> bool:
    found = [item for item in messages if isinstance(item, dict) and item.get("method") == "notifications/tasks"]
    return any(isinstance(item.get("params"), dict) and item["params"].get("taskId") == task_id for item in found)


@GROUP.probe("callers.get", _REQUIREMENT, _ORACLE, needs=_NEEDS)
async def foreign_get(session: ProbeSession) -> None:
    """tasks/get of another caller's task, at work and finished."""
    await _foreign(session, "get")


@GROUP.probe("callers.update", _REQUIREMENT, _ORACLE, needs=_NEEDS)
async def foreign_update(session: ProbeSession) -> None:
    """tasks/update of another caller's task, waiting and finished."""
    await _foreign(session, "update")


@GROUP.probe("callers.cancel", _REQUIREMENT, _ORACLE, needs=_NEEDS)
async def foreign_cancel(session: ProbeSession) -> None:
    """tasks/cancel of another caller's task, at work and finished."""
    await _foreign(session, "cancel")
