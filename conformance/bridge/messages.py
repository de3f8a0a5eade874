"""Reading one line of a bridge's output: a response or a notification of JSON-RPC 2.0."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, NoReturn

from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["METHOD_NOT_FOUND", "BadMessage", "Failure", "Notification", "Response", "read_message"]

METHOD_NOT_FOUND: Final = -32601
_UNREADABLE: Final = (-32700, -32600)
"""Codes of a bridge that could not read what it was sent."""


class BadMessage(Exception):
    """A line that is no message; the text completes *the bridge …*."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of a response."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: ``result``, which may be null, or ``failure``."""

    id: str | int
    result: JSON = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Notification:
    """Something that happened in the store."""

    method: str
    params: dict[str, JSON]


def read_message(line: bytes) -> Response | Notification:
    """The message on a line.

    Raises:
        BadMessage: it is none, or one that a bridge may not send.
    """
    value = _parsed(line)
    shown = text_of(line[:100].decode("utf-8", "backslashreplace"), 100)
    if not isinstance(value, dict):
        raise BadMessage(f"writes {shown} to standard output, which is no JSON-RPC message; logs go to standard error")
    if value.get("jsonrpc") != "2.0":
        raise BadMessage(f'writes a message without "jsonrpc": "2.0": {shown}')
    if "method" in value:
        return _notification(value)
    return _response(value, shown)


def _parsed(line: bytes) -> JSON:
    try:
        return json.loads(line.decode(), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise BadMessage(f"writes what is not UTF-8 to standard output (byte {error.start} of a line)") from error
    except BadMessage:
        raise
    except (ValueError, RecursionError):
        return None


def _no_number(name: str) -> NoReturn:
    raise BadMessage(f"writes {name}, which is no JSON number")


def _notification(value: dict[str, JSON]) -> Notification:
    method = value["method"]
    shown = text_of(method, 60)
    if not isinstance(method, str):
        raise BadMessage(f"writes a message whose method is {shown}")
    if "id" in value:
        raise BadMessage(f"sends the request {shown}; only notifications go from a bridge to the suite")
    params = value.get("params")
    if not isinstance(params, dict):
        raise BadMessage(f"sends {shown} without an object of params")
    return Notification(method, params)


def _response(value: dict[str, JSON], shown: str) -> Response:
    if "id" not in value:
        raise BadMessage(f"writes a message with neither id nor method: {shown}")
    failure = _failure(value["error"]) if value.get("error") is not None else None
    own = value["id"]
    if failure is not None and (own is None or failure.code in _UNREADABLE):
        raise BadMessage(f"could not read a request: error {failure.code}, {text_of(failure.message, 120)}")
    own = _whole(own)
    if isinstance(own, bool) or not isinstance(own, (str, int)):
        raise BadMessage(f"answers with the id {text_of(own, 40)}, which no request has")
    if failure is None and "result" not in value:
        raise BadMessage(f"answers with neither result nor error, for nothing is written as null: {shown}")
    if failure is not None and value.get("result") is not None:
        raise BadMessage(f"answers with both result and error: {shown}")
    return Response(own, value.get("result"), failure)


def _whole(number: JSON) -> JSON:
    """A number as an integer if it is one: some languages know only fractions, and write 1.0 for it."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _failure(error: JSON) -> Failure:
    code = _whole(error.get("code")) if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    if isinstance(code, bool) or not isinstance(code, int) or not isinstance(message, str):
        raise BadMessage(f"answers with the error {text_of(error, 80)}, which has no integer code and text message")
    return Failure(code, message)
