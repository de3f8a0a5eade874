"""Operations: what a test does to a target, as plain frozen data.

A sequence of operations is the unit that everything else works on: drivers make sequences, the
interpreter runs them, the model judges them, the shrinker shortens them, a replay file stores them.
Every operation goes to JSON and back (:func:`to_json`, :func:`from_json`); names and members of
that form are part of the external contract, since a replay file outlives versions.

Tasks, listeners and keys are named by the sequence, never by what a target returned: ``t1`` is
"the task that the create with ``as: t1`` made".  A task name that no create has bound stands for an
id that never existed.  A suffix derives an id from a bound one: ``t1~prefix`` is the id of ``t1``
without its last character, ``t1~suffix`` the id with one more, ``t1~case`` the id with its letters'
case swapped, ``t1~space`` the id with a blank behind it.

The operations here drive both a 2026-07-28 task store and, through the control tools, a server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, get_args

from mcptasks.strategies.json_values import JSON, Payload

__all__ = [
    "ID_VARIANTS",
    "Abort",
    "AdvanceClock",
    "Cancel",
    "Complete",
    "Create",
    "Fail",
    "Get",
    "ListenerKind",
    "Operation",
    "OperationError",
    "Probe",
    "Resolve",
    "SetInput",
    "Subscribe",
    "Tamper",
    "TamperWhat",
    "Unsubscribe",
    "base_task",
    "from_json",
    "name_of",
    "sequence_from_json",
    "sequence_to_json",
    "store_calls",
    "to_json",
]

ListenerKind = Literal["plain", "raising", "getting"]
TamperWhat = Literal["returned", "given"]
ID_VARIANTS: Final = ("prefix", "suffix", "case", "space")

Entries = tuple[tuple[str, Payload], ...]


class OperationError(ValueError):
    """A JSON value is not an operation; the message says which member is wrong."""


def _entries(value: Mapping[str, JSON | Payload] | Iterable[tuple[str, JSON | Payload]]) -> Entries:
    pairs = value.items() if isinstance(value, Mapping) else value
    return tuple((key, Payload.of(body)) for key, body in pairs)


@dataclass(frozen=True, slots=True)
class Create:
    """Create a task and bind it to the name ``as_`` (``as`` in JSON)."""

    as_: str = "t1"


@dataclass(frozen=True, slots=True)
class Get:
    """Read a task."""

    task: str = "t1"


@dataclass(frozen=True, slots=True)
class SetInput:
    """Ask for input: ``requests`` maps keys to request bodies."""

    task: str
    requests: Entries

    def __init__(
        self, task: str, requests: Mapping[str, JSON | Payload] | Iterable[tuple[str, JSON | Payload]]
    ) -> None:
        object.__setattr__(self, "task", task)
        object.__setattr__(self, "requests", _entries(requests))


@dataclass(frozen=True, slots=True)
class Resolve:
    """Answer input requests: ``responses`` maps keys to responses."""

    task: str
    responses: Entries

    def __init__(
        self, task: str, responses: Mapping[str, JSON | Payload] | Iterable[tuple[str, JSON | Payload]]
    ) -> None:
        object.__setattr__(self, "task", task)
        object.__setattr__(self, "responses", _entries(responses))


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel a task."""

    task: str = "t1"


@dataclass(frozen=True, slots=True)
class Complete:
    """Complete a task with ``result``."""

    task: str
    result: Payload

    def __init__(self, task: str = "t1", result: JSON | Payload = True) -> None:
        object.__setattr__(self, "task", task)
        object.__setattr__(self, "result", Payload.of(result))


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail a task with ``error``."""

    task: str
    error: Payload

    def __init__(self, task: str = "t1", error: JSON | Payload = True) -> None:
        object.__setattr__(self, "task", task)
        object.__setattr__(self, "error", Payload.of(error))


@dataclass(frozen=True, slots=True)
class AdvanceClock:
    """Move the injected clock by ``ms`` milliseconds; negative sets it back."""

    ms: int


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Add a listener named ``as_``: ``plain`` records, ``raising`` records and raises, ``getting`` records and reads the task."""

    as_: str = "l1"
    kind: ListenerKind = "plain"


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Call what subscribing returned for the listener."""

    listener: str = "l1"


@dataclass(frozen=True, slots=True)
class Abort:
    """Start ``operation`` and cancel the call in flight after ``after`` turns of the event loop.

    A call that is over by then, or is plain ``def``, counts as an ordinary operation.
    """

    operation: SetInput | Resolve | Cancel | Complete | Fail | Get
    after: int = 0


@dataclass(frozen=True, slots=True)
class Tamper:
    """Mutate the record that a get returns now (``returned``) or the argument last given for the task (``given``).

    The task is read first, so that what differs afterwards is the mutation's doing.
    """

    task: str = "t1"
    what: TamperWhat = "returned"


@dataclass(frozen=True, slots=True)
class Probe:
    """Run the check of that name on a server; it is a whole sequence, and to a store it means nothing."""

    name: str


Operation = (
    Create
    | Get
    | SetInput
    | Resolve
    | Cancel
    | Complete
    | Fail
    | AdvanceClock
    | Subscribe
    | Unsubscribe
    | Abort
    | Tamper
    | Probe
)

_NAMES: Final[dict[type[Any], str]] = {
    Create: "create",
    Get: "get",
    SetInput: "set_input",
    Resolve: "resolve",
    Cancel: "cancel",
    Complete: "complete",
    Fail: "fail",
    AdvanceClock: "advance_clock",
    Subscribe: "subscribe",
    Unsubscribe: "unsubscribe",
    Abort: "abort",
    Tamper: "tamper",
    Probe: "probe",
}
_TYPES: Final[dict[str, type[Any]]] = {name: kind for kind, name in _NAMES.items()}


def name_of(operation: Operation) -> str:
    """The operation's name in JSON, such as ``set_input``."""
    return _NAMES[type(operation)]


