"""Status notifications of tasks: what is sent on a subscription, what is not, and what its end leaves alone.

Sources: tasks extension, "Task Status Notifications"; MCP 2026-07-28, basic/patterns/subscriptions.  A server may send
none, some or all of them, late or at once: only what comes is judged, and that the acknowledgement comes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.probes.heard import Heard, ack_deadline
from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.refusals import check_lasting, harmless_call, lasting_task
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped, ProbeTask
from mcptasks.conformance.probes.states import stranger_of
from mcptasks.conformance.probes.subscription import LISTEN, Subscription, is_response, subscribed
from mcptasks.conformance.wire.names import METHOD_NOT_FOUND, MISSING_CAPABILITY, TASKS_EXTENSION, TERMINAL_STATUSES
from mcptasks.conformance.wire.requests import CAPABILITIES
from mcptasks.strategies.json_values import JSON, text_of
from mcptasks.strategies.operations import Complete, Create, Fail

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_NEEDS: Final = frozenset({"listen"})
_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
_TOKEN: Final = "mcptasks-progress"
_WINDOW_S: Final = 1.0
"""Seconds for which a notification is awaited that need not come."""
_GRACE_S: Final = 0.05
"""Seconds in which what must not come behind it would come."""
_LATE_S: Final = (0.0, 0.03, 0.07)
"""Pauses before it is looked whether a closed stream has had an effect."""
_STREAM_S: Final = 3.0
_END_S: Final = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
_QUESTION: Final[dict[str, JSON]] = {
    "method": "elicitation/create",
    "params": {
        "message": "mcptasks",
        "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
    },
}
_CLIENTS: Final[tuple[tuple[str, Mapping[str, JSON], str], ...]] = (
    ("declares nothing", {}, "nothing"),
    (
        "declares everything but the extension",
        {name: value for name, value in CAPABILITIES.items() if name != "extensions"},
        "others",
    ),
    ("declares another extension", {"extensions": {"com.example/other": {}}}, "other-extension"),
)


def _shown_as_over(ids: Collection[str]) -> Callable[[Sequence[JSON]], bool]:
    """Whether the end of each of these tasks was told, or that of the subscription."""

    def told(messages: Sequence[JSON]) -> bool:
        over: set[str] = set()
        for message in messages:
            if is_response(message):
                return True
            params = message.get("params") if isinstance(message, dict) else None
            if isinstance(params, dict) and params.get("status") in TERMINAL_STATUSES:
                over.add(str(params.get("taskId")))
        return over.issuperset(ids)

    return told


def _next(session: ProbeSession) -> str:
    """The name of the next task."""
    return f"t{len(session.tasks) + 1}"


async def _short_task(session: ProbeSession) -> ProbeTask:
    """A task that ends soon where tasks move by themselves.

    Raises:
        ProbeSkipped: the server makes none.
    """
    return await session.open_task(Complete(_next(session), {"ok": 1}))


async def _finish(session: ProbeSession, task: ProbeTask) -> None:
    """Bring a task to its end: one that moves by itself gets there."""
    if isinstance(session.profile, Control):
        await session.end(task)
        return
    for pause in _END_S:
        await session.client.pacer.sleep(pause)
        if (await session.get(task)).get("status") in TERMINAL_STATUSES:
            task.ended = True
            return


async def _with_progress(session: ProbeSession) -> tuple[ProbeTask, RawAnswer]:
    """A task whose call asked for progress and log messages, and all that the call was answered with.

    Raises:
        ProbeSkipped: the server makes none.
    """
    name = _next(session)
    message = session.message("tools/call", session.profile.opening(name, [Create(name), Complete(name, {"ok": 1})]))
    message["params"]["_meta"] |= {"progressToken": _TOKEN, _LOG_LEVEL: "debug"}
    answer = await session.raw(message, creates=name, seconds=min(_STREAM_S, session.client.limits.answer_s))
    result = answer.result or {}
    if not isinstance(result.get("taskId"), str) or not result["taskId"]:
        raise ProbeSkipped(f"a call that should make a task is answered with {answer.told}")
    task = session.adopt(result)
    check_lasting(task)
    return task, answer


async def _await_end(session: ProbeSession, held: Subscription, *tasks: ProbeTask) -> None:
    """Wait for the notifications of the ends of tasks, which need not come: for a short time if none came before."""
    server = session.source.opened
    told = await held.until(_shown_as_over([item.id for item in tasks]), _WINDOW_S if server.notifies else _GRACE_S)
    server.notifies = told


async def _settle(session: ProbeSession) -> None:
    await session.client.pacer.sleep(_GRACE_S)


@GROUP.probe("listen.call", "tasks.notif.no-progress-at-all")
async def call(session: ProbeSession) -> None:
    """A call asks for progress and log messages: they may come before it becomes a task, and not behind that."""
    _, answer = await _with_progress(session)
    if answer.kind != "text/event-stream":
        return
    place = next(place for place, item in enumerate(answer.messages) if is_response(item))
    methods = [str(item.get("method")) for item in answer.messages[place + 1 :] if isinstance(item, dict)]
    wrong = [name for name in methods if name in ("notifications/progress", "notifications/message")]
    session.check(
        "tasks.notif.no-progress-at-all",
        not wrong,
        expected="no progress and no log messages of a task",
        actual=", ".join(wrong) or "none",
        message=f"the stream of a call goes on behind its CreateTaskResult, with {', '.join(wrong)}",
    )


@GROUP.probe("listen.undeclared", "tasks.cap.listen-undeclared", needs=_NEEDS)
async def undeclared(session: ProbeSession) -> None:
    """A client that does not declare the extension asks for notifications of a task."""
    task = await lasting_task(session)
    asked: dict[str, JSON] = {"taskIds": [task.id]}
    answers: list[tuple[RawAnswer, str, str]] = []
    for words, capabilities, aspect in _CLIENTS:
        message = session.message(
            LISTEN, {"notifications": asked}, capabilities=capabilities, client="mcptasks-undeclared"
        )
        answer = await session.raw(message, fresh=True, until=bool, seconds=ack_deadline(session))
        if answer.code == METHOD_NOT_FOUND:
            raise ProbeSkipped(f"{LISTEN} is answered with {answer.told}")
        answers.append((answer, words, aspect))
    # Last, so that it takes no other's place where subscriptions are limited.
    async with subscribed(session, asked, 1) as held:
        heard = Heard(session, held)
        await heard.acknowledged()
    for answer, words, aspect in answers:
        data = (answer.error or {}).get("data")
        required = data.get("requiredCapabilities") if isinstance(data, dict) else None
        extensions = required.get("extensions") if isinstance(required, dict) else None
        named = isinstance(extensions, dict) and isinstance(extensions.get(TASKS_EXTENSION), dict)
        refused = answer.code == MISSING_CAPABILITY
        told = answer.told if answer.response is not None or not answer.messages else text_of(answer.messages[0], 120)
        session.check(
            "tasks.cap.listen-undeclared",
            refused and named,
            expected=f"error {MISSING_CAPABILITY} whose data.requiredCapabilities.extensions has {TASKS_EXTENSION}",
            actual=f"error {answer.code} with data {text_of(data, 80)}" if refused else told,
            message=f"a subscription to a task by a client that {words} is "
            f"{f'refused without naming the extension: data {text_of(data, 80)}' if refused else f'answered with {told}'}",
            aspect="data" if refused else aspect,
            # Such a server has no notifications to give, and may not know of the member at all.
            warning=not heard.agrees,
        )


@GROUP.probe(
    "listen.task",
    "tasks.notif.ack-first",
    "tasks.notif.ack-ids",
    "tasks.notif.subscription-id",
    "tasks.notif.method",
    "tasks.notif.full-task",
    "tasks.notif.same-as-get",
    "tasks.notif.only-acked",
    "tasks.notif.no-progress",
    "tasks.notif.no-message",
    "tasks.notif.graceful-end",
    "tasks.notif.optional",
    "tasks.notif.no-result-type",
    "core.sub.requested-only",
    "core.sub.ack-subset",
    "rpc.notification-no-id",
    "rpc.server-no-requests",
    needs=_NEEDS,
)
async def task(session: ProbeSession) -> None:
    """One of two tasks is listened for; its call had asked for progress and log messages."""
    ours, _ = await _with_progress(session)
    other = await _short_task(session)
    async with subscribed(session, {"taskIds": [ours.id]}, 1) as held:
        heard = Heard(session, held)
        await heard.acknowledged()
        await _finish(session, other)
        if isinstance(session.profile, Control):
            await session.step(ours, {"action": "request_input", "requests": {"probe": _QUESTION}})
        await _finish(session, ours)
        await _await_end(session, held, ours)
        await _settle(session)
        await heard.judge(ours)
        for requirement in ("only-acked", "no-progress", "no-message"):
            heard.kept(f"tasks.notif.{requirement}")
        await heard.same_as_get([ours])
        session.choice("tasks.notif.optional", "notifies" if heard.count else "sends no notification")
        heard.end()


@GROUP.probe(
    "listen.ends",
    "tasks.notif.subscription-id",
    "tasks.notif.full-task",
    "tasks.notif.same-as-get",
    "tasks.notif.graceful-end",
    needs=_NEEDS,
)
async def ends(session: ProbeSession) -> None:
    """Two tasks are listened for, of which one fails and one is cancelled; the subscription's id is a text."""
    failing = await session.open_task(Fail(_next(session), {"code": 1, "message": "mcptasks"}))
    cancelled = await lasting_task(session)
    async with subscribed(session, {"taskIds": [failing.id, cancelled.id]}, "listen-ends") as held:
        heard = Heard(session, held)
        await heard.acknowledged()
        if isinstance(session.profile, Control):
            error: dict[str, JSON] = {"code": -32050, "message": "mcptasks", "data": {"n": 1}}
            await session.step(failing, {"action": "fail", "error": error})
        await session.request("tasks/cancel", {"taskId": cancelled.id})
        await _await_end(session, held, failing, cancelled)
        await _settle(session)
        await heard.judge(failing, cancelled)
        await heard.same_as_get([failing, cancelled])
        heard.end()


