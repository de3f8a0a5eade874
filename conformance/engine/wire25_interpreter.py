"""The interpreter for servers of 2025-11-25: carries operations out in a session and holds every answer against the model.

``Create`` is a task-augmented tool call; ``SetInput``, ``Complete`` and ``Fail`` go through ``task_step``; ``Resolve``
answers requests of the server's; ``AwaitResult`` and ``GetResult`` are ``tasks/result``.  Other operations, which only a
store in the same process knows, do nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Final

from mcptasks.conformance.engine.breach import Breach, Reporter, Stop
from mcptasks.conformance.engine.strangers import stranger_id
from mcptasks.conformance.engine.wire25_asking import QuestionJudge
from mcptasks.conformance.engine.wire25_automaton import Wire25Automaton
from mcptasks.conformance.engine.wire25_describe import method_of, shown, word
from mcptasks.conformance.engine.wire25_listing import List25
from mcptasks.conformance.engine.wire25_reads import Read25
from mcptasks.conformance.engine.wire25_results import Result25
from mcptasks.conformance.engine.wire25_server import OpenServer25
from mcptasks.conformance.engine.wire25_tasks import Task25, ending_of
from mcptasks.conformance.engine.wire_profiles import Control, Profile, step_of
from mcptasks.conformance.errors import InconclusiveError, TargetUnusableError
from mcptasks.conformance.model.automaton import Cause, Node
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
from mcptasks.conformance.wire.client import Reply, Words
from mcptasks.conformance.wire.names import INVALID_PARAMS, METHOD_NOT_FOUND
from mcptasks.conformance.wire.problems import RequestsSpentError, Smell, WireProblem
from mcptasks.conformance.wire_2025.names import TASK_STATUS
from mcptasks.conformance.wire_2025.problems import BROKEN, SessionProblem
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


class Wire25Interpreter(Reporter):
    """Runs sequences on one server.

    Args:
        store: the server (the name is that of the store interpreter's argument).
        automaton: the model; shared by all interpreters of a run, so that counts add up.
        known: fingerprints already reported; at a soft breach of a known kind the sequence goes on.
        settle: seconds until an effect must show; ``None``: the contract's default for the profile.
        beat: ``beat[0]`` is incremented at every request.
    """

    def __init__(
        self,
        store: OpenServer25,
        automaton: Wire25Automaton,
        *,
        known: set[str] | None = None,
        settle: float | None = None,
        beat: Words | None = None,
    ) -> None:
        self.store = store
        self.client = store.client
        self.profile: Profile = store.profile
        self.forms = store.forms
        self.transcript = store.transcript
        self.automaton = automaton
        self.known = set() if known is None else known
        self.settle = settle
        self.beat: Words = [0] if beat is None else beat
        self.exercised = automaton.exercised
        self.client.exercised = automaton.exercised
        self.repeated: Counter[str] = Counter()
        self.hung = False
        """Set by a watchdog; here every request has a deadline of its own."""
        self.index = 0
        self.reads = Read25(self)
        self.results = Result25(self)
        self.questions = QuestionJudge(self)
        self.lists = List25(self)
        self._operations: Sequence[Operation] = ()
        self._session: Session | None = None
        self._notices = 0
        self._requests = 0
        """Sent in this sequence."""
        self._renewed = False
        """Whether the session was found lost at its beginning."""
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
        self.tasks: dict[str, Task25] = {}
        self._made: dict[str, str] = {}
        self._opened: list[Task25] = []
        self.changes: list[str] = []
        self._deferred: list[Stop] = []
        self.index = 0
        self.transcript.clear()
        if self.automaton.full:
            self.automaton.forget()

    async def session(self) -> Session:
        """The session of this sequence.

        Raises:
            TargetUnusableError: none can be begun.
        """
        if self._session is None:
            self._session = await self.store.session()
            self.questions.begin(self._session)
            self._notices = len(self._session.notices)
        return self._session

    async def run(self, operations: Iterable[Operation]) -> Breach | None:
        """Run one sequence from its start; the breach that ended it, or ``None``."""
        self._forget()
        self._session, self._requests, self._renewed = None, 0, False
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
        self._look()

    def _look(self) -> None:
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

    def _notification(self, params: Mapping[str, JSON]) -> list[Smell]:
        """What is wrong with a status notification, less what every answer about the task has wrong, too."""
        smells = self.forms.notification(params)
        told = [task for task in self.tasks.values() if task.id == params.get("taskId")]
        return [smell for smell in smells if not any(smell.aspect in task.smells for task in told)]

    # --- breaches --------------------------------------------------------------------------

    @contextmanager
    def deferring(self) -> Iterator[None]:
        """Keep a breach for the end of the sequence: something else may turn out to be the reason."""
        try:
            yield
        except Stop as stop:
            self._deferred.append(stop)

    def _with_proof(self, found: Breach) -> Breach:
        return replace(found, curl=self.transcript.commands(self._made))

    def soft(self, requirement: str, operation: str, state: str, aspect: str, actual: str, expected: str) -> None:
        """Report what the sequence can go on after."""
        self.breach(requirement, operation, operation, state, aspect, actual, expected, actual, soft=True)

    def inconclusive(self, task: Task25, cause: Cause) -> None:
        """An effect did not come in time, where that may have reasons of its own."""
        task.unjudged = True
        self.store.note(
            f"{method_of(cause.name)} on a task that was {word(cause.state)}: no effect within "
            f"{self.deadline(task):g} s; not judged, since tasks of this profile move by themselves"
        )

    def smelled(self, smells: Iterable[Smell], operation: str, method: str) -> None:
        """Report what is wrong with the form of a message."""
        for smell in smells:
            self.breach(
                smell.requirement,
                operation,
                operation,
                "every",
                smell.aspect.removeprefix("!"),
                f"{method}: the message {smell.actual}",
                smell.expected,
                f"the message {smell.actual}",
                soft=True,
                warning=smell.aspect.startswith("!"),
            )

    def broken(self, problem: SessionProblem, operation: str) -> None:
        """Report a request that broke the session, or had no answer that can be read.

        Raises:
            Stop: always, unless the server cannot be asked at all.
            TargetUnusableError: then.
        """
        if problem.requirement is None:
            raise TargetUnusableError(f"{self.client.endpoint}: {problem.line}") from problem
        silent = problem.kind == "silent"
        aspect = "lost" if problem.lost else problem.kind
        gone = problem.lost or problem.requirement == BROKEN
        found = Breach(
            problem.requirement,
            operation,
            operation,
            # A hang costs its whole timeout every time: the investigator knows it by these two.
            "any" if silent else "session" if gone else "every",
            "life" if silent else aspect,
            f"{method_of(operation)}: the server {problem.text}",
            "a JSON-RPC answer; whatever fails inside is error -32603, and the session goes on",
            problem.text,
            self.index,
            warning=problem.warning,
        )
        if self._session is not None and (gone or silent):
            self._session.lost = self._session.lost or problem.text
        raise Stop(self._with_proof(found))

    # --- requests --------------------------------------------------------------------------

    def deadline(self, task: Task25 | None) -> float:
        """Seconds until an effect must show (contract, section 4)."""
        if self.settle is not None:
            return self.settle
        poll = (task.poll_ms or 0) / 1000 if task is not None else 0.0
        return max(2.0, 5 * poll) if self.profile.settles else max(10.0, 20 * poll)

    async def send(self, operation: str, method: str, params: Mapping[str, JSON], *, creates: str = "") -> Reply | None:
        """Send a request; ``None`` if the server refuses it for its size.

        Raises:
            Stop: it has no answer that can be read.
        """
        session = await self.session()
        self.transcript.add(method, params, creates=creates)
        self._requests += 1
        try:
            reply = await session.request(method, params)
        except SessionProblem as problem:
            if problem.kind == "over-limit":
                return None
            if problem.lost and self._requests == 1 and not self._renewed:
                # What became of it was not this sequence's doing.
                self.store.note(f"between two sequences the session was lost: the server {problem.text}")
                self._session, self._requests, self._renewed = None, 0, True
                self.transcript.clear()
                return await self.send(operation, method, params, creates=creates)
            self.broken(problem, operation)
            raise AssertionError("a breach without its stop") from problem
        self.took(reply, operation)
        return None if reply.error is not None and reply.sent_bytes > _LARGE else reply

    def took(self, reply: Reply, operation: str) -> None:
        """Count an answer, and judge what is wrong with it as a message."""
        if any(not waiting.done for task in self.tasks.values() for waiting in task.waiters):
            self.automaton.choices[("rpc.order-free", "later requests are answered first")] += 1
        self.exercised[f"{'refused' if reply.error is not None else 'answered'}:{reply.method}"] += 1
        if reply.smells:
            self.smelled(reply.smells, operation, reply.method)

    async def said(self, sending: Awaitable[int], operation: str) -> int | None:
        """The HTTP status of what has no JSON-RPC answer.

        Raises:
            Stop: the session broke at it.
        """
        try:
            return await sending
        except SessionProblem as problem:
            self.broken(problem, operation)
            return None

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
        await self.read(self._task(operation.task))

    async def read(self, task: Task25, wanted: Callable[[Mapping[str, JSON]], bool] | None = None) -> bool:
        """Read a task until what it shows is settled (and wanted); false if that does not come in time."""
        end: float | None = None
        pauses = self._pauses(task)
        while True:
            begun = time.monotonic()
            reply = await self.send("get", "tasks/get", {"taskId": task.id})
            if reply is None:
                return False
            if reply.result is not None and task.node.status not in (ABSENT, GONE):
                self._forms_of(task, reply)
            now = time.monotonic()
            final = end is not None and now >= end
            aspect = self.reads.judge(task, reply, final=final)
            if self.profile.free and task.node.status == RUNNING and not task.unjudged:
                self.results.settled(task, begun)
            self._look()
            missing = wanted is not None and not (reply.result is not None and wanted(reply.result))
            if not aspect and (not missing or (reply.result or {}).get("status") in TERMINAL):
                return not missing
            if (aspect and self._given_up(task, aspect)) or final or task.unjudged:
                return False
            if end is None:
                end = now + self.deadline(task)
            await self.client.pacer.sleep(min(next(pauses), max(0.0, end - now) + 0.001))

    def _pauses(self, task: Task25) -> Iterator[float]:
        """Seconds between reads: most effects come at once, and the server's interval is for those that do not."""
        yield from (0.01, 0.03, 0.1)
        poll = 0.05 if task.poll_ms is None else min(max(task.poll_ms / 1000, 0.005), 2.0)
        while True:
            yield poll if self.settle is None else min(poll, max(self.settle / 3, 0.005))

    def _given_up(self, task: Task25, aspect: str) -> bool:
        """An effect that never came before is not waited for again."""
        cause = task.cause
        if cause is None:
            return False
        requirement = self.reads.blame(task, cause, aspect)
        fingerprint = f"{requirement}/{cause.row}/{cause.state}/{aspect}"
        if fingerprint not in self.known:
            return False
        self.repeated[fingerprint] += 1
        task.unjudged = True
        return True

    def _forms_of(self, task: Task25, reply: Reply) -> None:
        assert reply.result is not None
        self.automaton.shapes["get"] += 1
        if reply.form == "sse":
            self.soft(
                "tasks25.get.no-sse", "get", "every", "stream", "tasks/get is answered with a stream", "one JSON object"
            )
        smells = self.forms.task("tasks/get", reply.result)
        status = reply.result.get("status")
        if status == "failed" and not reply.result.get("statusMessage"):
            told = "shows a failed task without statusMessage"
            smells.append(Smell("tasks25.life.failed-message", "statusMessage", "a failed task says why", told))
        if smells:
            task.smells.update(smell.aspect for smell in smells)
            self.smelled(smells, "get", "tasks/get")
            task.unjudged |= any(smell.aspect in ("status", "taskId") for smell in smells)

    # --- calls on one task -----------------------------------------------------------------

    async def _set_input(self, operation: SetInput) -> None:
        task = self._task(operation.task)
        if not operation.requests:
            return
        if self.profile.free:
            if task.node.status not in (ABSENT, GONE):
                await self.read(task, lambda result: result.get("status") == "input_required")
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
        if await self.read(task, lambda result: result.get("status") in TERMINAL):
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
        self._conclude(task, call, outcome.answer, reply)
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
        task = self._task(operation.task)
        if task.unjudged:
            return
        if task.node.status not in (*LIVE, RUNNING):
            await self._answer_late(task, operation)
            return
        if task.cause is not None and task.node.status in LIVE:
            await self.read(task)  # whether it waits for an answer must be known before one is given
        answered: list[tuple[int, int]] = []
        for key, body in operation.responses:
            asked = task.current.get(key)
            if asked is None and self.profile.free and key != "never-asked":
                free = [item for item in task.asked.values() if item not in task.current.values()]
                if not free:
                    await self._coming(task)
                    free = [item for item in task.asked.values() if item not in task.current.values()]
                if free:
                    asked = task.current[key] = free[0]
            if asked is None:
                continue
            if not await self.questions.awaited(task, asked):
                task.unjudged = True
                return
            if await self.questions.answer(asked, body):
                answered.append((task.key_number(asked.name), 0))
        if answered:
            self._conclude(task, Call("resolve", tuple(sorted(answered))), "ok", None)

    async def _answer_late(self, task: Task25, operation: Resolve) -> None:
        """Answer what has come already, of a task that has ended: nothing may come of it."""
        for key, body in operation.responses:
            asked = task.current.get(key)
            if asked is not None and asked.question is not None and await self.questions.answer(asked, body):
                self._conclude(task, Call("resolve", ((task.key_number(asked.name), 0),)), "ok", None)

    async def _coming(self, task: Task25) -> None:
        """Wait for a question that a task asks by itself."""
        session = await self.session()
        if all(waiting.done for waiting in task.waiters):
            await self.results.begin(task)

        def came() -> bool:
            self.questions.look()
            return any(asked not in task.current.values() for asked in task.asked.values()) or bool(session.lost)

        await session.until(came, self.deadline(task))

    async def _cancel(self, operation: Cancel) -> None:
        if not self.store.introduction.cancels:
            return
        task = self._task(operation.task)
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
        self._conclude(task, Call("cancel"), answer, reply)
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

    def _conclude(self, task: Task25, call: Call, answer: str, reply: Reply | None) -> None:
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
            self._look()
            waited = [task for task in self._opened if task.waiters or self._deferred]
            for task in [task for task in waited if task.node.status in LIVE]:
                await self._do(Complete(task.name, dict(_ENDING)))
            if self._deferred:
                raise self._deferred[0]
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
