"""Bodies for stores whose interface holds only objects of the protocol, as an adapter or a bridge declares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mcptasks.strategies.json_values import JSON, Payload
from mcptasks.strategies.operations import Abort, Complete, Fail, Operation, Resolve, SetInput
from mcptasks.strategies.operations_2025 import StoreResult

__all__ = ["formed", "is_formed"]


def formed(operation: Operation) -> Operation:
    """The operation with every body that is no object inside one of the protocol's shape."""
    match operation:
        case Abort(inner, after):
            changed: Any = formed(inner)
            return Abort(changed, after)
        case Complete(_, result):
            return replace(operation, result=_within(result, _result))
        case StoreResult(result=result):
            return replace(operation, result=_within(result, _result))
        case Fail(_, error):
            return replace(operation, error=_within(error, _error))
        case SetInput(task, requests):
            return SetInput(task, [(key, _within(body, _request)) for key, body in requests])
        case Resolve(task, responses):
            return Resolve(task, [(key, _within(body, _response)) for key, body in responses])
        case _:
            return operation


def is_formed(operations: Iterable[Operation]) -> bool:
    """Whether every body is an object: what is made simpler may have lost its shape."""
    return all(formed(operation) == operation for operation in operations)


def _within(body: Payload, shape: Any) -> Payload:
    value = body.value
    return body if isinstance(value, dict) else Payload(shape(value))


def _result(value: JSON) -> JSON:
    return {"content": [], "structuredContent": {"value": value}}


def _error(value: JSON) -> JSON:
    return {"code": -32603, "message": "m", "data": value}


def _request(value: JSON) -> JSON:
    return {"method": "elicitation/create", "params": {"value": value}}


def _response(value: JSON) -> JSON:
    return {"action": "accept", "content": {"value": value}}
