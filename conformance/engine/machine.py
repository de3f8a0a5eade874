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

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, precondition, rule

from mcptasks.conformance.engine.interpreter import Interpreter
from mcptasks.conformance.engine.machine_base import ConformanceFailure, StoreMachine
from mcptasks.conformance.engine.plan import Features
from mcptasks.conformance.model.automaton import Automaton
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


def _entries() -> st.SearchStrategy[dict[str, Any]]:
    key = st.one_of(st.sampled_from("abc"), keys())
    return st.dictionaries(key, payloads(), max_size=3)


class TaskStoreMachine(StoreMachine):
    """Generates operations on a 2026-07-28 task store and checks every observation.

    Subclass it and give it :meth:`open_store`, which may name the keywords ``clock`` and ``default_ttl_ms``;
    everything else has a default.
    """

    tasks = Bundle("tasks")

    def _features(self) -> Features:
        accepts = self._source.accepts
        return Features(clock="clock" in accepts, ttl="default_ttl_ms" in accepts)

    def _automaton(self) -> Automaton:
        return Automaton()

    def _make(self, store: Any) -> Any:
        return Interpreter(store, self._automaton(), known=self._known(), settle=self.settle)

    def _last_reads(self) -> list[Operation]:
        return [Get(f"t{number}") for number in range(1, self._created + 1)]

    @initialize(target=tasks, data=st.data())
    def first_task(self, data: Any) -> str:
        """Open the store and create a task."""
        self._begin(data)
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
