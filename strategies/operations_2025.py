"""Operations on a task store of revision 2025-11-25, as plain frozen data.

They go to JSON and back by the functions of :mod:`.operations`, which knows the operations of all
revisions: their names differ, so that a replay file says by itself what it drives.  Clock moves,
unsubscribing and tampering are the same in both revisions and stand there.

A *session* is an opaque string that the sequence chooses.  A call on a task uses the session of the
task's creation unless it says another one: ``session`` is absent in JSON (:data:`OWN`) for the task's own,
``null`` for none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from mcptasks.strategies.json_values import JSON, Payload
from mcptasks.strategies.operation_members import Check, OperationError, body, one_of, text

if TYPE_CHECKING:
    from mcptasks.strategies.operations import Operation

__all__ = [
    "MEMBERS",
    "NAMES",
    "OPTIONAL",
    "OPTION_NAMES",
    "OWN",
    "STATUSES",
    "AwaitResult",
    "BadCursor",
    "CreateTask",
    "FinalStatus",
    "ForeignCursor",
    "GetResult",
    "GetTask",
    "ListTasks",
    "OnStatus",
    "Operation2025",
    "StatusListenerKind",
    "StoreResult",
    "TaskStatus",
    "UpdateStatus",
]

OWN: Final = "@own"
"""Stands for the session with which the task was created."""

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]
FinalStatus = Literal["completed", "failed"]
StatusListenerKind = Literal["plain", "getting"]
STATUSES: Final = get_args(TaskStatus)
OPTION_NAMES: Final = ("ttl", "poll_interval", "meta")

_NO_OPTIONS: Final = Payload({})
_REQUEST: Final = Payload({"method": "tools/call", "params": {"name": "work", "arguments": {}}})


@dataclass(frozen=True, slots=True)
class CreateTask:
    """Create a task with ``options`` (``ttl`` in ms or null, ``poll_interval`` in ms, ``meta``) for a session."""

    as_: str
    options: Payload
    session: str | None
    request_id: str | int
    request: Payload

    def __init__(
        self,
        as_: str = "t1",
        options: JSON | Payload = _NO_OPTIONS,
        session: str | None = None,
        request_id: str | int = 1,
        request: JSON | Payload = _REQUEST,
    ) -> None:
        object.__setattr__(self, "as_", as_)
        object.__setattr__(self, "options", Payload.of(options))
        object.__setattr__(self, "session", session)
        object.__setattr__(self, "request_id", request_id)
        object.__setattr__(self, "request", Payload.of(request))


@dataclass(frozen=True, slots=True)
class GetTask:
    """Read a task."""

    task: str = "t1"
    session: str | None = OWN


@dataclass(frozen=True, slots=True)
class StoreResult:
    """End a task with a result: ``status`` is ``completed`` or ``failed``."""

    task: str
    status: FinalStatus
    result: Payload
    session: str | None

    def __init__(
        self,
        task: str = "t1",
        status: FinalStatus = "completed",
        result: JSON | Payload = True,
        session: str | None = OWN,
    ) -> None:
        object.__setattr__(self, "task", task)
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "result", Payload.of(result))
        object.__setattr__(self, "session", session)


@dataclass(frozen=True, slots=True)
class GetResult:
    """Read a task's result."""

    task: str = "t1"
    session: str | None = OWN


@dataclass(frozen=True, slots=True)
class UpdateStatus:
    """Set a task's status, with a message or none."""

    task: str = "t1"
    status: TaskStatus = "input_required"
    message: str | None = None
    session: str | None = OWN


@dataclass(frozen=True, slots=True)
class ListTasks:
    """Walk the whole list of a session, page by page.

    ``during`` are operations that run one by one before each further page; those left over run behind
    the last one, so that each runs once whatever the size of a page is.
    """

    session: str | None = None
    during: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class BadCursor:
    """Ask for the page at a cursor that the store never gave."""

    cursor: str = "no-such-cursor"
    session: str | None = None


@dataclass(frozen=True, slots=True)
class ForeignCursor:
    """Ask, as ``session``, for the page behind the first one of ``owner``."""

    session: str | None = None
    owner: str | None = "A"


@dataclass(frozen=True, slots=True)
class AwaitResult:
    """Begin to wait for a task's result; the waiter is judged when the task has ended, at the latest at the end."""

    task: str = "t1"
    session: str | None = OWN


@dataclass(frozen=True, slots=True)
class OnStatus:
    """Add a status listener named ``as_``: ``plain`` records, ``getting`` records and reads the task."""

    as_: str = "l1"
    kind: StatusListenerKind = "plain"


Operation2025 = (
    CreateTask
    | GetTask
    | StoreResult
    | GetResult
    | UpdateStatus
    | ListTasks
    | BadCursor
    | ForeignCursor
    | AwaitResult
    | OnStatus
)

NAMES: Final[dict[type[Any], str]] = {
    CreateTask: "create_task",
    GetTask: "get_task",
    StoreResult: "store_result",
    GetResult: "get_result",
    UpdateStatus: "update_status",
    ListTasks: "list_tasks",
    BadCursor: "list_bad_cursor",
    ForeignCursor: "list_foreign_cursor",
    AwaitResult: "wait_result",
    OnStatus: "on_status",
}


def _session(member: str) -> Check:
    def check(value: JSON) -> JSON:
        if value is not None and (not isinstance(value, str) or not value):
            raise OperationError(f"member '{member}' must be a non-empty string or null")
        return value

    return check


def _options(value: JSON) -> Payload:
    if not isinstance(value, dict):
        raise OperationError("member 'options' must be an object")
    for name, item in value.items():
        if name not in OPTION_NAMES:
            raise OperationError(f"member 'options' has no '{name}'; known are {', '.join(OPTION_NAMES)}")
        whole = isinstance(item, int) and not isinstance(item, bool)
        if name != "meta" and not whole and (item is not None or name != "ttl"):
            raise OperationError(f"member 'options.{name}' must be an integer" + (" or null" if name == "ttl" else ""))
    made: Payload = body("options")(value)
    return made


def _request_id(value: JSON) -> JSON:
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise OperationError("member 'request_id' must be a string or an integer")
    return value


def _message(value: JSON) -> JSON:
    if value is not None and not isinstance(value, str):
        raise OperationError("member 'message' must be a string or null")
    return value


MEMBERS: Final[dict[str, Check]] = {
    "as": text("as"),
    "task": text("task"),
    "options": _options,
    "session": _session("session"),
    "owner": _session("owner"),
    "request_id": _request_id,
    "request": body("request"),
    "result": body("result"),
    "message": _message,
    "cursor": text("cursor"),
    "status": one_of("status", STATUSES),
    "kind": one_of("kind", get_args(StatusListenerKind)),
}
"""Checks of the members; ``during``, which holds operations, is checked where all of these are known."""

OPTIONAL: Final = frozenset({"options", "session", "request_id", "request", "message", "kind", "during"})
"""Members that may be missing; they are left out where they have their default."""
