"""What a run against a server consists of: the store's phases, in numbers that a server can bear."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.engine.exhaustive import Alphabet, one_task, two_tasks
from mcptasks.conformance.engine.plan import Features, Phase, Plan
from mcptasks.conformance.engine.randomised import RandomSequences
from mcptasks.conformance.engine.wire_profiles import Profile
from mcptasks.conformance.engine.wire_scenarios import control_scenarios
from mcptasks.conformance.engine.wire_tools import ToolProfile
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.operations import Cancel, Complete, Create, Fail, Get, Operation, Resolve, SetInput

__all__ = ["FIXED", "IDS", "WIRE_FEATURES", "WirePlan", "tool_sequences"]

IDS: Final = 104
"""Tasks that are created at once, to look at their ids."""

FIXED: Final = 1
"""Number of the phase that runs the sequences written by hand."""

WIRE_FEATURES: Final = Features(renewable=False, asynchronous=False, in_process=False)


class WirePlan(Plan):
    """The phases for a seed and a profile."""

    def __init__(self, seed: int, profile: Profile, avoid: frozenset[str] = frozenset()) -> None:
        self.features = WIRE_FEATURES
        self.avoid = avoid
        self.random = RandomSequences(seed, well_formed=False, in_process=False)
        phases: list[Phase] = [Phase(0, "ids", 1.0), Phase(FIXED, "random", 1.0)]
        if isinstance(profile, ToolProfile):
            self.fixed = tool_sequences(profile)
        else:
            self.fixed = control_scenarios()

            def add(share: float, alphabet: Alphabet, *depths: int) -> None:
                phases.append(Phase(len(phases), "exhaustive", share, alphabet.without(avoid), depths))

            add(0.7, one_task(), 1, 2)
            add(0.9, two_tasks(), 1, 2)
            phases.append(Phase(len(phases), "hypothesis", 0.9))
            phases.append(Phase(len(phases), "random", 1.0))
            add(8.0, one_task(), 3)
        self.phases = tuple(phases)

    def options(self, batch: int) -> StoreOptions:
        """A server is as it is."""
        return StoreOptions()

    def random_sequence(self, number: int) -> list[Operation]:
        """Random sequence ``number``; one of the fixed list where that phase is meant."""
        phase, position = divmod(number, 10_000_000)
        if phase == FIXED:
            return list(self.fixed[position])
        return super().random_sequence(number)


def tool_sequences(profile: ToolProfile) -> list[list[Operation]]:
    """What tools of a server's own reach, each once; a task is made by the tool that does what follows."""
    ask, both = {"a": {"q": 1}}, {"a": {"q": 1}, "b": {"q": 2}}
    yes, again = {"a": {"n": 1}}, {"a": {"n": 2}}
    roles = profile.roles
    out: list[list[Operation]] = [[Get("x1"), Cancel("x2"), Resolve("x3", yes)]]
    if "runs_long" in roles:
        out += [
            [Create(), Get(), Get(), Cancel(), Get(), Cancel(), Get()],
            [Create(), Resolve("t1", {"never-asked": {}}), Get(), Cancel(), Resolve("t1", yes), Get()],
            [Create(), Create("t2"), Get(), Get("t2"), Cancel("t2"), Get(), Get("t2"), Cancel()],
            [Create(), Get("t1~prefix"), Cancel("t1~suffix"), Resolve("t1~prefix", yes), Get()],
        ]
    if "completes" in roles:
        out.append([Create(), Complete("t1", {"ok": 1}), Get(), Get(), Cancel(), Get(), Resolve("t1", yes), Get()])
        if "runs_long" in roles:
            out.append([Create(), Complete("t1", {"ok": 1}), Create("t2"), Cancel("t2"), Get(), Get("t2")])
    if "tool_error" in roles:
        failed = {"content": [], "isError": True}
        out.append([Create(), Complete("t1", failed), Get(), Get(), Cancel(), Get(), Resolve("t1", yes), Get()])
    if "fails" in roles:
        out.append([Create(), Fail("t1", {"code": 1, "message": "x"}), Get(), Get(), Cancel(), Get()])
    if "asks" in roles:
        out += [
            [Create(), SetInput("t1", ask), Get(), Get(), Resolve("t1", yes), Complete("t1", {}), Get(), Get()],
            [Create(), SetInput("t1", ask), Resolve("t1", {"never-asked": {}}), Get(), Resolve("t1", {}), Get()],
            [Create(), SetInput("t1", ask), Resolve("t1", yes), Resolve("t1", again), Complete("t1", {}), Get()],
            [Create(), SetInput("t1", ask), Cancel(), Get(), Resolve("t1", yes), Get()],
            [
                *(Create(), Create("t2"), SetInput("t1", ask), SetInput("t2", ask)),
                *(Resolve("t1", yes), Complete("t1", {}), Get("t2"), Get("t1"), Cancel("t2"), Get("t1")),
            ],
        ]
    if "asks_more" in roles:
        first, second = {"a": {"n": 1}}, {"b": {"n": 2}}
        out += [
            [Create(), SetInput("t1", both), Get(), Resolve("t1", {**first, **second}), Complete("t1", {}), Get()],
            [
                *(Create(), SetInput("t1", both), Resolve("t1", first), Get(), Resolve("t1", first), Get()),
                *(Resolve("t1", {**first, **second}), Complete("t1", {}), Get()),
            ],
            [
                *(Create(), SetInput("t1", both), Resolve("t1", {**first, "never-asked": {}}), Get()),
                *(Resolve("t1", second), Get(), Cancel(), Get()),
            ],
        ]
    return out
