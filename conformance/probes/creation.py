"""New tasks: there at once for every connection, each its own, the same to all who read them, for as long as told.

Tasks extension, "Task Creation", "Task Polling" and "Task TTL".
"""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any, Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.refusals import lasting_task
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped, ProbeTask
from mcptasks.conformance.wire.forms import instant
from mcptasks.conformance.wire.names import INVALID_PARAMS
from mcptasks.strategies.json_values import JSON, Payload
from mcptasks.strategies.operations import Create

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_AT_ONCE: Final = 8
_AT_ONCE_FREE: Final = 3
"""Tasks that move by themselves are at work until they are cancelled."""
_TOO_SHORT_MS: Final = 1000
"""A task with a shorter time to live may be gone before it can be read."""
_SHORTEST_MS: Final = 150
_LONGEST_MS: Final = 4000
"""Between these a time to live is waited for."""
_READERS: Final = 5
_READS: Final = 3
_TICK_S: Final = 0.02


# --- there at once, each its own ---------------------------------------------------------------


def _call(session: ProbeSession, number: int) -> dict[str, Any]:
    name = f"t{number}"
    params = session.profile.opening(name, [Create(name)])
    if session.profile.name == "official" and params["name"] == "slow_compute":
        # Not the same call twice: whether that makes one task or two is the server's choice.
        params = {**params, "arguments": {**params["arguments"], "label": f"long {number}"}}
    return session.message("tools/call", params)


async def _create_and_read(session: ProbeSession, number: int) -> tuple[ProbeTask, RawAnswer]:
    """Create a task on one connection and read it at once on another."""
    created = await session.raw(_call(session, number), fresh=True)
    result = created.result or {}
    if not isinstance(result.get("taskId"), str) or not result["taskId"]:
        raise ProbeSkipped(f"a call that should make a task is answered with {created.told}")
    task = session.adopt(result)
    return task, await session.ask("tasks/get", {"taskId": task.id}, fresh=True)


@GROUP.probe("create.at-once", "tasks.create.durable", "tasks.create.unique-id")
async def at_once(session: ProbeSession) -> None:
    """Several tasks are created at the same time, each on a connection of its own and read on yet another."""
    count = _AT_ONCE_FREE if session.profile.free else _AT_ONCE
    session.client.reserve = count
    outcomes = await asyncio.gather(
        *(_create_and_read(session, number) for number in range(1, count + 1)), return_exceptions=True
    )
    created: list[tuple[ProbeTask, RawAnswer]] = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        created.append(outcome)
    for task, answer in created:
        _check_there(session, task, answer, "at once, on another connection")
    # A second call that is the same may lawfully give the same task, but not where the suite's own tool makes them.
    if not session.profile.free:
        ids = [task.id for task, _ in created]
        session.check(
            "tasks.create.unique-id",
            len(set(ids)) == len(ids),
            expected=f"{len(ids)} different ids",
            actual=f"{len(set(ids))} different ids",
            message=f"{len(ids)} calls at the same time make only {len(set(ids))} tasks",
        )
    again = await asyncio.gather(*(session.ask("tasks/get", {"taskId": task.id}, fresh=True) for task, _ in created))
    for (task, _), answer in zip(created, again, strict=True):
        _check_there(session, task, answer, "when all are read at the same time")


def _check_there(session: ProbeSession, task: ProbeTask, answer: RawAnswer, when: str) -> None:
    ttl = task.created.get("ttlMs")
    if (isinstance(ttl, int) and ttl < _TOO_SHORT_MS) or (answer.result is None and answer.error is None):
        return
    session.check(
        "tasks.create.durable",
        answer.result is not None,
        expected="the task",
        actual=answer.told,
        message=f"a task that was handed out cannot be read {when}",
    )


# --- the same to all ---------------------------------------------------------------------------


def _question(text: str) -> dict[str, JSON]:
    schema: dict[str, JSON] = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": text, "requestedSchema": schema}}


async def _shows(session: ProbeSession, task: ProbeTask, status: str) -> dict[str, Any]:
    """The task once it has a status.

    Raises:
        ProbeSkipped: it does not come to have it.
    """
    for pause in (0.0, 0.05, 0.1, 0.2, 0.5, 1.0):
        if pause:
            await session.client.pacer.sleep(pause)
        shown = await session.get(task)
        if shown.get("status") == status:
            return shown
    raise ProbeSkipped(f"a task does not become {status} in time")


async def _read_together(session: ProbeSession, task: ProbeTask, status: str) -> list[dict[str, Any]]:
    """What several connections see at the same time, as far as they see the status."""
    answers = await asyncio.gather(
        *(session.ask("tasks/get", {"taskId": task.id}, fresh=True) for _ in range(_READERS))
    )
    return [answer.result for answer in answers if answer.result and answer.result.get("status") == status]


def _plain(value: JSON) -> Payload | None:
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key != "_meta"}
    try:
        return Payload(value)
    except (ValueError, RecursionError):
        return None


