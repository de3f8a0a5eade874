"""What a run against a 2025-11-25 store consists of."""

from __future__ import annotations

from typing import Any, Final

from mcptasks.conformance.engine.alphabets_2025 import alphabets_2025
from mcptasks.conformance.engine.plan import BATCH, Features, Phase, Plan, named
from mcptasks.conformance.engine.random_2025 import RandomSequences25
from mcptasks.conformance.engine.scenarios_2025 import scenarios_2025
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.operations import Operation
from mcptasks.strategies.operations_2025 import CreateTask, GetResult, GetTask, StoreResult
from mcptasks.strategies.payloads import awkward

__all__ = ["FIXED", "Plan25", "plan_for"]

FIXED: Final = 1
"""Number of the phase that runs the sequences written by hand."""

STRETCH: Final = 10_000_000
"""Sequence numbers of one phase; a multiple of a batch."""


class Plan25(Plan):
    """The phases for a seed and a target's features.

    A sequence written by hand has the number of a whole batch, so that each has a store of its own.
    """

    def __init__(self, seed: int, features: Features, avoid: frozenset[str] = frozenset()) -> None:
        self.features = features
        self.avoid = avoid
        self.random: Any = RandomSequences25(
            seed, wait=features.wait, statuses=features.statuses, well_formed=features.well_formed
        )
        self.fixed = scenarios_2025(
            clock=features.clock, statuses=features.statuses, wait=features.wait, pages=features.pages
        )
        self.sweep = [
            [CreateTask("t1"), StoreResult("t1", "completed", result), GetTask("t1"), GetResult("t1"), GetResult("t1")]
            for result in awkward("result", well_formed=features.well_formed)
        ]
        alphabets = {
            item.name: item.without(avoid)
            for item in alphabets_2025(clock=features.clock, statuses=features.statuses, wait=features.wait)
        }
        phases: list[Phase] = [Phase(0, "ids", 1.0), Phase(FIXED, "random", 0.35)]

        def add(share: float, name: str, *depths: int) -> None:
            if name in alphabets:
                phases.append(Phase(len(phases), "exhaustive", share, alphabets[name], depths))

        add(0.40, "one-task", 1, 2, 3)
        add(0.44, "sessions", 1, 2)
        add(0.48, "two-tasks", 1, 2)
        add(0.52, "listener", 1, 2, 3)
        add(0.56, "waiter", 1, 2)
        add(0.60, "clock", 1, 2, 3)
        phases.append(Phase(len(phases), "sweep", 0.64))
        phases.append(Phase(len(phases), "hypothesis", 0.70))
        phases.append(Phase(len(phases), "random", 0.80))
        add(1.0, "one-task", 4)
        add(1.0, "sessions", 3)
        add(1.0, "two-tasks", 3)
        phases.append(Phase(len(phases), "random", 1.0))
        add(8.0, "one-task", 5)
        self.phases = tuple(phases)

    def options(self, batch: int) -> StoreOptions:
        """How the store of a batch is opened."""
        phase, place = divmod(batch, STRETCH // BATCH)
        if phase == FIXED:
            return self.fixed[place][1] if place < len(self.fixed) else StoreOptions()
        size = 2 if self.features.pages else None
        choices = [StoreOptions(page_size=size)]
        if self.features.clock:
            choices += [StoreOptions(clock=True, page_size=size), StoreOptions(clock=True)]
        return choices[batch % len(choices)]

    def random_sequence(self, number: int) -> list[Operation]:
        """Random sequence ``number``; one of those written by hand where that phase is meant."""
        phase, place = divmod(number, STRETCH)
        if phase == FIXED:
            sequence = list(self.fixed[place // BATCH][0])
        else:
            sequence = self.random.sequence(number, self.options(number // BATCH))
        return [operation for operation in sequence if not self.avoid & named(operation)] if self.avoid else sequence


def plan_for(seed: int, features: Features, avoid: frozenset[str] = frozenset()) -> Plan:
    """The plan for a store of the revision that ``features`` name."""
    kind = Plan25 if features.revision == "2025-11-25" else Plan
    return kind(seed, features, avoid)
