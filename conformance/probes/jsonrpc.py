"""JSON-RPC: what is no message, what is no request, and requests for what is not there.

Sources: JSON-RPC 2.0, sections 4 to 6; MCP 2026-07-28, basic/index, "Messages".  Which HTTP status an error travels
with is left open where the specification says nothing (ambiguity AMB-07 of the catalogue).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes.session import ProbeSession
from mcptasks.conformance.probes.states import answers_to, asking_task, outline
from mcptasks.conformance.wire.names import (
    HEADER_METHOD,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    TASKS_EXTENSION,
)
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_LIST: Final = {HEADER_METHOD: "tools/list", "Content-Type": "application/json"}
"""What the headers of a body say that is no request: that of a harmless one."""


def _refused_without_body(answer: RawAnswer) -> bool:
    """A plain HTTP refusal: nothing that can be read as a message."""
    return 400 <= answer.status < 500 and answer.response is None


# --- no message ---------------------------------------------------------------------------------------


@GROUP.probe("rpc.no-json", "rpc.parse-error")
async def no_json(session: ProbeSession) -> None:
    """Bodies that are no JSON."""
    whole = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {'
    bodies = {
        "unfinished": whole,
        "a brace": b"{",
        "words": b"this is no JSON",
        "a trailing comma": whole + b'"_meta": {},}}',
        "no UTF-8": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/\xff\xfe"}',
    }
    for words, body in bodies.items():
        answer = await session.raw(body, headers=_LIST)
        session.check(
            "rpc.parse-error",
            answer.code in (PARSE_ERROR, HEADER_MISMATCH) or _refused_without_body(answer),
            expected=f"error {PARSE_ERROR}, or HTTP 4xx without a message",
            actual=answer.told,
            message=f"a body that is no JSON ({words}) is answered with {answer.told}",
            aspect=words.replace(" ", "-"),
        )


@GROUP.probe("rpc.no-request", "rpc.invalid-request")
async def no_request(session: ProbeSession) -> None:
    """Bodies that are JSON and no request."""
    whole = session.message("tools/list")
    bodies: dict[str, JSON] = {
        "a text": "tools/list",
        "a number": 1,
        "null": None,
        "an empty object": {},
        "no method": {key: value for key, value in whole.items() if key != "method"},
        "a method that is a number": {**whole, "method": 1},
        "jsonrpc 1.0": {**whole, "jsonrpc": "1.0"},
        "no jsonrpc": {key: value for key, value in whole.items() if key != "jsonrpc"},
        "jsonrpc as a number": {**whole, "jsonrpc": 2.0},
    }
    for words, body in bodies.items():
        answer = await session.raw(body, headers=_LIST)
        session.check(
            "rpc.invalid-request",
            answer.code in (INVALID_REQUEST, HEADER_MISMATCH) or _refused_without_body(answer),
            expected=f"error {INVALID_REQUEST}, or HTTP 4xx without a message",
            actual=answer.told,
            message=f"a body that is no request ({words}) is answered with {answer.told}",
            aspect=words.replace(" ", "-"),
        )


@GROUP.probe("rpc.batch", "http.single-message")
async def batch(session: ProbeSession) -> None:
    """Several requests in one body: none is served, and a tasks/cancel among them cancels nothing."""
    task = await session.open_task()
    before = outline(await session.get(task))
    reads = [session.message("tools/list"), session.message("tools/list")]
    bodies: dict[str, list[dict[str, Any]]] = {
        "two requests": reads,
        "one request": reads[:1],
        "a tasks/cancel": [session.message("tasks/cancel", {"taskId": task.id})],
    }
    for words, body in bodies.items():
        headers = {**session.headers_of(body[0]), **({} if "cancel" in words else _LIST)}
        answer = await session.raw(body, headers=headers)
        flat = [item for message in answer.messages for item in (message if isinstance(message, list) else [message])]
        served = sum(isinstance(item, dict) and "result" in item for item in flat)
        session.check(
            "http.single-message",
            not served and answer.status != 0,
            expected="an error, or HTTP 4xx",
            actual=f"{served} results" if served else answer.told,
            message=f"an array of {words} is served: {served} results" if served else f"an array: {answer.told}",
            aspect=words.replace(" ", "-"),
        )
    session.check(
        "http.single-message",
        outline(await session.get(task)) == before,
        expected="the task as it was",
        actual="it was cancelled",
        message="a tasks/cancel inside an array is refused, and cancels all the same",
        aspect="effect",
    )


# --- ids ----------------------------------------------------------------------------------------------


@GROUP.probe("rpc.ids", "rpc.id-echo")
async def ids(session: ProbeSession) -> None:
    """The id comes back with value and type, in results and in errors."""
    task = await session.open_task()
    known: tuple[JSON, ...] = (7, "7", 0, -1, 2**53 - 1, "", " x ", "ключ ✓ \U0001f511", "a" * 200, "null", "1e3")
    params: dict[str, JSON] = {"taskId": task.id}
    for request_id in known:
        await _echoed(session, session.message("tasks/get", params, request_id=request_id), "a tasks/get")
    for request_id in (11, "eleven"):
        refused: list[tuple[str, dict[str, Any]]] = [
            ("an unknown method", session.message("mcptasks/nothing", request_id=request_id)),
            ("an undeclared tasks/get", session.message("tasks/get", params, request_id=request_id, capabilities={})),
            (
                "a tasks/get without _meta",
                {"jsonrpc": "2.0", "id": request_id, "method": "tasks/get", "params": params},
            ),
        ]
        for words, message in refused:
            await _echoed(session, message, words)


async def _echoed(session: ProbeSession, message: dict[str, Any], words: str) -> None:
    answer = await session.raw(message)
    response = answer.response
    if response is None:
        return  # no JSON-RPC answer at all: judged elsewhere
    wanted, found = message["id"], response.get("id")
    session.check(
        "rpc.id-echo",
        type(found) is type(wanted) and found == wanted,
        expected=f"id {text_of(wanted, 60)}",
        actual=f"id {text_of(found, 60)}" if "id" in response else "no id",
        message=f"{words} with id {text_of(wanted, 60)} is answered "
        + (f"with id {text_of(found, 60)}" if "id" in response else "without an id"),
        aspect=f"{'result' if 'result' in response else 'error'}-{type(wanted).__name__}",
    )


@GROUP.probe("rpc.null-id", "rpc.null-id-rejected")
async def null_id(session: ProbeSession) -> None:
    """A request whose id is null is no request that can be answered."""
    answer = await session.raw(session.message("tools/list", request_id=None))
    session.check(
        "rpc.null-id-rejected",
        answer.result is None and answer.status != 0,
        expected="an error, HTTP 4xx, or HTTP 202 without a result",
        actual=answer.told,
        message=f"a tools/list with id null is answered with {answer.told}",
    )


@GROUP.probe("rpc.notifications", "rpc.notification-silent")
async def notifications(session: ProbeSession) -> None:
    """Notifications, known ones, unknown ones, and what would be a request if it had an id: no response."""
    for method, params in (
        ("notifications/cancelled", {"requestId": "mcptasks-nothing"}),
        ("notifications/mcptasks", {}),
        ("tools/list", {}),
    ):
        message = session.message(method, params)
        del message["id"]
        answer = await session.raw(message)
        responses = [
            item
            for item in answer.messages
            if isinstance(item, dict) and ("result" in item or ("error" in item and item.get("id") is not None))
        ]
        session.check(
            "rpc.notification-silent",
            not responses and answer.status != 0,
            expected="no JSON-RPC response",
            actual=answer.told,
            message=f"a {method} without an id is answered with {answer.told}",
            aspect=method,
        )


# --- requests for what is not there -------------------------------------------------------------------


@GROUP.probe("rpc.unknown-method", "rpc.method-not-found")
async def unknown_method(session: ProbeSession) -> None:
    """Methods that do not exist, some of them almost."""
    for method in ("mcptasks/nothing", "tasks/nothing", "tasks/Get", "tasks", "tasks/get/"):
        answer = await session.ask(method)
        session.check(
            "rpc.method-not-found",
            answer.code == METHOD_NOT_FOUND,
            expected=f"error {METHOD_NOT_FOUND}",
            actual=answer.told,
            message=f"the method {method}, which does not exist, is answered with {answer.told}",
            aspect=method,
        )


def _judge_params(
    session: ProbeSession, requirement: str, answer: RawAnswer, asked: str, aspect: str, also: Collection[int] = ()
) -> None:
    result = answer.result or {}
    # Some languages cannot tell an empty array from an empty object; a tool may refuse its arguments itself.
    tolerated = answer.code == INVALID_REQUEST or (answer.result is not None and asked.endswith("inputResponses []"))
    refused = asked.startswith("a tools/call") and result.get("isError") is True
    session.check(
        requirement,
        answer.code in (INVALID_PARAMS, *also) or refused,
        expected=f"error {INVALID_PARAMS}",
        actual=answer.told,
        message=f"{asked} is answered with {answer.told}",
        aspect=f"{aspect}-tolerated" if tolerated else aspect,
        soft=tolerated,
        warning=tolerated,
    )


@GROUP.probe("rpc.misshapen-params", "rpc.invalid-params")
async def misshapen_params(session: ProbeSession) -> None:
    """Parameters of the wrong type."""
    task, shown = await asking_task(session)
    array = session.message("tools/list")
    array["params"] = []
    # Over stdio that is no valid MCP message, and a client may write none.
    answer = None if session.over_stdio else await session.raw(array)
    # Without members there is no _meta either, and its version does not match the header.
    if answer is not None:
        _judge_params(session, "rpc.invalid-params", answer, "a tools/list with params []", "array", (HEADER_MISMATCH,))
    wrong: list[tuple[str, str, dict[str, JSON]]] = [
        ("tasks/update with inputResponses []", "tasks/update", {"taskId": task.id, "inputResponses": []}),
        ('tasks/update with inputResponses "yes"', "tasks/update", {"taskId": task.id, "inputResponses": "yes"}),
        ("tools/call with arguments []", "tools/call", {"name": _some(await session.tools()), "arguments": []}),
        ('tools/call with arguments "x"', "tools/call", {"name": _some(await session.tools()), "arguments": "x"}),
    ]
    for words, method, params in wrong:
        answer = await session.ask(method, params)
        aspect = f"{method}-{words.rsplit(' ', 1)[1]}"
        _judge_params(session, "rpc.invalid-params", answer, f"a {words}", aspect)
    session.check(
        "rpc.invalid-params",
        outline(await session.get(task)) == outline(shown),
        expected="a refused request has no effect",
        actual="the task has changed",
        message="malformed updates are refused, and change the task all the same",
        aspect="effect",
    )


def _some(tools: Collection[str]) -> str:
    return "greet" if "greet" in tools else sorted(tools)[0]


@GROUP.probe("rpc.task-ids", "tasks.err.get-invalid", "rpc.invalid-params")
async def task_ids(session: ProbeSession) -> None:
    """A taskId that is missing, no text, or empty.  There is nothing that ``Mcp-Name`` could say of it."""
    values: tuple[JSON, ...] = (5, None, {}, ["x"], True, "")
    for method in ("get", "update", "cancel"):
        requirement = "tasks.err.get-invalid" if method == "get" else "rpc.invalid-params"
        for value in ("absent", *values):
            params: dict[str, JSON] = {} if value == "absent" else {"taskId": value}
            if method == "update":
                params["inputResponses"] = {}
            answer = await session.ask(f"tasks/{method}", params)
            words = "without taskId" if value == "absent" else f"with taskId {text_of(value, 20)}"
            # The routing header cannot match: which of the two is wrong is open.
            _judge_params(
                session,
                requirement,
                answer,
                f"a tasks/{method} {words}",
                f"{method}-{value if value == 'absent' else type(value).__name__}",
                (HEADER_MISMATCH,),
            )


@GROUP.probe("rpc.no-responses", "tasks.update.missing-responses")
async def no_responses(session: ProbeSession) -> None:
    """A tasks/update that answers nothing because it lacks inputResponses."""
    task, shown = await asking_task(session)
    answer = await session.ask("tasks/update", {"taskId": task.id})
    session.check(
        "tasks.update.missing-responses",
        answer.code == INVALID_PARAMS or answer.result is not None,
        expected=f"error {INVALID_PARAMS}, or an acknowledgement without effect",
        actual=answer.told,
        message=f"a tasks/update without inputResponses is answered with {answer.told}",
        choice="refuses it" if answer.error is not None else "takes it as an empty one",
    )
    session.check(
        "tasks.update.missing-responses",
        outline(await session.get(task)) == outline(shown),
        expected="no effect",
        actual="the task has changed",
        message="a tasks/update without inputResponses changes the task",
        aspect="effect",
    )
    answer = await session.ask("tasks/update", {"taskId": task.id, "inputResponses": answers_to(shown)})
    session.check(
        "tasks.update.missing-responses",
        answer.result is not None,
        expected="the good update is taken",
        actual=answer.told,
        message=f"after a tasks/update without inputResponses a good one is answered with {answer.told}",
        aspect="after",
    )


@GROUP.probe("rpc.more-members", "rpc.unknown-members")
async def more_members(session: ProbeSession) -> None:
    """Members that a server does not know do not break a request."""
    task = await session.open_task()
    for method, params in (
        ("tasks/get", {"taskId": task.id}),
        ("tools/list", {}),
        ("tasks/cancel", {"taskId": task.id}),
    ):
        more: dict[str, JSON] = {**params, "mcptasksUnknown": {"a": [1]}}
        message = session.message(method, more)
        message["params"]["_meta"]["com.example/unknown"] = {"a": 1}
        capabilities: dict[str, JSON] = {
            "extensions": {TASKS_EXTENSION: {}, "com.example/other": {"level": 2}},
            "experimental": {"mcptasks": {}},
        }
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities
        answer = await session.raw(message)
        session.check(
            "rpc.unknown-members",
            answer.result is not None,
            expected="what the request gets without them",
            actual=answer.told,
            message=f"a {method} with members that are unknown is answered with {answer.told}",
            aspect=method,
        )
