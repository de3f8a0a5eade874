"""What a server over stdio does with its standard streams (MCP 2026-07-28, basic/transports/stdio).

What stands on standard output is looked at beside every answer of a run; these probes bring about what else a run
might not.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.probes.heard import ack_deadline
from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped
from mcptasks.conformance.probes.subscription import subscribed
from mcptasks.conformance.wire.problems import WireProblem
from mcptasks.conformance.wire.stdio_channel import StdioChannel
from mcptasks.strategies.json_values import JSON

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_STDIO: Final = frozenset({"stdio"})
_EXIT_S: Final = 5.0
_GRACE_S: Final = 0.05
"""Seconds in which what must not come behind a change would come."""
_QUESTION: Final[dict[str, JSON]] = {
    "method": "elicitation/create",
    "params": {"message": "é", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}},
}


def _channel(session: ProbeSession) -> StdioChannel:
    assert session.client.stdio is not None
    return session.client.stdio


@GROUP.probe(
    "stdio.output",
    "stdio.messages-only",
    "stdio.one-line",
    "stdio.utf8",
    "stdio.no-requests",
    "stdio.stderr-logging",
    needs=_STDIO,
)
async def output(session: ProbeSession) -> None:
    """Good and refused requests, with ids and payloads that are not ASCII; the session looks at every line."""
    stdio = _channel(session)
    for request_id in ("é", "ключ ✓"):
        await session.ask("server/discover", request_id=request_id)
        await session.ask("mcptasks/nothing", request_id=request_id)
    task = await session.open_task()
    if isinstance(session.profile, Control):
        await session.step(task, {"action": "request_input", "requests": {"probe": _QUESTION}})
    await session.get(task)
    for requirement in ("stdio.messages-only", "stdio.one-line", "stdio.utf8", "stdio.no-requests"):
        session.exercised[requirement] += 1
    logs = stdio.process is not None and stdio.process.logged
    session.choice("stdio.stderr-logging", "logs to standard error" if logs else "leaves standard error empty")


@GROUP.probe("stdio.cancelled", "stdio.cancel-silent", needs=frozenset({"stdio", "listen", "control"}))
async def cancelled(session: ProbeSession) -> None:
    """A subscription is cancelled, and then its task changes."""
    stdio = _channel(session)
    task = await session.open_task()
    async with subscribed(session, {"taskIds": [task.id]}, "mcptasks-cancelled") as held:
        if not await held.until(lambda messages: bool(messages), ack_deadline(session)):
            raise ProbeSkipped("no acknowledgement came in time")
    # Messages are read in order: when this is answered, the cancellation has been read.
    await session.ask("tasks/get", {"taskId": task.id})
    await asyncio.sleep(_GRACE_S)
    stdio.late.clear()
    await session.step(task, {"action": "request_input", "requests": {"probe": _QUESTION}})
    await session.end(task)
    await asyncio.sleep(_GRACE_S)
    late = list(stdio.late)
    session.check(
        "stdio.cancel-silent",
        not late,
        expected="nothing more with the id of the cancelled subscription",
        actual=f"{len(late)} messages, such as {late[0]}" if late else "nothing",
        message="a subscription that was cancelled with notifications/cancelled goes on"
        + (f": {late[0]} comes with its id" if late else ""),
    )


@GROUP.probe("stdio.end-of-input", "stdio.eof-exit", needs=_STDIO)
async def end_of_input(session: ProbeSession) -> None:
    """A second process of the server, whose input is closed after one exchange."""
    command = session.source.spec.command
    assert command is not None
    second = StdioChannel(command)
    try:
        await second.start()
        assert second.process is not None
        message = session.message("server/discover", request_id="second")
        session.client.spend()
        try:
            async with asyncio.timeout(session.client.limits.answer_s):
                await (await second.request(message)).next()
        except (WireProblem, TimeoutError):
            raise ProbeSkipped("a second process of the server does not answer") from None
        session.remark("a second process of the server: server/discover is answered, then its input is closed")
        ended = await second.process.close_input(_EXIT_S)
    except UsageError as error:
        raise ProbeSkipped(str(error)) from error
    finally:
        with suppress(ProcessLookupError):
            await second.close(gently=0.0)
    session.check(
        "stdio.eof-exit",
        ended,
        expected="the process ends promptly",
        actual=f"it still runs after {_EXIT_S:g} s",
        message=f"the server goes on when its standard input is closed: it still runs after {_EXIT_S:g} s",
    )
