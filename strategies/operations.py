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

The operations here drive both a 2026-07-28 task store and, through the control tools, a server.  Those of
:mod:`.operations_2025` drive a store of that revision; their JSON forms are read and written here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, get_args

from mcptasks.strategies import operations_2025
from mcptasks.strategies.json_values import JSON, Payload
from mcptasks.strategies.operation_members import Check, OperationError, body, entries, number, one_of, text
from mcptasks.strategies.operations_2025 import (
    CreateTask,
    GetResult,
    GetTask,
    StoreResult,
    UpdateStatus,
)

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
    | operations_2025.Operation2025
)
"""Of a store or server of revision 2026-07-28, or of a store of revision 2025-11-25: never both in one sequence."""

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
    **operations_2025.NAMES,
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
    later = type(operation) in operations_2025.NAMES
    defaults = _DEFAULTS.get(type(operation), {})
    out: dict[str, JSON] = {"op": _NAMES[type(operation)]}
    for field in fields(operation):
        value = getattr(operation, field.name)
        member = field.name.rstrip("_")
        if member in defaults and defaults[member] == value:
            continue
        if isinstance(value, Payload):
            value = value.value
        elif isinstance(value, tuple):
            value = [to_json(item) for item in value] if later else {key: item.value for key, item in value}
        elif type(value) in _NAMES:
            value = to_json(value)
        out[member] = value
    return out


def _defaults(kind: type[Any]) -> dict[str, Any]:
    """The members of an operation of 2025-11-25 that are left out where they have their default."""
    plain = kind()
    return {field.name: getattr(plain, field.name) for field in fields(kind) if field.name in operations_2025.OPTIONAL}


_DEFAULTS: Final[dict[Any, dict[str, Any]]] = {kind: _defaults(kind) for kind in operations_2025.NAMES}


def _inner(value: JSON) -> Operation:
    operation = from_json(value)
    if not isinstance(operation, (Get, SetInput, Resolve, Cancel, Complete, Fail)):
        raise OperationError("member 'operation' must be a call on one task")
    return operation


def _during(value: JSON) -> tuple[Operation, ...]:
    if not isinstance(value, list):
        raise OperationError("member 'during' must be an array")
    made = tuple(from_json(item) for item in value)
    if not all(isinstance(item, (CreateTask, UpdateStatus, StoreResult, AdvanceClock)) for item in made):
        raise OperationError("member 'during' may hold create_task, update_status, store_result and advance_clock")
    return made


_MEMBERS: Final[dict[str, Check]] = {
    "as": text("as"),
    "task": text("task"),
    "name": text("name"),
    "listener": text("listener"),
    "requests": entries("requests"),
    "responses": entries("responses"),
    "result": body("result"),
    "error": body("error"),
    "ms": number("ms"),
    "after": number("after", 0),
    "kind": one_of("kind", get_args(ListenerKind)),
    "what": one_of("what", get_args(TamperWhat)),
    "operation": _inner,
}
_OPTIONAL: Final = frozenset({"kind", "after", "what"})
_MEMBERS_2025: Final[dict[str, Check]] = {**operations_2025.MEMBERS, "during": _during}


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
    later = kind in operations_2025.NAMES
    checks, optional = (_MEMBERS_2025, operations_2025.OPTIONAL) if later else (_MEMBERS, _OPTIONAL)
    members = {field.name.rstrip("_"): field.name for field in fields(kind)}
    arguments: dict[str, Any] = {}
    for member, content in value.items():
        if member == "op":
            continue
        if member not in members:
            raise OperationError(f"operation '{name}' has no member '{member}'")
        try:
            arguments[members[member]] = checks[member](content)
        except OperationError as error:
            raise OperationError(f"operation '{name}': {error}") from error
    for member, attribute in members.items():
        if attribute not in arguments and member not in optional:
            raise OperationError(f"operation '{name}' lacks member '{member}'")
    if kind is StoreResult and arguments["status"] not in get_args(operations_2025.FinalStatus):
        raise OperationError(f"operation '{name}': member 'status' must be completed or failed")
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
    return sum(not isinstance(operation, (Get, AdvanceClock, GetTask, GetResult)) for operation in operations)
