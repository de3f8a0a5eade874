"""The Hypothesis state machine: operations as rules, the interpreter as the check.

A user's own test needs one hook::

    class MyStoreMachine(TaskStoreMachine):
        def open_store(self, clock=None, default_ttl_ms=None):
            return MyStore(clock=clock, default_ttl_ms=default_ttl_ms)

    TestMyStore = MyStoreMachine.TestCase

A store that has the terminal states wrong fails within a few examples, and Hypothesis shrinks the
steps.  Every breach of another requirement is another failure to Hypothesis.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, precondition, rule

from mcptasks.conformance.engine.breach import Breach, Stop
from mcptasks.conformance.engine.expand import with_reads
from mcptasks.conformance.engine.interpreter import Interpreter
from mcptasks.conformance.engine.plan import Features, Plan
from mcptasks.conformance.engine.watchdog import Watchdog
from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.model.automaton import Automaton
from mcptasks.conformance.targets.store import StoreOptions, StoreSource
from mcptasks.strategies.arbitrary import keys, payloads
from mcptasks.strategies.operations import (
    Abort,
    AdvanceClock,
    Cancel,
    Complete,
    Create,
    Fail,
    Get,
    Operation,
    Resolve,
    SetInput,
    Subscribe,
    Tamper,
    Unsubscribe,
)

__all__ = ["ConformanceFailure", "TaskStoreMachine"]


class ConformanceFailure(AssertionError):
    """A store broke a requirement.  One subclass for each requirement, so that Hypothesis tells them apart."""


@cache
def failure_of(requirement: str) -> type[ConformanceFailure]:
    """The failure class of a requirement."""
    return type(f"Breach of {requirement}", (ConformanceFailure,), {})


def _entries() -> st.SearchStrategy[dict[str, Any]]:
    key = st.one_of(st.sampled_from("abc"), keys())
    return st.dictionaries(key, payloads(), max_size=3)


class TaskStoreMachine(RuleBasedStateMachine):
    """Generates operations on a 2026-07-28 task store and checks every observation.

    Subclass it and give it :meth:`open_store`; everything else has a default.
    """

    tasks = Bundle("tasks")
    _own_loop: ClassVar[asyncio.AbstractEventLoop]

    settle: ClassVar[float] = 2.0
    """Seconds to wait for events that are due."""
    timeout: ClassVar[float] = 10.0
    """Seconds after which an awaited call counts as never ending."""
    warnings_fail: ClassVar[bool] = False
    """Whether a breach that the catalogue only warns of fails the test."""

    def open_store(self) -> Any:
        """Open a fresh store: the one hook.

        Name any of the keywords ``clock`` and ``default_ttl_ms`` as parameters to have expiry tested.  May
        be async, or give a context manager.
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
        self._interpreter: Interpreter | None = None
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
        accepts = self._source.accepts
        return Features(clock="clock" in accepts, ttl="default_ttl_ms" in accepts)

    def _automaton(self) -> Automaton:
        return Automaton()

    def _known(self) -> set[str]:
        return set()

    def _make(self, store: Any) -> Interpreter:
        return Interpreter(store, self._automaton(), known=self._known(), settle=self.settle)

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
        self.operations.append(operation)
        try:
            self._run(self._step(operation))
        except Stop as stop:
            self._breached(stop.breach)

    @initialize(target=tasks, data=st.data())
    def first_task(self, data: Any) -> str:
        """Open the store and create a task."""
        plan = Plan(0, self._features())
        choices = list(dict.fromkeys(plan.options(batch) for batch in range(8)))
        self.options = data.draw(st.sampled_from(choices), label="store opened with")
        self._run(self._open())
        if self._features().in_process and data.draw(st.booleans(), label="with a listener"):
            self.subscribe("plain")
        return self._new_task()

    @rule(target=tasks)
    def create(self) -> str:
        """Create a task."""
        return self._new_task()

    def _new_task(self) -> str:
        self._created += 1
        name = f"t{self._created}"
        self._do(Create(name))
        return name

    @rule(task=tasks)
    def get(self, task: str) -> None:
        """Read a task."""
        self._do(Get(task))

    @rule(task=tasks, requests=_entries())
    def set_input(self, task: str, requests: dict[str, Any]) -> None:
        """Ask for input."""
        if self._features().input_requests:
            self._do(SetInput(task, requests))

    @rule(task=tasks, responses=_entries())
    def resolve(self, task: str, responses: dict[str, Any]) -> None:
        """Answer input requests."""
        if self._features().input_requests:
            self._do(Resolve(task, responses))

    @rule(task=tasks)
    def cancel(self, task: str) -> None:
        """Cancel a task."""
        self._do(Cancel(task))

    @rule(task=tasks, result=payloads())
    def complete(self, task: str, result: Any) -> None:
        """Complete a task."""
        self._do(Complete(task, result))

    @rule(task=tasks, error=payloads())
    def fail(self, task: str, error: Any) -> None:
        """Fail a task."""
        self._do(Fail(task, error))

    @precondition(lambda self: self.options.clock)
    @rule(ms=st.sampled_from([1, 999, 20_000, 60_001, 120_000, -1000]))
    def advance_clock(self, ms: int) -> None:
        """Move the injected clock."""
        self._do(AdvanceClock(ms))

    @rule(kind=st.sampled_from(["plain", "getting", "raising"]))
    def subscribe(self, kind: Any) -> None:
        """Add a listener."""
        if self._features().input_requests and self._features().in_process:
            self._listeners += 1
            self._do(Subscribe(f"l{self._listeners}", kind))

    @precondition(lambda self: self._listeners > 0)
    @rule(data=st.data())
    def unsubscribe(self, data: Any) -> None:
        """Remove a listener."""
        number = data.draw(st.integers(1, self._listeners), label="listener")
        self._do(Unsubscribe(f"l{number}"))

    @rule(task=tasks, what=st.sampled_from(["returned", "given"]))
    def tamper(self, task: str, what: Any) -> None:
        """Change what the store returned or was given."""
        if self._features().in_process:
            self._do(Tamper(task, what))

    @rule(task=tasks, after=st.integers(0, 3), requests=_entries(), result=payloads(), pick=st.integers(0, 4))
    def abort(self, task: str, after: int, requests: dict[str, Any], result: Any, pick: int) -> None:
        """Cancel a call in flight."""
        if not self._features().in_process:
            return
        inner: list[Any] = [Complete(task, result), Cancel(task), Fail(task, result)]
        if self._features().input_requests:
            inner += [SetInput(task, requests), Resolve(task, requests)]
        self._do(Abort(inner[pick % len(inner)], after))

    @rule(
        task=st.one_of(
            st.just("stranger"), tasks.map(lambda name: f"{name}~prefix"), tasks.map(lambda name: f"{name}~suffix")
        ),
        requests=_entries(),
        pick=st.integers(0, 5),
    )
    def stranger(self, task: str, requests: dict[str, Any], pick: int) -> None:
        """Use an id that was never given out."""
        operations: list[Operation] = [Get(task), Cancel(task), Complete(task, True), Fail(task, True)]
        if self._features().input_requests:
            operations += [SetInput(task, requests), Resolve(task, requests)]
        self._do(operations[pick % len(operations)])

    def teardown(self) -> None:
        """Read every task a last time, judge late events, close the store."""
        interpreter = self._interpreter
        if interpreter is None:
            return
        try:
            if not self.ended:
                for number in range(1, self._created + 1):
                    self._do(Get(f"t{number}"))
                    if self.ended:
                        break
            if not self.ended:
                try:
                    self._run(interpreter.finish())
                except Stop as stop:
                    self._breached(stop.breach)
        finally:
            self._interpreter = None
            self._run(self._close())

    async def _close(self) -> None:
        if self._watchdog is not None:
            await self._watchdog.stop()
        await self._store.close()
