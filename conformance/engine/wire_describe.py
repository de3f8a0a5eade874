"""Expected and actual states of a task on the wire, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcptasks.conformance.engine.wire_tasks import WireTask
from mcptasks.conformance.model.automaton import Node
from mcptasks.conformance.model.states import ABSENT, CANCELLED, COMPLETED, FAILED, GONE, TaskState
from mcptasks.conformance.model.wire_2026 import CANCELLING, ENDED, RUNNING
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["ASPECTS", "ROWS", "expected_states", "shown", "word"]

ASPECTS: Final = {
    "life": "no task",
    "appears": "a task that must not be there",
    "status": "another status",
    "stray": "a payload that does not belong to the status",
    "payload": "another result or error than the task was given",
    "pending-missing": "less than everything that is asked",
    "pending-extra": "something that is not asked (any more)",
    "pending-body": "another request under a key than was asked",
    "late": "the effect has not come in time",
}

ROWS: Final = {
    "reread": "a second tasks/get",
    "other": "tasks/get, after operations on other tasks only,",
    "other-cancel": "tasks/get, after another task was cancelled,",
    "other-resolve": "tasks/get, after another task was answered,",
    "create": "tasks/get right after the task was created",
}

_METHODS: Final = {
    "set_input": "a step that asks for input",
    "complete": "a step that completes",
    "fail": "a step that fails",
    "resolve": "tasks/update",
    "cancel": "tasks/cancel",
}


def word(state: str) -> str:
    """A state in running text."""
    return {
        ABSENT: "unknown",
        GONE: "gone",
        CANCELLING: "being cancelled",
        ENDED: "ended",
        RUNNING: "running",
    }.get(state, state)


def method_of(operation: str) -> str:
    """What an operation is on the wire."""
    return _METHODS.get(operation, operation)


def expected_state(task: WireTask, state: TaskState) -> str:
    """What a ``tasks/get`` of ``task`` in ``state`` must show."""
    if state.status in (ABSENT, GONE):
        return "error -32602"
    if state.status == CANCELLING:
        return "any status: cancellation was acknowledged"
    if state.status in (ENDED, RUNNING):
        return "a terminal status" if state.status == ENDED else "any status"
    parts = [f"status {state.status}"]
    if state.status in (COMPLETED, FAILED) and 0 <= state.payload < len(task.bodies):
        member = "result" if state.status == COMPLETED else "error"
        parts.append(f"{member} {text_of(task.bodies[state.payload].value, 120)}")
    firm = [key for key, _ in sorted(state.pending) if key not in state.due]
    if firm:
        parts.append(f"inputRequests with exactly {', '.join(text_of(task.keys[key], 40) for key in firm)}")
    elif state.status not in (COMPLETED, FAILED, CANCELLED):
        parts.append("nothing asked")
    return ", ".join(parts)


def expected_states(task: WireTask, node: Node) -> str:
    """What a ``tasks/get`` may show, one alternative for each possible state."""
    return "; or ".join(dict.fromkeys(expected_state(task, state) for state, _ in node.states[:4]))


def shown(result: Mapping[str, JSON] | None, error: Mapping[str, JSON] | None = None) -> str:
    """What a ``tasks/get`` showed."""
    if result is None:
        return f"error {error['code']}: {text_of(error['message'], 80)}" if error else "no answer"
    parts = [f"status {text_of(result.get('status'), 40)}"]
    for member in ("result", "error", "inputRequests"):
        if result.get(member) is not None:
            parts.append(f"{member} {text_of(result[member], 160)}")
    return ", ".join(parts)
