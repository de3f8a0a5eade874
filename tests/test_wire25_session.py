"""A session of 2025-11-25: streams that break off are taken up again, questions are answered, what is lost is said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from wire_servers import Handler, raw_server, read_request, response, result

from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.conformance.wire_2025.client import Client25
from mcptasks.conformance.wire_2025.events import ResumableReader
from mcptasks.conformance.wire_2025.forms import Forms25
from mcptasks.conformance.wire_2025.problems import SessionProblem
from mcptasks.conformance.wire_2025.session import Session

INITIALIZED = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
TASK = {
    "taskId": "t",
    "status": "working",
    "createdAt": "2025-11-25T10:30:00Z",
    "lastUpdatedAt": "2025-11-25T11:30:00+01:00",
    "ttl": 1.5,
    "pollInterval": 0.5,
}
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def event(message: Any, event_id: str = "") -> bytes:
    return (f"id: {event_id}\n" if event_id else "").encode() + b"data: " + json.dumps(message).encode() + b"\n\n"


def session_server(other: Callable[[dict[str, Any], asyncio.StreamWriter], Awaitable[None]]) -> Handler:
    """A server that initializes with a session id, and leaves everything else to ``other``."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            request = await read_request(reader)
            if request.get("method") == "initialize":
                writer.write(
                    response(result(request, INITIALIZED), "200 OK", "application/json", "Mcp-Session-Id: s-1")
                )
            elif request.get("method") == "notifications/initialized" or request["http"] == "DELETE":
                writer.write(response(b"", "202 Accepted", "text/plain"))
            else:
                await other(request, writer)
            await writer.drain()

    return handle


def speak(handler: Handler, talk: Callable[[Session], Awaitable[None]], *, listens: bool = False) -> None:
    async def main(url: str) -> None:
        client = Client25(ServerSpec(url), url)
        session = Session(client, listens=listens)
        try:
            await session.open()
            await talk(session)
        finally:
            await session.close()
            await client.close()

    with raw_server(handler) as url:
        asyncio.run(main(url))


