"""The automaton of the wire model, and how its counts become counts per requirement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from mcptasks.conformance.model import wire_2026
from mcptasks.conformance.model.automaton import Automaton, Cause, Model, Node, Step
from mcptasks.conformance.model.states import Call, TaskState
from mcptasks.conformance.model.wire_attribution import at_risk, blame

__all__ = ["WIRE_2026", "WireAutomaton"]

WIRE_2026: Final = Model(wire_2026.successors, wire_2026.classify, blame)

_TASK_MEMBERS: Final = (
    "tasks.rt.present",
    "tasks.shape.task-id",
    "tasks.shape.status",
    "tasks.shape.createdat",
    "tasks.shape.lastupdatedat",
    "tasks.shape.ttlms",
    "tasks.shape.pollintervalms",
    "tasks.shape.statusmessage",
    "tasks.shape.sane-durations",
    "tasks.shape.updated-after-created",
    "tasks.shape.no-legacy-names",
    "core.meta.serverinfo",
)
_BY_SHAPE: Final[dict[str, tuple[str, ...]]] = {
    "create": (
        *_TASK_MEMBERS,
        "tasks.rt.create-task",
        "tasks.shape.flat",
        "tasks.create.unique-id",
        "tasks.create.no-payload",
    ),
    "get": (
        *_TASK_MEMBERS,
        "tasks.rt.get-complete",
        "core.mrtr.methods",
        "tasks.shape.id-echo",
        "tasks.shape.createdat-stable",
        "tasks.shape.updated-monotone",
        "tasks.http.accept-match",
    ),
    "get-input_required": ("tasks.update.kinds", "tasks.update.string-keys", "core.mrtr.key-unique"),
    "get-completed": ("tasks.status.result-type-match",),
    "get-failed": ("tasks.status.error-shape", "tasks.status.failed-message"),
    "update": (
        "tasks.rt.present",
        "tasks.rt.update-complete",
        "core.mrtr.methods",
        "core.meta.serverinfo",
        "tasks.http.accept-match",
    ),
    "cancel": (
        "tasks.rt.present",
        "tasks.rt.cancel-complete",
        "core.mrtr.methods",
        "core.meta.serverinfo",
        "tasks.http.accept-match",
    ),
}
"""What every answer of a kind puts at risk by its form alone."""


class WireAutomaton(Automaton):
    """An automaton that also counts the forms of answers."""

    def __init__(self) -> None:
        super().__init__(WIRE_2026)
        self.shapes: Counter[str] = Counter()
        """Answers judged by their form, by kind."""

    def step(self, node: Node, call: Call) -> Step:
        """What ``call`` may do on ``node``."""
        known = node.steps.get(call)
        if known is not None:
            return known
        made = super().step(node, call)
        allowed = {answer for answer, edge in made.edges.items() if edge.warn is None}
        made.decided = wire_2026.decided(call, set(made.edges))
        if call.name == "cancel" and allowed == {"ack"} and len(made.edges) > 1:
            made.decided = False  # what would be wrong here is only warned of, by the edges
        return made

    def state_node(self, states: Iterable[TaskState]) -> Node:
        """The node of these states, no choice being open between them."""
        return self.node([(state, None) for state in states])

    def settle(self) -> None:
        """Turn all counts into counts per requirement, and reset them."""
        for step in self._steps:
            warned = {edge.warn for edge in step.edges.values() if edge.warn is not None}
            total = sum(edge.count for edge in step.edges.values()) if warned else 0
            for requirement in warned - {step.requirement if step.decided else None}:
                self.exercised[requirement] += total
        for kind, count in self.shapes.items():
            for requirement in _BY_SHAPE.get(kind, ()):
                self.exercised[requirement] += count
        self.shapes.clear()
        super().settle()

    def _at_risk(self, cause: Cause, node: Node) -> set[str]:
        return at_risk(cause.row, cause.state, node.states[0][0])
