"""How operations are carried out with the tools that a server offers (contract, section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from mcptasks.conformance.wire.client import Reply
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Complete, Create, Fail, Operation, SetInput

__all__ = ["CONTROL_TOOLS", "OFFICIAL_TOOLS", "Control", "Official", "Profile", "Step", "step_of"]

CONTROL_TOOLS: Final = frozenset({"task_open", "task_step"})
OFFICIAL_TOOLS: Final = frozenset(
    {
        "greet",
        "slow_compute",
        "failing_job",
        "protocol_error_job",
        "confirm_delete",
        "multi_input",
        "test_tool_with_task",
    }
)

_LONG_S: Final = 20
"""Seconds that a task works which is to be found at work; it is cancelled when its sequence is over."""


class Step:
    """What a ``task_step`` answered."""

    __slots__ = ("answer", "answers")

    def __init__(self, answer: str, answers: Mapping[str, JSON] | None) -> None:
        self.answer = answer
        """``applied``, ``refused`` or ``error``."""
        self.answers = answers
        """What the task's own code has received, if the tool says so."""


def step_of(reply: Reply) -> Step:
    """The outcome of a ``task_step``."""
    result = reply.result
    if result is None or result.get("isError") is True:
        return Step("error", None)
    content = result.get("structuredContent")
    if not isinstance(content, dict):
        return Step("error", None)
    if isinstance(content.get("result"), dict) and "applied" not in content:
        content = content["result"]  # how some SDKs wrap what is no object schema of their own
    applied = content.get("applied")
    answers = content.get("answers")
    if not isinstance(applied, bool):
        return Step("error", None)
    return Step("applied" if applied else "refused", answers if isinstance(answers, dict) else None)


class Profile(Protocol):
    """One way to make a server create, ask, complete and fail."""

    name: str
    free: bool
    """Whether tasks move by themselves: then a step is something to wait for, not something to do."""
    settles: bool
    """Whether an effect that does not come by the deadline is a failure, or only inconclusive."""

    def opening(self, task: str, operations: Sequence[Operation]) -> dict[str, JSON]:
        """Parameters of the ``tools/call`` that creates a task for what a sequence does with it.

        Args:
            task: its name.
            operations: those of the sequence from its create on.
        """


class Control:
    """The suite's own two tools."""

    name = "control"
    free = False
    settles = True

    def opening(self, task: str, operations: Sequence[Operation]) -> dict[str, JSON]:
        """``task_open``, whatever happens to the task later."""
        return {"name": "task_open", "arguments": {}}

    @staticmethod
    def stepping(task_id: str, step: dict[str, JSON]) -> dict[str, JSON]:
        """Parameters of a ``task_step``."""
        return {"name": "task_step", "arguments": {"taskId": task_id, "step": step}}


class Official:
    """The fixture tools of the official suite: which one makes a task depends on what is to happen to it."""

    name = "official"
    free = True
    settles = False

    def __init__(self, tools: Iterable[str]) -> None:
        self.tools: Final = frozenset(tools) & OFFICIAL_TOOLS

    def opening(self, task: str, operations: Sequence[Operation]) -> dict[str, JSON]:
        """The tool whose task does by itself what the sequence wants of it."""
        asked = max((len(item.requests) for item in self._of(SetInput, task, operations)), default=0)
        if asked >= 2 and "multi_input" in self.tools:
            return {"name": "multi_input", "arguments": {}}
        if asked and "confirm_delete" in self.tools:
            return {"name": "confirm_delete", "arguments": {"filename": "mcptasks.txt"}}
        if any(True for _ in self._of(Fail, task, operations)) and "protocol_error_job" in self.tools:
            return {"name": "protocol_error_job", "arguments": {}}
        for item in self._of(Complete, task, operations):
            value = item.result.value
            if isinstance(value, dict) and value.get("isError") and "failing_job" in self.tools:
                return {"name": "failing_job", "arguments": {}}
            if "slow_compute" in self.tools:
                return {"name": "slow_compute", "arguments": {"seconds": 0.1, "label": "short"}}
        if "slow_compute" in self.tools:
            return {"name": "slow_compute", "arguments": {"seconds": _LONG_S, "label": "long"}}
        waiting = next((tool for tool in ("confirm_delete", "multi_input") if tool in self.tools), None)
        return {"name": waiting or sorted(self.tools)[0], "arguments": {}}

    @staticmethod
    def _of(kind: type[Any], task: str, operations: Sequence[Operation]) -> Iterable[Any]:
        for number, item in enumerate(operations):
            if number and isinstance(item, Create) and item.as_ == task:
                return  # the name is bound anew
            if isinstance(item, kind) and item.task == task:
                yield item