@GROUP.probe("listen.unknown", "tasks.notif.ack-ids", "tasks.notif.only-acked", needs=_NEEDS)
async def unknown(session: ProbeSession) -> None:
    """A task and an id that no task has: which of them a server agrees to is open (ambiguity AMB-09)."""
    ours = await lasting_task(session)
    async with subscribed(session, {"taskIds": [ours.id, stranger_of(ours.id)]}, "listen-unknown") as held:
        heard = Heard(session, held)
        await heard.acknowledged()
        if isinstance(session.profile, Control):
            await session.end(ours)
            await _await_end(session, held, ours)
        await _settle(session)
        await heard.judge(ours)
        heard.kept("tasks.notif.only-acked")


@GROUP.probe("listen.two", "core.sub.id", "tasks.notif.only-acked", needs=_NEEDS)
async def two(session: ProbeSession) -> None:
    """Two subscriptions at once, with ids of the same look and another type."""
    first, second = await _short_task(session), await _short_task(session)
    async with (
        subscribed(session, {"taskIds": [first.id]}, 7) as one,
        subscribed(session, {"taskIds": [second.id]}, "7") as other,
    ):
        heard = [Heard(session, held, tag="core.sub.id") for held in (one, other)]
        for item in heard:
            await item.acknowledged()
        await _finish(session, second)
        await _finish(session, first)
        await _await_end(session, one, first)
        await _await_end(session, other, second)
        await _settle(session)
        for item in heard:
            await item.judge(first, second)
            item.kept("tasks.notif.only-acked")


