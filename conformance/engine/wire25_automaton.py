"""The automaton of the 2025-11-25 wire model, and how its counts become counts per requirement."""

from __future__ import annotations

from collections import Counter
from typing import Final

from mcptasks.conformance.model import wire_2025
from mcptasks.conformance.model.automaton import Automaton, Cause, Model, Node, Step
from mcptasks.conformance.model.states import Call
from mcptasks.conformance.model.wire_attribution_2025 import at_risk, blame

__all__ = ["WIRE_2025", "Wire25Automaton"]

WIRE_2025: Final = Model(wire_2025.successors, wire_2025.classify, blame)

_TASK_MEMBERS: Final = (
    "tasks25.create.id-string",
    "tasks25.shape.status",
    "tasks25.shape.createdat",
    "tasks25.shape.lastupdatedat",
    "tasks25.shape.ttl",
)
_BY_SHAPE: Final[dict[str, tuple[str, ...]]] = {
    "create": (*_TASK_MEMBERS, "tasks25.create.result", "tasks25.create.id-unique", "tasks25.create.working"),
    "get": (*_TASK_MEMBERS, "tasks25.shape.get-flat", "tasks25.rel.server-omit", "tasks25.get.no-sse"),
    "get-failed": ("tasks25.life.failed-message",),
    "cancel": (*_TASK_MEMBERS, "tasks25.cancel.returns-task", "tasks25.rel.server-omit"),
    "list": ("tasks25.rel.server-omit",),
    "listed": _TASK_MEMBERS,
    "question": ("tasks25.rel.all-messages",),
    "notification": ("tasks25.notif.full", "tasks25.notif.no-related"),
    "result": ("tasks25.result.related-task",),
    "blocked": ("tasks25.result.blocks",),
}
"""What every message of a kind puts at risk by its form alone."""


class Wire25Automaton(Automaton):
    """An automaton that also counts the forms of messages."""

    def __init__(self) -> None:
        super().__init__(WIRE_2025)
        self.shapes: Counter[str] = Counter()
        """Messages judged by their form, by kind."""

    def step(self, node: Node, call: Call) -> Step:
        """What ``call`` may do on ``node``."""
        known = node.steps.get(call)
        if known is not None:
            return known
        made = super().step(node, call)
        made.decided = wire_2025.decided(node.states[0][0], call)
        return made

    def settle(self) -> None:
        """Turn all counts into counts per requirement, and reset them."""
        for kind, count in self.shapes.items():
            for requirement in _BY_SHAPE.get(kind, ()):
                self.exercised[requirement] += count
        self.shapes.clear()
        super().settle()

    def _at_risk(self, cause: Cause, node: Node) -> set[str]:
        return at_risk(cause.row, cause.state, node.states[0][0])
