"""Who is to blame: the one requirement that a deviation breaches.

A *cause* is what happened to a task since it was last read and found right: a row of the table
(:func:`.store_2026.classify`) on a state, or one of the pseudo-causes ``create``, ``reread``
(nothing happened), ``other`` (only other tasks were touched), ``tamper``, ``clock``, ``abort``.  An *aspect* is
what turned out wrong.  Cause and aspect give the requirement; there is no catch-all.

Aspects of a read: ``life`` (not there), ``appears`` (there, and must not be), ``status``, ``stray``
(a result or error that the status does not allow), ``payload``, ``pending-missing``,
``pending-extra``, ``pending-body``.  Aspect of an answer: ``return``.
"""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.model.states import ABSENT, CANCELLED, GONE, INPUT_REQUIRED, TERMINAL, WORKING

__all__ = ["READ_ASPECTS", "blame"]

READ_ASPECTS: Final = (
    "life",
    "status",
    "stray",
    "payload",
    "pending-missing",
    "pending-extra",
    "pending-body",
)

_PSEUDO: Final[dict[str, dict[str, str]]] = {
    "create": {
        "life": "store.create.durable",
        "status": "store.get.current",
        "stray": "store.misc.payload-status",
        "payload": "store.misc.payload-status",
        "": "store.misc.status-pending",
    },
    "reread": {"": "store.get.pure"},
    "other": {"": "store.create.independent"},
    "tamper": {"": "store.get.snapshot"},
    "clock": {"life": "store.ttl.no-early", "": "store.get.current"},
    "abort": {"": "store.misc.call-cancellation"},
}


def _set(row: str, state: str, aspect: str) -> str:
    if state in TERMINAL:
        return "store.input.terminal-noop"
    if aspect == "return":
        return "store.input.transition"
    if aspect == "status":
        return "store.misc.status-pending" if row == "set-empty" else "store.input.transition"
    if aspect in ("stray", "payload"):
        return "store.misc.payload-status"
    if aspect == "pending-body":
        return "store.input.body-verbatim"
    return "store.input.merge" if state == INPUT_REQUIRED or row == "set-empty" else "store.input.body-verbatim"


_RESOLVE_ROWS: Final = {
    "resolve-all": "store.resolve.removes",
    "resolve-some": "store.resolve.removes",
    # Without the keys that match nothing the call is in another row: what goes wrong here is their doing.
    "resolve-mixed": "store.resolve.unknown-key",
    "resolve-mixed-answered": "store.resolve.answered-key",
    "resolve-empty": "store.resolve.removes",
    "resolve-unknown": "store.resolve.unknown-key",
    "resolve-answered": "store.resolve.answered-key",
}


def _resolve(row: str, state: str, aspect: str, expected: str) -> str:
    if state in TERMINAL:
        return "store.resolve.terminal-inert"
    if aspect == "return" and row != "resolve-raising":
        return _RESOLVE_ROWS[row]
    if aspect in ("stray", "payload"):
        return "store.misc.payload-status"
    if aspect == "pending-body":
        return "store.input.body-verbatim"
    if row == "resolve-raising":
        # Whether the listener's exception comes through is open; that the state is updated is not.
        return "store.event.handler-error"
    if aspect == "status":
        if row == "resolve-empty":
            return "store.misc.status-pending"
        if row in ("resolve-all", "resolve-some"):
            return "store.resolve.working" if expected == WORKING else "store.resolve.stays"
    if state == WORKING and row == "resolve-unknown" and aspect != "return":
        return "store.resolve.working-nothing-pending"
    return _RESOLVE_ROWS[row]


def _end(row: str, state: str, aspect: str) -> str:
    area = {"complete": "completed", "fail": "failed", "cancel": "cancel"}[row]
    if state in TERMINAL:
        if area == "cancel":
            return "store.cancel.false-terminal"
        if state == CANCELLED and aspect == "stray":
            return "store.cancel.no-late-payload"
        return f"store.{area}.terminal-noop"
    if aspect == "stray":
        return "store.misc.payload-status"
    if area == "cancel":
        return "store.cancel.true"
    return f"store.{area}.payload-verbatim" if aspect == "payload" else f"store.{area}.transition"


def blame(cause: str, state: str, aspect: str, expected: str = "") -> str:
    """The requirement that a deviation breaches.

    Args:
        cause: row of the table or pseudo-cause.
        state: status of the task before it (for pseudo-causes: the status it should have).
        aspect: what turned out wrong.
        expected: the status that the task should have now.
    """
    if aspect == "appears":
        if state == GONE:
            return "store.ttl.gone-stays-gone"
        return (
            "store.get.absent-null" if cause in ("reread", "other", "clock", "tamper") else "store.absent.stays-absent"
        )
    if cause in _PSEUDO:
        rules = _PSEUDO[cause]
        return rules.get(aspect, rules[""])
    if aspect == "life":
        # Whatever was done to it, a task stays readable until its ttl has passed.
        return "store.ttl.no-early"
    if state in (ABSENT, GONE):
        return "store.cancel.false-absent" if cause == "cancel" else "store.absent.stays-absent"
    if cause.startswith("set-"):
        return _set(cause, state, aspect)
    if cause.startswith("resolve-"):
        return _resolve(cause, state, aspect, expected)
    return _end(cause, state, aspect)
