"""Probes of creation: who makes the id, what becomes of the ttl, how soon the answer comes."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any, Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped
from mcptasks.conformance.wire.forms import instant
from mcptasks.conformance.wire.names import INVALID_PARAMS
from mcptasks.conformance.wire_2025.forms import related_task
from mcptasks.conformance.wire_2025.names import IMMEDIATE_RESPONSE
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()
_OURS: Final = "mcptasks-chosen-by-the-client-7f3a"
_PROMPT_S: Final = 2.0
"""Seconds in which a task that works for much longer must be there."""
_MONTH_MS: Final = 2**31
_AGES_MS: Final = 10**15
_SHORT_MS: Final = 150
_LATER_S: Final = 1.2
"""Seconds in which a clock that counts seconds has moved on."""


@GROUP.probe("create.id-receiver", "tasks25.create.id-receiver", "tasks25.create.id-unique")
async def _id(probe: ProbeSession25) -> None:
    """Ids that a client suggests are not taken."""
    params: dict[str, Any] = probe.creation(task={"ttl": 3_600_000, "taskId": _OURS})
    params["taskId"] = _OURS
    made: list[str] = []
    for _ in range(2):
        session = await probe.session()
        reply = await probe.request("tools/call", params, creates="t1")
        if reply.error is not None:
            raise ProbeSkipped(f"a call with a member taskId is refused with error {reply.code}")
        made.append(probe.adopt(reply, session).id)
    taken = _OURS in made
    probe.check(
        "tasks25.create.id-receiver",
        not taken,
        expected="an id that the server has made",
        actual=f"taskId {text_of(made[0], 60)}",
        message="a task has the id that the client wrote into its request",
        soft=True,
    )
    if not taken:
        probe.check(
            "tasks25.create.id-unique",
            made[0] != made[1],
            expected="two tasks with different ids",
            actual=f"taskId {text_of(made[0], 60)} twice",
            message="two equal requests make two tasks of the same id",
        )


@GROUP.probe("create.prompt", "tasks25.create.prompt", deadline_s=40.0)
async def _prompt(probe: ProbeSession25) -> None:
    """The answer is the task, and comes long before the task is done."""
    await probe.open_task()  # the first call may find a server that has to warm up
    seconds = math.inf
    for _ in range(2):  # one may be late for no reason of the server's
        begun = time.monotonic()
        await probe.open_task()
        seconds = min(seconds, time.monotonic() - begun)
        if seconds < _PROMPT_S:
            break
    probe.check(
        "tasks25.create.prompt",
        seconds < _PROMPT_S,
        expected=f"a CreateTaskResult within {_PROMPT_S:g} s, the task being at work for much longer",
        actual=f"after {seconds:.1f} s",
        message="the answer that a task was made comes late",
    )


@GROUP.probe("create.meta", "tasks25.create.immediate-response-meta", "tasks25.rel.create")
async def _meta(probe: ProbeSession25) -> None:
    """What a CreateTaskResult may carry beside the task."""
    task = await probe.open_task()
    meta = task.created.get("_meta")
    given = isinstance(meta, Mapping) and IMMEDIATE_RESPONSE in meta
    probe.choice("tasks25.create.immediate-response-meta", "given" if given else "not given")
    probe.choice("tasks25.rel.create", "names the task" if related_task(task.created) == task.id else "does not")


@GROUP.probe("create.ttl", "tasks25.create.ttl-override", "tasks25.shape.ttl", "tasks25.get.unknown", deadline_s=40.0)
async def _ttl(probe: ProbeSession25) -> None:
    """Whatever is asked for, tasks/get shows the actual ttl, and the task lives for as long."""
    for wanted in ({}, {"ttl": 60_000}, {"ttl": _MONTH_MS}):
        await _lives(probe, wanted)


async def _lives(probe: ProbeSession25, wanted: dict[str, JSON]) -> None:
    asked = f"ttl {wanted['ttl']}" if wanted else "no ttl"
    task = await probe.open_task(task=wanted)
    begun = time.monotonic()
    reply = await probe.request("tasks/get", {"taskId": task.id})
    told = task.task.get("ttl")
    short = isinstance(told, (int, float)) and not isinstance(told, bool) and told < 20_000
    if short and (time.monotonic() - begun) * 1000 > 0.5 * float(told):  # type: ignore[arg-type]
        return
    if reply.result is None:
        if short:
            return
        probe.check(
            "tasks25.get.unknown",
            False,
            expected=f"the task, whose ttl is {text_of(told, 40)}",
            actual=probe.told(reply),
            message=f"a task that was made with {asked} is gone at once",
            aspect=f"gone-{wanted.get('ttl', 'none')}",
            soft=True,
        )
        return
    if "status" not in reply.result:
        raise ProbeSkipped("tasks/get shows no task, as every such read tells")
    shown = reply.result.get("ttl")
    given = probe.check(
        "tasks25.shape.ttl",
        "ttl" in task.task and "ttl" in reply.result,
        expected="the ttl, or null",
        actual=f"ttl in the CreateTaskResult: {'ttl' in task.task}, in tasks/get: {'ttl' in reply.result}",
        message=f"a task made with {asked} is shown without its ttl",
        aspect=f"absent-{wanted.get('ttl', 'none')}",
        soft=True,
    )
    probe.check(
        "tasks25.shape.ttl",
        not given or told == shown,
        expected=f"the ttl that the task was made with: {text_of(told, 40)}",
        actual=f"ttl {text_of(shown, 40)}",
        message=f"of a task made with {asked} the creation and tasks/get show different ttls",
        aspect=f"differs-{wanted.get('ttl', 'none')}",
        soft=True,
    )
    label = "none asked for" if not wanted else "taken" if shown == wanted["ttl"] else "overridden"
    probe.choice("tasks25.create.ttl-override", label)


@GROUP.probe("create.long", "tasks25.create.result")
async def _long(probe: ProbeSession25) -> None:
    """A ttl whose end is in no calendar: a task, or an error."""
    params = probe.creation(task={"ttl": _AGES_MS})
    session = await probe.session()
    reply = await probe.request("tools/call", params, creates="t1")
    ok = reply.error is not None or isinstance((reply.result or {}).get("task"), Mapping)
    if reply.result is not None and ok:
        probe.adopt(reply, session)
    probe.check(
        "tasks25.create.result",
        ok,
        expected="a CreateTaskResult, or an error",
        actual=probe.told(reply),
        message=f"a call with ttl {_AGES_MS} is answered with neither",
        aspect="long",
    )


@GROUP.probe("create.short", "tasks25.ttl.delete", "tasks25.get.unknown", deadline_s=20.0)
async def _short(probe: ProbeSession25) -> None:
    """Once its ttl has passed a task may be there or not: then -32602, as for any that does not exist."""
    task = await probe.open_task(task={"ttl": _SHORT_MS})
    actual = task.task.get("ttl")
    if not isinstance(actual, (int, float)) or actual > 1000:
        raise ProbeSkipped("the server gives tasks a longer ttl than was asked for")
    await probe.client.pacer.sleep(actual / 1000 + 0.3)
    task.ended = True
    reply = await probe.request("tasks/get", {"taskId": task.id})
    if reply.error is None:
        probe.choice("tasks25.ttl.delete", "kept after its ttl")
        task.ended = False
        return
    probe.check(
        "tasks25.get.unknown",
        reply.code == INVALID_PARAMS,
        expected="the task, or error -32602",
        actual=probe.told(reply),
        message="a task whose ttl has passed is refused with another error than -32602",
        aspect="expired",
    )
    probe.choice("tasks25.ttl.delete", "deleted after its ttl")


@GROUP.probe("create.sessions", "tasks25.create.result", needs=frozenset({"sessions"}), deadline_s=40.0)
async def _sessions(probe: ProbeSession25) -> None:
    """That another session has ended is nothing to this one: tasks are made in it as before."""
    first = await probe.another()
    before = await probe.request("tools/call", probe.creation(), session=first, creates="t1")
    probe.adopt(before, first)
    another = await probe.another()
    task = await probe.open_task(session=another)
    await probe.end(task)
    await another.close()
    another.lost = "ended by the suite"
    reply = await probe.request("tools/call", probe.creation(), session=first, creates="t3")
    made = isinstance((reply.result or {}).get("task"), Mapping)
    if made:
        probe.adopt(reply, first)
    elif reply.error is None:
        await probe.server.leave()  # the session that the run shares is no better
    probe.check(
        "tasks25.create.result",
        made or reply.error is not None,
        expected="a CreateTaskResult, as before",
        actual=probe.told(reply),
        message="once another session has ended, the same call makes no task any more",
        aspect="other-session",
    )


@GROUP.probe("shape.updated", "tasks25.shape.lastupdatedat", needs=frozenset({"control"}))
async def _updated(probe: ProbeSession25) -> None:
    """lastUpdatedAt says when the task was last updated: later, once it has ended."""
    task = await probe.open_task()
    before = instant((await probe.get(task)).get("lastUpdatedAt"))
    await probe.client.pacer.sleep(_LATER_S)
    after = instant((await probe.end(task)).get("lastUpdatedAt"))
    if before is None or after is None:
        raise ProbeSkipped("lastUpdatedAt is no timestamp")
    probe.check(
        "tasks25.shape.lastupdatedat",
        after > before,
        expected=f"a time after {before.isoformat()}: the task has ended {_LATER_S:g} s after it was read",
        actual=f"lastUpdatedAt {after.isoformat()}",
        message="lastUpdatedAt stays as it was when a task ends",
        aspect="stays",
    )
