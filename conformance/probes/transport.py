"""The endpoint: HTTP methods and statuses, origins, notifications, forms of answers, connections that close.

MCP 2026-07-28, basic/transports/streamable-http.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.refusals import check_lasting, is_local, lasting_task, other_versions
from mcptasks.conformance.probes.session import ProbeSession, ProbeSkipped, ProbeTask
from mcptasks.conformance.wire import names
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Create

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_EVIL: Final = "http://evil.example"
_FORMS: Final = frozenset({"application/json", "text/event-stream"})
_STREAM_S: Final = 2.5
_BRIEF_S: Final = 1.0
"""Seconds that an answer may take which is not to come at all, or is a stream that stays open."""


# --- statuses ----------------------------------------------------------------------------------


@GROUP.probe("http.unknown-method", "http.method-unknown-404")
async def unknown_method(session: ProbeSession) -> None:
    """A method that nobody has."""
    answer = await session.ask("mcptasks/no-such-method")
    session.check(
        "http.method-unknown-404",
        answer.status == 404 and answer.code == names.METHOD_NOT_FOUND,
        expected=f"HTTP 404 with error {names.METHOD_NOT_FOUND}",
        actual=answer.told,
        message="a request with an unknown method is not answered with HTTP 404 and error -32601",
    )


@GROUP.probe("http.undeclared-status", "http.capability-400")
async def undeclared_status(session: ProbeSession) -> None:
    """The HTTP status of -32021; that there is such an error is judged elsewhere."""
    task = await lasting_task(session)
    answer = await session.ask("tasks/get", {"taskId": task.id}, capabilities={})
    if answer.code != names.MISSING_CAPABILITY:
        raise ProbeSkipped(f"the server does not refuse undeclared requests with {names.MISSING_CAPABILITY}")
    session.check(
        "http.capability-400",
        answer.status == 400,
        expected=f"HTTP 400 with error {names.MISSING_CAPABILITY}",
        actual=answer.told,
        message=f"error {names.MISSING_CAPABILITY} comes with HTTP {answer.status}",
    )


@GROUP.probe("http.meta-status", "http.meta-400")
async def meta_status(session: ProbeSession) -> None:
    """The HTTP status where ``_meta`` lacks a required member; that it is refused is judged elsewhere."""
    message = session.message("tools/list")
    del message["params"]["_meta"][names.CLIENT_CAPABILITIES]
    answer = await session.raw(message)
    if answer.error is None:
        raise ProbeSkipped("the server does not refuse a request without clientCapabilities")
    session.check(
        "http.meta-400",
        answer.status == 400,
        expected="HTTP 400",
        actual=answer.told,
        message=f"a request without clientCapabilities is refused with HTTP {answer.status}",
    )


@GROUP.probe("http.origin", "http.origin-403")
async def origin(session: ProbeSession) -> None:
    """A page of somewhere else must not reach a local server; what is invalid elsewhere is the server's policy."""
    answer = await session.raw(session.message("tools/list"), headers={"Origin": _EVIL})
    session.check(
        "http.origin-403",
        answer.status == 403,
        expected="HTTP 403",
        actual=answer.told,
        message=f"a request with Origin: {_EVIL} is not refused with HTTP 403",
        warning=not is_local(session),
    )


@GROUP.probe("http.get-and-delete", "http.get-delete-405")
async def get_and_delete(session: ProbeSession) -> None:
    """GET and DELETE, which earlier revisions use."""
    others = await other_versions(session)
    for http_method in ("GET", "DELETE"):
        headers = {"Accept": "text/event-stream"} if http_method == "GET" else {}
        answer = await session.raw(
            http_method=http_method, headers=headers, fresh=True, until=lambda messages: True, seconds=_BRIEF_S
        )
        session.check(
            "http.get-delete-405",
            answer.status == 405 or bool(others),
            expected="HTTP 405",
            actual=answer.told,
            message=f"{http_method} is not answered with HTTP 405",
            aspect=http_method.lower(),
            soft=True,
        )


# --- what is ignored ---------------------------------------------------------------------------


async def _read(session: ProbeSession, headers: Mapping[str, str]) -> tuple[ProbeTask, RawAnswer]:
    """A new task, and the answer to a ``tasks/get`` of it with more headers.

    Raises:
        ProbeSkipped: the request is not served without them either.
    """
    task = await lasting_task(session)
    await session.get(task)
    return task, await session.raw(session.message("tasks/get", {"taskId": task.id}), headers=headers)


@GROUP.probe("http.session-id", "http.session-ignored")
async def session_id(session: ProbeSession) -> None:
    """``Mcp-Session-Id`` of earlier revisions."""
    if await other_versions(session):
        raise ProbeSkipped("the server speaks earlier revisions, which have sessions")
    _, answer = await _read(session, {"Mcp-Session-Id": "mcptasks-no-such-session"})
    session.check(
        "http.session-ignored",
        answer.result is not None,
        expected="the task: the header is ignored",
        actual=answer.told,
        message="a tasks/get with an Mcp-Session-Id is not served",
    )
    minted = answer.headers.get("mcp-session-id")
    session.check(
        "http.session-ignored",
        minted is None,
        expected="no Mcp-Session-Id in an answer",
        actual="one is there",
        message="an answer carries an Mcp-Session-Id, though this revision has no sessions",
        aspect="minted",
    )


@GROUP.probe("http.last-event-id", "http.no-resume")
async def last_event_id(session: ProbeSession) -> None:
    """``Last-Event-ID``: streams of this revision are not resumed."""
    task, answer = await _read(session, {"Last-Event-ID": "17"})
    session.check(
        "http.no-resume",
        answer.result is not None and answer.result.get("taskId") == task.id,
        expected="the task: the header is ignored",
        actual=answer.told,
        message="a tasks/get with a Last-Event-ID is not served as one without",
    )


