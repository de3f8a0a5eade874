"""Deviations of three SDKs' servers from tasks of 2025-11-25, shown with plain httpx.

Nothing of this project is imported.  Start one of ``servers/mcp_1_server.py``, ``servers/typescript``
and ``servers/rust`` and run ``python verify_servers_2025_by_hand.py NAME URL``, where NAME is
``mcp``, ``typescript`` or ``rust``; exit code 0 means that the server still does everything that is
recorded here for it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
from peer_2025 import RELATED, Session, elicitation

TEXT = {"content": [{"type": "text", "text": "done"}]}
ANSWER = {"action": "accept", "content": {"name": "x"}}
PATIENCE = 3.0
"""Seconds after which an answer that is due at once counts as none."""
SOON = 1.0
"""Seconds in which a server has done what it does at once, also on a busy machine."""


def outcome(answer: dict[str, Any] | None) -> str:
    """The kind of a JSON-RPC response, in a few words."""
    if answer is None:
        return "no answer"
    if "error" in answer:
        return f"error {answer['error']['code']}"
    return "result, isError" if answer["result"].get("isError") else "result"


def shown(answer: dict[str, Any] | None, member: str) -> Any:
    """A member of the Task in a response."""
    task = (answer or {}).get("result", {})
    return task.get("task", task).get(member, "absent")


def plain_call_of_required(url: str) -> str:
    return outcome(Session(url).ask("tools/call", {"name": "task_open", "arguments": {}}))


def task_call_of_forbidden(url: str) -> str:
    params = {"name": "task_step", "arguments": {"taskId": "x", "step": {"action": "x"}}, "task": {}}
    return outcome(Session(url).ask("tools/call", params))


def ttl_of_unlimited(url: str) -> str:
    session = Session(url)
    created = session.ask("tools/call", {"name": "task_open", "arguments": {}, "task": {}})
    read = session.task(shown(created, "taskId"))
    return f"created {shown(created, 'ttl')}, read {shown(read, 'ttl')}"


def ttl_of_a_month(url: str) -> str:
    session = Session(url)
    task_id = session.open(ttl=2**31)
    time.sleep(SOON)
    return session.status(task_id)


def ttl_of_ages(url: str) -> str:
    params = {"name": "task_open", "arguments": {}, "task": {"ttl": 10**15}}
    return outcome(Session(url).ask("tools/call", params))


def id_that_is_a_number(url: str) -> str:
    return outcome(Session(url).ask("tasks/get", {"taskId": 1}))


def type_of_get(url: str) -> str:
    session = Session(url)
    exchange = session.begin("tasks/get", {"taskId": session.open()})
    exchange.answer()
    return exchange.type


def related_task_in_get(url: str) -> str:
    session = Session(url)
    task_id, other = session.open(), session.open()
    return outcome(session.ask("tasks/get", {"taskId": task_id, "_meta": {RELATED: {"taskId": other}}}, PATIENCE))


def one_waiter(url: str) -> str:
    session = Session(url)
    task_id = session.open()
    waiter = session.begin("tasks/result", {"taskId": task_id})
    time.sleep(SOON)
    session.step(task_id, action="complete", result=TEXT)
    return f"{session.status(task_id, 'completed')}, waiter: {outcome(waiter.answer(PATIENCE))}"


def two_waiters(url: str) -> str:
    session = Session(url)
    task_id = session.open()
    waiters = []
    for _ in range(2):
        waiters.append(session.begin("tasks/result", {"taskId": task_id}))
        time.sleep(SOON)
    early = [outcome(waiter.answer(0)) for waiter in waiters]
    session.step(task_id, action="complete", result=TEXT)
    late = sorted(outcome(waiter.answer(PATIENCE)) for waiter in waiters)
    return f"while it works: {', '.join(early)}; after its end: {', '.join(late)}"


def waiter_of_cancelled(url: str) -> str:
    session = Session(url)
    task_id = session.open()
    waiter = session.begin("tasks/result", {"taskId": task_id})
    time.sleep(SOON)
    session.ask("tasks/cancel", {"taskId": task_id})
    return "an answer" if waiter.answer(PATIENCE) else "no answer"


def failed_with_error(url: str) -> str:
    session = Session(url)
    task_id = session.open()
    session.step(task_id, action="fail", error={"code": -32050, "message": "broken", "data": {"reason": 1}})
    return f"{session.status(task_id, 'failed')}, {outcome(session.ask('tasks/result', {'taskId': task_id}, PATIENCE))}"


def tool_error(url: str) -> str:
    session = Session(url)
    task_id = session.open()
    session.step(task_id, action="complete", result={**TEXT, "isError": True})
    session.status(task_id, "failed", "completed")
    task = session.task(task_id)
    return f"{shown(task, 'status')}, statusMessage {'absent' if shown(task, 'statusMessage') == 'absent' else 'given'}"


def bad_cursor(url: str) -> str:
    session = Session(url)
    session.open()
    return outcome(session.ask("tasks/list", {"cursor": "nonsense"}))


def finished_after_cancel(url: str) -> str:
    session = Session(url)
    task_id = session.open()
    session.ask("tasks/cancel", {"taskId": task_id})
    session.step(task_id, action="complete", result=TEXT)
    time.sleep(SOON)
    pinged = session.begin("ping")
    return session.status(task_id) if pinged.answer() and pinged.status == 200 else f"HTTP {pinged.status} for all"


def other_session_ends(url: str) -> str:
    first, second = Session(url), Session(url)
    second.open()
    second.end()
    time.sleep(SOON)
    created = first.ask("tools/call", {"name": "task_open", "arguments": {}, "task": {}})
    return "a task" if shown(created, "taskId") != "absent" else outcome(created)


def half_answered(url: str) -> str:
    session = Session(url)
    session.listen()
    task_id = session.open()
    session.step(task_id, action="request_input", requests={"a": elicitation("first?"), "b": elicitation("second?")})
    session.begin("tasks/result", {"taskId": task_id})
    asked = session.asked("first?", "second?")
    session.reply(asked[0], ANSWER)
    time.sleep(SOON)
    half = session.status(task_id)
    session.reply(asked[1], ANSWER)
    return f"{half}, {session.status(task_id, 'working')}"


def answered_with_error(url: str) -> str:
    session = Session(url)
    session.listen()
    task_id = session.open()
    session.step(task_id, action="request_input", requests={"a": elicitation("may I?")})
    session.begin("tasks/result", {"taskId": task_id})
    refusal = {"code": -32000, "message": "no"}
    session.send({"jsonrpc": "2.0", "id": session.asked("may I?")[0]["id"], "error": refusal})
    return session.status(task_id, "working", timeout=PATIENCE)


def status_of_a_response(url: str) -> str:
    session = Session(url)
    session.listen()
    task_id = session.open()
    session.step(task_id, action="request_input", requests={"a": elicitation("which?")})
    session.begin("tasks/result", {"taskId": task_id})
    return f"HTTP {session.reply(session.asked('which?')[0], ANSWER)}"


def posted(url: str, body: bytes, code: int) -> str:
    """What a body is answered with, byte by byte as it stands; an HTTP error with that code, or none, is a refusal."""
    with Session(url).stream(body) as answer:
        text = b""
        with contextlib.suppress(httpx.TimeoutException):
            for part in answer.iter_bytes():
                text += part
                if b'"error"' in text and text.replace(b"\r", b"").endswith(b"\n\n"):
                    break  # a stream may stay open behind its event
        found = next((line for line in text.splitlines() if b'"error"' in line), b"")
        error = json.loads(found.removeprefix(b"data:"))["error"]["code"] if found else None
        if answer.status_code >= 400 and error in (None, code):
            return "refused"
        return f"HTTP {answer.status_code}, {f'error {error}' if found else 'no error'}"


def unknown_method(url: str) -> str:
    return outcome(Session(url).ask("nothing/of/the/kind", {}))


def get_without_id(url: str) -> str:
    return outcome(Session(url).ask("tasks/get", {}))


def no_utf8(url: str) -> str:
    return posted(url, b'{"jsonrpc": "2.0", "id": "x", "method": "tools/\xff\xfe"}', -32700)


def text_as_request(url: str) -> str:
    return posted(url, b'"tools/list"', -32600)


def object_as_request(url: str) -> str:
    return posted(url, b"{}", -32600)


def foreign_origin(url: str) -> str:
    session = Session(url)
    ping = {"jsonrpc": "2.0", "id": "o", "method": "ping"}
    return f"HTTP {session.send(ping, {'Origin': 'http://evil.example'}).status_code}"


def asked_after_disconnect(url: str) -> str:
    session = Session(url)
    task_id = session.open()
    body = {"jsonrpc": "2.0", "id": "gone", "method": "tasks/result", "params": {"taskId": task_id}}
    with httpx.Client(timeout=SOON) as http, contextlib.suppress(httpx.TimeoutException):
        http.post(url, json=body, headers=session.headers)
    session.listen()
    session.step(task_id, action="request_input", requests={"a": elicitation("anyone?")})
    time.sleep(SOON)
    session.begin("tasks/result", {"taskId": task_id})
    asked = session.asked("anyone?", timeout=PATIENCE)
    return f"{session.status(task_id)}, {'asked' if asked else 'never asked'}"


def question_of_ended(url: str) -> str:
    session = Session(url)
    session.step(task_id := session.open(), action="request_input", requests={"a": elicitation("too late?")})
    session.status(task_id, "input_required")
    session.step(task_id, action="complete", result=TEXT)
    session.status(task_id, "completed")
    session.begin("tasks/result", {"taskId": task_id}).answer()
    return "asked" if session.asked("too late?", timeout=SOON) else "not asked"


def waiter_of_expired(url: str) -> str:
    session = Session(url)
    waiter = session.begin("tasks/result", {"taskId": session.open(ttl=3000)})
    time.sleep(4)
    return outcome(waiter.answer(PATIENCE))


def ids(url: str) -> str:
    session = Session(url)
    made = [session.open() for _ in range(3)]
    if not all(task_id.startswith("tsk") and len(task_id) == 14 for task_id in made):
        return "random"
    numbers = [int.from_bytes(base64.urlsafe_b64decode(task_id[3:] + "="), "little") for task_id in made]
    return "count upwards" if numbers == sorted(numbers) and numbers[-1] - numbers[0] < 100 else "random"


@dataclass(frozen=True)
class Case:
    """One observation: what the text wants, and what each server was seen to do (as wanted where it is not named)."""

    requirement: str
    verdict: str
    run: Callable[[str], str]
    expected: str
    recorded: dict[str, str]


SSE = "text/event-stream"
CASES = [
    Case("tasks25.tool.required-error", "fail", plain_call_of_required, "error -32601",
         dict.fromkeys(("mcp", "typescript", "rust"), "result, isError")),
    Case("tasks25.tool.forbidden-error", "warn", task_call_of_forbidden, "error -32601",
         {"mcp": "result, isError", "typescript": "error -32602", "rust": "result, isError"}),
    Case("tasks25.shape.ttl", "fail", ttl_of_unlimited, "created None, read None",
         {"mcp": "created absent, read absent", "rust": "created None, read 0"}),
    Case("tasks25.get.unknown (a ttl of 2^31 ms)", "fail", ttl_of_a_month, "working",
         {"typescript": "error -32602"}),
    Case("tasks25.create.result (a ttl of 10^15 ms)", "fail", ttl_of_ages, "result",
         {"mcp": "result, isError"}),
    Case("tasks25.get.unknown (an id that is a number)", "fail", id_that_is_a_number, "error -32602",
         {"typescript": "error -32603", "rust": "error -32601"}),
    Case("tasks25.get.no-sse", "warn", type_of_get, "application/json",
         dict.fromkeys(("mcp", "typescript", "rust"), SSE)),
    Case("tasks25.rel.ignore-in-ops", "fail", related_task_in_get, "result",
         {"typescript": "no answer"}),
    Case("tasks25.result.terminal (a waiter)", "fail", one_waiter, "completed, waiter: result",
         {"rust": "completed, waiter: no answer"}),
    Case("tasks25.result.terminal, tasks25.result.blocks (two waiters)", "fail", two_waiters,
         "while it works: no answer, no answer; after its end: result, result",
         {"mcp": "while it works: no answer, no answer; after its end: no answer, result",
          "rust": "while it works: error -32603, no answer; after its end: error -32603, no answer"}),
    Case("tasks25.result.terminal (a waiter, cancelled)", "fail", waiter_of_cancelled, "an answer",
         {"rust": "no answer"}),
    Case("tasks25.result.error-same", "fail", failed_with_error, "failed, error -32050",
         {"mcp": "failed, result", "typescript": "failed, error -32603", "rust": "failed, error -32603"}),
    Case("tasks25.life.iserror-failed, tasks25.life.failed-message", "warn", tool_error, "failed, statusMessage given",
         {"mcp": "completed, statusMessage absent", "typescript": "failed, statusMessage absent",
          "rust": "failed, statusMessage absent"}),
    Case("tasks25.list.bad-cursor", "fail", bad_cursor, "error -32602", {"mcp": "result", "rust": "result"}),
    Case("tasks25.life.cancelled-sticky", "fail", finished_after_cancel, "cancelled",
         {"mcp": "HTTP 404 for all", "rust": "completed"}),
    Case("tasks25.create.result (another session has ended)", "fail", other_session_ends, "a task",
         {"mcp": "result, isError"}),
    Case("tasks25.life.input-leave", "warn", half_answered, "input_required, working", {"mcp": "working, working"}),
    Case("tasks25.sec.entropy", "warn", ids, "random", {"rust": "count upwards"}),
    Case("rpc.method-not-found", "fail", unknown_method, "error -32601", {"mcp": "error -32602"}),
    Case("rpc.invalid-params", "fail", get_without_id, "error -32602",
         {"typescript": "error -32603", "rust": "error -32601"}),
    Case("rpc.parse-error (not UTF-8)", "warn", no_utf8, "refused", {"mcp": "HTTP 500, error -32603", "typescript": "HTTP 200, error -32601"}),
    Case("rpc.invalid-request (a text)", "warn", text_as_request, "refused", {"mcp": "HTTP 400, error -32602", "rust": "HTTP 202, no error"}),
    Case("rpc.invalid-request (an empty object)", "warn", object_as_request, "refused", {"mcp": "HTTP 400, error -32602", "typescript": "HTTP 400, error -32700", "rust": "HTTP 202, no error"}),
    Case("http25.accepted-202", "fail", status_of_a_response, "HTTP 202", {"rust": "HTTP 200"}),
    Case("http25.origin-403", "fail", foreign_origin, "HTTP 403",
         dict.fromkeys(("mcp", "typescript", "rust"), "HTTP 200")),
    Case("(a question goes to a waiter that is gone)", "outside", asked_after_disconnect, "input_required, asked",
         dict.fromkeys(("mcp", "typescript"), "input_required, never asked")),
    Case("(a question of a task that has ended)", "outside", question_of_ended, "not asked",
         dict.fromkeys(("mcp", "typescript"), "asked")),
    Case("(a question answered with an error)", "outside", answered_with_error, "working",
         dict.fromkeys(("mcp", "rust"), "input_required")),
    Case("(a waiter of a task that is deleted after its ttl)", "outside", waiter_of_expired, "error -32602",
         {"mcp": "no answer", "rust": "error -32603"}),
]  # fmt: skip


def main() -> int:
    """Run all cases against the server; 0 when each did what is recorded for it."""
    name, url = sys.argv[1:]
    changed = deviations = 0
    for case in CASES:
        actual = case.run(url)
        recorded = case.recorded.get(name, case.expected)
        changed += actual != recorded
        deviations += actual != case.expected
        mark = case.verdict if actual != case.expected else "as it should"
        print(f"[{mark}] {case.requirement}\n  expected: {case.expected}\n  actual:   {actual}", flush=True)
        if actual != recorded:
            print(f"  CHANGED, recorded was: {recorded}")
    print(f"{len(CASES) - changed} of {len(CASES)} as recorded; {deviations} deviate")
    return 1 if changed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("mcp", "typescript", "rust"):
        sys.exit(f"usage: {sys.argv[0]} mcp|typescript|rust URL")
    sys.exit(main())
