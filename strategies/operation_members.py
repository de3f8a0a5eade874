"""Checks of the members that an operation has in its JSON form, shared by all revisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mcptasks.strategies.json_values import JSON, Payload

__all__ = ["Check", "OperationError", "body", "entries", "number", "one_of", "text"]

Check = Callable[[JSON], Any]
"""Gives the Python value of a member, or raises :class:`OperationError`."""


class OperationError(ValueError):
    """A JSON value is not an operation; the message says which member is wrong."""


def text(member: str) -> Check:
    """A non-empty string."""

    def check(value: JSON) -> JSON:
        if not isinstance(value, str) or not value:
            raise OperationError(f"member '{member}' must be a non-empty string")
        return value

    return check


def number(member: str, least: int | None = None) -> Check:
    """An integer."""

    def check(value: JSON) -> JSON:
        if not isinstance(value, int) or isinstance(value, bool) or (least is not None and value < least):
            raise OperationError(
                f"member '{member}' must be an integer" + ("" if least is None else f" of at least {least}")
            )
        return value

    return check


def one_of(member: str, allowed: Sequence[str]) -> Check:
    """One of a few strings."""

    def check(value: JSON) -> JSON:
        if value not in allowed:
            raise OperationError(f"member '{member}' must be one of {', '.join(allowed)}")
        return value

    return check


def body(member: str) -> Check:
    """Any JSON value, as a payload."""

    def check(value: JSON) -> Payload:
        try:
            return Payload(value)
        except ValueError as error:
            raise OperationError(f"member '{member}' {error}") from error

    return check


def entries(member: str) -> Check:
    """An object of JSON values."""

    def check(value: JSON) -> dict[str, Payload]:
        if not isinstance(value, dict):
            raise OperationError(f"member '{member}' must be an object")
        return {key: body(f"{member}.{key}")(item) for key, item in value.items()}

    return check