# --- bodies ------------------------------------------------------------------------------------


@GROUP.probe("http.notifications", "http.notification-202")
async def notifications(session: ProbeSession) -> None:
    """Notifications: accepted, they are answered with HTTP 202 and nothing; refused, with an HTTP error."""
    for method, params in (
        ("notifications/cancelled", {"requestId": "mcptasks-never-sent"}),
        ("notifications/mcptasks-unknown", {}),
    ):
        message: dict[str, JSON] = {"jsonrpc": "2.0", "method": method, "params": params}
        answer = await session.raw(message)
        accepted = answer.status == 202
        session.check(
            "http.notification-202",
            (accepted and not answer.body) or answer.status >= 400,
            expected="HTTP 202 without a body, or an HTTP error",
            actual=answer.told,
            message=f"{method} is answered with HTTP {answer.status}{' and a body' if answer.body else ''}",
            choice="accepted" if accepted else "refused",
        )


@GROUP.probe("http.array", "http.single-message")
async def array(session: ProbeSession) -> None:
    """An array of two requests is no message of this revision."""
    batch = [session.message("tools/list"), session.message("tools/list")]
    headers = {names.HEADER_METHOD: "tools/list"}
    answer = await session.raw(batch, headers=headers)
    flat = [item for value in answer.messages for item in (value if isinstance(value, list) else [value])]
    results = sum(isinstance(item, Mapping) and "result" in item for item in flat)
    session.check(
        "http.single-message",
        not results,
        expected="an error",
        actual=f"{results} {'result' if results == 1 else 'results'}",
        message="an array of two requests is served",
    )


# --- forms of answers --------------------------------------------------------------------------


@GROUP.probe(
    "http.forms", "http.response-type", "http.accel-buffering", "http.final-terminates", "http.sse-related-only"
)
async def forms(session: ProbeSession) -> None:
    """The same read with either form preferred, while another task ends."""
    task, other = await lasting_task(session), await lasting_task(session)
    ending = asyncio.ensure_future(session.end(other))
    streams = 0
    for accept in (
        "application/json, text/event-stream;q=0.5",
        "text/event-stream, application/json;q=0.5",
        "text/event-stream",  # a client may not; but what the server then streams has to be right
    ):
        message = session.message("tasks/get", {"taskId": task.id})
        # A stream that stays open is waited for this long.
        answer = await session.raw(message, headers={"Accept": accept}, seconds=_STREAM_S)
        if answer.problem and answer.response is None:
            continue  # late, which is no matter of form
        session.check(
            "http.response-type",
            (answer.kind in _FORMS and answer.response is not None) or answer.status >= 400,
            expected="application/json or text/event-stream with one response in it",
            actual=answer.told,
            message=f"with Accept: {accept} a tasks/get is answered in another form",
        )
        if answer.kind == "text/event-stream":
            streams += 1
            _check_stream(session, answer, other)
    await ending
    session.choice("http.response-type", "streams" if streams == 3 else "as asked" if streams else "JSON")


def _check_stream(session: ProbeSession, answer: RawAnswer, other: ProbeTask) -> None:
    buffering = answer.headers.get("x-accel-buffering", "")
    session.check(
        "http.accel-buffering",
        buffering.lower() == "no",
        expected="X-Accel-Buffering: no",
        actual=f"X-Accel-Buffering: {buffering}" if buffering else "no such header",
        message="an SSE answer does not tell proxies to pass it on at once",
        soft=True,
    )
    session.check(
        "http.final-terminates",
        answer.ended,
        expected="the stream ends behind the response",
        actual=answer.problem or "it stays open",
        message="an SSE answer stays open behind its response",
        soft=True,
    )
    foreign = [item for item in answer.messages if other.id in _ids(item)]
    session.check(
        "http.sse-related-only",
        not foreign,
        expected="only notifications about the request",
        actual=f"{len(foreign)} about another task",
        message="the stream of a tasks/get carries notifications about another task",
        soft=True,
    )


def _ids(message: JSON) -> list[JSON]:
    params = message.get("params") if isinstance(message, Mapping) and "method" in message else None
    return [params.get("taskId")] if isinstance(params, Mapping) else []


# --- connections -------------------------------------------------------------------------------


@GROUP.probe("http.disconnect", "http.disconnect-keeps-task")
async def disconnect(session: ProbeSession) -> None:
    """A task outlives the connection, and the stream, that its creation was answered on."""
    params = session.profile.opening("t1", [Create("t1")])

    def answered(messages: Sequence[JSON]) -> bool:
        return any(isinstance(item, Mapping) and "result" in item for item in messages)

    created = await session.raw(session.message("tools/call", params), fresh=True, until=answered)
    result: dict[str, Any] = created.result or {}
    if not isinstance(result.get("taskId"), str):
        raise ProbeSkipped(f"the tool {params['name']} makes no task: it gives {created.told}")
    task = session.adopt(result)
    check_lasting(task)
    for pause in (0.0, 0.03, 0.1):
        await session.client.pacer.sleep(pause)
        answer = await session.ask("tasks/get", {"taskId": task.id}, fresh=True)
        status = (answer.result or {}).get("status")
        dropped = status in names.TERMINAL_STATUSES if session.profile.settles else status == "cancelled"
        session.check(
            "http.disconnect-keeps-task",
            answer.code != names.INVALID_PARAMS and not dropped,
            expected="the task goes on",
            actual=f"status {status}" if status else answer.told,
            message="a task does not outlive the connection on which its creation was answered",
        )
