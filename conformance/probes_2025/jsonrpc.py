"""JSON-RPC: what is no message, what is no request, and requests for what is not there.

Sources: JSON-RPC 2.0, sections 4 to 6; MCP 2025-11-25, basic/index, "Messages".  Which HTTP status an error travels
with is left open where the specification says nothing (ambiguity AMB-07 of the catalogue).
"""

from __future__ import annotations

from typing import Any, Final

from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.probes.probe import ProbeGroup
from mcptasks.conformance.probes.raw import RawAnswer
from mcptasks.conformance.probes_2025.session import ProbeSession25, ProbeSkipped
from mcptasks.conformance.wire.names import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from mcptasks.conformance.wire_2025.session import Session
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()

_NOTICES: Final = "rpc.notification-no-id"


def _refused_without_body(answer: RawAnswer) -> bool:
    """A plain HTTP refusal: nothing that can be read as a message."""
    return 400 <= answer.status < 500 and answer.response is None


# --- no message ---------------------------------------------------------------------------------------


@GROUP.probe("rpc.no-json", "rpc.parse-error")
async def no_json(session: ProbeSession25) -> None:
    """Bodies that are no JSON."""
    whole = b'{"jsonrpc": "2.0", "id": "no-json", "method": "tools/list", "params": {'
    bodies = {
        "unfinished": whole,
        "words": b"this is no JSON",
        "a trailing comma": whole + b'"cursor": "",}}',
        "no UTF-8": b'{"jsonrpc": "2.0", "id": "no-utf8", "method": "tools/\xff\xfe"}',
    }
    for words, body in bodies.items():
        answer = await session.raw(body)
        session.check(
            "rpc.parse-error",
            answer.code == PARSE_ERROR or _refused_without_body(answer),
            expected=f"error {PARSE_ERROR}, or HTTP 4xx without a message",
            actual=answer.told,
            message=f"a body that is no JSON ({words}) is answered with {answer.told}",
            aspect=words.replace(" ", "-"),
        )


@GROUP.probe("rpc.no-request", "rpc.invalid-request")
async def no_request(session: ProbeSession25) -> None:
    """Bodies that are JSON and no request."""
    for words, change in (
        ("a text", "tools/list"),
        ("a number", 1),
        ("an empty object", {}),
        ("a method that is a number", {"method": 1}),
        ("jsonrpc 1.0", {"jsonrpc": "1.0"}),
        ("no jsonrpc", {"jsonrpc": None}),
    ):
        body: JSON = change
        if isinstance(change, dict) and change:
            merged = {**session.message("tools/list", {}), **change}
            body = {key: value for key, value in merged.items() if value is not None}
        answer = await session.raw(body)
        session.check(
            "rpc.invalid-request",
            answer.code == INVALID_REQUEST or _refused_without_body(answer),
            expected=f"error {INVALID_REQUEST}, or HTTP 4xx without a message",
            actual=answer.told,
            message=f"a body that is no request ({words}) is answered with {answer.told}",
            aspect=words.replace(" ", "-"),
        )


# --- ids ----------------------------------------------------------------------------------------------


@GROUP.probe("rpc.ids", "rpc.id-echo")
async def ids(session: ProbeSession25) -> None:
    """The id comes back with value and type, in results and in errors; none is used twice in a session."""
    own = await session.another(listens=False)
    for request_id in (1007, "1007", 0, -1, 2**53 - 1, " x ", "ключ ✓ \U0001f511", "a" * 200, "null", "1e3"):
        await _echoed(session, own, session.message("tools/list", {}, request_id=request_id), "a tools/list")
    for request_id in (1011, "eleven"):
        message = session.message("mcptasks/nothing", {}, request_id=request_id)
        await _echoed(session, own, message, "an unknown method")
    for request_id in (1012, "twelve"):
        message = session.message("tasks/get", {"taskId": "mcptasks-no-such-task"}, request_id=request_id)
        await _echoed(session, own, message, "a tasks/get of an unknown task")


async def _echoed(session: ProbeSession25, own: Session, message: dict[str, Any], words: str) -> None:
    answer = await session.raw(message, session=own)
    response = answer.response
    if response is None:
        return  # no JSON-RPC answer at all: judged elsewhere
    wanted, found = message["id"], response.get("id")
    told = f"with id {text_of(found, 60)}" if "id" in response else "without an id"
    session.check(
        "rpc.id-echo",
        type(found) is type(wanted) and found == wanted,
        expected=f"id {text_of(wanted, 60)}",
        actual=told,
        message=f"{words} with id {text_of(wanted, 60)} is answered {told}",
        aspect=f"{'result' if 'result' in response else 'error'}-{type(wanted).__name__}",
    )


@GROUP.probe("rpc.null-id", "rpc.null-id-rejected")
async def null_id(session: ProbeSession25) -> None:
    """A request whose id is null is no request that can be answered."""
    answer = await session.raw({**session.message("tools/list", {}), "id": None})
    session.check(
        "rpc.null-id-rejected",
        answer.result is None and answer.status != 0,
        expected="an error, HTTP 4xx, or HTTP 202 without a result",
        actual=answer.told,
        message=f"a tools/list with id null is answered with {answer.told}",
    )


@GROUP.probe("rpc.notifications", "rpc.notification-silent")
async def notifications(session: ProbeSession25) -> None:
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


