"""Expected and actual states of a 2025-11-25 task on the wire, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcptasks.conformance.engine.wire25_tasks import Task25
from mcptasks.conformance.model.automaton import Node
from mcptasks.conformance.model.states import ABSENT, CANCELLED, GONE, LIVE, TaskState
from mcptasks.conformance.model.wire_2025 import ENDED, RUNNING
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["ASPECTS", "ROWS", "expected_result", "expected_states", "method_of", "shown", "word"]

ASPECTS: Final = {
    "life": "no task",
    "appears": "a task that must not be there",
    "status": "another status",
    "asked": "a task that is not input_required though its question is open",
    "left": "a task that is input_required with no question open",
    "result-appears": "another answer than error -32602 for a task that does not exist",
    "blocks": "an answer although the task has not ended",
    "hang": "no answer although the task has ended",
    "refused": "an error although the task was given a result",
    "payload": "another result than the task was given",
    "error": "another error than the task was given",
    "error-text": "the error's code with another message or other data",
    "tool-error": "a JSON-RPC error for a tool's result that says isError",
}

ROWS: Final = {
    "reread": "a second tasks/get",
    "other": "tasks/get, after operations on other tasks only,",
    "create": "tasks/get right after the task was created",
}

_METHODS: Final = {
    "set_input": "a step that asks",
    "complete": "a step that completes",
    "fail": "a step that fails",
    "resolve": "the answer to a question",
    "cancel": "tasks/cancel",
    "get_result": "tasks/result",
    "wait_result": "tasks/result",
    "list_tasks": "tasks/list",
}


def word(state: str) -> str:
    """A state in running text."""
    return {ABSENT: "unknown", GONE: "gone", ENDED: "ended", RUNNING: "running"}.get(state, state)


def method_of(operation: str) -> str:
    """What an operation is on the wire."""
    return _METHODS.get(operation, operation)


def _expected_state(state: TaskState) -> str:
    if state.status in (ABSENT, GONE):
        return "error -32602"
    if state.status == CANCELLED:
        return "status cancelled, or error -32602 if it was deleted"
    if state.status in (ENDED, RUNNING):
        return "a terminal status" if state.status == ENDED else "any status"
    return f"status {state.status}"


def expected_states(node: Node) -> str:
    """What a ``tasks/get`` may show, one alternative for each possible state."""
    return "; or ".join(dict.fromkeys(_expected_state(state) for state, _ in node.states[:4]))


def expected_result(task: Task25) -> str:
    """What a ``tasks/result`` must answer."""
    status = task.node.status
    if status in (ABSENT, GONE):
        return "error -32602"
    if status in LIVE or status == RUNNING:
        return "no answer before the task has ended"
    ending = task.ending()
    for name in ("result", "error"):
        if name in ending:
            return f"the {name} {text_of(ending[name], 160)}"
    return "an answer"


def shown(result: Mapping[str, JSON] | None, error: Mapping[str, JSON] | None = None, *, whole: bool = False) -> str:
    """What an answer showed: of a task the status, or with ``whole`` everything."""
    if result is None:
        return f"error {error['code']}: {text_of(error['message'], 80)}" if error else "no answer"
    return f"the result {text_of(result, 200)}" if whole else f"status {text_of(result.get('status'), 40)}"
