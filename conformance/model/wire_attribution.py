"""Who is to blame on the wire: the one catalogue entry that a deviation of a server breaches.

Causes are rows of :func:`.wire_2026.classify` and the pseudo-causes ``create``, ``reread`` (nothing happened in
between), ``other``, ``other-cancel`` and ``other-resolve`` (only other tasks were touched).  Aspects are those of
:func:`.wire_2026.fit`, ``return`` for a wrong answer, and ``late`` for an effect that did not come in time.
"""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.model.states import (
    ABSENT,
    CANCELLED,
    COMPLETED,
    FAILED,
    GONE,
    INPUT_REQUIRED,
    TERMINAL,
    WORKING,
    TaskState,
)
from mcptasks.conformance.model.wire_2026 import CANCELLING, ENDED, RUNNING

__all__ = ["at_risk", "blame", "unreadable"]

_GET: Final = {
    WORKING: "tasks.status.get-working",
    INPUT_REQUIRED: "tasks.status.get-input-required",
    COMPLETED: "tasks.status.get-completed",
    FAILED: "tasks.status.get-failed",
    CANCELLED: "tasks.status.get-cancelled",
    ENDED: "tasks.status.terminal-final",
}
_READ: Final = {**_GET, CANCELLING: _GET[CANCELLED], RUNNING: _GET[WORKING]}
"""What a task in this state must be shown for, whatever it is by now."""
_PENDING_ASPECTS: Final = ("pending-missing", "pending-extra", "pending-body")
_PAYLOAD: Final = {COMPLETED: "tasks.status.result-exact", FAILED: "tasks.status.error-exact"}


def _terminal(row: str, aspect: str) -> str:
    if row == "cancel":
        return "tasks.cancel.terminal-inert"
    if row.startswith("resolve-"):
        return "tasks.update.terminal-inert"
    if row == "other-cancel":
        return "tasks.cancel.isolated"
    if aspect == "payload":
        return "tasks.status.terminal-payload-stable"
    return "tasks.status.payload-exclusive" if aspect == "stray" else "tasks.status.terminal-final"


def _return(row: str, state: str) -> str:
    if row == "cancel":
        return "tasks.cancel.ack"
    if row.startswith("resolve-"):
        return "tasks.update.ack"
    if state in TERMINAL or state == ENDED:
        return "tasks.status.terminal-final"
    return _GET[{"complete": COMPLETED, "fail": FAILED}.get(row, INPUT_REQUIRED)]


def _resolve(row: str, aspect: str, expected: str) -> str:
    if aspect == "pending-extra" and row in ("resolve-all", "resolve-some", "resolve-mixed"):
        return "tasks.update.effect"
    if aspect == "pending-body":
        return "tasks.update.no-two-meanings"
    if row == "resolve-some":
        return "tasks.update.partial-stays"
    if row in ("resolve-all", "resolve-mixed"):
        return "tasks.update.effect" if aspect == "status" else "tasks.status.input-requests-complete"
    if aspect == "pending-extra":
        return "tasks.update.ignore-answered" if row == "resolve-answered" else "tasks.update.ignore-never-issued"
    if expected == INPUT_REQUIRED:
        return "tasks.status.input-requests-complete"
    return _GET.get(expected, "tasks.status.get-working")


def blame(cause: str, state: str, aspect: str, expected: str = "") -> str:
    """The requirement that a deviation breaches.

    Args:
        cause: row of the table or pseudo-cause.
        state: status of the task before it (for pseudo-causes: the status it should have).
        aspect: what turned out wrong.
        expected: the status that the task should have now.
    """
    expected = expected or state
    if aspect == "appears":
        return "tasks.err.get-unknown"
    if aspect == "return":
        return _return(cause, state)
    if aspect == "late":
        return "tasks.update.effect"
    if aspect == "life":
        return "tasks.create.durable" if cause == "create" else "tasks.ttl.no-early-discard"
    if state in TERMINAL or state == ENDED:
        return _terminal(cause, aspect)
    if aspect == "stray":
        return "tasks.status.payload-exclusive"
    if cause == "other-cancel":
        return "tasks.cancel.isolated"
    if cause == "other-resolve" and aspect != "pending-body":
        return "tasks.update.right-question"
    if cause == "reread":
        return "tasks.update.no-two-meanings" if aspect == "pending-body" else "tasks.status.get-pure"
    if cause.startswith("resolve-"):
        return _resolve(cause, aspect, expected)
    if aspect == "payload":
        return _PAYLOAD.get(expected, "tasks.status.result-exact")
    if aspect in _PENDING_ASPECTS:
        return "tasks.update.no-two-meanings" if aspect == "pending-body" else "tasks.status.input-requests-complete"
    return _GET.get(expected, "tasks.status.terminal-final")


def unreadable(state: str) -> str:
    """The requirement that ``tasks/get`` breaches which answers an error other than -32602 for a task in that state."""
    return "tasks.err.get-unknown" if state in (ABSENT, GONE) else _READ[state]


def at_risk(row: str, before: str, now: TaskState) -> set[str]:
    """The requirements that a read after ``row`` on a task in ``before`` could have failed, the task being in ``now``."""
    status = now.status
    if status in (ABSENT, GONE):
        return {blame(row, before, "appears", status)}
    out = {blame(row, before, "life", status)}
    if now.expired or status in (CANCELLING, RUNNING):
        return set() if now.expired else out
    # A task that moves by itself, or is being cancelled, may end in any way: only its form is at risk.
    aspects = [] if before in (RUNNING, CANCELLING) else ["status"]
    if status == ENDED:
        return out | {blame(row, before, "status", status)}
    if now.payload >= 0 and before not in (RUNNING, CANCELLING):
        aspects.append("payload")
    if now.pending:
        aspects += ["pending-missing", "pending-body"]
    elif row.startswith("resolve-") and before not in TERMINAL:
        aspects.append("pending-extra")
    out |= {blame(row, before, aspect, status) for aspect in aspects}
    out.add("tasks.status.payload-exclusive")
    if status in TERMINAL:
        if before in TERMINAL:
            out.add("tasks.status.terminal-final")
        if status == COMPLETED and before == COMPLETED:
            out.add("tasks.status.terminal-payload-stable")
        if status == FAILED and before == FAILED:
            out.add("tasks.status.terminal-payload-stable")
    # That a task in this status is shown as such is what the read was for, whatever led there.
    if status in _GET:
        out.add(_GET[status])
    return out
