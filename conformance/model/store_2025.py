"""What a 2025-11-25 store may do: the operation × state table as a pure function.

Calls are ``store_result`` (``entries`` holds the number of the final status, ``payload`` the result),
``update_status`` (the number of the new status, ``payload`` the message), ``expire``, and
``foreign_store_result`` and ``foreign_update_status``: the same with another session than the task's.
A status is numbered by its place in :data:`ORDER`.

A state that is ``expired`` may be gone at any time.  A cancelled task is one of these from the start:
whoever keeps tasks may delete a cancelled one at any time (MCP 2025-11-25, tasks, "Task Cancellation").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcptasks.conformance.model.attribution_2025 import blame
from mcptasks.conformance.model.automaton import Model
from mcptasks.conformance.model.states import (
    ABSENT,
    CANCELLED,
    COMPLETED,
    FAILED,
    GONE,
    INPUT_REQUIRED,
    LIVE,
    NO_PAYLOAD,
    WORKING,
    Call,
    Successor,
    TaskState,
)

__all__ = ["ANY_PAYLOAD", "ORDER", "STORE_2025", "STORE_2025_UNGUARDED", "classify", "successors", "unguarded"]

ORDER: Final = (WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED)

ANY_PAYLOAD: Final = -2
"""The result is whatever the store says: a terminal task was overwritten, and the server is to prevent that."""

_SHORT: Final = {"store_result": "result", "update_status": "status"}


def _status(call: Call) -> str:
    return ORDER[call.entries[0][0]]


def _moved(state: TaskState, call: Call) -> TaskState:
    """The task after a call that takes effect."""
    status = _status(call)
    if call.name == "store_result":
        return state._replace(status=status, payload=call.payload, message=NO_PAYLOAD)
    return state._replace(status=status, message=call.payload, expired=state.expired or status == CANCELLED)


def _live(state: TaskState, call: Call) -> list[Successor]:
    if call.name == "store_result" or _status(call) != state.status:
        return [Successor("ok", _moved(state, call))]
    same = "store25.status.same"
    out = [Successor("raise", state, (same, "raises"))]
    if call.payload in (NO_PAYLOAD, state.message):
        return [Successor("ok", state._replace(message=call.payload), (same, "accepted")), *out]
    return [
        Successor("ok", _moved(state, call), (same, "takes the new message")),
        Successor("ok", state, (same, "keeps the message")),
        *out,
    ]


def _terminal(state: TaskState, call: Call) -> list[Successor]:
    kept = state
    if call.name == "update_status":
        kept = state._replace(message=NO_PAYLOAD)  # that the status is final says nothing of its message
    out = [Successor("ok", kept), Successor("raise", state)]
    if call.name == "store_result" and state.payload == NO_PAYLOAD and _status(call) == state.status:
        out.append(Successor("ok", _moved(state, call)))  # the end was told first, its result second
    return out


def _absent(state: TaskState, call: Call) -> list[Successor]:
    requirement = f"store25.{_SHORT[call.name]}.absent"
    return [Successor("ok", state, (requirement, "ignored")), Successor("raise", state, (requirement, "raises"))]


def successors(state: TaskState, call: Call) -> list[Successor]:
    """Every lawful answer and next state of ``call`` on a task in ``state``; never empty."""
    return _successors(state, call, _terminal)


def unguarded(state: TaskState, call: Call) -> list[Successor]:
    """The same where the server above guards terminal tasks: then the store may overwrite one."""
    return _successors(state, call, _overwritten)


def _overwritten(state: TaskState, call: Call) -> list[Successor]:
    requirement = f"store25.{_SHORT[call.name]}.terminal"
    kept = [item._replace(choice=(requirement, "the store guards")) for item in _terminal(state, call)]
    label = (requirement, "left to the server: overwritten")
    written = (_moved(state, call)._replace(payload=ANY_PAYLOAD), state._replace(payload=ANY_PAYLOAD))
    return [*kept, *(Successor("ok", after, label) for after in dict.fromkeys(written))]


def _successors(
    state: TaskState, call: Call, terminal: Callable[[TaskState, Call], list[Successor]]
) -> list[Successor]:
    if call.name == "expire":
        return [Successor("ok", state if state.status in (ABSENT, GONE) else state._replace(expired=True))]
    if call.name.startswith("foreign_"):
        return [Successor("ok", state), Successor("raise", state)]
    if state.status in (ABSENT, GONE):
        return _absent(state, call)
    known = _live(state, call) if state.status in LIVE else terminal(state, call)
    if not state.expired:
        return known
    gone = TaskState(GONE)
    as_gone = [Successor(item.answer, after) for item in _absent(state, call) for after in (state, gone)]
    return known + as_gone


def classify(state: TaskState, call: Call) -> str:
    """Which row of the table a call is in: ``store-completed``, ``update-working``, ``foreign-store``, …"""
    if call.name == "expire":
        return "expire"
    if call.name.startswith("foreign_"):
        return "foreign-store" if call.name == "foreign_store_result" else "foreign-update"
    return f"{'store' if call.name == 'store_result' else 'update'}-{_status(call)}"


STORE_2025: Final = Model(successors, classify, blame)
STORE_2025_UNGUARDED: Final = Model(unguarded, classify, blame)

assert set(ORDER) == {*LIVE, COMPLETED, FAILED, CANCELLED}
