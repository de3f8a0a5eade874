"""What a 2026-07-28 server may do: the wire's table as pure functions (tasks extension; MCP 2026-07-28).

The states are those of :mod:`.states`, and three more that only a server has: a task whose cancellation was
acknowledged may be anything for ever (``cancelling``), one that then refuses a step has ended somehow (``ended``),
and a task that runs by itself may move at any time (``running``).

Two things happen out of sight.  Answers that were acknowledged leave the pending set when the server gets to
it: until then they are *due*.  A part of the answers may be taken or not: that is two states.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mcptasks.conformance.model.states import (
    ABSENT,
    CANCELLED,
    COMPLETED,
    FAILED,
    GONE,
    INPUT_REQUIRED,
    LIVE,
    NO_PAYLOAD,
    TERMINAL,
    WORKING,
    Call,
    Pending,
    Successor,
    TaskState,
)

__all__ = [
    "CANCELLING",
    "ENDED",
    "RUNNING",
    "Seen",
    "classify",
    "decided",
    "ended",
    "fit",
    "successors",
]

CANCELLING: Final = "cancelling"
"""Cancellation was acknowledged: live, or ended in any way."""
ENDED: Final = "ended"
"""It has ended, nobody has seen how."""
RUNNING: Final = "running"
"""It moves by itself: only a terminal status stays."""

_STEPS: Final = frozenset({"set", "complete", "fail"})
_NAMES: Final = {"complete": COMPLETED, "fail": FAILED}


class Seen(NamedTuple):
    """What a ``tasks/get`` showed, numbered like the state."""

    status: str
    """A status, or ``absent`` for -32602."""
    shown: Pending = frozenset()
    """Keys and bodies of ``inputRequests``; a key that the task never had has a new number."""
    payload: int = NO_PAYLOAD
    """Number of the result or error that belongs to the status."""
    stray: bool = False
    """A payload of another status came along."""


# --- calls ---------------------------------------------------------------------------------------------


def _live_status(pending: Pending) -> str:
    return INPUT_REQUIRED if pending else WORKING


def _update(state: TaskState, call: Call) -> list[Successor]:
    keys = {key for key, _ in call.entries}
    held = {key for key, _ in state.pending}
    matched = (keys & held) - state.due
    unknown = keys - held - state.answered
    if not matched:
        out = [Successor("ack", state)]
        warn = "tasks.update.ignore-never-issued" if unknown or not keys else "tasks.update.ignore-answered"
        if not keys:
            out += [Successor("invalid", state), Successor("error", state)]  # an empty map is nobody's answer
        else:
            out += [Successor(answer, state, warn=warn) for answer in ("invalid", "error")]
        return out
    taken = state._replace(due=state.due | matched)
    if held <= keys | state.due:
        out = [Successor("ack", taken)]
        if keys - held:
            warn = "tasks.update.ignore-never-issued" if unknown else "tasks.update.ignore-answered"
            out += [Successor(answer, item, warn=warn) for answer in ("invalid", "error") for item in (state, taken)]
        return out
    choice = "tasks.update.partial"
    return [
        Successor("ack", taken, (choice, "takes a part of the answers")),
        Successor("ack", state, (choice, "takes no part of the answers")),
        Successor("invalid", state, (choice, "refuses a part of the answers")),
        Successor("error", state, (choice, "refuses a part of the answers")),
    ]


def _live(state: TaskState, call: Call) -> list[Successor]:
    if call.name == "resolve":
        return _update(state, call)
    if call.name == "cancel":
        return [Successor("ack", state._replace(status=CANCELLING, due=frozenset()))]
    if call.name == "set":
        pending = frozenset({**dict(state.pending), **dict(call.entries)}.items())
        return [Successor("applied", state._replace(status=_live_status(pending), pending=pending))]
    return [Successor("applied", ended(state, _NAMES[call.name], call.payload))]


def _cancelling(state: TaskState, call: Call) -> list[Successor]:
    if call.name == "resolve":
        return [Successor(answer, state) for answer in ("ack", "invalid", "error")]
    if call.name == "cancel":
        again = [Successor(answer, state, warn="tasks.cancel.idempotent") for answer in ("invalid", "error")]
        return [Successor("ack", state), *again]
    done = Successor("refused", state._replace(status=ENDED))
    # Work that cannot be stopped may go on, and a server that is about to end the task may not say so yet.
    unclear = Successor("error", state)
    if call.name == "set":
        pending = frozenset({**dict(state.pending), **dict(call.entries)}.items())
        return [Successor("applied", state._replace(pending=pending)), done, unclear]
    return [Successor("applied", ended(state, _NAMES[call.name], call.payload)), done, unclear]


def _terminal(state: TaskState, call: Call) -> list[Successor]:
    if call.name in _STEPS:
        return [Successor("refused", state), Successor("error", state)]
    if call.name == "cancel":
        return [
            Successor("ack", state),
            *(Successor(answer, state, warn="tasks.cancel.terminal-ack") for answer in ("invalid", "error")),
        ]
    return [Successor(answer, state) for answer in ("ack", "invalid", "error")]


def _absent(state: TaskState, call: Call) -> list[Successor]:
    if call.name in _STEPS:
        return [Successor(answer, state) for answer in ("refused", "error", "applied")]
    method = "update" if call.name == "resolve" else "cancel"
    return [
        Successor("invalid", state),
        Successor("error", state, warn=f"tasks.{method}.unknown-32602"),
        Successor("ack", state, warn=f"tasks.{method}.unknown-error"),
    ]


def _running(state: TaskState, call: Call) -> list[Successor]:
    if call.name == "resolve":
        return _update(state, call)
    if call.name == "cancel":
        # It may have ended in between, so an error is that of a finished task.
        return [
            Successor("ack", state),
            *(Successor(answer, state, warn="tasks.cancel.terminal-ack") for answer in ("invalid", "error")),
        ]
    return [Successor("applied", state)]


def successors(state: TaskState, call: Call) -> list[Successor]:
    """Every lawful answer and next state of ``call`` on a task in ``state``; never empty.

    Answers of ``tasks/update`` and ``tasks/cancel`` are ``ack``, ``invalid`` (-32602) and ``error`` (another
    code); those of a step are ``applied``, ``refused`` (``applied: false``) and ``error``.
    """
    if call.name == "expire":
        return [Successor("ok", state if state.status in (ABSENT, GONE) else state._replace(expired=True))]
    if state.status in (ABSENT, GONE):
        return _absent(state, call)
    if state.status in LIVE:
        return _live(state, call)
    if state.status == CANCELLING:
        return _cancelling(state, call)
    if state.status == RUNNING:
        return _running(state, call)
    return _terminal(state, call)


_ANSWERS: Final = {"step": {"applied", "refused", "error"}, "task": {"ack", "invalid", "error"}}


def decided(call: Call, allowed: set[str]) -> bool:
    """Whether there is an answer to ``call`` that would have been wrong."""
    return call.name != "expire" and bool(_ANSWERS["step" if call.name in _STEPS else "task"] - allowed)


def classify(state: TaskState, call: Call) -> str:
    """Which row of the table a call is in, such as ``resolve-some``: it decides who is to blame."""
    if call.name == "set":
        return "set-more" if state.pending else "set-new"
    if call.name != "resolve":
        return call.name
    keys = {key for key, _ in call.entries}
    held = {key for key, _ in state.pending}
    if not keys:
        return "resolve-empty"
    if not keys & held - state.due:
        return "resolve-answered" if keys <= state.answered | state.due else "resolve-unknown"
    if not held <= keys | state.due:
        return "resolve-some"
    return "resolve-mixed" if keys - held else "resolve-all"


# --- reads ---------------------------------------------------------------------------------------------


def ended(state: TaskState, status: str, payload: int = NO_PAYLOAD) -> TaskState:
    """The task after its end: what was pending is nobody's business any more."""
    return TaskState(status, answered=state.answered | state.due, payload=payload, expired=state.expired)


