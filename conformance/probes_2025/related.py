"""Probes of related-task: in requests about a task it counts for nothing, the parameter does."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped, ProbeTask25
from mcptasks.conformance.wire_2025.names import RELATED_TASK
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()
_IGNORED: Final = "tasks25.rel.ignore-in-ops"


def _naming(task: ProbeTask25, other: ProbeTask25) -> dict[str, JSON]:
    return {"taskId": task.id, "_meta": {RELATED_TASK: {"taskId": other.id}}}


async def _two(probe: ProbeSession25) -> tuple[ProbeTask25, ProbeTask25]:
    task, other = await probe.open_task(), await probe.open_task()
    if task.id == other.id:
        raise ProbeSkipped("the server gives two tasks the same id")
    return task, other


@GROUP.probe("rel.ignore-in-ops", _IGNORED)
async def _get(probe: ProbeSession25) -> None:
    """tasks/get of one task with another's id as related-task."""
    task, other = await _two(probe)
    plain = await probe.request("tasks/get", {"taskId": task.id})
    if plain.result is None:
        raise ProbeSkipped("tasks/get of a task is refused")
    session = await probe.session()
    waiting = await probe.begin("tasks/get", _naming(task, other))
    answered = await probe.over(waiting, session.client.limits.answer_s)
    if waiting.problem is not None:
        raise ProbeSkipped(f"the server {waiting.problem.text}")
    shown = waiting.reply.result if waiting.reply is not None else None
    told = probe.told(waiting.reply) if answered and waiting.reply is not None else "no answer"
    probe.check(
        _IGNORED,
        shown is not None and shown.get("taskId", task.id) == task.id,
        expected="the task that the parameter taskId names",
        actual=told,
        message="tasks/get with another task as related-task in its _meta is not answered for the task it names",
        aspect="get",
    )


@GROUP.probe("rel.ignore-in-cancel", _IGNORED, needs=frozenset({"cancel"}))
async def _cancel(probe: ProbeSession25) -> None:
    """tasks/cancel of one task with another's id as related-task: the other lives."""
    task, other = await _two(probe)
    waiting = await probe.begin("tasks/cancel", _naming(task, other))
    await probe.over(waiting)
    if waiting.reply is None:
        raise ProbeSkipped("tasks/cancel with related-task is not answered")
    shown = await probe.get(other)
    alive = shown.get("status") in ("working", "input_required")
    probe.check(
        _IGNORED,
        alive,
        expected="the other task is as it was",
        actual=f"status {text_of(shown.get('status'), 40)}",
        message="tasks/cancel cancels the task that is named as related-task, not the one in its parameter",
        aspect="cancel",
    )


@GROUP.probe("rel.ignore-in-result", _IGNORED, needs=frozenset({"control"}))
async def _result(probe: ProbeSession25) -> None:
    """tasks/result of one task with another's id as related-task."""
    task, other = await _two(probe)
    for item, text in ((task, "of the task"), (other, "of the other")):
        await probe.complete(item, {"content": [{"type": "text", "text": text}]})
        await probe.shown(item, frozenset({"completed"}))
    plain = await probe.begin("tasks/result", {"taskId": task.id})
    await probe.over(plain)
    if plain.reply is None or "of the task" not in text_of((plain.reply.result or {}).get("content"), 400):
        raise ProbeSkipped("tasks/result does not give the result of its task without related-task either")
    waiting = await probe.begin("tasks/result", _naming(task, other))
    await probe.over(waiting)
    if waiting.problem is not None or waiting.reply is None:
        raise ProbeSkipped("tasks/result with related-task is not answered")
    content = (waiting.reply.result or {}).get("content")
    probe.check(
        _IGNORED,
        "of the other" not in text_of(content, 400),
        expected="the result of the task that the parameter taskId names",
        actual=probe.told(waiting.reply),
        message="tasks/result gives the result of the task that is named as related-task",
        aspect="result",
    )