@GROUP.probe(
    "listen.lists",
    "core.sub.ack-first",
    "core.sub.ack-subset",
    "core.sub.id",
    "core.sub.requested-only",
    "http.listen-no-progress",
    "tasks.notif.only-acked",
    "rpc.notification-no-id",
    "rpc.server-no-requests",
    needs=_NEEDS,
)
async def lists(session: ProbeSession) -> None:
    """A subscription to changes of lists only, while a call asks for progress and a task moves."""
    other = await _short_task(session)
    discovered = await session.ask("server/discover")
    capabilities: Any = (discovered.result or {}).get("capabilities")
    unsupported = ["promptsListChanged"] if isinstance(capabilities, dict) and "prompts" not in capabilities else []
    asked: dict[str, JSON] = {"toolsListChanged": True, "promptsListChanged": True}
    async with subscribed(session, asked, "listen-lists") as held:
        heard = Heard(session, held, unsupported=unsupported)
        await heard.acknowledged()
        try:
            message, _ = await harmless_call(session)
        except ProbeSkipped as reason:
            session.skip("http.listen-no-progress", str(reason))
        else:
            message["params"]["_meta"] |= {"progressToken": _TOKEN, _LOG_LEVEL: "debug"}
            await session.raw(message)
            heard.kept("http.listen-no-progress")
        await _finish(session, other)
        await _settle(session)
        await heard.judge()
        heard.kept("tasks.notif.only-acked")
        heard.end()


@GROUP.probe("listen.closed", "tasks.notif.stream-close-inert", needs=_NEEDS)
async def closed(session: ProbeSession) -> None:
    """The client closes the stream in the middle: that ends the subscription and nothing else."""
    ours = await lasting_task(session)
    async with subscribed(session, {"taskIds": [ours.id]}, 1) as held:
        heard = Heard(session, held)
        await heard.acknowledged()
    for pause in _LATE_S:
        await asyncio.sleep(pause)
        answer = await session.ask("tasks/get", {"taskId": ours.id}, fresh=True)
        status = (answer.result or {}).get("status")
        ended = status in TERMINAL_STATUSES if session.profile.settles else status == "cancelled"
        session.check(
            "tasks.notif.stream-close-inert",
            answer.result is not None and not ended,
            expected="the task goes on",
            actual=f"status {status}" if answer.result is not None else answer.told,
            message="a client closes the stream on which it listened for a task, and the task is "
            + (f"{status}" if answer.result is not None else f"answered with {answer.told}"),
        )
    if isinstance(session.profile, Control):
        stepped = await session.step(ours, {"action": "complete", "result": {"content": []}})
        session.check(
            "tasks.notif.stream-close-inert",
            stepped.answer == "applied",
            expected="the task can still be completed",
            actual=f"the step was {stepped.answer}",
            message="a client closes the stream on which it listened for a task, and the task cannot be completed any "
            f"more: the step was {stepped.answer}",
            aspect="step",
        )
