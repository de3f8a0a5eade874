"""Streamable HTTP of 2025-11-25: methods, versions, sessions, streams, connections that close.

MCP 2025-11-25, basic/transports.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped
from mcptasks.conformance.wire.names import TERMINAL_STATUSES
from mcptasks.conformance.wire.sending import LOOPBACK
from mcptasks.conformance.wire_2025.names import HEADER_SESSION, HEADER_VERSION
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_EVIL: Final = "http://evil.example"
_BRIEF_S: Final = 1.0
"""Seconds until a stream must begin."""
_GRACE_S: Final = 0.3
"""Seconds in which a message that is sent twice comes the second time."""
_OPEN_S: Final = 20.0
"""Seconds that a stream may stay open."""
_LOOKS: Final = 20
_QUESTION: Final[dict[str, JSON]] = {
    "method": "elicitation/create",
    "params": {"message": "mcptasks: one stream", "requestedSchema": {"type": "object", "properties": {}}},
}


def _opens(messages: Sequence[JSON]) -> bool:
    """Enough of a stream: it has begun."""
    return True


@GROUP.probe("http.get", "http25.post-get")
async def get(session: ProbeSession25) -> None:
    """A GET opens a stream, or is refused with 405."""
    own = await session.another(listens=False)
    answer = await session.raw(http_method="GET", session=own, fresh=True, until=_opens, seconds=_BRIEF_S)
    streams = answer.status == 200 and answer.kind == "text/event-stream"
    if not answer.status:
        raise ProbeSkipped(f"a GET: the server {answer.problem}")
    session.check(
        "http25.post-get",
        streams or answer.status == 405,
        expected="text/event-stream, or HTTP 405",
        actual=answer.told,
        message=f"a GET that accepts text/event-stream is answered with {answer.told}",
        choice="offers a stream" if streams else "offers none",
    )


@GROUP.probe("http.version", "http25.version-invalid")
async def version(session: ProbeSession25) -> None:
    """A version that nobody speaks, and what is no version."""
    for named in ("1900-01-01", "latest", "2025-11-25.1"):
        answer = await session.raw(session.message("tools/list", {}), headers={HEADER_VERSION: named})
        session.check(
            "http25.version-invalid",
            answer.status == 400,
            expected="HTTP 400",
            actual=_with_status(answer),
            message=f"a request with {HEADER_VERSION}: {named} is answered with {_with_status(answer)}",
            aspect=named,
        )


@GROUP.probe("http.no-session", "http25.session-required", needs=frozenset({"sessions"}))
async def no_session(session: ProbeSession25) -> None:
    """A request without the session id that initialize gave: who requires one says 400."""
    answer = await session.raw(session.message("tools/list", {}), headers={HEADER_SESSION: None}, fresh=True)
    serves = answer.result is not None
    session.check(
        "http25.session-required",
        serves or answer.status == 400,
        expected="HTTP 400, where a session is required",
        actual=_with_status(answer),
        message=f"a request without {HEADER_SESSION} is refused with {_with_status(answer)}",
        choice="serves requests without a session" if serves else "requires a session",
    )


@GROUP.probe("http.session-gone", "http25.session-gone", needs=frozenset({"sessions"}))
async def session_gone(session: ProbeSession25) -> None:
    """A session that was ended is not there any more; whether clients may end one is the server's business."""
    own = await session.another(listens=False)
    ended = await session.raw(http_method="DELETE", session=own)
    if ended.status == 405:
        session.choice("http25.session-gone", "clients cannot end a session")
        raise ProbeSkipped("a DELETE is answered with HTTP 405: clients cannot end a session")
    if not 200 <= ended.status < 300:
        raise ProbeSkipped(f"a DELETE is answered with {_with_status(ended)}")
    own.lost = "was ended by a DELETE"
    for method, params in (("tools/list", {}), ("tasks/get", {"taskId": "mcptasks-no-such-task"})):
        answer = await session.raw(session.message(method, params), session=own)
        session.check(
            "http25.session-gone",
            answer.status == 404,
            expected="HTTP 404",
            actual=_with_status(answer),
            message=f"a {method} in a session that was ended is answered with {_with_status(answer)}",
            aspect=method,
        )


@GROUP.probe("http.session-id", "http25.session-id", needs=frozenset({"sessions"}))
async def session_id(session: ProbeSession25) -> None:
    """A session id has visible ASCII characters only, and is another one each time."""
    first, second = await session.another(listens=False), await session.another(listens=False)
    for own in (first, second):
        found = own.id or ""
        session.check(
            "http25.session-id",
            bool(found) and all(0x21 <= ord(char) <= 0x7E for char in found),
            expected="characters from 0x21 to 0x7E",
            actual=text_of(found, 80),
            message=f"initialize gives the session id {text_of(found, 80)}",
        )
    session.check(
        "http25.session-id",
        first.id != second.id,
        expected="an id for each session",
        actual="the same one twice",
        message="two sessions have the same id",
        aspect="unique",
        warning=True,
    )


