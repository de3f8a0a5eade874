"""What is lawful for a store behind a bridge alone (contract, section 2): to refuse a large body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcptasks.conformance.targets.store import OpenStore
from mcptasks.strategies.json_values import Payload
from mcptasks.strategies.operations import Abort, Operation

__all__ = ["may_refuse"]

_LARGE: Final = 32 * 1024
"""Characters of JSON text from which on a body is large."""


def may_refuse(store: OpenStore, operation: Operation | None) -> bool:
    """Whether the store may raise at the operation, whatever its task's state: it lies behind a bridge, and the
    operation carries a large body."""
    if not store.bridged or operation is None:
        return False
    inner: Any = operation.operation if isinstance(operation, Abort) else operation
    for member in ("result", "error", "requests", "responses"):
        value = getattr(inner, member, None)
        bodies = value.values() if isinstance(value, Mapping) else (value,)
        if any(isinstance(body, Payload) and len(body.text) >= _LARGE for body in bodies):
            return True
    return False
