"""The Hypothesis state machine of 2025-11-25 stores.

A user's own test needs one hook::

    class MyStoreMachine(TaskStoreMachine2025):
        def open_store(self, clock=None, page_size=None):
            return MyStore(clock=clock, page_size=page_size)

    TestMyStore = MyStoreMachine.TestCase
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, precondition, rule

from mcptasks.conformance.engine.expand import closing_reads
from mcptasks.conformance.engine.interpreter_2025 import Automaton25, Interpreter25
from mcptasks.conformance.engine.machine_base import StoreMachine
from mcptasks.conformance.engine.plan import Features
from mcptasks.conformance.model.automaton import Automaton
from mcptasks.conformance.targets.store import StoreSource
from mcptasks.strategies.arbitrary import payloads
from mcptasks.strategies.operations import AdvanceClock, Operation, Tamper, Unsubscribe
from mcptasks.strategies.operations_2025 import (
    STATUSES,
    AwaitResult,
    BadCursor,
    CreateTask,
    ForeignCursor,
    GetResult,
    GetTask,
    ListTasks,
    OnStatus,
    StoreResult,
    UpdateStatus,
)

__all__ = ["TaskStoreMachine2025"]

_SESSIONS: Final = ("A", "B")
_MESSAGES: Final = (None, "m", "ä", "line\nbreak")


class TaskStoreMachine2025(StoreMachine):
    """Generates operations on a 2025-11-25 task store and checks every observation.

    Subclass it and give it :meth:`open_store`, which may name the keywords ``clock``, ``default_ttl`` and
    ``page_size``; everything else has a default.
    """

    tasks = Bundle("tasks")

    guarded: ClassVar[bool] = True
    """Whether the store keeps ended tasks as they are, rather than the server above it."""
    waits: ClassVar[bool] = True
    """Whether to wait for results; ``wait_for_task_result`` must then be a coroutine function."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions: dict[str, str] = {}

    def _store_source(self) -> StoreSource:
        return StoreSource(self.open_store, type(self).__name__, revision="2025-11-25", guarded=self.guarded)

    def _features(self) -> Features:
        accepts = self._source.accepts
        return Features(
            clock="clock" in accepts,
            ttl="default_ttl" in accepts,
            pages="page_size" in accepts,
            revision="2025-11-25",
            wait=self.waits,
            statuses=True,
        )

    def _automaton(self) -> Automaton:
        return Automaton25(guarded=self.guarded)

    def _make(self, store: Any) -> Any:
        return Interpreter25(store, self._automaton(), known=self._known(), settle=self.settle)

    def _last_reads(self) -> list[Operation]:
        return closing_reads(self.operations)

    @initialize(target=tasks, data=st.data())
    def first_task(self, data: Any) -> str:
        """Open the store and create a task."""
        self._begin(data)
        if data.draw(st.booleans(), label="with a listener"):
            self.subscribe("plain")
        return self._new_task("A", {})

    @rule(
        target=tasks,
        session=st.sampled_from(_SESSIONS),
        options=st.fixed_dictionaries(
            {},
            optional={"ttl": st.sampled_from([3_600_000, None]), "poll_interval": st.sampled_from([500, 1, 60_000])},
        ),
    )
    def create(self, session: str, options: dict[str, Any]) -> str:
        """Create a task."""
        return self._new_task(session, options)

    def _new_task(self, session: str, options: dict[str, Any]) -> str:
        self._created += 1
        name = f"t{self._created}"
        self._sessions[name] = session
        self._do(CreateTask(name, options, session))
        return name

    @rule(task=tasks)
    def get(self, task: str) -> None:
        """Read a task."""
        self._do(GetTask(task))

    @rule(task=tasks)
    def get_result(self, task: str) -> None:
        """Read a result."""
        self._do(GetResult(task))

    @rule(task=tasks, status=st.sampled_from(STATUSES), message=st.sampled_from(_MESSAGES))
    def update(self, task: str, status: Any, message: str | None) -> None:
        """Set a status."""
        self._do(UpdateStatus(task, status, message))

    @rule(task=tasks, status=st.sampled_from(["completed", "failed"]), result=payloads())
    def store_result(self, task: str, status: Any, result: Any) -> None:
        """End a task with a result."""
        self._do(StoreResult(task, status, result))

    @rule(session=st.sampled_from(_SESSIONS))
    def list_tasks(self, session: str) -> None:
        """Walk the list."""
        self._do(ListTasks(session))

    @rule(foreign=st.booleans())
    def list_from_a_bad_cursor(self, foreign: bool) -> None:
        """Use a cursor that the store never gave, or gave to another session."""
        self._do(ForeignCursor("B", "A") if foreign else BadCursor("no-such-cursor", "A"))

    @rule(task=tasks)
    def wait(self, task: str) -> None:
        """Begin to wait for a result."""
        if self._features().wait:
            self._do(AwaitResult(task))

    @rule(kind=st.sampled_from(["plain", "getting"]))
    def subscribe(self, kind: Any) -> None:
        """Add a listener."""
        if self._features().statuses:
            self._listeners += 1
            self._do(OnStatus(f"l{self._listeners}", kind))

    @precondition(lambda self: self._listeners > 0)
    @rule(data=st.data())
    def unsubscribe(self, data: Any) -> None:
        """Remove a listener."""
        number = data.draw(st.integers(1, self._listeners), label="listener")
        self._do(Unsubscribe(f"l{number}"))

    @precondition(lambda self: self.options.clock)
    @rule(ms=st.sampled_from([1, 1_000, 60_000, 3_600_001, 86_400_000]))
    def advance_clock(self, ms: int) -> None:
        """Move the injected clock."""
        self._do(AdvanceClock(ms))

    @rule(task=tasks, what=st.sampled_from(["returned", "given"]))
    def tamper(self, task: str, what: Any) -> None:
        """Change what the store returned or was given."""
        self._do(Tamper(task, what))

    @rule(task=tasks, status=st.sampled_from(STATUSES), pick=st.integers(0, 3))
    def call_of_another_session(self, task: str, status: Any, pick: int) -> None:
        """Call with a session that the task does not belong to."""
        session = "B" if self._sessions[task] == "A" else "A"
        operations: list[Operation] = [
            GetTask(task, session),
            GetResult(task, session),
            UpdateStatus(task, status, None, session),
            StoreResult(task, "completed", {"foreign": 1}, session),
        ]
        self._do(operations[pick])

    @rule(
        task=st.one_of(
            st.just("stranger"), tasks.map(lambda name: f"{name}~prefix"), tasks.map(lambda name: f"{name}~suffix")
        ),
        pick=st.integers(0, 3),
    )
    def stranger(self, task: str, pick: int) -> None:
        """Use an id that was never given out."""
        operations: list[Operation] = [GetTask(task), GetResult(task), UpdateStatus(task), StoreResult(task)]
        self._do(operations[pick])
