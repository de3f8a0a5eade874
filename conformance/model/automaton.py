"""The model as an automaton built while it is walked: sets of possible states, interned.

A node is a set of states that a task may be in.  A call leads to a :class:`Step`, the answer
observed narrows it to the next node, a read narrows a node to the states that fit.  Both are worked
out once by the pure function of :mod:`.store_2026` and remembered, because the same few hundred
transitions occur millions of times in one run.  Every remembered edge counts its uses; the counts
say afterwards how often each requirement was put at risk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from mcptasks.conformance.model.attribution import READ_ASPECTS, blame
from mcptasks.conformance.model.states import (
    ABSENT,
    COMPLETED,
    FAILED,
    GONE,
    STATUSES,
    TERMINAL,
    Call,
    Successor,
    TaskState,
)
from mcptasks.conformance.model.store_2026 import classify, successors

__all__ = ["Automaton", "Cause", "Edge", "Model", "Node", "Step"]

Choice = tuple[str, str]

_NODE_LIMIT: Final = 4_000
"""Nodes kept before the automaton starts anew: memory stays flat over any run."""

_STATES_LIMIT: Final = 300
"""Possible states of one task up to which it is judged: each open choice that no read settles doubles them."""


class Cause:
    """What happened to a task since it was last read and found right; counts the reads that judged it."""

    __slots__ = ("name", "reads", "row", "state")

    def __init__(self, name: str, row: str, state: str) -> None:
        self.name = name
        """The operation: ``complete``."""
        self.row = row
        """Its row in the table: ``resolve-some``."""
        self.state = state
        self.reads: dict[Node, int] = {}


class Edge:
    """An answer that the model allows."""

    __slots__ = ("answer", "cause", "choice", "count", "target", "warn")

    def __init__(self, answer: str, target: Node, cause: Cause, choice: Choice | None, warn: str | None) -> None:
        self.answer = answer
        self.target = target
        self.cause = cause
        self.choice = choice
        self.warn = warn
        self.count = 0


class Step:
    """A call on a node: the answers allowed, and the requirement that any other answer breaches."""

    __slots__ = ("cause", "decided", "edges", "matched", "requirement", "transition", "vast")

    def __init__(
        self,
        cause: Cause,
        edges: dict[str, Edge],
        requirement: str,
        matched: tuple[int, ...],
        *,
        decided: bool,
        transition: bool,
    ) -> None:
        self.cause = cause
        self.edges = edges
        self.requirement = requirement
        self.matched = matched
        """For a resolve: the keys that it answers in every possible state."""
        self.decided = decided
        """Whether there is an answer that would be wrong here."""
        self.transition = transition
        """Whether the status changes whatever the target chooses."""
        self.vast: bool = any(len(edge.target.states) > _STATES_LIMIT for edge in edges.values())
        """Whether so many states are possible from here that the task is no longer worth judging."""


class Node:
    """A set of possible states, each with the open choice that led to it."""

    __slots__ = (
        "answered",
        "expired",
        "may_be_gone",
        "pairs",
        "payload",
        "plain",
        "single",
        "states",
        "status",
        "steps",
    )

    def __init__(self, states: tuple[tuple[TaskState, Choice | None], ...]) -> None:
        self.states = states
        first = states[0][0]
        self.status: str = first.status
        self.payload: int = first.payload
        self.pairs: tuple[tuple[int, int], ...] = tuple(sorted(first.pending))
        self.answered: frozenset[int] = first.answered
        # The common case is judged without a loop: one state, there and not expired.
        self.single: bool = len(states) == 1 and not first.expired and states[0][1] is None and first.status in STATUSES
        self.plain: bool = self.single and not first.pending and first.status not in (COMPLETED, FAILED)
        """A record of it has nothing but a status."""
        self.steps: dict[Call, Step] = {}
        self.expired: bool = any(state.expired for state, _ in states)
        """Whether the ttl has elapsed in one of the states."""
        self.may_be_gone: bool = any(state.status in (ABSENT, GONE) or state.expired for state, _ in states)
        """Whether a read may find nothing here."""


@dataclass(frozen=True, slots=True)
class Model:
    """What a revision's contract says, as pure functions: the automaton is only their memory."""

    successors: Callable[[TaskState, Call], list[Successor]]
    """Every lawful answer and next state of a call."""
    classify: Callable[[TaskState, Call], str]
    """The row of the state table that a call is in."""
    blame: Callable[..., str]
    """``blame(row, state, aspect, expected="")``: the requirement that a deviation breaches."""


STORE_2026: Final = Model(successors, classify, blame)


