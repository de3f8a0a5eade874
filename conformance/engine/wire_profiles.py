"""How operations are carried out with the tools that a server offers (contract, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from mcptasks.conformance.wire.client import Reply
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Operation

__all__ = ["CONTROL_TOOLS", "Control", "Profile", "Step", "step_of"]

CONTROL_TOOLS: Final = frozenset({"task_open", "task_step"})


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