@GROUP.probe("rpc.notices", _NOTICES)
async def notices(session: ProbeSession25) -> None:
    """What a server tells a client of itself has no id."""
    speaking = await session.session()
    since = len(speaking.notices)
    task = await session.open_task()
    if isinstance(session.profile, Control):
        await session.complete(task)
        await session.request("tasks/result", {"taskId": task.id})
    await session.until(lambda: len(speaking.notices) > since, 0.2)
    heard = speaking.notices  # all of the run so far
    if not heard:
        raise ProbeSkipped("the server has sent no notification so far")
    for notice in heard:
        session.check(
            _NOTICES,
            "id" not in notice.message,
            expected="no member id",
            actual=f"id {text_of(notice.message.get('id'), 40)}",
            message=f"a {notice.method} has an id",
            aspect=notice.method,
        )


@GROUP.probe("rpc.ping", "rpc.result-object")
async def ping(session: ProbeSession25) -> None:
    """The one result that is empty."""
    answer = await session.raw(session.message("ping"))
    response = answer.response
    if response is None or "result" not in response:
        raise ProbeSkipped(f"a ping is answered with {answer.told}")
    session.check(
        "rpc.result-object",
        isinstance(response["result"], dict),
        expected="an object",
        actual=text_of(response["result"], 60),
        message=f"the result of a ping is {text_of(response['result'], 60)}, no object",
    )


# --- requests for what is not there -------------------------------------------------------------------


@GROUP.probe("rpc.unknown-method", "rpc.method-not-found")
async def unknown_method(session: ProbeSession25) -> None:
    """Methods that do not exist, some of them almost; ``tasks/update`` is of another revision."""
    for method in ("mcptasks/nothing", "tasks/nothing", "tasks/Get", "tasks", "tasks/get/"):
        answer = await session.raw(session.message(method, {}))
        session.check(
            "rpc.method-not-found",
            answer.code == METHOD_NOT_FOUND,
            expected=f"error {METHOD_NOT_FOUND}",
            actual=answer.told,
            message=f"the method {method}, which does not exist, is answered with {answer.told}",
            aspect=method,
        )


@GROUP.probe("rpc.misshapen-params", "rpc.invalid-params")
async def misshapen_params(session: ProbeSession25) -> None:
    """Parameters of the wrong type, or missing."""
    wrong: list[tuple[str, dict[str, JSON]]] = [
        ("tasks/get", {}),
        ("tasks/get", {"taskId": 5}),
        ("tasks/get", {"taskId": None}),
        ("tasks/get", {"taskId": {}}),
        ("tasks/get", {"taskId": ["x"]}),
        ("tasks/get", {"taskId": True}),
        ("tasks/result", {}),
        ("tasks/result", {"taskId": 5}),
        *([("tasks/cancel", {}), ("tasks/cancel", {"taskId": {}})] if session.introduction.cancels else []),
        *([("tasks/list", {"cursor": 5})] if session.introduction.lists else []),
        ("tools/call", {}),
        ("tools/call", {"name": 5, "arguments": {}}),
        ("tools/call", {"name": session.introduction.tools[0], "arguments": "x"}),
    ]
    for method, params in wrong:
        answer = await session.raw(session.message(method, params))
        first: JSON = next(iter(params.values())) if len(params) == 1 else None
        words = f"a {method} with params {text_of(params, 60)}"
        # A tool may refuse its arguments itself; and what is no valid message is called so by some.
        refused = method == "tools/call" and (answer.result or {}).get("isError") is True
        tolerated = answer.code in (INVALID_REQUEST, METHOD_NOT_FOUND) and (
            answer.code == INVALID_REQUEST or method == "tools/call"
        )
        kind = f"{type(first).__name__}" if len(params) == 1 else ("arguments" if params else "absent")
        session.check(
            "rpc.invalid-params",
            answer.code == INVALID_PARAMS or refused,
            expected=f"error {INVALID_PARAMS}",
            actual=answer.told,
            message=f"{words} is answered with {answer.told}",
            aspect=f"{method}-{kind}" + ("-tolerated" if tolerated else ""),
            soft=True,
            warning=tolerated,
        )


@GROUP.probe("rpc.more-members", "rpc.unknown-members")
async def more_members(session: ProbeSession25) -> None:
    """Members that a server does not know do not break a request."""
    task = await session.open_task()
    more: dict[str, JSON] = {"mcptasksUnknown": {"a": [1]}, "_meta": {"com.example/unknown": {"a": 1}}}
    asked: list[tuple[str, dict[str, JSON]]] = [("tasks/get", {"taskId": task.id}), ("tools/list", {})]
    if session.introduction.cancels:
        asked.append(("tasks/cancel", {"taskId": task.id}))
    for method, params in asked:
        answer = await session.raw(session.message(method, {**params, **more}), session=task.session)
        refusal = (answer.response or {}).get("error")
        if isinstance(refusal, dict) and refusal.get("code") == METHOD_NOT_FOUND:
            continue  # a method that is not there is not broken by what it is given
        session.check(
            "rpc.unknown-members",
            "result" in (answer.response or {}),
            expected="what the request gets without them",
            actual=answer.told,
            message=f"a {method} with members that are unknown is answered with {answer.told}",
            aspect=method,
        )
