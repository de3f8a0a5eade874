"""What state machines of both revisions of the store contract share: opening, running, judging, closing.

A subclass brings the rules; each is one operation, given to :meth:`StoreMachine._do`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from mcptasks.conformance.engine.breach import Breach, Stop
from mcptasks.conformance.engine.expand import with_reads
from mcptasks.conformance.engine.formed import formed
from mcptasks.conformance.engine.plan import Features
from mcptasks.conformance.engine.plan_2025 import plan_for
from mcptasks.conformance.engine.watchdog import Watchdog
from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.model.automaton import Automaton
from mcptasks.conformance.targets.store import StoreOptions, StoreSource
from mcptasks.strategies.operations import Operation

__all__ = ["ConformanceFailure", "StoreMachine", "failure_of"]


class ConformanceFailure(AssertionError):
    """A store broke a requirement.  One subclass for each requirement, so that Hypothesis tells them apart."""


@cache
def failure_of(requirement: str) -> type[ConformanceFailure]:
    """The failure class of a requirement."""
    return type(f"Breach of {requirement}", (ConformanceFailure,), {})


class StoreMachine(RuleBasedStateMachine):
    """A state machine over an interpreter, without rules."""

    _own_loop: ClassVar[asyncio.AbstractEventLoop]

    settle: ClassVar[float] = 2.0
    """Seconds to wait for events that are due."""
    timeout: ClassVar[float] = 10.0
    """Seconds after which an awaited call counts as never ending."""
    warnings_fail: ClassVar[bool] = False
    """Whether a breach that the catalogue only warns of fails the test."""

    def open_store(self) -> Any:
        """Open a fresh store: the one hook.

        Name any of the factory keywords as parameters to have what they drive tested.  May be async, or give a
        context manager.
        """
        raise NotImplementedError(f"{type(self).__name__} must define open_store()")

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[Operation] = []
        """What this example has done so far."""
        self.options = StoreOptions()
        self.ended = False
        self._loop = self._event_loop()
        self._source = self._store_source()
        self._interpreter: Any = None
        self._store: Any = None
        self._watchdog: Watchdog | None = None
        self._created = 0
        self._listeners = 0

    # --- what a subclass of the suite's own changes ----------------------------------------

    @classmethod
    def _event_loop(cls) -> asyncio.AbstractEventLoop:
        loop: asyncio.AbstractEventLoop | None = cls.__dict__.get("_own_loop")
        if loop is None or loop.is_closed():
            loop = asyncio.new_event_loop()
            cls._own_loop = loop
        return loop

    def _store_source(self) -> StoreSource:
        return StoreSource(self.open_store, type(self).__name__)

    def _features(self) -> Features:
        raise NotImplementedError

    def _automaton(self) -> Automaton:
        raise NotImplementedError

    def _known(self) -> set[str]:
        return set()

    def _make(self, store: Any) -> Any:
        """An interpreter on an open store."""
        raise NotImplementedError

    def _last_reads(self) -> list[Operation]:
        """What shows the state of every task at the end of an example."""
        raise NotImplementedError

    def _breached(self, breach: Breach) -> None:
        self._judged(self._run(self._attributed(breach)))

    async def _attributed(self, breach: Breach) -> Breach:
        """The breach under the name that it has where every operation is read back, on a fresh store.

        Without reads in between a deviation shows late, and an innocent operation would be blamed.
        """
        if breach.soft or breach.state == "any" or self._watchdog is None or self._interpreter is None:
            return breach
        store = await self._source.open(self.options)
        try:
            interpreter = self._make(store)
            interpreter.beat = self._interpreter.beat  # the one that the watchdog looks at
            with self._watchdog.over(interpreter):
                found = await interpreter.run(with_reads(self.operations))
        finally:
            await store.close()
        return breach if found is None or found.soft or found.state == "any" else found

    def _judged(self, breach: Breach) -> None:
        from mcptasks.conformance.catalogue import load_catalogue

        requirement = load_catalogue().find(breach.requirement)
        only_warns = breach.warning or (requirement is not None and requirement.verdict != "fail")
        if only_warns and not self.warnings_fail:
            self.ended = True
            return
        section = requirement.section if requirement is not None else ""
        raise failure_of(breach.requirement)(
            f"{breach.requirement}: {breach.message}\n  expected: {breach.expected}\n  actual:   {breach.actual}"
            f"\n  source:   {section}"
        )

    # --- running ---------------------------------------------------------------------------

    def _run(self, coroutine: Any) -> Any:
        return self._loop.run_until_complete(coroutine)

    async def _open(self) -> None:
        try:
            self._store = await self._source.open(self.options)
        except TargetUnusableError:
            if self.options == StoreOptions():
                raise
            self.options = StoreOptions()  # a factory may refuse some ttl
            self._store = await self._source.open(self.options)
        self._interpreter = self._make(self._store)
        if self._watchdog is None:
            self._watchdog = Watchdog(self._interpreter.beat, self.timeout)
            self._watchdog.start()

    async def _step(self, operation: Operation) -> None:
        assert self._interpreter is not None
        assert self._watchdog is not None
        with self._watchdog.over(self._interpreter):
            await self._interpreter.step(operation)

    def _do(self, operation: Operation) -> None:
        if self.ended or self._interpreter is None:
            return
        if self._features().well_formed:
            operation = formed(operation)
        self.operations.append(operation)
        try:
            self._run(self._step(operation))
        except Stop as stop:
            self._breached(stop.breach)

    def _begin(self, data: Any) -> None:
        """Open a store in one of the ways that the plan knows."""
        plan = plan_for(0, self._features())
        choices = list(dict.fromkeys(plan.options(batch) for batch in range(8)))
        self.options = data.draw(st.sampled_from(choices), label="store opened with")
        self._run(self._open())

    def teardown(self) -> None:
        """Read every task a last time, judge what is late, close the store."""
        interpreter = self._interpreter
        if interpreter is None:
            return
        try:
            for read in self._last_reads():
                if self.ended:
                    break
                self._do(read)
            if not self.ended:
                try:
                    self._run(interpreter.finish())
                except Stop as stop:
                    self._breached(stop.breach)
        finally:
            self._interpreter = None
            with suppress(Stop):
                self._run(interpreter.abandon())
            self._run(self._close())

    async def _close(self) -> None:
        if self._watchdog is not None:
            await self._watchdog.stop()
        await self._store.close()
