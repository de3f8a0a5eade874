"""What a run consists of: phases in a fixed order, each with its share of the budget.

The plan is pure: given the seed and what the target offers, parent and child make the same one, so
that a sequence can be named by phase and number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mcptasks.conformance.engine.exhaustive import (
    TTL_MS,
    Alphabet,
    clock_alphabet,
    listener_alphabet,
    one_task,
    two_tasks,
)
from mcptasks.conformance.engine.randomised import RandomSequences
from mcptasks.conformance.engine.sweep import abort_sweep, payload_sweep
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.operations import Operation

__all__ = ["BATCH", "Features", "Phase", "Plan", "named", "same_call"]

BATCH: Final = 250
"""Sequences after which a store is renewed."""

Kind = Literal["exhaustive", "random", "hypothesis", "ids", "sweep"]


@dataclass(frozen=True, slots=True)
class Features:
    """What a target offers, as a probe found."""

    clock: bool = False
    ttl: bool = False
    input_requests: bool = True
    renewable: bool = True
    asynchronous: bool = True
    """Whether any method can be cancelled while it runs."""
    in_process: bool = True
    """Whether the suite holds the target's records and listeners as objects: then it can tamper, listen and abort."""
    bridged: bool = False
    """Whether the suite gets copies of what the store holds, over a bridge."""
    well_formed: bool = False
    """Only payloads that are valid for their role may be given (an adapter may not hold others)."""
    revision: str = "2026-07-28"
    wait: bool = False
    """2025-11-25: whether one can wait for a result."""
    statuses: bool = False
    """2025-11-25: whether status events can be listened to."""
    pages: bool = False
    """2025-11-25: whether the size of a page can be chosen."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One stretch of a run."""

    number: int
    kind: Kind
    share: float
    """Share of the budget that is spent when this phase ends at the latest."""
    alphabet: Alphabet | None = None
    depths: tuple[int, ...] = ()


class Plan:
    """The phases for a seed and a target's features."""

    def __init__(self, seed: int, features: Features, avoid: frozenset[str] = frozenset()) -> None:
        self.features = features
        self.avoid = avoid
        """Names of operations that are left out: they end or hang the target."""
        self.random = RandomSequences(seed, input_requests=features.input_requests, well_formed=features.well_formed)
        aborts = features.in_process and features.asynchronous
        self.sweep = abort_sweep(input_requests=features.input_requests) if aborts else []
        self.sweep += payload_sweep(input_requests=features.input_requests, well_formed=features.well_formed)
        alphabets = {alphabet.name: alphabet for alphabet in self._alphabets()}
        phases: list[Phase] = [Phase(0, "ids", 1.0)]

        def add(kind: Kind, share: float, alphabet: str = "", depths: Sequence[int] = ()) -> None:
            if alphabet and alphabet not in alphabets:
                return
            phases.append(Phase(len(phases), kind, share, alphabets.get(alphabet), tuple(depths)))

        add("exhaustive", 0.20, "one-task", (1, 2, 3, 4))
        add("exhaustive", 0.24, "listener", (1, 2, 3))
        add("exhaustive", 0.27, "two-tasks", (1, 2, 3))
        add("exhaustive", 0.30, "clock", (1, 2, 3))
        add("sweep", 0.34)
        add("random", 0.36)
        add("hypothesis", 0.39)
        add("exhaustive", 1.00, "one-task", (5,))
        add("exhaustive", 1.00, "listener", (4,))
        add("exhaustive", 1.00, "clock", (4,))
        add("random", 1.00)
        add("exhaustive", 8.00, "one-task", (6,))
        self.phases: tuple[Phase, ...] = tuple(phases)

    def _alphabets(self) -> list[Alphabet]:
        features = self.features
        made: list[Alphabet] = []
        if features.input_requests:
            made += [one_task(), two_tasks(), listener_alphabet()]
        else:
            made += [
                one_task().only({"get", "cancel", "complete", "fail"}),
                two_tasks().only({"get", "cancel", "complete", "fail"}),
            ]
        if features.clock and features.ttl:
            clock = clock_alphabet()
            made.append(
                clock if features.input_requests else clock.only({"get", "cancel", "complete", "fail", "advance_clock"})
            )
        return [alphabet.without(self.avoid) for alphabet in made]

    def options(self, batch: int) -> StoreOptions:
        """How the store of a batch of random sequences is opened."""
        choices = [StoreOptions()]
        features = self.features
        if features.clock and features.ttl:
            choices += [
                StoreOptions(clock=True, ttl=True, default_ttl_ms=TTL_MS),
                StoreOptions(clock=True, ttl=True, default_ttl_ms=None),
                StoreOptions(clock=True, ttl=True, default_ttl_ms=7_200_000),
                StoreOptions(clock=True, ttl=True, default_ttl_ms=1000),
                StoreOptions(clock=True, ttl=True, default_ttl_ms=0),
            ]
        elif features.clock:
            choices.append(StoreOptions(clock=True))
        elif features.ttl:
            # Nothing waits for a ttl to pass, but what is unlimited or over at once needs no clock.
            choices += [StoreOptions(ttl=True, default_ttl_ms=None), StoreOptions(ttl=True, default_ttl_ms=0)]
        return choices[batch % len(choices)]

    def random_sequence(self, number: int) -> list[Operation]:
        """Random sequence ``number``; ``number // BATCH`` is its store's batch."""
        sequence = self.random.sequence(number, self.options(number // BATCH))
        return [operation for operation in sequence if not self.avoid & named(operation)] if self.avoid else sequence


def same_call(name: str) -> set[str]:
    """The names of all operations that call the same method as the one of that name, itself among them."""
    lists = {"list_tasks", "list_bad_cursor", "list_foreign_cursor"}
    return lists if name in lists else {name}


def named(operation: Operation) -> set[str]:
    """The names of an operation and of the one inside it."""
    from mcptasks.strategies.operations import Abort, name_of

    names = {name_of(operation)}
    if isinstance(operation, Abort):
        names.add(name_of(operation.operation))
    return names