@GROUP.probe("http.accepted", "http25.accepted-202")
async def accepted(session: ProbeSession25) -> None:
    """A notification is accepted with 202 and no body, or refused with an HTTP error."""
    for method, params in (
        ("notifications/cancelled", {"requestId": "mcptasks-nothing"}),
        ("notifications/mcptasks", {}),
    ):
        message: dict[str, Any] = session.message(method, params)
        del message["id"]
        answer = await session.raw(message, until=_opens)
        session.check(
            "http25.accepted-202",
            (answer.status == 202 and not answer.body) or answer.status >= 400,
            expected="HTTP 202 without a body, or an HTTP error",
            actual=_with_status(answer),
            message=f"a {method} is answered with {_with_status(answer)}" + (" and a body" if answer.body else ""),
            aspect=method,
        )


@GROUP.probe("http.origin", "http25.origin-403")
async def origin(session: ProbeSession25) -> None:
    """A page of somewhere else must not reach a local server; what is invalid elsewhere is the server's policy."""
    local = urlsplit(session.source.url).hostname in LOOPBACK
    answer = await session.raw(session.message("tools/list", {}), headers={"Origin": _EVIL})
    session.check(
        "http25.origin-403",
        answer.status == 403,
        expected="HTTP 403",
        actual=_with_status(answer),
        message=f"a request with Origin: {_EVIL} is answered with {_with_status(answer)}",
        warning=not local,
    )


@GROUP.probe("http.one-stream", "http25.one-stream", needs=frozenset({"listen", "control"}))
async def one_stream(session: ProbeSession25) -> None:
    """What a server says it says on one of its streams."""
    own = await session.another(listens=False)
    heard: list[list[JSON] | None] = [None, None]
    """What has come on each stream so far; ``None``: it is not open."""

    def keep(number: int, messages: Sequence[JSON]) -> bool:
        heard[number] = list(messages)
        return False

    streams = [
        asyncio.ensure_future(
            session.raw(http_method="GET", session=own, fresh=True, until=partial(keep, number), seconds=_OPEN_S)
        )
        for number in range(2)
    ]
    try:
        for _ in range(_LOOKS):  # open, or refused
            if all(stream.done() or item is not None for stream, item in zip(streams, heard, strict=True)):
                break
            await session.client.pacer.sleep(_BRIEF_S / _LOOKS)
        for stream in streams:
            if stream.done():
                stream.result()  # why it is over, if there is more to it than an answer
        if any(item is None for item in heard):
            raise ProbeSkipped("the server gives one stream to a session at a time")
        task = await session.open_task(session=own)
        await session.ask(task, _QUESTION)
        await session.complete(task)
        await session.shown(task, TERMINAL_STATUSES)
        await session.client.pacer.sleep(_GRACE_S)
    finally:
        for stream in streams:
            stream.cancel()
        await asyncio.wait(streams)
    first, second = ([text_of(item, 4000) for item in messages or () if _is_told(item)] for messages in heard)
    if not first and not second:
        raise ProbeSkipped("nothing came on the streams")
    both = [item for item in first if item in second]
    session.check(
        "http25.one-stream",
        not both,
        expected="every message on one stream",
        actual=f"{both[0][:160]} on two" if both else "",
        message=f"the same message comes on two streams of a session: {both[0][:160] if both else ''}",
    )


def _is_told(message: JSON) -> bool:
    """Whether a message is one of a kind: of two equal notifications each may have been meant for itself."""
    method = message.get("method") if isinstance(message, dict) else None
    return method in ("elicitation/create", "notifications/tasks/status")


@GROUP.probe("http.disconnect", "http25.disconnect-not-cancel", needs=frozenset({"control"}))
async def disconnect(session: ProbeSession25) -> None:
    """A client that leaves while it waits for a result has not cancelled anything."""
    task = await session.open_task()
    waiting = await session.begin("tasks/result", {"taskId": task.id})
    await session.until(lambda: waiting.opened or waiting.done, _GRACE_S)
    waiting.drop()
    await session.client.pacer.sleep(_GRACE_S)
    shown = await session.get(task)
    status = shown.get("status")
    session.check(
        "http25.disconnect-not-cancel",
        status not in TERMINAL_STATUSES,
        expected="the task as it was",
        actual=f"status {text_of(status, 40)}",
        message=f"after a client has closed the connection of its tasks/result the task is {text_of(status, 40)}",
    )
    await session.complete(task)
    again = await session.request("tasks/result", {"taskId": task.id})
    session.check(
        "http25.disconnect-not-cancel",
        again.result is not None,
        expected="the result",
        actual=session.told(again),
        message="the result of a task whose waiter had left before it ended is answered with " + session.told(again),
        aspect="result",
    )


def _with_status(answer: RawAnswer) -> str:
    told = answer.told
    return told if "HTTP" in told or not answer.status else f"{told} (HTTP {answer.status})"
