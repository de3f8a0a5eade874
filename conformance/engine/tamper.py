"""Mutating what a store returned or was given, as a careless caller would."""

from __future__ import annotations

from typing import Any

__all__ = ["tamper"]

_MARK = "mcptasks-tampered"


def _mutate_value(value: Any) -> bool:
    """Change a container in place; whether that worked."""
    try:
        if isinstance(value, dict):
            for inner in list(value.values()):
                _mutate_value(inner)
            value[_MARK] = True
            return True
        if isinstance(value, list):
            for inner in list(value):
                _mutate_value(inner)
            value.append(_MARK)
            return True
    except Exception:
        return False
    return False


def tamper(value: Any) -> bool:
    """Mutate a record, or an argument that was given; whether anything could be changed.

    Frozen records and scalars cannot, which is fine: then nothing was put at risk.
    """
    if isinstance(value, dict) and "status" not in value:
        return _mutate_value(value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return False
    if isinstance(value, list):
        return _mutate_value(value)
    changed = False
    for member in ("input_requests", "inputRequests", "result", "error"):
        try:
            held = value.get(member) if isinstance(value, dict) else getattr(value, member, None)
        except Exception:
            continue
        changed |= _mutate_value(held)
    try:
        if isinstance(value, dict):
            value["status"] = _MARK
        else:
            value.status = _MARK
        changed = True
    except Exception:
        pass
    return changed
