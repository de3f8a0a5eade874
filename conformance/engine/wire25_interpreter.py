"""The interpreter for servers of 2025-11-25: carries operations out in a session and holds every answer against the model.

``Create`` is a task-augmented tool call; ``SetInput``, ``Complete`` and ``Fail`` go through ``task_step``; ``Resolve``
answers requests of the server's; ``AwaitResult`` and ``GetResult`` are ``tasks/result``.  Other operations, which only a
store in the same process knows, do nothing.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from mcptasks.conformance.engine.beat import Words
from mcptasks.conformance.engine.breach import Breach, Stop
from mcptasks.conformance.engine.strangers import stranger_id
from mcptasks.conformance.engine.wire25_asking import QuestionJudge
from mcptasks.conformance.engine.wire25_automaton import Wire25Automaton
from mcptasks.conformance.engine.wire25_describe import method_of, shown, word
from mcptasks.conformance.engine.wire25_listing import List25
from mcptasks.conformance.engine.wire25_reads import Read25
from mcptasks.conformance.engine.wire25_results import Result25
from mcptasks.conformance.engine.wire25_server import OpenServer25
from mcptasks.conformance.engine.wire25_speaking import Speaking25
from mcptasks.conformance.engine.wire25_tasks import Task25, ending_of
from mcptasks.conformance.engine.wire_profiles import Control, step_of
from mcptasks.conformance.errors import InconclusiveError
from mcptasks.conformance.model.automaton import Node
from mcptasks.conformance.model.states import (
    ABSENT,
    CANCELLED,
    GONE,
    LIVE,
    STATUSES,
    TERMINAL,
    WORKING,
    Call,
    TaskState,
)
from mcptasks.conformance.model.wire_2025 import ENDED, RUNNING
from mcptasks.conformance.wire import translate
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.names import INVALID_PARAMS, METHOD_NOT_FOUND
from mcptasks.conformance.wire.problems import RequestsSpentError, Smell, WireProblem
from mcptasks.conformance.wire_2025.names import TASK_STATUS
from mcptasks.conformance.wire_2025.problems import SessionProblem
from mcptasks.conformance.wire_2025.session import Session
from mcptasks.strategies.json_values import JSON, text_of
from mcptasks.strategies.operations import Cancel, Complete, Create, Fail, Get, Operation, Resolve, SetInput
from mcptasks.strategies.operations_2025 import AwaitResult, GetResult, ListTasks

__all__ = ["TTL_MS", "Wire25Interpreter"]

TTL_MS: Final = 3_600_000
"""Time to live in milliseconds that is asked for: longer than any run."""
_LARGE: Final = 32 * 1024
"""Bytes of a request above which a server may refuse it (contract, section 2)."""
_REFUSALS: Final = 20
"""Creations that may be refused in a row before the server counts as one that never makes a task."""
_PULSE_S: Final = 0.05
"""Seconds after which a session must still be there."""
_MEMBERS: Final = frozenset({"content", "structuredContent", "isError"})
_ENDING: Final[dict[str, JSON]] = {"content": [{"type": "text", "text": "ended by the conformance suite"}]}
_ANSWERS: Final = {
    "cancelled": "the task, cancelled",
    "other": "the task, in another status",
    "invalid": "error -32602",
    "error": "another error",
    "applied": "applied: true",
    "refused": "applied: false",
    "ok": "an acknowledgement",
}


def _known(result: dict[str, JSON]) -> dict[str, JSON]:
    """A tool's result with the members that this revision knows: what an SDK has typed it does not carry more."""
    value = {key: item for key, item in result.items() if key in _MEMBERS}
    if "structuredContent" in value and not isinstance(value["structuredContent"], dict):
        value["structuredContent"] = {"value": value["structuredContent"]}
    return value


class _SkippedError(Exception):
    """The rest of the sequence says nothing."""


