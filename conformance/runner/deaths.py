"""When a target ends or hangs its process: which operation did it, and the shortest sequence that does.

The child is gone, so the parent works from the counters that it left: it makes the sequence again
from the plan, runs it in further children, and shrinks it there.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from mcptasks.conformance.engine.beat import Position, Stage
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.plan import BATCH, Plan, named
from mcptasks.conformance.engine.shrink import Shrinker, shortest
from mcptasks.conformance.runner.child import Child, Ended
from mcptasks.conformance.runner.job import Job
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.operations import (
    AdvanceClock,
    Create,
    Operation,
    OperationError,
    Subscribe,
    sequence_from_json,
    sequence_to_json,
)
from mcptasks.strategies.operations_2025 import CreateTask, OnStatus

__all__ = ["Death", "UnderWay", "solve", "under_way"]

_TRIES: Final = {"hangs": 5, "exits": 20, "signal": 20, "memory": 5}


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What a child was running."""

    operations: list[Operation]
    """Up to the call that did not come back."""
    options: StoreOptions


@dataclass(frozen=True, slots=True)
class Death:
    """A confirmed death with its shortest sequence."""

    operations: list[Operation]
    options: StoreOptions
    ended: Ended

    @property
    def operation(self) -> str:
        """The name of the operation that does it."""
        if self.ended.at_end and any(isinstance(operation, (Subscribe, OnStatus)) for operation in self.operations):
            return "unsubscribe"  # all that is called once the operations are over
        names = named(self.operations[-1]) - {"abort"} if self.operations else set()
        return next(iter(names), "create")


def under_way(position: Position, plan: Plan, left_out: Set[str] = frozenset()) -> UnderWay | None:
    """The sequence that was under way, as far as it had come; ``None`` if it cannot be told.

    Args:
        position: what the child had come to.
        plan: what it worked through.
        left_out: names of operations that it left out of random sequences in the course of its work.
    """
    explicit = position.explicit
    if explicit is not None:
        try:
            operations = list(sequence_from_json(explicit.get("operations")))
            options = StoreOptions.from_json(explicit.get("options") or {})
        except (OperationError, ValueError, AttributeError):
            return None
        return UnderWay(_cut(operations, position.in_sequence), options)
    if not 0 <= position.phase < len(plan.phases):
        return None
    phase = plan.phases[position.phase]
    if phase.kind == "ids":
        later = plan.features.revision == "2025-11-25"
        return UnderWay([CreateTask("t1") if later else Create("t1")], StoreOptions())
    if phase.kind == "random":
        operations = [item for item in plan.random_sequence(position.sequence) if not left_out & named(item)]
        return UnderWay(_cut(operations, position.in_sequence), plan.options(position.sequence // BATCH))
    if phase.kind == "sweep" and position.sequence < len(plan.sweep):
        operations = [item for item in plan.sweep[position.sequence] if not left_out & named(item)]
        return UnderWay(_cut(operations, position.in_sequence), StoreOptions())
    if phase.kind == "exhaustive" and phase.alphabet is not None:
        number = position.sequence
        for depth in phase.depths:
            for word in phase.alphabet.words_of(depth):
                if number == 0:
                    operations = phase.alphabet.operations(word)
                    return UnderWay(_cut(operations, position.in_sequence), phase.alphabet.options)
                number -= 1
    return None


def _cut(operations: Sequence[Operation], calls: int) -> list[Operation]:
    """The operations up to the one that makes call number ``calls``; one more, as a margin, at the end."""
    made = 0
    for index, operation in enumerate(operations):
        if not isinstance(operation, AdvanceClock):
            made += 1
        if made >= max(1, calls):
            return list(operations[: index + 1])
    return list(operations)


def _dies(
    job: Job, operations: Sequence[Operation], options: StoreOptions, memory_limit: int, stop: threading.Event
) -> Ended | None:
    if stop.is_set():
        return None
    child = Child(
        replace(job, mode="replay", operations=sequence_to_json(operations), store_options=options.to_json()),
        memory_limit=memory_limit,
        grace=0.5,
    )
    try:
        for message in child.messages():
            if stop.is_set():
                return None
            if message is None:
                continue
            if message["kind"] == "replayed":
                found = message.get("breach")
                if isinstance(found, dict) and str(found.get("requirement")).endswith(".misc.call-ends"):
                    return Ended("hangs", str(found.get("actual")))
                return None
            if message["kind"] == "failed":
                return None
        position, ended = child.position, child.ended
        if ended is None or position.stage != Stage.RUNNING:
            return None  # only a call counts; opening and closing are seen to elsewhere
        calls = sum(not isinstance(operation, AdvanceClock) for operation in operations)
        ended.at_end = position.in_sequence > calls
        return ended
    finally:
        child.close()


def solve(job: Job, running: UnderWay, ended: Ended, memory_limit: int, stop: threading.Event) -> Death | None:
    """Run it again in a child of its own; if it dies again, shrink it.  ``None`` if it does not."""
    if ended.how == "hangs":
        quick = replace(job.settings, timeout=min(job.settings.timeout, 2.0))
        job = replace(job, settings=quick)
    first = _dies(job, running.operations, running.options, memory_limit, stop)
    if first is None:
        return None
    latest = first

    async def test(candidate: Sequence[Operation]) -> Breach | None:
        nonlocal latest
        died = _dies(job, candidate, running.options, memory_limit, stop)
        if died is None or died.how != first.how:
            return None
        latest = died
        return _breach(candidate, died)

    async def shrink() -> list[Operation]:
        begin: Sequence[Operation] = running.operations
        for candidate in shortest(running.operations):
            if await test(candidate) is not None:
                begin = candidate
        operations, _ = await Shrinker(test, _TRIES[ended.how]).shrink(begin, _breach(begin, latest))
        return operations

    return Death(asyncio.run(shrink()), running.options, latest)


def _breach(operations: Sequence[Operation], ended: Ended) -> Breach:
    return Breach("store.misc.call-ends", "", "", "any", "life", ended.words, "", ended.words, len(operations) - 1)
