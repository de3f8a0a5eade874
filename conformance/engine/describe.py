"""Expected and actual states in words, for findings."""

from __future__ import annotations

from typing import Any

from mcptasks.conformance.engine.tasks import TrackedTask
from mcptasks.conformance.model.automaton import Node
from mcptasks.conformance.model.states import ABSENT, COMPLETED, FAILED, GONE, TaskState
from mcptasks.conformance.targets.records import MISSING, Record
from mcptasks.strategies.json_values import text_of

__all__ = ["expected_state", "expected_states", "seen_record"]


def expected_state(task: TrackedTask, state: TaskState) -> str:
    """What a read of ``task`` in ``state`` must show."""
    if state.status in (ABSENT, GONE):
        return "None"
    parts = [f"status {state.status}"]
    if state.status in (COMPLETED, FAILED) and state.payload >= 0:
        member = "result" if state.status == COMPLETED else "error"
        parts.append(f"{member} {text_of(task.bodies[state.payload].value, 120)}")
    if state.pending:
        pending = {task.keys[key]: task.bodies[body].value for key, body in sorted(state.pending)}
        parts.append(f"input_requests {text_of(pending, 160)}")
    elif state.status not in (COMPLETED, FAILED):
        parts.append("nothing pending")
    text = "a record with " + ", ".join(parts)
    return f"{text}, or None (its ttl has elapsed)" if state.expired else text


def expected_states(task: TrackedTask, node: Node) -> str:
    """What a read of ``task`` may show, one alternative for each possible state."""
    return "; or ".join(dict.fromkeys(expected_state(task, state) for state, _ in node.states[:4]))


def seen_record(record: Record | None, status: Any = None) -> str:
    """What a read showed."""
    if record is None:
        return "None"
    parts = [f"status {status if isinstance(status, str) else text_of(record.status, 40)}"]
    for member in ("result", "error", "input_requests"):
        value = getattr(record, member)
        if (
            value is not None
            and value is not MISSING
            and not (member == "input_requests" and type(value) is dict and not value)
        ):
            parts.append(f"{member} {text_of(value, 160)}")
    if len(parts) == 1:
        parts.append("no result, no error, nothing pending")
    return "a record with " + ", ".join(parts)