def fit(state: TaskState, seen: Seen) -> tuple[TaskState | None, str]:
    """What ``state`` is after a read that showed ``seen``; ``None`` and the aspect that is wrong if it cannot.

    A state that has answers due afterwards is lawful for a while only: the read has to be repeated.
    """
    if seen.status == ABSENT:
        return (state, "") if state.status in (ABSENT, GONE) or state.expired else (None, "life")
    if state.status in (ABSENT, GONE):
        return None, "appears"
    if state.expired and state.status in (LIVE | {CANCELLING, RUNNING}) and seen.status == FAILED:
        return ended(state, FAILED, seen.payload), ""  # after its ttl a live task may be marked failed
    if state.status == RUNNING:
        return _fit_running(state, seen)
    if state.status in (CANCELLING, ENDED):
        if seen.status in TERMINAL:
            return ended(state, seen.status, seen.payload), ""
        if state.status == ENDED:
            return None, "status"
        kept = state.pending & seen.shown
        return state._replace(pending=kept), ""
    if state.status in TERMINAL:
        if seen.status != state.status:
            return None, "status"
        if seen.payload != state.payload and state.status != CANCELLED:
            return None, "payload"
        return (None, "stray") if seen.stray else (state, "")
    return _fit_live(state, seen)


def _fit_live(state: TaskState, seen: Seen) -> tuple[TaskState | None, str]:
    if seen.status in TERMINAL:
        return None, "status"
    held, shown = dict(state.pending), dict(seen.shown)
    firm = held.keys() - state.due
    if seen.status == WORKING and firm:
        return None, "status"
    if seen.status == INPUT_REQUIRED and not held:
        return None, "status"
    missing = firm - shown.keys()
    if missing and seen.status == INPUT_REQUIRED:
        return None, "pending-missing"
    if shown.keys() - held.keys():
        return None, "pending-extra"
    if any(held[key] != body for key, body in shown.items()):
        return None, "pending-body"
    if seen.status == INPUT_REQUIRED and not shown:
        # The last answer was taken and the status not yet moved: lawful for a moment.
        return (state, "") if state.due else (None, "pending-missing")
    if seen.stray:
        return None, "stray"
    left = state.due.intersection(shown)
    return (
        state._replace(
            status=_live_status(seen.shown),
            pending=seen.shown,
            answered=state.answered | (state.due - left),
            due=left,
        ),
        "",
    )


def _fit_running(state: TaskState, seen: Seen) -> tuple[TaskState | None, str]:
    if seen.status in TERMINAL:
        return ended(state, seen.status, seen.payload), ""
    left = state.due.intersection(key for key, _ in seen.shown)
    return (
        state._replace(pending=seen.shown, answered=state.answered | (state.due - left), due=left),
        "",
    )