@GROUP.probe(
    "create.same-to-all",
    "tasks.status.get-pure",
    "tasks.status.terminal-payload-stable",
    needs=frozenset({"control"}),
)
async def same_to_all(session: ProbeSession) -> None:
    """Reads at the same time change nothing: neither what is asked, nor what came of it."""
    task = await lasting_task(session)
    asked: dict[str, JSON] = {"a": _question("how many?"), "b": _question("how much?")}
    await session.step(task, {"action": "request_input", "requests": asked})
    first = await _shows(session, task, "input_required")
    for seen in await _read_together(session, task, "input_required"):
        session.check(
            "tasks.status.get-pure",
            _keys(seen) == _keys(first),
            expected=f"the requests {', '.join(_keys(first))}",
            actual=f"the requests {', '.join(_keys(seen))}",
            message="reads at the same time do not show the same requests for input",
        )
    result: dict[str, JSON] = {"content": [{"type": "text", "text": "done"}], "structuredContent": {"n": 1}}
    await session.step(task, {"action": "complete", "result": result})
    first = await _shows(session, task, "completed")
    task.ended = True
    for seen in await _read_together(session, task, "completed"):
        session.check(
            "tasks.status.terminal-payload-stable",
            _plain(seen.get("result")) == _plain(first.get("result")),
            expected="the same result for every read",
            actual="another result",
            message="reads of a finished task at the same time do not show the same result",
        )


def _keys(shown: dict[str, Any]) -> list[str]:
    requests = shown.get("inputRequests")
    return sorted(requests) if isinstance(requests, dict) else []


# --- for as long as told -----------------------------------------------------------------------


@GROUP.probe("create.finished-times", "tasks.shape.updated-settled")
async def finished_times(session: ProbeSession) -> None:
    """A finished task is read several times: what moves each time is the time of the read, not of an update."""
    task = await lasting_task(session)
    shown = [await session.end(task)]
    for _ in range(_READS):
        await session.client.pacer.sleep(_TICK_S)
        shown.append(await session.get(task))
    told = [str(item.get("lastUpdatedAt")) for item in shown]
    times = [instant(item.get("lastUpdatedAt")) for item in shown]
    moved = [
        later is not None and earlier is not None and later > earlier for earlier, later in itertools.pairwise(times)
    ]
    session.check(
        "tasks.shape.updated-settled",
        not all(moved),
        expected="the same time, or a last update behind the end",
        actual=", ".join(told),
        message="lastUpdatedAt of a finished task moves with every read",
    )


@GROUP.probe(
    "create.ttl",
    "tasks.ttl.no-early-discard",
    "tasks.ttl.server-fail",
    "tasks.ttl.server-delete",
    "tasks.err.get-unknown",
)
async def ttl(session: ProbeSession) -> None:
    """A task with a short time to live is there for half of it; what comes behind it is the server's choice."""
    # The task is no older than its request, so nothing is expected for longer than the server can have meant.
    started = time.monotonic()
    task = await session.open_task()
    answered = time.monotonic()  # and it was made by now: behind this its time is surely over
    told = task.created.get("ttlMs")
    if type(told) is not int or not _SHORTEST_MS <= told <= _LONGEST_MS:
        raise ProbeSkipped(f"waits only for times to live of {_SHORTEST_MS} to {_LONGEST_MS} ms, not for {told}")
    await session.client.pacer.sleep(max(0.0, started + told / 2000 - time.monotonic()))
    answer = await session.ask("tasks/get", {"taskId": task.id})
    age = (time.monotonic() - started) * 1000
    if age > 0.8 * told:
        raise ProbeSkipped(f"a read half of {told} ms behind the creation came too late")
    session.check(
        "tasks.ttl.no-early-discard",
        answer.code != INVALID_PARAMS,
        expected=f"the task, for {told} ms",
        actual=f"{answer.told}, at most {age:.0f} ms behind its creation",
        message=f"a task with a ttlMs of {told} is gone after {age:.0f} ms",
    )
    now = (answer.result or {}).get("ttlMs")
    if type(now) is not int or now > _LONGEST_MS:
        return
    await session.client.pacer.sleep(max(0.0, answered + 1.2 * now / 1000 - time.monotonic()))
    answer = await session.ask("tasks/get", {"taskId": task.id})
    if answer.result is not None:
        failed = answer.result.get("status") == "failed"
        session.choice("tasks.ttl.server-fail" if failed else "tasks.ttl.server-delete", "failed" if failed else "kept")
        return
    if answer.code != INVALID_PARAMS:
        return
    session.choice("tasks.ttl.server-delete", "deleted")
    answer = await session.ask("tasks/get", {"taskId": task.id}, fresh=True)
    session.check(
        "tasks.err.get-unknown",
        answer.result is None,
        expected=f"error {INVALID_PARAMS}",
        actual=answer.told,
        message="a task that was gone behind its time to live is there again",
        aspect="again",
        behind_ttl=True,
        warning=True,
    )
