"""What a run against a server of 2025-11-25 consists of: scenarios by hand, short sequences in full, random ones."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from mcptasks.conformance.engine.exhaustive import Alphabet, Letter
from mcptasks.conformance.engine.plan import Phase, Plan
from mcptasks.conformance.engine.randomised import RandomSequences
from mcptasks.conformance.engine.wire25_scenarios import control_scenarios, tool_scenarios
from mcptasks.conformance.engine.wire_plan import FIXED, WIRE_FEATURES
from mcptasks.conformance.engine.wire_profiles import Profile
from mcptasks.conformance.engine.wire_tools import ToolProfile
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.operations import Cancel, Complete, Create, Fail, Get, Operation, Resolve, SetInput
from mcptasks.strategies.operations_2025 import AwaitResult, GetResult, ListTasks

__all__ = ["IDS_2025", "Wire25Plan"]

IDS_2025: Final = 40
"""Tasks that are created one after the other, to look at their ids."""
_STRETCH: Final = 10_000_000


def _ask(task: str) -> Letter:
    return lambda position: SetInput(task, {"a": {"q": position}})


def _answer(task: str) -> Letter:
    return lambda position: Resolve(task, {"a": {"n": position}})


def _one_task() -> Alphabet:
    letters: tuple[Letter, ...] = (
        _ask("t1"),
        _answer("t1"),
        lambda position: AwaitResult("t1"),
        lambda position: Cancel("t1"),
        lambda position: Complete("t1", {"n": position}),
        lambda position: Complete("t1", {"content": [{"type": "text", "text": f"no {position}"}], "isError": True}),
        lambda position: Fail("t1", {"code": 1000 + position, "message": f"failed at {position}"}),
    )
    return Alphabet(
        "one-task",
        "one task; asking, answering, waiting for the result, completing, completing with a tool's error, failing, "
        "cancelling; its status and its result read at the end",
        (Create("t1"),),
        letters,
        (Get("t1"), GetResult("t1"), Get("t1")),
    )


def _two_tasks() -> Alphabet:
    def of(task: str) -> tuple[Letter, ...]:
        return (
            _ask(task),
            _answer(task),
            lambda position: AwaitResult(task),
            lambda position: Cancel(task),
            lambda position: Complete(task, {"n": position, "of": task}),
        )

    first, second = of("t1"), of("t2")
    count = len(first)
    mirror = (*range(count, 2 * count), *range(count))
    return Alphabet(
        "two-tasks",
        "two tasks; asking, answering, waiting for the result, completing, cancelling; both read at the end",
        (Create("t1"), Create("t2")),
        (*first, *second),
        (Get("t1"), Get("t2"), GetResult("t1"), GetResult("t2")),
        (mirror,),
    )


class Wire25Plan(Plan):
    """The phases for a seed and a profile."""

    def __init__(self, seed: int, profile: Profile, avoid: frozenset[str] = frozenset()) -> None:
        self.features = WIRE_FEATURES
        self.avoid = avoid
        self.seed = seed
        self.random = RandomSequences(seed, well_formed=False, in_process=False)
        phases: list[Phase] = [Phase(0, "ids", 1.0), Phase(FIXED, "random", 1.0)]
        if isinstance(profile, ToolProfile):
            self.fixed = tool_scenarios(profile)
        else:
            self.fixed = control_scenarios()

            def add(share: float, alphabet: Alphabet, *depths: int) -> None:
                phases.append(Phase(len(phases), "exhaustive", share, alphabet.without(avoid), depths))

            add(0.8, _one_task(), 1, 2)
            add(0.9, _two_tasks(), 1)
            phases.append(Phase(len(phases), "random", 1.0))
            add(8.0, _two_tasks(), 2)
            add(8.0, _one_task(), 3)
        self.phases = tuple(phases)

    def options(self, batch: int) -> StoreOptions:
        """A server is as it is."""
        return StoreOptions()

    def random_sequence(self, number: int) -> list[Operation]:
        """Random sequence ``number``; one of the fixed list where that phase is meant."""
        phase, position = divmod(number, _STRETCH)
        if phase == FIXED:
            return list(self.fixed[position])
        sequence = super().random_sequence(number)
        return _with_results(Random(f"{self.seed}/{number}"), sequence)


def _with_results(random: Random, sequence: list[Operation]) -> list[Operation]:
    """A random sequence with waiting for results, fetching them and listing strewn in."""
    names = [item.as_ for item in sequence if isinstance(item, Create)] or ["t1"]
    out: list[Operation] = []
    for item in sequence:
        out.append(item)
        if random.random() < 0.25:
            kind: Any = random.choice((AwaitResult, GetResult, GetResult))
            out.append(kind(random.choice(names)))
        elif random.random() < 0.05:
            out.append(ListTasks())
    return [*out, *(GetResult(name) for name in dict.fromkeys(names[:3]))]
