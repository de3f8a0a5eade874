"""The interpreter for 2025-11-25 stores: runs operations and holds every observation against the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, cast

from mcptasks.conformance.engine.beat import Words
from mcptasks.conformance.engine.breach import Breach, Stop
from mcptasks.conformance.engine.bridged import may_refuse
from mcptasks.conformance.engine.calling import RAISED, word
from mcptasks.conformance.engine.listing_2025 import ListJudge
from mcptasks.conformance.engine.reading_2025 import Reader25
from mcptasks.conformance.engine.statuses_2025 import StatusLedger
from mcptasks.conformance.engine.strangers import NO_SUCH, stranger_id
from mcptasks.conformance.engine.tamper import tamper
from mcptasks.conformance.engine.tasks_2025 import TrackedTask25
from mcptasks.conformance.engine.times_2025 import EXPIRE, TimeJudge25
from mcptasks.conformance.engine.waiting_2025 import Waiters
from mcptasks.conformance.model.attribution_2025 import at_risk
from mcptasks.conformance.model.automaton import Automaton, Cause, Node
from mcptasks.conformance.model.states import ABSENT, GONE, NO_PAYLOAD, WORKING, Call, TaskState
from mcptasks.conformance.model.store_2025 import ORDER, STORE_2025, STORE_2025_UNGUARDED
from mcptasks.conformance.targets.cancelling import absorbed
from mcptasks.conformance.targets.records import Garbage, describe_error, plain_text, status_text
from mcptasks.conformance.targets.records_2025 import read_task
from mcptasks.conformance.targets.store import OpenStore, OpenStore25
from mcptasks.strategies.json_values import text_of
from mcptasks.strategies.operations import AdvanceClock, Operation, Tamper, Unsubscribe, name_of
from mcptasks.strategies.operations_2025 import (
    OWN,
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

__all__ = ["Automaton25", "Interpreter25"]
_LONGEST_MS: Final = 10**14
"""Three thousand years: a longer ttl may be refused, since its end is in no calendar."""


class Automaton25(Automaton):
    """The automaton of the 2025-11-25 store model.

    Args:
        guarded: whether the store is to guard terminal tasks, rather than the server above it.
    """

    def __init__(self, *, guarded: bool = True) -> None:
        super().__init__(STORE_2025 if guarded else STORE_2025_UNGUARDED)

    def _at_risk(self, cause: Cause, node: Node) -> set[str]:
        return at_risk(cause.row, cause.state, node.states[0][0])


class Interpreter25(Reader25):
    """Runs sequences on one open store.

    Args:
        store: the target.
        automaton: the model; shared by all interpreters of a run, so that counts add up.
        known: fingerprints already reported; at a soft breach of a known kind the sequence goes on.
        settle: seconds to wait for events and waiters that are due.
        beat: ``beat[0]`` is incremented at every call, so that a watchdog sees what hangs.
    """

    call_ends: ClassVar[str] = "store25.misc.call-ends"
    after_abort: ClassVar[str] = "store25.misc.call-ends"

    def __init__(
        self,
        store: OpenStore,
        automaton: Automaton,
        *,
        known: set[str] | None = None,
        settle: float = 2.0,
        beat: Words | None = None,
    ) -> None:
        super().__init__(store, automaton, known=known, settle=settle, beat=beat)
        self.store: OpenStore25 = cast("OpenStore25", store)
        self.times: TimeJudge25 = TimeJudge25(self)
        self.sessions: dict[str, str | None] = {}
        """The session of every task that this store has made, by id."""
        self._round = 0
        self._handlers: dict[type[Any], Callable[[Any], Awaitable[None]]] = {
            CreateTask: self._create,
            GetTask: self._get,
            StoreResult: self._store_result,
            GetResult: self._get_result,
            UpdateStatus: self._update,
            ListTasks: self._list,
            BadCursor: self._bad_cursor,
            ForeignCursor: self._foreign_cursor,
            AwaitResult: self._wait,
            OnStatus: self._subscribe,
            Unsubscribe: self._unsubscribe,
            AdvanceClock: self._advance,
            Tamper: self._tamper,
        }
        self.begin()

    # --- sequences -------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget the tasks, listeners and waiters of the last sequence."""
        self._round += 1
        self.tasks: dict[str, TrackedTask25] = {}  # type: ignore[assignment]
        self.by_id: dict[str, TrackedTask25] = {}  # type: ignore[assignment]
        self.ledger: StatusLedger = StatusLedger(self)  # type: ignore[assignment]
        self.waiters = Waiters(self)
        self.lists = ListJudge(self)
        self.index = self.changes = self.clock_moves = self.creations = 0
        self.aborted = False
        self.operation: Operation | None = None
        if self.store.clock is not None:
            self.store.clock.catch_up()
        if self.automaton.full:
            self.automaton.forget()

    async def run(self, operations: Iterable[Operation]) -> Breach | None:
        """Run one sequence from its start; the breach that ended it, or ``None``."""
        self.begin()
        breach: Breach | None = None
        try:
            for self.index, operation in enumerate(operations):
                self.operation = operation
                await self.perform(operation)
            self.index += 1
            await self.waiters.settle()
            await self.ledger.settle()
        except Stop as stop:
            breach = stop.breach
        except asyncio.CancelledError:
            breach = self._cancelled()
        try:
            await self._end()
        except Stop as stop:
            breach = breach or stop.breach
        if await absorbed():
            breach = breach or self._cancelled()
        return breach

    async def step(self, operation: Operation) -> None:
        """Run one more operation.

        Raises:
            Stop: it shows a breach.
        """
        self.operation = operation
        try:
            await self.perform(operation)
        except asyncio.CancelledError:
            raise Stop(self._cancelled()) from None
        if await absorbed():
            raise Stop(self._cancelled())
        self.index += 1

    async def finish(self) -> None:
        """Judge what can only be judged at the end of a sequence; end its waiters and listeners.

        Raises:
            Stop: a waiter or an event that was due did not come, or one came that was not.
        """
        try:
            await self.waiters.settle()
            await self.ledger.settle()
        except asyncio.CancelledError:
            raise Stop(self._cancelled()) from None
        finally:
            await self._end()
            await absorbed()

    async def abandon(self) -> None:
        """End waiters and listeners of a sequence that is not judged to its end."""
        await self._end()

    async def perform(self, operation: Operation) -> None:
        """Run one operation.

        Raises:
            Stop: it shows a breach.
        """
        await self._handlers[type(operation)](operation)

    async def outline_of_last_read(self, operations: Sequence[Operation]) -> object:
        """Run a sequence and give what its last operation, a get, showed; ``None`` if there is nothing."""
        await self.run(operations)
        last = operations[-1] if operations else None
        task = self.tasks.get(last.task) if isinstance(last, GetTask) else None
        return None if task is None else task.seen

    async def _end(self) -> None:
        self.operation = None
        await self.waiters.cancel()
        await self._unsubscribe_all()

    def _name_of(self, method: Callable[..., Any]) -> str:
        known = {"get_task": self.store.get_task, "get_result": self.store.get_task_result}
        for name, own in known.items():
            if method is own:
                return name
        return "unsubscribe" if self.operation is None else name_of(self.operation)

    # --- sessions and tasks ----------------------------------------------------------------

    def session(self, name: str | None) -> str | None:
        """The session as the store is given it: another one in every sequence, so that sequences keep apart."""
        return None if name is None or not self.store.sessions else f"session-{name}-{self._round}"

    def session_for(self, task: TrackedTask25, name: str | None) -> str | None:
        """The session of a call on ``task``."""
        return task.session if name == OWN else self.session(name)

    def is_foreign(self, task: TrackedTask25, session: str | None) -> bool:
        """Whether a call with ``session`` must not reach the task.

        Whether a task that belongs to no session can be reached with one is left open: then nothing more is judged.
        """
        if session == task.session or task.node.status == ABSENT:
            return False
        if task.session is None:
            task.unjudged = True
            return False
        return True

    @staticmethod
    def _unbound(task: TrackedTask25, session: str | None) -> None:
        """A caller without a session is about to write: whether that reaches a session's task is left open."""
        task.unjudged |= session is None

    def task_of(self, name: str) -> TrackedTask25:
        """The task of that name; one that no create has bound stands for an id that never existed."""
        known = self.tasks.get(name)
        if known is not None:
            return known
        base, _, variant = name.partition("~")
        bound = self.tasks.get(base)
        task_id = stranger_id(name, None if bound is None else bound.id)
        session = bound.session if bound is not None and task_id != NO_SUCH + name else None
        node = self.automaton.start(TaskState(ABSENT))
        task = TrackedTask25(name, task_id, node, self.automaton.cause("get_task", "reread", ABSENT), session)
        task.cause = task.result_cause = None
        task.unjudged = variant == "case" or task_id in self.seen_ids
        self.tasks[name] = task
        self.by_id.setdefault(task_id, task)
        return task

    async def _create(self, operation: CreateTask) -> None:
        options = operation.options.fresh()
        session = self.session(operation.session)
        raw = await self._call(
            self.store.create_task, options, operation.request_id, operation.request.fresh(), session
        )
        self.changes += 1
        self.creations += 1
        self.automaton.coverage[("create_task", ABSENT)] += 1
        asked = operation.options.value
        ttl = asked.get("ttl")
        if raw is RAISED and ttl is not None and not 0 < ttl <= _LONGEST_MS:
            label = "refuses a ttl of 0 or less" if ttl <= 0 else "refuses a ttl beyond the calendar"
            self.automaton.choices[("store25.create.ttl-override", label)] += 1
            return
        self.exercised["store25.create.working"] += 1
        self.exercised["store25.create.unique-id"] += 1
        if raw is RAISED:
            self._bad_create("store25.create.working", "return", f"raises {describe_error(self.error)}")  # type: ignore[arg-type]
        try:
            record = read_task(raw)
            status = status_text(record.status)
        except Garbage as error:
            self._bad_create("store25.create.working", "return", f"returns what is no record: {error}")
            return
        task_id = plain_text(record.task_id)
        if not task_id:
            actual = f"task_id is {text_of(record.task_id, 60)}, not a non-empty string"
            self._bad_create("store25.create.unique-id", "identity", actual)
            return
        if task_id in self.seen_ids:
            actual = f"task_id {text_of(task_id, 60)} was given to an earlier task"
            self._bad_create("store25.create.unique-id", "identity", actual)
        self.seen_ids.add(task_id)
        self.sessions[task_id] = session
        if status != WORKING:
            self._bad_create("store25.create.working", "status", f"status is {text_of(status, 40)}")
        start = self.automaton.start(TaskState(WORKING))
        task = TrackedTask25(
            operation.as_, task_id, start, self.automaton.cause("create_task", "create", WORKING), session
        )
        task.given = options
        task.had.add(WORKING)
        stale = self.tasks.get(operation.as_)
        if stale is not None:
            self.by_id.pop(stale.id, None)
        self.tasks[operation.as_] = task
        self.by_id[task_id] = task
        self.times.created(task, record, asked)
        self.ledger.after_call()

    def _bad_create(self, requirement: str, aspect: str, actual: str) -> None:
        expected = "a record of a new working task with an id of its own"
        self.breach(requirement, "create_task", "create", "absent", aspect, f"create_task {actual}", expected, actual)

    # --- calls on one task -----------------------------------------------------------------

    async def _get(self, operation: GetTask) -> None:
        task = self.task_of(operation.task)
        session = self.session_for(task, operation.session)
        foreign = self.is_foreign(task, session)
        raw = await self._call(self.store.get_task, task.id, session)
        if foreign:
            self.judge_foreign_get(task, raw, session)
        else:
            self.judge_get(task, raw)

    async def _get_result(self, operation: GetResult) -> None:
        task = self.task_of(operation.task)
        session = self.session_for(task, operation.session)
        foreign = self.is_foreign(task, session)
        raw = await self._call(self.store.get_task_result, task.id, session)
        if foreign:
            self.judge_foreign_result(task, raw, session)
            return
        if raw is None or raw is RAISED:
            await self.judge_early_end(task)
        self.judge_result(task, raw)

    async def _store_result(self, operation: StoreResult) -> None:
        task = self.task_of(operation.task)
        session = self.session_for(task, operation.session)
        argument = operation.result.fresh()
        number = task.body_number(operation.result)
        call = Call("store_result", ((ORDER.index(operation.status), 0),), number)
        if self.is_foreign(task, session):
            call = Call("foreign_store_result")
            self._unbound(task, session)
        else:
            task.given = argument
        self.automaton.choices[("store25.result.final-status-only", operation.status)] += 1
        self.ledger.expect(task, call, None)
        value = await self._call(self.store.store_task_result, task.id, operation.status, argument, session)
        if value is RAISED:
            await self.judge_early_end(task)
        self._conclude(task, call, value)

    async def _update(self, operation: UpdateStatus) -> None:
        task = self.task_of(operation.task)
        session = self.session_for(task, operation.session)
        # An empty message says nothing, and may count as none.
        message = task.key_number(operation.message) if operation.message else NO_PAYLOAD
        call = Call("update_status", ((ORDER.index(operation.status), 0),), message)
        if self.is_foreign(task, session):
            call = Call("foreign_update_status")
            self._unbound(task, session)
        self.ledger.expect(task, call, operation.message or None)
        value = await self._call(self.store.update_task_status, task.id, operation.status, operation.message, session)
        if value is RAISED:
            await self.judge_early_end(task)
        self._conclude(task, call, value)

    async def judge_early_end(self, task: TrackedTask25) -> None:
        """Where real time passes, a task with a ttl may have vanished just before a call: then that is what is wrong.

        Raises:
            Stop: it has.
        """
        if self.store.clock is not None or task.ttl_ms is None or task.unjudged or task.node.may_be_gone:
            return
        if task.node.status in (ABSENT, GONE):
            return
        error = self.error
        if await self._call(self.store.get_task, task.id, task.session) is None:
            self.judge_nothing(task, task.cause or self.quiet_cause(task))
        self.error = error

    def _conclude(self, task: TrackedTask25, call: Call, value: Any) -> None:
        self.age(task)
        step = self.automaton.step(task.node, call)
        task.unjudged |= step.vast
        self.changes += 1
        if task.unjudged:
            return
        edge = step.edges.get("raise" if value is RAISED else "ok")
        if value is RAISED and may_refuse(self.store, self.operation):
            task.unjudged = True
            return
        if edge is None:
            cause = step.cause
            actual = f"raises {describe_error(self.error)}" if self.error else "raises"
            self.breach(
                step.requirement, cause.name, cause.row, cause.state, "return",
                f"{cause.name} on a task that is {word(cause.state)} {actual}", f"{cause.name} returns", actual,
            )  # fmt: skip
            return
        edge.count += 1
        task.goes_to(edge.target)
        # A foreign call that follows one of the task's own must not be blamed for it, nor hide it.
        foreign = step.cause.row.startswith("foreign")
        if not foreign or task.cause is None or task.cause.row == "create":
            task.cause = step.cause
        if not foreign or task.result_cause is None or task.result_cause.row == "create":
            task.result_cause = step.cause
        if self.store.clock is not None and step.transition:
            task.moved_at = self.store.clock.now
        self.ledger.after_call()

    # --- lists, waiting, listening ---------------------------------------------------------

    async def _list(self, operation: ListTasks) -> None:
        await self.lists.walk(operation)

    async def _bad_cursor(self, operation: BadCursor) -> None:
        await self.lists.bad_cursor(operation)

    async def _foreign_cursor(self, operation: ForeignCursor) -> None:
        await self.lists.foreign_cursor(operation)

    async def _wait(self, operation: AwaitResult) -> None:
        task = self.task_of(operation.task)
        await self.waiters.begin(task, self.session_for(task, operation.session))

    async def _subscribe(self, operation: OnStatus) -> None:
        one_stream = self.store.bridged and any(listener.active for listener in self.ledger.listeners.values())
        if self.store.on_status_change is None or one_stream:  # over a bridge each hears what comes for another
            return
        listener = self.ledger.listener(operation.as_, operation.kind)
        value = await self._call(self.store.on_status_change, listener)
        if value is RAISED or not callable(value):
            # That there is no stream of events is lawful (MAY), and then nothing is due.
            listener.disown()
            self.automaton.choices[("store25.event.optional", "no events")] += 1
            return
        self.automaton.choices[("store25.event.optional", "events")] += 1
        self.ledger.subscribed(listener, value)

    async def _unsubscribe(self, operation: Unsubscribe) -> None:
        listener = self.ledger.listeners.get(operation.listener)
        if listener is None or not listener.active or listener.unsubscribe is None:
            return
        await self.ledger.drain(listener)
        value = await self._call(listener.unsubscribe)
        self.ledger.unsubscribed(listener)
        if value is RAISED:
            actual = f"raises {describe_error(self.error)}" if self.error else "raises"
            self.breach(
                "store25.event.independent", "unsubscribe", "unsubscribe", "any", "return",
                f"unsubscribing {actual}", "it returns", actual, soft=True,
            )  # fmt: skip

    # --- clock, tampering ------------------------------------------------------------------

    async def _advance(self, operation: AdvanceClock) -> None:
        clock = self.store.clock
        if clock is None:
            return
        clock.advance(operation.ms)
        self.clock_moves += 1
        for task in self.tasks.values():
            if clock.set_back:
                task.update_unknown = True
                if task.node.expired or task.is_gone:
                    task.unjudged = True
            elif task.node.status not in (ABSENT, GONE) and self.times.is_expired(task):
                task.goes_to(self.automaton.step(task.node, EXPIRE).edges["ok"].target)

    async def _tamper(self, operation: Tamper) -> None:
        task = self.task_of(operation.task)
        given = task.given
        raw = await self._call(self.store.get_task, task.id, task.session)
        self.judge_get(task, raw)
        result = await self._call(self.store.get_task_result, task.id, task.session)
        self.judge_result(task, result)
        if task.unjudged or task.node.status in (ABSENT, GONE):
            return
        changed = tamper(given) if operation.what == "given" else tamper(raw) | tamper(result)
        if changed:
            task.cause = task.result_cause = self.automaton.cause("tamper", "tamper", task.node.status)
            self.judge_get(task, await self._call(self.store.get_task, task.id, task.session))
            self.judge_result(task, await self._call(self.store.get_task_result, task.id, task.session))
