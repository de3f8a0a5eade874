"""What is lawful for a store behind a bridge alone (contract, section 2): large bodies refused, large integers rounded."""

from __future__ import annotations

from typing import Any, Final

from mcptasks.conformance.targets.store import OpenStore
from mcptasks.strategies.json_values import JSON, Payload, json_equal
from mcptasks.strategies.operations import Abort, Operation

__all__ = ["is_body", "may_refuse"]

_LARGE: Final = 32 * 1024
"""Characters of JSON text from which on a body is large."""
_EXACT: Final = 2**53
"""Integers up to here are doubles, too."""


def is_body(store: OpenStore, body: Payload, observed: object) -> bool:
    """Whether what the store gave is the body; over a bridge integers beyond 2^53 may be rounded to doubles."""
    if body.matches(observed):
        return True
    if not store.bridged:
        return False
    try:
        return json_equal(_as_doubles(body.value), _as_doubles(observed))
    except RecursionError:
        return False


def _as_doubles(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _as_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_doubles(item) for item in value]
    if isinstance(value, int) and abs(value) > _EXACT:
        try:
            return float(value)
        except OverflowError:
            return value
    return value


def may_refuse(store: OpenStore, operation: Operation | None) -> bool:
    """Whether the store may raise at the operation, whatever its task's state: it lies behind a bridge, and the
    operation carries a large body."""
    if not store.bridged or operation is None:
        return False
    inner: Any = operation.operation if isinstance(operation, Abort) else operation
    for member in ("result", "error", "requests", "responses"):
        value = getattr(inner, member, None)
        bodies = [value] if isinstance(value, Payload) else [body for _, body in value or ()]
        if sum(len(body.text) for body in bodies) >= _LARGE:
            return True
    return False
