"""Who is to blame on the wire of 2025-11-25: the one catalogue entry that a deviation of a server breaches.

Causes are rows of :func:`.wire_2025.classify` and the pseudo-causes ``create``, ``reread`` (nothing happened in
between) and ``other`` (only other tasks were touched).  Aspects are those of :func:`.wire_2025.fit` and
:func:`.wire_2025.fit_result`, ``return`` for a wrong answer, ``hang`` for a ``tasks/result`` that is not answered.
"""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.model.states import (
    ABSENT,
    CANCELLED,
    GONE,
    INPUT_REQUIRED,
    LIVE,
    TERMINAL,
    WORKING,
    TaskState,
)
from mcptasks.conformance.model.wire_2025 import ENDED, RUNNING

__all__ = ["at_risk", "blame", "result_at_risk"]

_FROM: Final = {
    WORKING: "tasks25.life.from-working",
    RUNNING: "tasks25.life.from-working",
    INPUT_REQUIRED: "tasks25.life.from-input-required",
}
_RESULTS: Final = {
    "result-appears": "tasks25.result.unknown",
    "blocks": "tasks25.result.blocks",
    "hang": "tasks25.result.terminal",
    "refused": "tasks25.result.terminal",
    "payload": "tasks25.result.exact",
    "error": "tasks25.result.error-same",
    "error-text": "tasks25.result.error-same",
    "tool-error": "tasks25.result.iserror-success",
}


def _final(state: str) -> str:
    return "tasks25.life.cancelled-sticky" if state == CANCELLED else "tasks25.life.terminal"


def _status(row: str, state: str, expected: str) -> str:
    if row == "cancel" and state in (*LIVE, RUNNING):
        return "tasks25.cancel.transition-first"
    if state in TERMINAL or state == ENDED:
        return _final(state)
    if row not in ("cancel", "complete", "complete-error", "fail") and expected in TERMINAL:
        return _final(expected)
    return _FROM.get(state, "tasks25.life.from-working")


def _return(row: str, state: str) -> str:
    if row != "cancel":
        return _FROM.get(state, "tasks25.life.terminal")
    if state in (ABSENT, GONE):
        return "tasks25.cancel.unknown"
    return "tasks25.cancel.terminal-error" if state in TERMINAL or state == ENDED else "tasks25.cancel.transition-first"


def blame(cause: str, state: str, aspect: str, expected: str = "") -> str:
    """The requirement that a deviation breaches.

    Args:
        cause: row of the table or pseudo-cause.
        state: status of the task before it (for pseudo-causes: the status it should have).
        aspect: what turned out wrong.
        expected: the status that the task should have now.
    """
    if aspect in _RESULTS:
        return _RESULTS[aspect]
    if aspect == "return":
        return _return(cause, state)
    if aspect in ("life", "appears"):
        # -32602 is for tasks that do not exist, and for those alone.
        return "tasks25.get.unknown"
    if aspect == "left" or cause == "resolve-some":
        return "tasks25.life.input-leave"
    if aspect == "asked":
        return "tasks25.life.input-required"
    return _status(cause, state, expected or state)


def at_risk(row: str, before: str, now: TaskState) -> set[str]:
    """The requirements that a ``tasks/get`` after ``row`` on a task in ``before`` could have failed, the task being in
    ``now``."""
    status = now.status
    if status in (ABSENT, GONE):
        # That a cancelled task was deleted could have turned out otherwise, but not wrong.
        return {"tasks25.get.unknown"} if before in (ABSENT, GONE) else set()
    out: set[str] = set()
    if not now.expired:
        out.add("tasks25.get.unknown")
    if status not in (RUNNING, ENDED):
        out.add(_status(row, before, status))
    if status in TERMINAL and (before in TERMINAL or row in ("reread", "other")):
        out.add(_final(status))
    if now.pending:
        out.add(blame(row, before, "asked"))
    elif status in LIVE and (row.startswith("resolve-") or before == INPUT_REQUIRED):
        out.add("tasks25.life.input-leave")
    if row == "complete-error" and status in TERMINAL:
        out.add("tasks25.life.iserror-failed")
    return out


def result_at_risk(state: TaskState, *, error: bool = False, tool_error: bool = False) -> set[str]:
    """The requirements that a lawful answer to ``tasks/result`` could have failed, the task being in ``state``."""
    if state.status in (ABSENT, GONE):
        return {"tasks25.result.unknown"}
    if state.expired:
        return set()
    out = {"tasks25.result.terminal"}
    if state.status == CANCELLED or state.payload < 0:
        return out
    out.add("tasks25.result.error-same" if error else "tasks25.result.exact")
    return out | {"tasks25.result.iserror-success"} if tool_error else out
