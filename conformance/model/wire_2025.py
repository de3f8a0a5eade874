"""What a 2025-11-25 server may do: the wire's table as pure functions (MCP 2025-11-25, basic/utilities/tasks).

The states are those of :mod:`.states`, and two more that only a server has: a task that runs by itself may move at any
time (``running``), and one whose cancellation was refused as that of a finished task has ended somehow (``ended``).

``tasks/get`` shows a status and no payload; payloads show in the answer to ``tasks/result`` alone, which is no step but
a read, too: see :func:`fit_result`.  Questions are requests of the server's.  Those asked are *pending*, those whose
answer was sent are *due* until a read shows that the task has gone on.
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
    Successor,
    TaskState,
)

__all__ = [
    "ENDED",
    "RUNNING",
    "UNKNOWN",
    "Answer25",
    "Fit",
    "classify",
    "decided",
    "fit",
    "fit_result",
    "successors",
]

ENDED: Final = "ended"
"""It has ended, nobody has seen how."""
RUNNING: Final = "running"
"""It moves by itself: only a terminal status stays."""
UNKNOWN: Final = -2
"""Number of a payload that was never seen."""

_STEPS: Final = frozenset({"set", "complete", "fail"})
_NOBODY: Final = frozenset({ABSENT, GONE})


# --- calls ---------------------------------------------------------------------------------------------


def _after(state: TaskState, pending: frozenset[tuple[int, int]]) -> TaskState:
    return state._replace(status=INPUT_REQUIRED if pending else WORKING, pending=pending)


def _ended(state: TaskState, status: str, payload: int = NO_PAYLOAD) -> TaskState:
    return TaskState(status, payload=payload, expired=state.expired)


def _live(state: TaskState, call: Call) -> list[Successor]:
    if call.name == "set":
        return [Successor("applied", _after(state, frozenset({**dict(state.pending), **dict(call.entries)}.items())))]
    if call.name == "resolve":
        keys = {key for key, _ in call.entries} & {key for key, _ in state.pending}
        return [Successor("ok", state._replace(due=state.due | keys))]
    if call.name == "cancel":
        return [Successor("cancelled", _ended(state, CANCELLED))]
    if call.name == "fail":
        return [Successor("applied", _ended(state, FAILED, call.payload))]
    completed = Successor("applied", _ended(state, COMPLETED, call.payload))
    if not call.entries:
        return [completed]
    # A tool's error: failed is what the text recommends, and completed is warned of when a read shows it.
    return [Successor("applied", _ended(state, FAILED, call.payload)), completed]


def _running(state: TaskState, call: Call) -> list[Successor]:
    if call.name == "cancel":
        # It may have ended just before: then it is refused as a finished task is.
        return [Successor("cancelled", _ended(state, CANCELLED)), Successor("invalid", _ended(state, ENDED, UNKNOWN))]
    return [Successor(answer, state) for answer in ("ok", "applied", "refused", "error")]


def successors(state: TaskState, call: Call) -> list[Successor]:
    """Every lawful answer and next state of ``call`` on a task in ``state``; never empty.

    Answers of ``tasks/cancel`` are ``cancelled`` (the task, in that status), ``other`` (the task, in another),
    ``invalid`` (-32602) and ``error`` (another code); those of a step are ``applied``, ``refused`` and ``error``; an
    answer to a question is ``ok``.  A step on a finished task may be told anything: what counts is that the task
    stays as it is.

    Args:
        call: ``set``, ``resolve``, ``complete`` (with entries: the result is a tool's error), ``fail``, ``cancel`` or
            ``expire``.
    """
    if call.name == "expire":
        return [Successor("ok", state if state.status in _NOBODY else state._replace(expired=True))]
    if state.status in LIVE:
        return _live(state, call)
    if state.status == RUNNING:
        return _running(state, call)
    if call.name == "cancel":
        # One that does not exist and one that has ended are refused alike.
        return [Successor("invalid", state)]
    return [Successor(answer, state) for answer in ("ok", "applied", "refused", "error")]


def decided(state: TaskState, call: Call) -> bool:
    """Whether there is an answer to ``call`` that would have been wrong."""
    return call.name == "cancel" or (call.name in _STEPS and state.status in LIVE)


def classify(state: TaskState, call: Call) -> str:
    """Which row of the table a call is in, such as ``resolve-some``: it decides who is to blame."""
    if call.name == "complete":
        return "complete-error" if call.entries else "complete"
    if call.name != "resolve":
        return call.name
    keys = {key for key, _ in call.entries} | state.due
    return "resolve-all" if {key for key, _ in state.pending} <= keys else "resolve-some"


# --- reads ---------------------------------------------------------------------------------------------


class Fit(NamedTuple):
    """What a state is after a read."""

    state: TaskState | None
    """``None`` if the read cannot be of it."""
    aspect: str = ""
    """What is wrong: with a state, lawful for a moment only, and a warning if it stays."""


def fit(state: TaskState, seen: str) -> Fit:
    """What ``state`` is after a ``tasks/get`` that showed ``seen``: a status, or ``absent`` for -32602."""
    if seen == ABSENT:
        if state.status == CANCELLED:
            return Fit(state._replace(status=GONE))  # cancelled tasks may be deleted at any time
        return Fit(state) if state.status in _NOBODY or state.expired else Fit(None, "life")
    if state.status in _NOBODY:
        return Fit(None, "appears")
    if state.status == RUNNING:
        return Fit(_ended(state, seen, UNKNOWN) if seen in TERMINAL else state)
    if state.status == ENDED:
        return Fit(state._replace(status=seen)) if seen in TERMINAL else Fit(None, "status")
    if state.status in TERMINAL:
        return Fit(state) if seen == state.status else Fit(None, "status")
    return _fit_live(state, seen)


def _fit_live(state: TaskState, seen: str) -> Fit:
    if seen in TERMINAL:
        return Fit(None, "status")
    firm = frozenset(pair for pair in state.pending if pair[0] not in state.due)
    now = _after(state, firm)._replace(due=frozenset())
    if seen == INPUT_REQUIRED:
        return Fit(now) if firm else Fit(state, "left")
    return Fit(state, "asked") if firm else Fit(now)


class Answer25(NamedTuple):
    """The answer to a ``tasks/result``."""

    kind: str
    """``result``, ``error`` or ``invalid`` (the error -32602)."""
    payload: int = UNKNOWN
    """Its number: that of what the task was given, if it is that."""
    code: int = 0
    """Of an error."""


def fit_result(
    state: TaskState, seen: Answer25, *, error: bool = False, tool_error: bool = False, code: int = 0
) -> Fit:
    """What ``state`` is after an answer to ``tasks/result``.

    Args:
        error: whether the task was ended with a JSON-RPC error.
        tool_error: whether it was ended with a result that says ``isError``.
        code: of that JSON-RPC error.
    """
    if state.status in _NOBODY:
        return Fit(state) if seen.kind == "invalid" else Fit(None, "result-appears")
    if state.expired or state.status == CANCELLED:
        return Fit(state)  # of a cancelled task any answer will do (AMB-08)
    if state.status in LIVE:
        return Fit(None, "blocks")
    if state.status == RUNNING:
        return Fit(_ended(state, ENDED, seen.payload))
    if state.payload < 0:
        return Fit(state._replace(payload=seen.payload))
    if seen.payload == state.payload:
        return Fit(state)
    if error:
        return Fit(state, "error-text") if seen.kind != "result" and seen.code == code else Fit(None, "error")
    if seen.kind == "result":
        return Fit(None, "payload")
    return Fit(None, "tool-error" if tool_error else "refused")
