"""A whole run against one 2025-11-25 store: the campaign of stores with the operations and plan of that revision."""

from __future__ import annotations

from collections.abc import Iterator

from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.campaign import Campaign
from mcptasks.conformance.engine.plan import BATCH, Features, Phase
from mcptasks.conformance.engine.plan_2025 import FIXED, STRETCH, Plan25
from mcptasks.conformance.engine.pursuit import Emit
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.targets.store import StoreSource
from mcptasks.strategies.operations import Operation
from mcptasks.strategies.operations_2025 import CreateTask

__all__ = ["Campaign25", "campaign_for"]


class Campaign25(Campaign):
    """Runs the plan against one store; see :class:`.campaign.Campaign` for the arguments."""

    _unguessable = "store25.create.id-unguessable"
    _listens = "on_status"

    def __init__(self, source: StoreSource, settings: Settings, emit: Emit, beat: Beat, features: Features) -> None:
        super().__init__(source, settings, emit, beat, features)
        self.plan: Plan25 = Plan25(settings.seed, features, settings.avoid)

    def _creation(self, name: str) -> Operation:
        return CreateTask(name)

    async def _random(self, phase: Phase) -> None:
        if phase.number != FIXED:
            await super()._random(phase)
            return
        base = FIXED * STRETCH

        def numbered() -> Iterator[tuple[int, int, list[Operation]]]:
            for place in range(len(self.plan.fixed)):
                if self._meter.spent >= phase.share:
                    return
                number = base + place * BATCH
                yield number, number, self.plan.random_sequence(number)

        await self._batches(numbered(), lambda number: self.plan.options(number // BATCH), None)


def campaign_for(source: StoreSource, settings: Settings, emit: Emit, beat: Beat, features: Features) -> Campaign:
    """The campaign for a store of the source's revision."""
    kind = Campaign25 if features.revision == "2025-11-25" else Campaign
    return kind(source, settings, emit, beat, features)
