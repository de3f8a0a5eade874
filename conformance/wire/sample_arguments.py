"""Arguments that a tool's input schema takes, for a first try of the tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcptasks.strategies.json_values import JSON

__all__ = ["sample_arguments"]

_DEPTH: Final = 8
_TEXTS: Final = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "email": "mcptasks@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def sample_arguments(schema: object) -> dict[str, JSON]:
    """The required members of an object schema, each with a simple value that it allows, as far as it says.

    Patterns, references and conditions are not followed: what comes out is a proposal, to be edited.
    """
    value = _sample(schema if isinstance(schema, Mapping) else {}, _DEPTH)
    return value if isinstance(value, dict) else {}


def _sample(schema: Mapping[str, Any], depth: int) -> JSON:
    for member in ("const", "default"):
        if member in schema:
            given: JSON = schema[member]
            return given
    for member in ("enum", "examples"):
        choices = schema.get(member)
        if isinstance(choices, list) and choices:
            chosen: JSON = choices[0]
            return chosen
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), "null")
    if kind is None and ("properties" in schema or "required" in schema):
        kind = "object"
    if kind == "object" or (kind is None and depth == _DEPTH):
        return _members(schema, depth)
    if kind == "array":
        items = schema.get("items")
        count = _number(schema.get("minItems"), 0)
        one = _sample(items if isinstance(items, Mapping) else {}, depth - 1) if depth else None
        return [one] * min(int(count), 20)
    if kind in ("integer", "number"):
        low = _number(schema.get("minimum"), _number(schema.get("exclusiveMinimum"), 0) + 1)
        number = min(low, _number(schema.get("maximum"), low))
        return int(number) if kind == "integer" or float(number).is_integer() else number
    if kind == "boolean":
        return False
    if kind == "null":
        return None
    text = _TEXTS.get(str(schema.get("format")), "mcptasks")
    longest, shortest = int(_number(schema.get("maxLength"), 10_000)), int(_number(schema.get("minLength"), 0))
    return text.ljust(min(shortest, 10_000), "x")[: max(longest, 0)]


def _members(schema: Mapping[str, Any], depth: int) -> dict[str, JSON]:
    properties, required = schema.get("properties"), schema.get("required")
    if not depth or not isinstance(required, list):
        return {}
    known = properties if isinstance(properties, Mapping) else {}
    return {
        name: _sample(known[name] if isinstance(known.get(name), Mapping) else {}, depth - 1)
        for name in required
        if isinstance(name, str)
    }


def _number(value: object, otherwise: float) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else otherwise
