"""The interpreter: runs operations on an open store and holds every observation against the model.

All drivers use it, and it alone talks to the target.  It is written for speed where every call
passes (:meth:`.Caller._call`, :meth:`Interpreter._conclude`, :meth:`.Reader._judge_read`):
the model's answers are remembered by the automaton, times and payloads are compared by identity or
bytes first, and text is made only for a breach.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from inspect import isawaitable
from types import CoroutineType
from typing import Any, Final

from mcptasks.conformance.engine.beat import Words
from mcptasks.conformance.engine.breach import Breach, Stop
from mcptasks.conformance.engine.bridged import may_refuse
from mcptasks.conformance.engine.calling import ABORTED, RAISED, word
from mcptasks.conformance.engine.describe import seen_record
from mcptasks.conformance.engine.ledger import Ledger
from mcptasks.conformance.engine.reading import Reader, outline
from mcptasks.conformance.engine.strangers import stranger_id
from mcptasks.conformance.engine.tamper import tamper
from mcptasks.conformance.engine.tasks import TrackedTask
from mcptasks.conformance.engine.times import TimeJudge
from mcptasks.conformance.model.attribution import blame
from mcptasks.conformance.model.automaton import Automaton, Step
from mcptasks.conformance.model.states import (
    ABSENT,
    GONE,
    WORKING,
    Call,
    TaskState,
)
from mcptasks.conformance.model.store_2026 import successors
from mcptasks.conformance.targets.cancelling import absorbed, uncancel
from mcptasks.conformance.targets.records import (
    Garbage,
    describe_error,
    plain_text,
    read_record,
    status_text,
)
from mcptasks.conformance.targets.store import OpenStore
from mcptasks.strategies.json_values import text_of
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

__all__ = ["Interpreter"]


class Interpreter(Reader):
    """Runs sequences on one open store.

    Args:
        store: the target.
        automaton: the model; shared by all interpreters of a run, so that counts add up.
        known: fingerprints already reported; at a soft breach of a known kind the sequence goes on.
        settle: seconds to wait for events that are due.
        beat: ``beat[0]`` is incremented at every call, so that a watchdog sees what hangs.
    """

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
        self.times = TimeJudge(self)
        self._start = automaton.start(TaskState(WORKING))
        self._handlers: dict[type[Any], Callable[[Any], Awaitable[None]]] = {
            Create: self._create,
            Get: self._get,
            SetInput: self._set_input,
            Resolve: self._resolve,
            Cancel: self._cancel,
            Complete: self._complete,
            Fail: self._fail,
            AdvanceClock: self._advance,
            Subscribe: self._subscribe,
            Unsubscribe: self._unsubscribe,
            Abort: self._abort,
            Tamper: self._tamper,
        }
        self.begin()

    # --- sequences -------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget the tasks and listeners of the last sequence."""
        self.tasks: dict[str, TrackedTask] = {}
        self.by_id: dict[str, TrackedTask] = {}
        self.ledger = Ledger(self)
        self.index = 0
        self.changes = 0
        self.clock_moves = 0
        self.aborted = False
        self.operation: Operation | None = None
        if self.store.clock is not None:
            self.store.clock.catch_up()
        if self.automaton.full:
            self.automaton.forget()
            self._start = self.automaton.start(TaskState(WORKING))

    async def run(self, operations: Iterable[Operation]) -> Breach | None:
        """Run one sequence from its start; the breach that ended it, or ``None``."""
        self.begin()
        breach: Breach | None = None
        try:
            for self.index, operation in enumerate(operations):
                self.operation = operation
                await self._handlers[type(operation)](operation)
            self.index += 1
            await self.ledger.settle()
        except Stop as stop:
            breach = stop.breach
        except asyncio.CancelledError:
            breach = self._cancelled()
        self._tally()
        if self.ledger.listeners:
            try:
                await self._end()
            except Stop as stop:
                breach = breach or stop.breach
        if await absorbed():
            breach = breach or self._cancelled()
        return breach

    def _tally(self) -> None:
        """Hand over what was counted in passing; a plain attribute is cheaper to count in than a Counter."""
        counted = self.exercised
        counted["store.time.created-stable"] += self.reads
        counted["store.ttl.no-early"] += self.reads_in_time
        counted["store.time.updated-advances"] += self.updates
        counted["store.get.old-snapshot-stable"] += self.snapshots
        self.reads = self.reads_in_time = self.updates = self.snapshots = 0

    async def outline_of_last_read(self, operations: Sequence[Operation]) -> object:
        """Run a sequence and give what its last operation, a get, returned; ``None`` if there is nothing."""
        await self.run(operations)
        last = operations[-1] if operations else None
        task = self.tasks.get(last.task) if isinstance(last, Get) else None
        if task is None:
            return None
        try:
            record = read_record(await self._call(self.store.get_task, task.id))
            return outline(record, status_text(record.status))
        except Garbage as error:
            return str(error)

    async def step(self, operation: Operation) -> None:
        """Run one more operation.

        Raises:
            Stop: it shows a breach.
        """
        self.operation = operation
        try:
            await self._handlers[type(operation)](operation)
        except asyncio.CancelledError:
            raise Stop(self._cancelled()) from None
        if await absorbed():
            raise Stop(self._cancelled())
        self.index += 1

    async def abandon(self) -> None:
        """Unsubscribe the listeners of a sequence that is not judged to its end."""
        await self._end()

    async def finish(self) -> None:
        """Judge what can only be judged at the end of a sequence, and unsubscribe its listeners.

        Raises:
            Stop: an event that was due did not come, or one came that was not.
        """
        try:
            await self.ledger.settle()
        except asyncio.CancelledError:
            raise Stop(self._cancelled()) from None
        finally:
            self._tally()
            await self._end()
            await absorbed()

    async def _end(self) -> None:
        self.operation = None
        await self._unsubscribe_all()

    # --- answers ---------------------------------------------------------------------------

    def _conclude(self, task: TrackedTask, call: Call, answer: str, value: Any = None) -> Step:
        step = task.node.steps.get(call)
        if step is None:
            step = self.automaton.step(task.node, call)
            task.unjudged |= step.vast
        self.changes += 1
        if task.unjudged:
            return step
        edge = step.edges.get(answer)
        if answer == "raise" and may_refuse(self.store, self.operation):
            task.unjudged = True
            self.ledger.withdraw()
            return step
        if edge is None:
            self._wrong_answer(task, step, answer, value)
        else:
            edge.count += 1
            task.node = edge.target
        task.cause = step.cause
        if self.store.clock is not None and step.transition:
            task.moved_at = self.store.clock.now
        if self.ledger.listeners:
            self.ledger.after_call(step.cause.name)
        if edge is not None and edge.warn is not None and answer == "raise":
            # After the events: an event that must not be is worse than the exception that it made.
            self._warn_answer(task, step, edge.warn)
        return step

    def _wrong_answer(self, task: TrackedTask, step: Step, answer: str, value: Any) -> None:
        cause = step.cause
        allowed = {"ok": "returns", "raise": "raises", "true": "returns True", "false": "returns False"}
        expected = " or ".join(allowed[name] for name in step.edges)
        actual = (
            f"raises {describe_error(self.error)}"
            if answer == "raise" and self.error
            else f"returns {text_of(value, 80)}"
        )
        self.breach(
            step.requirement,
            cause.name,
            cause.row,
            cause.state,
            "return",
            f"{cause.name} on a task that is {word(cause.state)} {actual}",
            f"{cause.name} {expected}",
            actual,
        )

    def _warn_answer(self, task: TrackedTask, step: Step, requirement: str) -> None:
        cause = step.cause
        actual = f"raises {describe_error(self.error)}" if self.error else "raises"
        self.breach(
            requirement,
            cause.name,
            cause.row,
            cause.state,
            "return",
            f"{cause.name} on a task that is {word(cause.state)} {actual} instead of doing nothing",
            f"{cause.name} returns and changes nothing",
            actual,
            soft=True,
            warning=True,
        )

    # --- tasks -----------------------------------------------------------------------------

    def _task(self, name: str) -> TrackedTask:
        task = self.tasks.get(name)
        if task is None:
            task = self._stranger(name)
        return task

    def _stranger(self, name: str) -> TrackedTask:
        base, _, variant = name.partition("~")
        known = self.tasks.get(base)
        task_id = stranger_id(name, None if known is None else known.id)
        node = self.automaton.start(TaskState(ABSENT))
        task = TrackedTask(name, task_id, node, self.automaton.cause("get", "reread", ABSENT))
        task.cause = None
        # An id that differs only in case may be the same id to a store (a GUID): nothing is judged.
        task.unjudged = variant == "case" or task_id in self.seen_ids
        self.tasks[name] = task
        self.by_id.setdefault(task_id, task)
        return task

    async def _create(self, operation: Create) -> None:
        raw = await self._call(self.store.create_task)
        self.changes += 1
        self.automaton.coverage[("create", ABSENT)] += 1
        self.exercised["store.create.working"] += 1
        self.exercised["store.create.unique-id"] += 1
        if raw is RAISED:
            self._bad_create("store.create.working", "return", f"raises {describe_error(self.error)}")  # type: ignore[arg-type]
        try:
            record = read_record(raw)
            status = status_text(record.status)
        except Garbage as error:
            self._bad_create("store.create.working", "return", f"returns what is no record: {error}")
            return
        task_id = plain_text(record.task_id)
        if not task_id:
            self._bad_create(
                "store.create.unique-id",
                "identity",
                f"task_id is {text_of(record.task_id, 60)}, not a non-empty string",
            )
            return
        if task_id in self.seen_ids:
            self._bad_create(
                "store.create.unique-id", "identity", f"task_id {text_of(task_id, 60)} was given to an earlier task"
            )
        self.seen_ids.add(task_id)
        if status != WORKING:
            self._bad_create("store.create.working", "status", f"status is {text_of(status, 40)}")
        task = TrackedTask(operation.as_, task_id, self._start, self.automaton.cause("create", "create", WORKING))
        aspect = self._misfit(task, WORKING, -1, (), status, record)
        if aspect:
            self._bad_create(blame("create", WORKING, aspect), aspect, seen_record(record, status))
        stale = self.tasks.get(operation.as_)
        if stale is not None:
            self.by_id.pop(stale.id, None)
        self.tasks[operation.as_] = task
        self.by_id[task_id] = task
        self.times.created(task, record)
        if self.ledger.listeners:
            self.ledger.after_call("create")

    def _bad_create(self, requirement: str, aspect: str, actual: str) -> None:
        self.breach(
            requirement,
            "create",
            "create",
            "absent",
            aspect,
            f"create: {actual}",
            "a record of a new working task with an id of its own, nothing pending, no result and no error",
            actual,
        )

    # --- reads -----------------------------------------------------------------------------

    async def _get(self, operation: Get) -> None:
        task = self.tasks.get(operation.task)
        if task is None:
            task = self._stranger(operation.task)
        # More than half of all calls are reads: what _call does, without the coroutine in between.
        self.beat[0] += 1
        try:
            raw = self.store.get_task(task.id)
            if type(raw) is CoroutineType:
                raw = await raw
            elif raw is not None and type(raw) not in self._plain:
                raw = await self._unfolded(raw)
        except BaseException as error:
            raw = self._raised(error, self.store.get_task)
        if self.hung:
            self._hangs(self.store.get_task)
        self._judge_read(task, raw)
        if self.ledger.listeners:
            self.ledger.after_call("get")

    # --- calls on one task -----------------------------------------------------------------

    async def _set_input(self, operation: SetInput) -> None:
        task = self.tasks.get(operation.task) or self._stranger(operation.task)
        argument = {key: body.fresh() for key, body in operation.requests}
        task.given = argument
        value = await self._call(self.store.set_input_requests, task.id, argument)  # type: ignore[arg-type]
        self._conclude(task, Call("set", task.number(operation.requests)), "raise" if value is RAISED else "ok", value)

    async def _resolve(self, operation: Resolve) -> None:
        task = self.tasks.get(operation.task) or self._stranger(operation.task)
        argument = {key: body.fresh() for key, body in operation.responses}
        task.given = argument
        raising = self.ledger.raising
        before = task.node
        call = Call("resolve", tuple([(task.key_number(key), 0) for key, _ in operation.responses]), -1, raising)
        step = before.steps.get(call)
        if step is None:
            step = self.automaton.step(before, call)
        if self.ledger.listeners:
            self.ledger.expect(task, before, step, operation.responses)
        value = await self._call(self.store.resolve_input_requests, task.id, argument)  # type: ignore[arg-type]
        self._conclude(task, call, "raise" if value is RAISED else "ok", value)

    async def _cancel(self, operation: Cancel) -> None:
        task = self.tasks.get(operation.task) or self._stranger(operation.task)
        value = await self._call(self.store.set_cancelled, task.id)
        answer = "true" if value is True else "false" if value is False else "raise" if value is RAISED else "other"
        self._conclude(task, _CANCEL, answer, value)

    async def _complete(self, operation: Complete) -> None:
        task = self.tasks.get(operation.task) or self._stranger(operation.task)
        argument = task.given = operation.result.fresh()
        value = await self._call(self.store.set_completed, task.id, argument)
        call = Call("complete", (), task.body_number(operation.result))
        self._conclude(task, call, "raise" if value is RAISED else "ok", value)

    async def _fail(self, operation: Fail) -> None:
        task = self.tasks.get(operation.task) or self._stranger(operation.task)
        argument = task.given = operation.error.fresh()
        value = await self._call(self.store.set_failed, task.id, argument)
        call = Call("fail", (), task.body_number(operation.error))
        self._conclude(task, call, "raise" if value is RAISED else "ok", value)

    # --- clock, listeners, tampering, aborting ---------------------------------------------

    async def _advance(self, operation: AdvanceClock) -> None:
        clock = self.store.clock
        if clock is None:
            return
        clock.advance(operation.ms)
        self.clock_moves += 1
        for task in self.tasks.values():
            if clock.set_back:
                task.updated = None  # what the target notes with this clock is not held against it
            if clock.set_back and (task.node.expired or task.node.status == GONE):
                task.unjudged = True
            elif self.times.is_expired(task) and not task.node.expired:
                task.node = self.automaton.step(task.node, Call("expire")).edges["ok"].target

    def _one_stream(self) -> bool:
        """Whether a further listener could not tell what it hears from what came for another one: over a bridge."""
        return self.store.bridged and any(listener.active for listener in self.ledger.listeners.values())

    async def _subscribe(self, operation: Subscribe) -> None:
        if self.store.on_input_response is None or self._one_stream():
            return
        listener = self.ledger.listener(operation.as_, operation.kind)
        value = await self._call(self.store.on_input_response, listener)
        if value is RAISED or not callable(value):
            actual = (
                f"raises {describe_error(self.error)}"
                if value is RAISED and self.error
                else f"returns {text_of(value, 60)}"
            )
            self.breach(
                "store.event.unsubscribe",
                "subscribe",
                "subscribe",
                "any",
                "return",
                f"on_input_response {actual}",
                "a function that unsubscribes the listener",
                actual,
                soft=True,
            )
            listener.disown()
            return
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
                "store.event.unsubscribe",
                "unsubscribe",
                "unsubscribe",
                "any",
                "return",
                f"unsubscribing {actual}",
                "it returns",
                actual,
                soft=True,
            )

    async def _tamper(self, operation: Tamper) -> None:
        task = self._task(operation.task)
        given = task.given
        raw = await self._call(self.store.get_task, task.id)
        self._judge_read(task, raw)
        if task.unjudged or task.node.status in (ABSENT, GONE) or task.cause is not None:
            return
        changed = tamper(raw if operation.what == "returned" else given)
        if operation.what == "returned":
            task.raw = None
        if changed:
            # Read at once: whatever comes next would blur whose doing a difference is.
            task.cause = self.automaton.cause("tamper", "tamper", task.node.status)
            self._judge_read(task, await self._call(self.store.get_task, task.id))

    async def _abort(self, operation: Abort) -> None:
        if await absorbed():
            raise Stop(self._cancelled())  # else it would be taken for what the aborted call raises
        inner = operation.operation
        if self.store.bridged:  # the store goes on with it, and what it does then comes at any time
            await self._handlers[type(inner)](inner)
            return
        task = self._task(inner.task)
        method, arguments, call = self._spelled(task, inner)
        if isinstance(inner, Resolve) and self.ledger.listeners:
            self.ledger.allow(task, inner.responses)
        self.beat[0] += 1
        value: Any
        try:
            value = method(*arguments)
            if isawaitable(value):
                value = await self._cut_off(value, operation.after)
        except Stop:
            raise
        except BaseException as error:
            if self.hung:
                self._hangs(method)
            uncancel()
            self.error = error
            value = RAISED
        if self.hung:
            self._hangs(method)
        if call is None:
            if value is not ABORTED:
                self._judge_read(task, value)
            return
        if value is not ABORTED:
            answer = "raise" if value is RAISED else "ok"
            if isinstance(inner, Cancel) and value is not RAISED:
                answer = "true" if value is True else "false" if value is False else "other"
            self._conclude(task, call, answer, value)
            return
        self.aborted = True
        self.changes += 1
        if task.unjudged:
            return
        before = [(state, None) for state, _ in task.node.states]
        after = [(item.state, None) for state, _ in task.node.states for item in successors(state, call)]
        self.automaton.choices[("store.misc.call-cancellation", "cancelled in flight")] += 1
        task.cause = self.automaton.cause("abort", "abort", task.node.status)
        task.node = self.automaton.node([*before, *after])
        if self.ledger.listeners:
            self.ledger.after_call("abort")

    async def _cut_off(self, value: Awaitable[Any], after: int) -> Any:
        task = asyncio.ensure_future(value)
        for _ in range(after):
            if task.done():
                break
            await asyncio.sleep(0)
        if not task.done():
            task.cancel()
        await asyncio.wait([task])
        if task.cancelled():
            return ABORTED
        return task.result()

    def _spelled(self, task: TrackedTask, inner: Operation) -> tuple[Callable[..., Any], tuple[Any, ...], Call | None]:
        match inner:
            case SetInput(_, requests):
                call = Call("set", task.number(requests))
                return self.store.set_input_requests, (task.id, {k: b.fresh() for k, b in requests}), call  # type: ignore[return-value]
            case Resolve(_, responses):
                call = Call("resolve", tuple((task.key_number(k), 0) for k, _ in responses), -1, self.ledger.raising)
                return self.store.resolve_input_requests, (task.id, {k: b.fresh() for k, b in responses}), call  # type: ignore[return-value]
            case Cancel():
                return self.store.set_cancelled, (task.id,), _CANCEL
            case Complete(_, result):
                return (
                    self.store.set_completed,
                    (task.id, result.fresh()),
                    Call("complete", (), task.body_number(result)),
                )
            case Fail(_, error):
                return self.store.set_failed, (task.id, error.fresh()), Call("fail", (), task.body_number(error))
            case _:
                return self.store.get_task, (task.id,), None


_CANCEL: Final = Call("cancel")