def base_task(task: str) -> str:
    """The name of the task from which an id variant is derived: ``t1`` for ``t1~case`` and for ``t1``."""
    return task.partition("~")[0]


def to_json(operation: Operation) -> dict[str, JSON]:
    """The operation as a JSON object with the member ``op``."""
    out: dict[str, JSON] = {"op": _NAMES[type(operation)]}
    for field in fields(operation):
        value = getattr(operation, field.name)
        if isinstance(value, Payload):
            value = value.value
        elif isinstance(value, tuple):
            value = {key: body.value for key, body in value}
        elif type(value) in _NAMES:
            value = to_json(value)
        out[field.name.rstrip("_")] = value
    return out


def _text(member: str) -> Callable[[JSON], JSON]:
    def check(value: JSON) -> JSON:
        if not isinstance(value, str) or not value:
            raise OperationError(f"member '{member}' must be a non-empty string")
        return value

    return check


def _number(member: str, least: int | None = None) -> Callable[[JSON], JSON]:
    def check(value: JSON) -> JSON:
        if not isinstance(value, int) or isinstance(value, bool) or (least is not None and value < least):
            raise OperationError(
                f"member '{member}' must be an integer" + ("" if least is None else f" of at least {least}")
            )
        return value

    return check


def _one_of(member: str, allowed: Sequence[str]) -> Callable[[JSON], JSON]:
    def check(value: JSON) -> JSON:
        if value not in allowed:
            raise OperationError(f"member '{member}' must be one of {', '.join(allowed)}")
        return value

    return check


def _body(member: str) -> Callable[[JSON], JSON]:
    def check(value: JSON) -> JSON:
        try:
            return Payload(value)
        except ValueError as error:
            raise OperationError(f"member '{member}' {error}") from error

    return check


def _map(member: str) -> Callable[[JSON], JSON]:
    def check(value: JSON) -> JSON:
        if not isinstance(value, dict):
            raise OperationError(f"member '{member}' must be an object")
        return {key: _body(f"{member}.{key}")(body) for key, body in value.items()}

    return check


def _inner(value: JSON) -> Operation:
    operation = from_json(value)
    if not isinstance(operation, (Get, SetInput, Resolve, Cancel, Complete, Fail)):
        raise OperationError("member 'operation' must be a call on one task")
    return operation


_MEMBERS: Final[dict[str, Callable[[JSON], Any]]] = {
    "as": _text("as"),
    "task": _text("task"),
    "name": _text("name"),
    "listener": _text("listener"),
    "requests": _map("requests"),
    "responses": _map("responses"),
    "result": _body("result"),
    "error": _body("error"),
    "ms": _number("ms"),
    "after": _number("after", 0),
    "kind": _one_of("kind", get_args(ListenerKind)),
    "what": _one_of("what", get_args(TamperWhat)),
    "operation": _inner,
}
_OPTIONAL: Final = frozenset({"kind", "after", "what"})


def from_json(value: JSON) -> Operation:
    """The operation that a JSON object stands for.

    Raises:
        OperationError: not an object, an unknown ``op``, or a member missing, unknown or of the wrong type.
    """
    if not isinstance(value, dict):
        raise OperationError("an operation must be a JSON object")
    name = value.get("op")
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise OperationError(f"unknown operation {name!r}; known are {', '.join(_TYPES)}")
    members = {field.name.rstrip("_"): field.name for field in fields(kind)}
    arguments: dict[str, Any] = {}
    for member, body in value.items():
        if member == "op":
            continue
        if member not in members:
            raise OperationError(f"operation '{name}' has no member '{member}'")
        try:
            arguments[members[member]] = _MEMBERS[member](body)
        except OperationError as error:
            raise OperationError(f"operation '{name}': {error}") from error
    for member, attribute in members.items():
        if attribute not in arguments and member not in _OPTIONAL:
            raise OperationError(f"operation '{name}' lacks member '{member}'")
    operation: Operation = kind(**arguments)
    return operation


def sequence_to_json(operations: Iterable[Operation]) -> list[JSON]:
    """A whole sequence as a JSON array."""
    return [to_json(operation) for operation in operations]


def sequence_from_json(value: JSON) -> tuple[Operation, ...]:
    """A whole sequence from a JSON array.

    Raises:
        OperationError: naming the index of the operation that is wrong.
    """
    if not isinstance(value, list):
        raise OperationError("a sequence must be a JSON array of operations")
    operations: list[Operation] = []
    for index, item in enumerate(value):
        try:
            operations.append(from_json(item))
        except OperationError as error:
            raise OperationError(f"operations[{index}]: {error}") from error
    return tuple(operations)


def store_calls(operations: Iterable[Operation]) -> int:
    """How many calls with an effect a sequence makes: reads and clock moves do not count."""
    return sum(not isinstance(operation, (Get, AdvanceClock)) for operation in operations)
