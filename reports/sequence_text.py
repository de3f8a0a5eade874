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
    if "session" in operation and operation["session"] is None:
        known["session_is_null"] = True  # which is another session than none named
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


def _rest(members: Mapping[str, JSON], *names: str) -> str:
    """The members that are there, by name."""
    return _named({name: members[name] for name in names if members[name] is not None})


def _more(members: Mapping[str, JSON], name: str) -> str:
    return "" if members[name] is None else f", {_payload(members[name])}"


def _session(members: Mapping[str, JSON]) -> str:
    """The session of a call; of an absent one nothing, of one that is null that it is none."""
    session = members["session"]
    if members.get("session_is_null"):
        return ", session=null"
    return "" if session is None else f", session={_payload(session)}"


def _between(members: Mapping[str, JSON]) -> str:
    during = members["during"]
    if not isinstance(during, list) or not during:
        return ""
    told = "; ".join(describe(item) if isinstance(item, Mapping) else _payload(item) for item in during)
    comma = ", " if members["session"] is not None else ""
    return f"{comma}between pages: {told}"


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
    "create_task": _shape(
        lambda m: f"{_word(m['as'])} = create_task({_rest(m, 'options', 'session', 'request_id', 'request')})",
        "as",
        may=("options", "session", "request_id", "request"),
    ),
    "get_task": _shape(lambda m: f"get_task({_word(m['task'])}{_session(m)})", "task", may=("session",)),
    "get_result": _shape(lambda m: f"get_result({_word(m['task'])}{_session(m)})", "task", may=("session",)),
    "wait_result": _shape(lambda m: f"wait_result({_word(m['task'])}{_session(m)})", "task", may=("session",)),
    "store_result": _shape(
        lambda m: f"store_result({_word(m['task'])}, {_word(m['status'])}, {_payload(m['result'])}{_session(m)})",
        "task",
        "status",
        "result",
        may=("session",),
    ),
    "update_status": _shape(
        lambda m: f"update_status({_word(m['task'])}, {_word(m['status'])}{_more(m, 'message')}{_session(m)})",
        "task",
        "status",
        may=("message", "session"),
    ),
    "list_tasks": _shape(lambda m: f"list_tasks({_rest(m, 'session')}{_between(m)})", may=("session", "during")),
    "list_bad_cursor": _shape(
        lambda m: f"list_tasks(cursor={_payload(m['cursor'])}{_session(m)})", "cursor", may=("session",)
    ),
    "list_foreign_cursor": _shape(
        lambda m: f"list_tasks(cursor=next of session {_payload(m['owner'])}{_session(m)})",
        "owner",
        may=("session",),
    ),
    "on_status": _shape(
        lambda m: f"{_word(m['as'])} = on_status({'' if m['kind'] in (None, 'plain') else _word(m['kind'])})",
        "as",
        may=("kind",),
    ),
    "tamper": _shape(lambda m: f"tamper({_word(m['task'])}, {_word(m['what'] or 'returned')})", "task", may=("what",)),
}