class Wire25Interpreter(Speaking25):
    """Runs sequences on one server; see :class:`.wire_speaking.Speaker` for the arguments."""

    def __init__(
        self,
        store: OpenServer25,
        automaton: Wire25Automaton,
        *,
        known: set[str] | None = None,
        settle: float | None = None,
        beat: Words | None = None,
    ) -> None:
        super().__init__(store, automaton, known, settle, beat, self._begin)
        self.reads = Read25(self)
        self.results = Result25(self)
        self.questions = QuestionJudge(self)
        self.lists = List25(self)
        self._operations: Sequence[Operation] = ()
        self._notices = self._first_notice = 0
        self._handlers: dict[type[Any], Callable[[Any], Awaitable[None]]] = {
            Create: self._create,
            Get: self._get,
            SetInput: self._set_input,
            Resolve: self._resolve,
            Cancel: self._cancel,
            Complete: self._complete,
            Fail: self._fail,
            AwaitResult: self._await_result,
            GetResult: self._get_result,
            ListTasks: self._list_tasks,
        }
        self._forget()

    # --- sequences -------------------------------------------------------------------------

    def _forget(self) -> None:
        self.silence()
        self._opened: list[Task25] = []
        self.changes: list[str] = []
        self.index = 0
        if self.automaton.full:
            self.automaton.forget()

    def _begin(self, session: Session) -> None:
        session.forget()
        self.questions.begin(session)
        self._notices = self._first_notice = len(session.notices)

    async def run(self, operations: Iterable[Operation]) -> Breach | None:
        """Run one sequence from its start; the breach that ended it, or ``None``."""
        self._forget()
        self._operations = list(operations)
        await self.session()
        found: Breach | None = None
        try:
            for operation in self._operations:
                await self._do(operation)
                self.index += 1
            await self._end(judged=True)
        except Stop as stop:
            found = stop.breach
            await self._end(judged=False)
        except _SkippedError:
            await self._end(judged=False)
        except RequestsSpentError:
            await self._end(judged=False)
            raise
        if self.store.refusals or (found is not None and found.state == "session"):
            # Whatever is left of it is not to be trusted; in a new one tasks may be made again.
            await self.store.leave()
        return found

    async def _do(self, operation: Operation) -> None:
        handler = self._handlers.get(type(operation))
        if handler is None:
            return
        await handler(operation)
        self.look()

    def look(self) -> None:
        """Judge what the server has sent of its own accord, and the waiters of tasks that live."""
        self.questions.look()
        self._look_at_notices()
        if not self.profile.free:
            for task in self.tasks.values():
                self.results.check(task)

    def _look_at_notices(self) -> None:
        session = self._session
        if session is None:
            return
        while self._notices < len(session.notices):
            notice = session.notices[self._notices]
            self._notices += 1
            if notice.method != TASK_STATUS:
                continue
            self.automaton.shapes["notification"] += 1
            self.automaton.choices[("tasks25.notif.optional", "sent")] += 1
            self.smelled(self._notification(notice.params), "notification", TASK_STATUS)
        smells, session.smells = session.smells, []
        self.smelled(smells, "notification", "the session")

    def _look_at_endings(self) -> None:
        """Whether status notifications have told of ends that no task had."""
        if self._session is None:
            return
        for notice in self._session.notices[self._first_notice :]:
            status = notice.params.get("status")
            if notice.method != TASK_STATUS or status not in TERMINAL:
                continue
            for task in self.tasks.values():
                known = task.node.status in TERMINAL and task.cause is None and not task.unjudged
                if task.id == notice.params.get("taskId") and known and task.node.status != status:
                    told = f"a {TASK_STATUS} tells that a task is {status} which tasks/get shows as {task.node.status}"
                    self.soft("tasks25.notif.full", "notification", task.node.status, "ending", told, "its status")

    def _notification(self, params: Mapping[str, JSON]) -> list[Smell]:
        """What is wrong with a status notification, less what every answer about the task has wrong, too."""
        smells = self.forms.notification(params)
        told = [task for task in self.tasks.values() if task.id == params.get("taskId")]
        return [smell for smell in smells if not any(smell.aspect in task.smells for task in told)]

    # --- tasks -----------------------------------------------------------------------------

    def _task(self, name: str) -> Task25:
        task = self.tasks.get(name)
        if task is None:
            task = self._stranger(name)
        if task.near_expiry:
            task.unjudged = True
        return task

    def _stranger(self, name: str) -> Task25:
        base, _, variant = name.partition("~")
        known = self.tasks.get(base)
        task_id = stranger_id(name, known.id if known is not None and len(known.id) > 1 else None)
        task = Task25(name, task_id, self.automaton.start(TaskState(ABSENT)), None)
        # An id that differs only in case may be the same id to a server (a GUID): nothing is judged.
        task.unjudged = variant == "case" or task_id in self.store.seen_ids
        self.tasks[name] = task
        return task

    async def _create(self, operation: Create) -> None:
        params = self.profile.opening(operation.as_, self._operations[self.index :])
        params = {**params, "task": {"ttl": TTL_MS}}
        self.client.reserve = len(self._opened) + 1
        asked_at = time.monotonic()  # a task is no older than its request
        reply = await self.send("create", "tools/call", params, creates=operation.as_)
        result = None if reply is None else reply.result
        if result is None or ("taskId" not in result and "task" not in result):
            self._uncreated(params, reply)
        self.store.refusals = 0
        assert result is not None
        self.changes.append("create")
        self.automaton.coverage[("create", ABSENT)] += 1
        self.automaton.shapes["create"] += 1
        smells = self.forms.created(result)
        self.smelled(smells, "create", "tools/call")
        inner = result.get("task")
        made: Mapping[str, JSON] = inner if isinstance(inner, Mapping) else result
        task_id, status = made.get("taskId"), made.get("status")
        if not isinstance(task_id, str) or not task_id:
            raise _SkippedError  # reported by its form
        if task_id in self.store.seen_ids:
            told = f"taskId {text_of(task_id, 60)} was given before"
            self._bad_create("tasks25.create.id-unique", "identity", told)
        self.store.seen_ids.add(task_id)
        self.store.made.append(task_id)
        start = TaskState(RUNNING) if self.profile.free else TaskState(WORKING)
        cause = self.automaton.cause("create", "create", start.status)
        task = Task25(operation.as_, task_id, self.automaton.start(start), cause)
        task.was_made = True
        task.born = asked_at
        self.tasks[operation.as_] = task
        self._opened.append(task)
        self._made[operation.as_] = task_id
        task.opening = params
        task.smells.update(smell.aspect for smell in smells)
        self.reads.times(task, str(status), made)
        ttl = made.get("ttl")
        same = "takes" if ttl == TTL_MS else "overrides"
        self.automaton.choices[("tasks25.create.ttl-override", f"{same} the ttl asked for")] += 1
        if status in STATUSES and status != WORKING:
            self._bad_create("tasks25.create.working", "status", f"a new task has status {text_of(status, 40)}")

    def _uncreated(self, params: Mapping[str, JSON], reply: Reply | None) -> None:
        self.store.refusals += 1
        if reply is not None and reply.result is not None:
            told = shown(reply.result, whole=True)
            self._bad_create(
                "tasks25.create.result", "no-task", f"a task-augmented call of {params['name']} gives {told}"
            )
        told = "no answer" if reply is None else f"error {reply.code}"
        if self.store.refusals >= _REFUSALS or not self.store.seen_ids:
            message = f": {text_of(reply.error['message'], 120)}" if reply is not None and reply.error else ""
            raise InconclusiveError(f"the tool {params['name']} makes no task: it gives {told}{message}")
        raise _SkippedError

    def _bad_create(self, requirement: str, aspect: str, actual: str) -> None:
        expected = "a CreateTaskResult with a new working task that has an id of its own"
        self.breach(requirement, "create", "create", "absent", aspect, f"create: {actual}", expected, actual)

    # --- reads -----------------------------------------------------------------------------

    async def _get(self, operation: Get) -> None:
        await self.reads.read(self._task(operation.task))

    # --- calls on one task -----------------------------------------------------------------

    async def _set_input(self, operation: SetInput) -> None:
        task = self._task(operation.task)
        if not operation.requests:
            return
        if self.profile.free:
            if task.node.status not in (ABSENT, GONE):
                await self.reads.read(task, lambda result: result.get("status") == "input_required")
            return
        task.waited = False
        requests: dict[str, JSON] = {}
        numbers: list[tuple[int, int]] = []
        for key, body in operation.requests:
            asked = self.questions.ask(task, key, body)
            requests[asked.name] = asked.request.fresh()
            numbers.append((task.key_number(asked.name), 0))
        await self._step(
            task, "set_input", Call("set", tuple(numbers)), {"action": "request_input", "requests": requests}
        )

    async def _complete(self, operation: Complete) -> None:
        task = self._task(operation.task)
        if self.profile.free:
            await self._ended_by_itself(task)
            return
        value = _known(translate.result_of(operation.result).fresh())
        entries = ((1, 0),) if value.get("isError") is True else ()
        call = Call("complete", entries, task.ending_number(ending_of(value, error=False)))
        await self._step(task, "complete", call, {"action": "complete", "result": value})

    async def _fail(self, operation: Fail) -> None:
        task = self._task(operation.task)
        if self.profile.free:
            await self._ended_by_itself(task)
            return
        error = translate.error_of(operation.error)
        call = Call("fail", (), task.ending_number(ending_of(error.value, error=True)))
        await self._step(task, "fail", call, {"action": "fail", "error": error.fresh()})

    async def _ended_by_itself(self, task: Task25) -> None:
        if task.node.status in (ABSENT, GONE):
            return
        if await self.reads.read(task, lambda result: result.get("status") in TERMINAL):
            await self.results.collect(task)

    async def _step(self, task: Task25, operation: str, call: Call, step: dict[str, JSON]) -> None:
        live = task.node.status in LIVE
        if live:
            task.moving = (time.monotonic(), task.node.status)
        reply = await self.send(operation, "tools/call", Control.stepping(task.id, step))
        if reply is None:
            return
        outcome = step_of(reply)
        late = task.node.status in TERMINAL
        self.conclude(task, call, outcome.answer, reply)
        self.questions.judge(task, outcome)
        if live and task.node.status in TERMINAL:
            await self.results.collect(task)
        if late:
            await self._pulse(operation)

    async def _pulse(self, operation: str) -> None:
        """Whether the session has survived work that went on behind its task's end.

        Raises:
            Stop: it has not.
        """
        session = await self.session()
        await self.client.pacer.sleep(_PULSE_S)
        self.transcript.add("ping", None)
        try:
            await session.request("ping")
        except SessionProblem as problem:
            self.broken(problem, operation)

    async def _resolve(self, operation: Resolve) -> None:
        await self.questions.resolve(self._task(operation.task), operation)

    async def _cancel(self, operation: Cancel) -> None:
        if not self.store.introduction.cancels:
            return
        task = self._task(operation.task)
        if task.stale and not task.unjudged:
            await self.reads.read(task)  # what is refused depends on whether its last step has been taken yet
        if task.node.status in LIVE:
            task.moving = (time.monotonic(), task.node.status)
        reply = await self.send("cancel", "tasks/cancel", {"taskId": task.id})
        if reply is None:
            return
        if reply.code == METHOD_NOT_FOUND:
            told = f"tasks/cancel is refused with error {reply.code}"
            self.breach(
                "tasks25.cap.cancel-flag",
                "cancel",
                "cancel",
                "every",
                "refused",
                told,
                "what tasks.cancel declares",
                told,
            )
        if task.id in self.store.made:
            self.store.made.remove(task.id)
        live = task.node.status in (*LIVE, RUNNING)
        answer = "invalid" if reply.code == INVALID_PARAMS else "error"
        if reply.result is not None:
            answer = self._cancelled(task, reply.result)
        self.conclude(task, Call("cancel"), answer, reply)
        if live and task.node.status == CANCELLED:
            await self.results.collect(task)

    def _cancelled(self, task: Task25, result: Mapping[str, JSON]) -> str:
        """What an answer to ``tasks/cancel`` says."""
        if task.node.status in (*LIVE, RUNNING):
            self.automaton.shapes["cancel"] += 1
            smells = self.forms.task("tasks/cancel", result)
            named = result.get("taskId")
            if isinstance(named, str) and named != task.id:
                told = f"shows the task {text_of(named, 60)}"
                smells.append(Smell("tasks25.cancel.returns-task", "identity", "the task that was cancelled", told))
            task.smells.update(smell.aspect for smell in smells)
            self.smelled(smells, "cancel", "tasks/cancel")
            if result.get("status") not in STATUSES:
                return "cancelled"  # reported by its form; whether it is so, the next read shows
        return "cancelled" if result.get("status") == CANCELLED else "other"

    def conclude(self, task: Task25, call: Call, answer: str, reply: Reply | None) -> None:
        """Take a task on to where a call with that answer leads; the reply is for what is told of it.

        Raises:
            Stop: the model has no such answer.
        """
        before: Node = task.node
        step = self.automaton.step(before, call)
        task.unjudged |= step.vast
        self.changes.append(step.cause.name)
        if task.unjudged:
            return
        edge = step.edges.get(answer)
        cause = step.cause
        if edge is None:
            error = reply.error if reply is not None else None
            told = f"error {error['code']}: {text_of(error['message'], 80)}" if error else _ANSWERS[answer]
            self.breach(
                step.requirement,
                cause.name,
                cause.row,
                cause.state,
                "return",
                f"{method_of(cause.name)} on a task that is {word(cause.state)} is answered with {told}",
                " or ".join(_ANSWERS[name] for name in step.edges),
                told,
            )
            return
        edge.count += 1
        if edge.target is before:
            if task.cause is None:
                task.cause = cause
            return
        # A cancellation is done when it is answered; whatever goes through a tool, or a question, may take a moment.
        if call.name != "cancel" and len(task.stale) < 8:
            task.stale.append(before)
        elif call.name == "cancel":
            task.stale.clear()
        task.node = edge.target
        task.cause = cause

    # --- results and lists -----------------------------------------------------------------

    async def _await_result(self, operation: AwaitResult) -> None:
        task = self._task(operation.task)
        if task.node.status in (*LIVE, RUNNING):
            await self.results.begin(task)
        else:
            await self.results.fetch(task, "wait_result")

    async def _get_result(self, operation: GetResult) -> None:
        task = self._task(operation.task)
        if task.node.status in LIVE:
            await self.results.begin(task)
        elif task.node.status == RUNNING:
            await self.results.begin(task)
            await self.results.collect(task)
        else:
            await self.results.fetch(task, "get_result")

    async def _list_tasks(self, operation: ListTasks) -> None:
        if self.store.introduction.lists:
            await self.lists.judge()

    # --- the end ---------------------------------------------------------------------------

    async def _end(self, *, judged: bool) -> None:
        """End every task that the sequence opened, and leave what waits.

        Raises:
            Stop: a waiter has no answer, or a wrong one.
        """
        session = self._session
        if session is None:
            return
        if judged:
            self.look()
            waited = [task for task in self._opened if task.waiters or self._deferred]
            for task in [task for task in waited if task.node.status in LIVE]:
                # An answer that comes too early must have come before the end is asked for, or it looks like a wrong
                # one.  Whoever has answered a later request does not stall, and answers now if at all.
                await self._do(Get(task.name))
                await self.results.watch(task)
                await self._do(Complete(task.name, dict(_ENDING)))
            if self._deferred:
                raise self._deferred[0]
            self._look_at_endings()
        for task in self.tasks.values():
            for waiting in task.waiters:
                waiting.drop()
            task.waiters.clear()
        while self._opened and not session.lost:
            task = self._opened[-1]
            if task.node.status not in (*TERMINAL, GONE, ENDED) or task.stale or task.unjudged:
                await self._end_silently(session, task)
            self._opened.pop()
        self.client.reserve = 0
        await self.questions.leave()

    async def _end_silently(self, session: Session, task: Task25) -> None:
        if not self.profile.free:
            method, params = "tools/call", Control.stepping(task.id, {"action": "complete", "result": dict(_ENDING)})
        elif self.store.introduction.cancels:
            method, params = "tasks/cancel", {"taskId": task.id}
        else:
            return
        with suppress(WireProblem):
            await session.request(method, params, beyond=True, seconds=min(2.0, self.client.limits.answer_s))
