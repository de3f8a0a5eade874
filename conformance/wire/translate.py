"""From the payloads of operations to what may stand on the wire, the same every time.

A sequence is made for stores, which hold any JSON; on the wire a result is a ``CallToolResult``, a request for
input one of three kinds, a response fits its request.  What is valid already goes out as it is; anything else is
wrapped, so that the value itself still makes the journey.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from mcptasks.conformance.wire.payloads import (
    CallToolPayload,
    CreateMessageResult,
    ElicitFormParams,
    ElicitResult,
    ErrorObject,
    InputRequest,
    ListRootsResult,
)
from mcptasks.strategies.json_values import JSON, Payload

__all__ = ["error_of", "request_of", "response_of", "result_of"]

_REQUEST: Final[TypeAdapter[Any]] = TypeAdapter(InputRequest)
_LARGEST: Final = 2**53 - 1
"""Largest integer that every JSON reader keeps (RFC 8259, section 6)."""
_CODE: Final = 1000
"""Error code of an error that had none: outside everything that JSON-RPC and MCP reserve."""
_RESERVED: Final = range(-32768, -31999)


def _portable(value: JSON) -> JSON:
    """``value`` with integers that not every reader keeps as texts."""
    if isinstance(value, dict):
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_portable(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST:
        return str(value)
    if isinstance(value, float) and abs(value) > _LARGEST:
        return repr(value)
    return value


def _not_too_deep(payload: Payload, value: JSON) -> JSON:
    """``value``, or its text where the wrapping would nest it deeper than a target must bear."""
    try:
        Payload([[[value]]])
    except ValueError:
        return payload.text
    return value


def _valid(model: type[Any], value: JSON) -> bool:
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


def _short(payload: Payload) -> str:
    text = payload.text
    if len(text) <= 80:
        return text
    return f"{text[:60]}… #{hashlib.sha256(text.encode()).hexdigest()[:12]}"


@lru_cache(maxsize=4096)
def result_of(payload: Payload) -> Payload:
    """The ``CallToolResult`` for the result of a complete."""
    value = _portable(payload.value)
    if isinstance(value, dict) and "content" in value and _valid(CallToolPayload, value):
        return Payload(value)
    content = [{"type": "text", "text": _short(payload)}]
    return Payload({"content": content, "structuredContent": {"value": _not_too_deep(payload, value)}})


@lru_cache(maxsize=4096)
def error_of(payload: Payload) -> Payload:
    """The JSON-RPC error object for the error of a fail."""
    value = _portable(payload.value)
    if isinstance(value, dict) and _valid(ErrorObject, value) and value["code"] not in _RESERVED and value["message"]:
        return Payload(value)
    return Payload({"code": _CODE, "message": _short(payload), "data": _not_too_deep(payload, value)})


@lru_cache(maxsize=4096)
def request_of(payload: Payload, key: str, serial: int) -> Payload:
    """The request for input that stands for a body: told from all others by its text.

    Args:
        payload: the operation's body.
        key: under which it is asked.
        serial: of the request within its task; a key that is asked again asks something else.
    """
    value = _portable(payload.value)
    if isinstance(value, dict):
        try:
            _REQUEST.validate_python(value)
        except ValidationError:
            pass
        else:
            return Payload(value)
    message = f"{_short(payload)} ({key[:20]}, {serial})"
    if len(payload.text) % 7 == 3:
        return Payload(
            {
                "method": "sampling/createMessage",
                "params": {
                    "messages": [{"role": "user", "content": {"type": "text", "text": message}}],
                    "maxTokens": 16,
                },
            }
        )
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    return Payload(
        {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}
    )


def _form_content(request: JSON, text: str) -> dict[str, JSON]:
    """Content that fits the form of an elicitation."""
    properties = request["params"]["requestedSchema"].get("properties", {})
    out: dict[str, JSON] = {}
    for name, schema in properties.items():
        kind = schema.get("type")
        if kind == "boolean":
            out[name] = True
        elif kind in ("integer", "number"):
            out[name] = schema.get("minimum", schema.get("maximum", 1))
        elif kind == "array":
            out[name] = list(schema.get("items", {}).get("enum", ["x"]))[: max(1, schema.get("minItems", 1))]
        elif schema.get("enum") or schema.get("oneOf"):
            out[name] = schema["enum"][0] if schema.get("enum") else schema["oneOf"][0]["const"]
        elif schema.get("format"):
            out[name] = {
                "email": "a@example.com",
                "uri": "https://example.com/",
                "date": "2026-08-01",
                "date-time": "2026-08-01T00:00:00Z",
            }[schema["format"]]
        else:
            out[name] = (text + " " * schema.get("minLength", 0))[: schema.get("maxLength", 200)]
    return out


@lru_cache(maxsize=4096)
def response_of(payload: Payload, request: Payload | None) -> Payload:
    """The response for an answer: valid for its request, or, where there is none, an elicitation's."""
    value = _portable(payload.value)
    asked = None if request is None else request.value
    method = "elicitation/create" if asked is None else asked.get("method")
    if method == "sampling/createMessage":
        if isinstance(value, dict) and _valid(CreateMessageResult, value):
            return Payload(value)
        content = {"type": "text", "text": _short(payload)}
        return Payload({"role": "assistant", "content": content, "model": "mcptasks"})
    if method == "roots/list":
        if isinstance(value, dict) and _valid(ListRootsResult, value):
            return Payload(value)
        return Payload({"roots": [{"uri": "file:///mcptasks", "name": _short(payload)}]})
    if asked is None or not _valid(ElicitFormParams, asked.get("params")):
        if isinstance(value, dict) and _valid(ElicitResult, value):
            return Payload(value)
        return Payload(
            {"action": "accept", "content": {"answer": _short(payload)}} if asked is None else {"action": "accept"}
        )
    return Payload({"action": "accept", "content": _form_content(asked, _short(payload))})
