"""Who is to blame in a 2025-11-25 store: the one requirement that a deviation breaches.

Causes are rows of :func:`.store_2025.classify` and the pseudo-causes ``create``, ``reread`` (nothing
happened in between), ``other`` (only other tasks were touched), ``tamper`` and ``clock``.  Aspects of a
read: ``life`` (not there), ``appears`` (there, and must not be), ``status``, ``message``, ``result`` (not
the one stored), ``stray`` (a result where none was stored).  Aspect of an answer: ``return``.
"""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.model.states import ABSENT, GONE, LIVE, TERMINAL, TaskState

__all__ = ["at_risk", "blame"]

_PSEUDO: Final[dict[str, dict[str, str]]] = {
    "create": {
        "life": "store25.create.session-bound",
        "stray": "store25.result.get-none",
        "result": "store25.result.store",
        "": "store25.create.working",
    },
    "reread": {"": "store25.get.pure"},
    "other": {"": "store25.misc.independent"},
    "tamper": {"": "store25.get.snapshot"},
    "clock": {"life": "store25.ttl.no-early", "": "store25.status.update"},
    "foreign-store": {"": "store25.result.session"},
    "foreign-update": {"": "store25.status.session"},
}
_QUIET: Final = ("create", "reread", "other", "clock", "tamper")


def blame(cause: str, state: str, aspect: str, expected: str = "") -> str:
    """The requirement that a deviation breaches.

    Args:
        cause: row of the table or pseudo-cause.
        state: status of the task before it (for pseudo-causes: the status it should have).
        aspect: what turned out wrong.
        expected: the status that the task should have now.
    """
    if aspect == "appears":
        if state == GONE or expected == GONE:
            return "store25.ttl.consistent"
        return "store25.get.absent" if cause in _QUIET else "store25.absent.stays-absent"
    if cause in _PSEUDO:
        rules = _PSEUDO[cause]
        return rules.get(aspect, rules[""])
    if aspect == "life":
        return "store25.ttl.no-early"
    if state in (ABSENT, GONE):
        return "store25.absent.stays-absent"
    if aspect == "stray":
        return "store25.result.terminal" if state in TERMINAL else "store25.result.get-none"
    if cause.startswith("store-"):
        return "store25.result.terminal" if state in TERMINAL else "store25.result.store"
    if aspect == "result":
        return "store25.result.terminal"
    return "store25.status.terminal" if state in TERMINAL else "store25.status.update"


def at_risk(row: str, before: str, now: TaskState) -> set[str]:
    """The requirements that a get after ``row`` on a task in ``before`` could have failed, the task being in ``now``."""
    if now.status in (ABSENT, GONE):
        return {blame(row, before, "appears", now.status)}
    aspects = ["status"]
    if not now.expired:
        aspects.append("life")
    if now.message >= 0:
        aspects.append("message")
    out = {blame(row, before, aspect, now.status) for aspect in aspects}
    if row == "create" and now.status in LIVE:
        out.add("store25.create.session-bound")
    return out