def test_a_stream_that_breaks_off_is_taken_up_again() -> None:
    asked: list[dict[str, Any]] = []

    async def other(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        asked.append(request)
        if request["http"] == "POST":
            writer.write(STREAM + b"id: e1\nretry: 10\ndata:\n\n")
            writer.close()
        elif request["headers"].get("last-event-id") == "e1":
            writer.write(STREAM + event({"jsonrpc": "2.0", "id": asked[0]["id"], "result": {"ok": 1}}, "e2"))
            writer.close()

    async def talk(session: Session) -> None:
        reply = await session.request("tasks/result", {"taskId": "t"})
        assert reply.result == {"ok": 1}
        assert reply.form == "sse"

    speak(session_server(other), talk)
    assert [request["headers"]["mcp-session-id"] for request in asked] == ["s-1", "s-1"]
    assert all(request["headers"]["mcp-protocol-version"] == "2025-11-25" for request in asked)


def test_a_stream_that_just_ends_is_a_warning() -> None:
    async def other(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + b": nothing\n\n")
        writer.close()

    async def talk(session: Session) -> None:
        with pytest.raises(SessionProblem) as problem:
            await session.request("tasks/result", {"taskId": "t"})
        assert problem.value.warning
        assert not problem.value.lost

    speak(session_server(other), talk)


def test_questions_come_on_any_stream_and_are_answered_when_asked_to() -> None:
    posted: list[dict[str, Any]] = []

    async def other(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if request["http"] == "GET":
            writer.write(STREAM + event({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": {}}))
            writer.write(event({"jsonrpc": "2.0", "id": "q2", "method": "ping"}))
            writer.write(event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"x": 1}}))
            await writer.drain()
            await asyncio.sleep(5)
        else:
            posted.append(request)
            writer.write(response(b"", "202 Accepted", "text/plain"))

    async def talk(session: Session) -> None:
        assert await session.until(lambda: bool(session.questions and session.notices), 3.0)
        assert session.listening is True
        [question] = session.questions
        assert (question.id, question.stream, question.answered) == ("q1", "listen", False)
        assert await session.until(lambda: bool(posted), 3.0)
        assert await session.answer(question, {"action": "cancel"}) == 202
        assert [notice.method for notice in session.notices] == ["notifications/message"]

    speak(session_server(other), talk, listens=True)
    assert [(item["id"], item["result"]) for item in posted] == [("q2", {}), ("q1", {"action": "cancel"})]


@pytest.mark.parametrize("code", [-32601, -32001])
def test_a_404_in_a_session_is_its_end_unless_there_is_no_such_method(code: int) -> None:
    async def other(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        error = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": "x"}}
        writer.write(response(json.dumps(error).encode(), "404 Not Found"))

    async def talk(session: Session) -> None:
        if code == -32601:
            assert (await session.request("nothing")).code == code
            assert not session.lost
            return
        with pytest.raises(SessionProblem) as problem:
            await session.request("tasks/get", {"taskId": "t"})
        assert problem.value.lost
        assert session.lost

    speak(session_server(other), talk)


def test_a_request_that_waits_ends_with_the_session() -> None:
    async def other(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + b": waiting\n\n")
        await writer.drain()
        await asyncio.sleep(5)

    async def talk(session: Session) -> None:
        waiting = session.begin("tasks/result", {"taskId": "t"})
        assert await session.until(lambda: waiting.opened, 3.0)
        assert not await session.until(lambda: waiting.done, 0.05)
        waiting.drop()

    speak(session_server(other), talk)


def test_events_without_data_carry_only_their_id() -> None:
    reader = ResumableReader()
    assert list(reader.messages(b"id: 7\nretry: 250\ndata: \n\n: comment\n\ndata: {}\n\n")) == [b"{}"]
    assert (reader.last_id, reader.retry_ms) == ("7", 250)


def test_forms() -> None:
    forms = Forms25()
    assert forms.task("tasks/get", TASK) == []
    assert forms.created({"task": TASK, "_meta": {"anything": 1}}) == []
    assert [smell.requirement for smell in forms.created(TASK)] == ["tasks25.create.result"]
    assert [smell.requirement for smell in forms.task("tasks/get", {"task": TASK})] == ["tasks25.shape.get-flat"]
    assert [smell.requirement for smell in forms.task("tasks/cancel", {})] == ["tasks25.cancel.returns-task"]
    wrong = {
        "status": ("tasks25.shape.status", "canceled"),
        "createdAt": ("tasks25.shape.createdat", "Tue, 25 Nov 2025 10:30:00 GMT"),
        "lastUpdatedAt": ("tasks25.shape.lastupdatedat", 1764066600),
        "ttl": ("tasks25.shape.ttl", "60000"),
        "pollInterval": ("tasks25.shape.pollinterval", None),
    }
    for member, (requirement, value) in wrong.items():
        assert [smell.requirement for smell in forms.task("tasks/get", {**TASK, member: value})] == [requirement]
    for member, value in (("ttl", -1), ("pollInterval", -0.5), ("lastUpdatedAt", "2025-11-25T09:30:00Z")):
        [smell] = forms.task("tasks/get", {**TASK, member: value})
        assert smell.aspect.startswith("!"), member  # only a warning: the schema takes it
    without = {name: value for name, value in TASK.items() if name != "ttl"}
    assert [smell.requirement for smell in forms.listed(without)] == ["tasks25.shape.ttl"]
    assert [smell.requirement for smell in forms.notification(without)] == ["tasks25.notif.full"]
    related = {**TASK, "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "t"}}}
    assert [smell.requirement for smell in forms.notification(related)] == ["tasks25.notif.no-related"]
    assert [smell.requirement for smell in forms.task("tasks/get", related)] == ["tasks25.rel.server-omit"]
