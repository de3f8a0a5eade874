"""A sequence of operations in a notation made for reading.

``t1 = create()``, ``complete(t1, {"n": 1})``, ``get(t1)``: the form in which every report shows a
counterexample.  Long payloads are shortened and their length is named; the replay file has them whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcptasks.reports.safe_text import visible
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["PAYLOAD_LIMIT", "Step", "describe", "steps"]

PAYLOAD_LIMIT: Final = 100
"""Characters of a payload that the notation shows."""

_NAME_LIMIT: Final = 60


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a sequence."""

    number: int | None
    """Position from 1; ``None`` for the line that stands for operations left out."""
    text: str


def steps(operations: Sequence[Mapping[str, JSON]], most: int | None = None) -> list[Step]:
    """The sequence line by line; of more than ``most`` operations the middle is left out."""
    numbers = range(1, len(operations) + 1)
    if most is None or len(operations) <= most:
        return [Step(number, describe(operations[number - 1])) for number in numbers]
    head = numbers[: most // 2]
    tail = numbers[len(operations) - (most - most // 2) :]
    return [
        *(Step(number, describe(operations[number - 1])) for number in head),
        Step(None, f"… {len(operations) - most:,} operations left out, see the replay file"),
        *(Step(number, describe(operations[number - 1])) for number in tail),
    ]


def describe(operation: Mapping[str, JSON]) -> str:
    """One operation, given as :func:`mcptasks.strategies.operations.to_json` writes it, on one line.

    An operation of another version, or one that is none, is shown with all its members.
    """
    rest = dict(operation)
    name = rest.pop("op", None)
    shape = _SHAPES.get(name) if isinstance(name, str) else None
    if shape is None or not shape.needs <= rest.keys():
        return f"{_word(name)}({_named(rest)})"
    known = {member: rest.pop(member, None) for member in (*shape.needs, *shape.may)}
    text = shape.write(known)
    # A member that this notation does not know is shown behind, not swallowed.
    return f"{text}  # {_named(rest)}" if rest else text


@dataclass(frozen=True, slots=True)
class _Shape:
    needs: frozenset[str]
    may: frozenset[str]
    write: Callable[[Mapping[str, JSON]], str]


def _shape(write: Callable[[Mapping[str, JSON]], str], *needs: str, may: tuple[str, ...] = ()) -> _Shape:
    return _Shape(frozenset(needs), frozenset(may), write)


def _word(value: JSON) -> str:
    return visible(value, _NAME_LIMIT) if isinstance(value, str) else text_of(value, _NAME_LIMIT)


def _payload(value: JSON) -> str:
    return text_of(value, PAYLOAD_LIMIT)


def _named(members: Mapping[str, JSON]) -> str:
    return ", ".join(f"{_word(member)}={_payload(value)}" for member, value in members.items())


def _duration(ms: JSON) -> str:
    return f"{ms:+,} ms" if isinstance(ms, int) else _payload(ms)


def _aborted(members: Mapping[str, JSON]) -> str:
    inner = members["operation"]
    call = describe(inner) if isinstance(inner, Mapping) else _payload(inner)
    return f"abort({call}, after={_payload(members['after'] or 0)})"


_SHAPES: Final[Mapping[str, _Shape]] = {
    "create": _shape(lambda m: f"{_word(m['as'])} = create()", "as"),
    "get": _shape(lambda m: f"get({_word(m['task'])})", "task"),
    "set_input": _shape(lambda m: f"set_input({_word(m['task'])}, {_payload(m['requests'])})", "task", "requests"),
    "resolve": _shape(lambda m: f"resolve({_word(m['task'])}, {_payload(m['responses'])})", "task", "responses"),
    "cancel": _shape(lambda m: f"cancel({_word(m['task'])})", "task"),
    "complete": _shape(lambda m: f"complete({_word(m['task'])}, {_payload(m['result'])})", "task", "result"),
    "fail": _shape(lambda m: f"fail({_word(m['task'])}, {_payload(m['error'])})", "task", "error"),
    "advance_clock": _shape(lambda m: f"advance_clock({_duration(m['ms'])})", "ms"),
    "subscribe": _shape(
        lambda m: f"{_word(m['as'])} = subscribe({'' if m['kind'] in (None, 'plain') else _word(m['kind'])})",
        "as",
        may=("kind",),
    ),
    "unsubscribe": _shape(lambda m: f"unsubscribe({_word(m['listener'])})", "listener"),
    "abort": _shape(_aborted, "operation", may=("after",)),
    "probe": _shape(lambda m: f"probe({_word(m['name'])})", "name"),
    "tamper": _shape(lambda m: f"tamper({_word(m['task'])}, {_word(m['what'] or 'returned')})", "task", may=("what",)),
}
