"""The Hypothesis state machine as one driver of a campaign.

Hypothesis generates; confirming, attributing and shrinking are the campaign's, since they must be
the same for every driver.  Nothing is written to a ``.hypothesis`` folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from mcptasks.conformance.engine.beat import Beat, Stage
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.machine import TaskStoreMachine
from mcptasks.conformance.engine.machine_2025 import TaskStoreMachine2025
from mcptasks.conformance.engine.machine_base import StoreMachine
from mcptasks.conformance.engine.plan import Features
from mcptasks.conformance.targets.store import OpenStore, StoreOptions, StoreSource
from mcptasks.strategies.operations import Operation, sequence_to_json

__all__ = ["drive"]

Breached = Callable[[Sequence[Operation], Breach, StoreOptions], Awaitable[None]]


class _EnoughError(Exception):
    """The share of the budget is spent."""


def drive(
    loop: asyncio.AbstractEventLoop,
    source: StoreSource,
    features: Features,
    seed_value: int,
    *,
    make: Callable[[OpenStore], Any],
    beat: Beat,
    breached: Breached,
    going_on: Callable[[], bool],
    examples: int = 100_000,
) -> None:
    """Run the state machine until ``going_on`` says no.

    Args:
        loop: the loop of the run, not running.
        source: opens stores.
        features: what the target offers.
        seed_value: equal seeds give equal examples.
        make: makes the interpreter of an open store.
        beat: told of every step, so that a step that ends the process is known.
        breached: takes every breach.
        going_on: asked at the end of every example.
        examples: how many at most.
    """

    of_revision: type[StoreMachine] = TaskStoreMachine2025 if features.revision == "2025-11-25" else TaskStoreMachine

    class CampaignMachine(of_revision):  # type: ignore[valid-type, misc]  # which one is known only now
        @classmethod
        def _event_loop(cls) -> asyncio.AbstractEventLoop:
            return loop

        def _store_source(self) -> StoreSource:
            return source

        def _features(self) -> Features:
            return features

        def _make(self, store: OpenStore) -> Any:
            return make(store)

        def _run(self, coroutine: Any) -> Any:
            # Between its steps Hypothesis works for longer than any call may take.
            beat.stage(Stage.RUNNING)
            try:
                return super()._run(coroutine)
            finally:
                beat.stage(Stage.OWN)

        def _do(self, operation: Operation) -> None:
            if not self.ended:
                beat.spell(
                    {
                        "operations": sequence_to_json([*self.operations, operation]),
                        "options": self.options.to_json(),
                    }
                )
            super()._do(operation)

        def _breached(self, breach: Breach) -> None:
            self.ended = True
            self._run(breached(self.operations, breach, self.options))

        def teardown(self) -> None:
            try:
                super().teardown()
            finally:
                more = going_on()
            if not more:
                raise _EnoughError

    profile = settings(
        max_examples=examples,
        stateful_step_count=30,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
    )
    try:
        run_state_machine_as_test(seed(seed_value)(CampaignMachine), settings=profile)
    except _EnoughError:
        pass
    except BaseException as error:
        # Hypothesis may wrap what a teardown raises.
        if not _caused_by_enough(error):
            raise


def _caused_by_enough(error: BaseException | None) -> bool:
    seen = 0
    while error is not None and seen < 20:
        if isinstance(error, _EnoughError):
            return True
        if isinstance(error, BaseExceptionGroup) and any(_caused_by_enough(item) for item in error.exceptions):
            return True
        error = error.__cause__ or error.__context__
        seen += 1
    return False