class Automaton:
    """All nodes, edges and causes met so far, and their counts."""

    def __init__(self, model: Model = STORE_2026) -> None:
        self.model = model
        self._nodes: dict[tuple[tuple[TaskState, Choice | None], ...], Node] = {}
        self._causes: dict[tuple[str, str], Cause] = {}
        self._edges: list[Edge] = []
        self._steps: list[Step] = []
        self.exercised: Counter[str] = Counter()
        self.coverage: Counter[tuple[str, str]] = Counter()
        self.choices: Counter[Choice] = Counter()

    def node(self, states: Iterable[tuple[TaskState, Choice | None]]) -> Node:
        """The node of these states; the first one is the one that messages speak of."""
        key = tuple(dict.fromkeys(states))
        known = self._nodes.get(key)
        if known is None:
            known = self._nodes[key] = Node(key)
        return known

    def start(self, state: TaskState) -> Node:
        """The node of one state."""
        return self.node([(state, None)])

    def cause(self, name: str, row: str, state: str) -> Cause:
        """The cause of that name and state."""
        key = (row, state)
        known = self._causes.get(key)
        if known is None:
            known = self._causes[key] = Cause(name, row, state)
        return known

    @property
    def full(self) -> bool:
        """Whether so much is remembered that :meth:`forget` should be called between sequences."""
        return len(self._nodes) > _NODE_LIMIT or len(self._edges) > 4 * _NODE_LIMIT

    def step(self, node: Node, call: Call) -> Step:
        """What ``call`` may do on ``node``."""
        known = node.steps.get(call)
        if known is not None:
            return known
        first = node.states[0][0]
        row = self.model.classify(first, call)
        cause = self.cause(call.name if call.name != "set" else "set_input", row, first.status)
        by_answer: dict[str, list[tuple[TaskState, Choice | None]]] = {}
        warns: dict[str, str | None] = {}
        for state, _ in node.states:
            for item in self.model.successors(state, call):
                by_answer.setdefault(item.answer, []).append((item.state, item.choice))
                # An answer is only a warning when every state that allows it says so.
                warns[item.answer] = item.warn if item.answer not in warns else warns[item.answer] and item.warn
        edges: dict[str, Edge] = {}
        for answer, states in by_answer.items():
            choices = {choice for _, choice in states}
            # A choice that the answer alone settles is counted here, others when a read settles them.
            settled = choices.pop() if len(choices) == 1 else None
            target = self.node([(state, None) for state, _ in states] if settled else states)
            edge = Edge(answer, target, cause, settled, warns[answer])
            edges[answer] = edge
            self._edges.append(edge)
        matched: tuple[int, ...] = ()
        if call.name == "resolve":
            keys = {key for key, _ in call.entries}
            common = [keys & {key for key, _ in state.pending} for state, _ in node.states]
            if all(state.status == "input_required" for state, _ in node.states):
                matched = tuple(sorted(set.intersection(*common)))
        # Where the contract lets a call both succeed and raise, its answer puts nothing at risk.
        raises = edges.get("raise")
        decided = call.name != "expire" and (call.name == "cancel" or raises is None or raises.warn is not None)
        requirement = "" if call.name == "expire" else self.model.blame(row, first.status, "return")
        made = Step(
            cause,
            edges,
            requirement,
            matched,
            decided=decided,
            transition=node.single
            and all(state.status != first.status for edge in edges.values() for state, _ in edge.target.states),
        )
        self._steps.append(made)
        if not made.vast:  # or it would be met again without a word
            node.steps[call] = made
        return made

    def narrow(self, node: Node, fits: list[int]) -> Node:
        """The node of those states of ``node`` that a read fits; settles and counts open choices."""
        chosen = [node.states[index] for index in fits]
        choices = {choice for _, choice in chosen}
        if len(choices) == 1:
            choice = choices.pop()
            if choice is not None:
                self.choices[choice] += 1
            return self.node([(state, None) for state, _ in chosen])
        return self.node(chosen)

    def settle(self) -> None:
        """Turn the counts at edges and causes into counts per requirement, and reset them."""
        for step in self._steps:
            if step.decided:
                self.exercised[step.requirement] += sum(edge.count for edge in step.edges.values())
        for edge in self._edges:
            if edge.count:
                cause = edge.cause
                self.coverage[(cause.name, cause.state)] += edge.count
                if edge.choice is not None:
                    self.choices[edge.choice] += edge.count
                edge.count = 0
        for cause in self._causes.values():
            for node, count in cause.reads.items():
                for requirement in self._at_risk(cause, node):
                    self.exercised[requirement] += count
            cause.reads.clear()

    def forget(self) -> None:
        """Drop everything remembered but the counts; no task may be under way."""
        self.settle()
        self._nodes.clear()
        self._causes.clear()
        self._edges.clear()
        self._steps.clear()

    def _at_risk(self, cause: Cause, node: Node) -> set[str]:
        """The requirements that a read after ``cause`` could have failed, the task being in ``node``."""
        state = node.states[0][0]
        if state.status in ("absent", GONE):
            return {self.model.blame(cause.row, cause.state, "appears", state.status)}
        aspects = ["life", "status", "stray", "pending-extra"]
        if state.expired:
            aspects.remove("life")
        if state.payload >= 0 and state.status in (COMPLETED, FAILED):
            aspects.append("payload")
        if state.pending:
            aspects += ["pending-missing", "pending-body"]
        assert set(aspects) <= set(READ_ASPECTS)
        if state.status in TERMINAL and cause.state not in TERMINAL and cause.row in ("complete", "fail", "cancel"):
            aspects.remove("pending-extra")  # what was pending may stay or go
        return {self.model.blame(cause.row, cause.state, aspect, state.status) for aspect in aspects}
