"""JSON-RPC messages as they come back: is this the one answer to that request? (JSON-RPC 2.0, section 5)"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from mcptasks.conformance.wire.names import HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION
from mcptasks.conformance.wire.problems import Smell, WireProblem
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["Answer", "code_smells", "notification_smells", "read_answer", "read_streamed"]

_CURRENT: Final = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})
_RETIRED: Final = frozenset({-32002, -32042})


class Answer:
    """What a response says: ``result`` or ``error``, the other being ``None``."""

    __slots__ = ("error", "result")

    def __init__(self, result: dict[str, Any] | None, error: dict[str, Any] | None) -> None:
        self.result = result
        self.error = error


def _bad(text: str, requirement: str) -> WireProblem:
    return WireProblem("malformed", text, requirement)


def read_answer(message: JSON, request_id: str | int, smells: list[Smell]) -> Answer:
    """The answer that ``message`` is.

    Raises:
        WireProblem: it is no response, or one to another request.
    """
    if isinstance(message, list):
        raise _bad(f"answers one request with an array of {len(message)} messages", "rpc.version")
    if not isinstance(message, dict):
        raise _bad(f"answers with {text_of(message, 60)}, which is no JSON-RPC message", "rpc.version")
    if message.get("jsonrpc") != "2.0":
        if "jsonrpc" not in message and not {"result", "error"} & message.keys():
            raise _bad(f"answers with {text_of(message, 60)}, which is no JSON-RPC message", "rpc.version")
        smells.append(
            Smell("rpc.version", "jsonrpc", 'jsonrpc is "2.0"', f"jsonrpc is {text_of(message.get('jsonrpc'), 40)}")
        )
    if "method" in message:
        raise _bad("answers a request with a request or notification", "http.no-server-requests")
    result, error = message.get("result"), message.get("error")
    if ("result" in message) == ("error" in message):
        raise _bad(f"answers with {'both' if result else 'neither'} result and error", "rpc.result-xor-error")
    found = message.get("id")
    if type(found) is not type(request_id) or found != request_id:
        # Without an id only if the request's id could not be read; ours can.
        shown = text_of(found, 40) if "id" in message else "no id"
        raise _bad(f"answers request {text_of(request_id, 40)} with {shown}", "rpc.id-echo")
    if "result" in message:
        if not isinstance(result, dict):
            raise _bad(f"answers with a result that is {text_of(result, 40)}, no object", "rpc.result-object")
        return Answer(result, None)
    if not isinstance(error, dict) or type(error.get("code")) is not int or not isinstance(error.get("message"), str):
        raise _bad(
            f"answers with the error {text_of(error, 80)}, which lacks an integer code or a text as message",
            "rpc.error-code",
        )
    return Answer(None, error)


def code_smells(error: dict[str, Any]) -> list[Smell]:
    """What is wrong with an error's code, whatever it is about (MCP, "Error Codes")."""
    code = error["code"]
    if -32099 <= code <= -32020 and code not in _CURRENT:
        return [
            Smell(
                "core.meta.reserved-codes",
                "code",
                "of -32099..-32020 only -32020, -32021 and -32022",
                f"has error code {code}",
            )
        ]
    if code in _RETIRED:
        return [Smell("core.meta.retired-codes", "code", "neither -32002 nor -32042", f"has error code {code}")]
    if -32019 <= code <= -32000:
        return [Smell("core.meta.legacy-range", "code", "no code in -32019..-32000", f"has error code {code}")]
    return []


def notification_smells(methods: Iterable[str]) -> list[Smell]:
    """What is wrong with the names of notifications beside an answer (tasks extension, "Reservations")."""
    return [
        Smell(
            "tasks.method.reserved-prefixes",
            "stream",
            "of the names below notifications/tasks none: the extension defines no such notification",
            f"comes with the notification {text_of(name, 60)}",
        )
        for name in methods
        if name.startswith("notifications/tasks/")
    ]


def read_streamed(message: JSON, request_id: str | int, smells: list[Smell]) -> Answer | None:
    """The answer that a message on the stream of one request is; ``None`` if it is a notification.

    Raises:
        WireProblem: it is neither, or the answer to another request.
    """
    if isinstance(message, dict) and isinstance(message.get("method"), str):
        if "id" in message:
            smells.append(
                Smell(
                    "http.no-server-requests",
                    "stream",
                    "no request from the server",
                    f"sends the request {text_of(message['method'], 60)} on the stream of an answer",
                )
            )
        smells += notification_smells([message["method"]])
        return None
    return read_answer(message, request_id, smells)
