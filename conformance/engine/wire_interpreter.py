"""The wire interpreter: carries operations out on a server and holds every answer against the model.

The counterpart of :mod:`.interpreter` for servers, used by the same drivers.  An operation on a store is a
request here: ``Create`` is a tool call, ``SetInput``, ``Complete`` and ``Fail`` go through ``task_step``, ``Resolve``
is ``tasks/update``, ``Cancel`` is ``tasks/cancel``.  Operations that only a store in the same process knows
(listeners, clock, tampering) do nothing.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from mcptasks.conformance.engine.beat import Words
from mcptasks.conformance.engine.breach import Breach, Stop
from mcptasks.conformance.engine.strangers import stranger_id
from mcptasks.conformance.engine.wire_answers import AnswerJudge
from mcptasks.conformance.engine.wire_automaton import WireAutomaton
from mcptasks.conformance.engine.wire_compare import compare_with_call
from mcptasks.conformance.engine.wire_describe import method_of, word
from mcptasks.conformance.engine.wire_profiles import Control, Step, step_of
from mcptasks.conformance.engine.wire_reads import ReadJudge
from mcptasks.conformance.engine.wire_server import OpenServer
from mcptasks.conformance.engine.wire_speaking import LOOKS, Speaking
from mcptasks.conformance.engine.wire_tasks import WireTask, payload_of
from mcptasks.conformance.errors import InconclusiveError
from mcptasks.conformance.model.states import ABSENT, GONE, STATUSES, TERMINAL, WORKING, Call, TaskState
from mcptasks.conformance.model.wire_2026 import RUNNING
from mcptasks.conformance.wire import translate
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.names import INVALID_PARAMS
from mcptasks.conformance.wire.problems import RequestsSpentError, WireProblem
from mcptasks.strategies.json_values import JSON, Payload, text_of
from mcptasks.strategies.operations import Cancel, Complete, Create, Fail, Get, Operation, Resolve, SetInput

__all__ = ["WireInterpreter"]
_REFUSALS: Final = 20
"""Creations that may be refused in a row before the server counts as one that never makes a task."""
_ENDING: Final[dict[str, JSON]] = {"content": [{"type": "text", "text": "ended by the conformance suite"}]}


_JUDGED: Final = frozenset({"status", "result", "error", "inputRequests"})
"""Members that the model judges by what they say."""


class _SkippedError(Exception):
    """The rest of the sequence says nothing."""


class WireInterpreter(Speaking):
    """Runs sequences on one server; see :class:`.wire_speaking.Speaker` for the arguments."""

    def __init__(
        self,
        store: OpenServer,
        automaton: WireAutomaton,
        *,
        known: set[str] | None = None,
        settle: float | None = None,
        beat: Words | None = None,
    ) -> None:
        super().__init__(store, automaton, known, settle, beat)
        self.client.impatient = lambda requirement: f"{requirement}/get/every/stream" in self.known
        self.reads = ReadJudge(self)
        self.answers = AnswerJudge(self)
        self._operations: Sequence[Operation] = ()
        self._handlers: dict[type[Any], Callable[[Any], Awaitable[None]]] = {
            Create: self._create,
            Get: self._get,
            SetInput: self._set_input,
            Resolve: self._resolve,
            Cancel: self._cancel,
            Complete: self._complete,
            Fail: self._fail,
        }
        self.begin()

    # --- sequences -------------------------------------------------------------------------

    def begin(self) -> None:
        """Forget the tasks of the last sequence."""
        self.tasks: dict[str, WireTask] = {}
        self._made: dict[str, str] = {}
        self._opened: list[WireTask] = []
        self.changes: list[str] = []
        self.index = 0
        self.transcript.clear()
        if self.automaton.full:
            self.automaton.forget()

    async def run(self, operations: Iterable[Operation]) -> Breach | None:
        """Run one sequence from its start; the breach that ended it, or ``None``."""
        self.begin()
        self._operations = list(operations)
        try:
            for operation in self._operations:
                await self._do(operation)
                self.index += 1
            await self._end(judged=True)
        except Stop as stop:
            await self._end(judged=False)
            return stop.breach
        except _SkippedError:
            await self._end(judged=False)
        except RequestsSpentError:
            await self._end(judged=False)
            raise
        return None

    async def step(self, operation: Operation) -> None:
        """Run one more operation.

        Raises:
            Stop: it shows a breach.
        """
        self._operations = (*self._operations[: self.index], operation)
        with suppress(_SkippedError):
            await self._do(operation)
        self.index += 1

    async def finish(self) -> None:
        """Judge what can only be judged at the end of a sequence, and end its tasks.

        Raises:
            Stop: an answer did not arrive.
        """
        try:
            await self._end(judged=True)
        except Stop:
            await self._end(judged=False)
            raise

    async def abandon(self) -> None:
        """End the tasks of a sequence that is not judged to its end."""
        await self._end(judged=False)

    async def _do(self, operation: Operation) -> None:
        handler = self._handlers.get(type(operation))
        if handler is not None:
            await handler(operation)

    # --- tasks -----------------------------------------------------------------------------

    def _task(self, name: str) -> WireTask:
        task = self.tasks.get(name)
        if task is None:
            task = self._stranger(name)
        if task.near_expiry:
            task.unjudged = True
        return task

    def _stranger(self, name: str) -> WireTask:
        base, _, variant = name.partition("~")
        known = self.tasks.get(base)
        task_id = stranger_id(name, known.id if known is not None and len(known.id) > 1 else None)
        task = WireTask(name, task_id, self.automaton.start(TaskState(ABSENT)), None)
        # An id that differs only in case may be the same id to a server (a GUID): nothing is judged.
        task.unjudged = variant == "case" or task_id in self.store.seen_ids
        self.tasks[name] = task
        return task

    async def _create(self, operation: Create) -> None:
        params = self.profile.opening(operation.as_, self._operations[self.index :])
        self.client.reserve = len(self._opened) + 1
        asked_at = time.monotonic()  # a task is no older than its request
        reply = await self.send("create", "tools/call", params, creates=operation.as_)
        if reply is not None and reply.result is not None and reply.result.get("resultType") == "input_required":
            reply = await self._ask_first(params, reply.result, operation.as_)
        result = None if reply is None else reply.result
        if result is None or ("taskId" not in result and "task" not in result):
            self._uncreated(params, reply)
        self.store.refusals = 0
        assert result is not None
        self.changes.append("create")
        self.automaton.coverage[("create", ABSENT)] += 1
        self.automaton.shapes["create"] += 1
        self.smelled(self.forms.created(result), "create", "tools/call")
        task_id, status = result.get("taskId"), result.get("status")
        if not isinstance(task_id, str) or not task_id:
            raise _SkippedError  # reported by its form
        if task_id in self.store.seen_ids:
            self._bad_create("tasks.create.unique-id", "identity", f"taskId {text_of(task_id, 60)} was given before")
        self.store.seen_ids.add(task_id)
        start = TaskState(RUNNING) if self.profile.free else TaskState(WORKING)
        cause = self.automaton.cause("create", "create", start.status)
        task = WireTask(operation.as_, task_id, self.automaton.start(start), cause)
        task.born = asked_at
        self.tasks[operation.as_] = task
        self._opened.append(task)
        self._made[operation.as_] = task_id
        task.opening = params
        self.reads.learn(task, result)
        if status in STATUSES:
            self.automaton.choices[("tasks.status.seed-any", f"starts {status}")] += 1
        if status != WORKING and not self.profile.free:
            self._bad_create(
                "tasks.status.get-working",
                "status",
                f"task_open gives a task with status {text_of(status, 40)}, which is to stay working until stepped",
            )

    async def _ask_first(self, params: dict[str, JSON], asked: Mapping[str, JSON], name: str) -> Reply | None:
        """Answer what a tool asks before it makes a task (MCP, "Multi Round-Trip Requests")."""
        requests = asked.get("inputRequests")
        answers: dict[str, JSON] = {}
        if isinstance(requests, Mapping):
            for key, body in requests.items():
                payload = payload_of(body)
                answers[key] = translate.response_of(Payload("mcptasks"), payload).value
        again = {**params, "inputResponses": answers}
        if isinstance(asked.get("requestState"), str):
            again["requestState"] = asked["requestState"]
        return await self.send("create", "tools/call", again, creates=name)

    def _uncreated(self, params: Mapping[str, JSON], reply: Reply | None) -> None:
        self.store.refusals += 1
        told = "no answer" if reply is None else f"error {reply.code}" if reply.error else "a result without a task"
        if self.store.refusals >= _REFUSALS or not self.store.seen_ids:
            message = f": {text_of(reply.error['message'], 120)}" if reply is not None and reply.error else ""
            raise InconclusiveError(f"the tool {params['name']} makes no task: it gives {told}{message}")
        raise _SkippedError

    def _bad_create(self, requirement: str, aspect: str, actual: str) -> None:
        self.breach(
            requirement,
            "create",
            "create",
            "absent",
            aspect,
            f"create: {actual}",
            "a new working task with an id of its own",
            actual,
        )

    # --- reads -----------------------------------------------------------------------------

    async def _get(self, operation: Get) -> None:
        task = self._task(operation.task)
        await self._read(task)

    async def _read(self, task: WireTask, wanted: Callable[[Mapping[str, JSON]], bool] | None = None) -> bool:
        """Read a task until what it shows is settled (and wanted); false if that does not come in time."""
        end: float | None = None
        looks = 0
        while True:
            asked, looks = time.monotonic(), looks + 1
            reply = await self.send("get", "tasks/get", {"taskId": task.id})
            if reply is None:
                return False
            if reply.result is not None and task.node.status not in (ABSENT, GONE):
                self._forms_of(task, reply.result)
            now = time.monotonic()
            # By when it was asked: where everything stalls, an answer that comes late tells of earlier.
            final = end is not None and asked >= end and looks >= LOOKS
            unsettled = self.reads.judge(task, reply, final=final)
            missing = wanted is not None and not (reply.result is not None and wanted(reply.result))
            if unsettled is None and (not missing or (reply.result or {}).get("status") in TERMINAL):
                return not missing
            if unsettled is not None and self._given_up(task, unsettled.aspect):
                return False
            if final:
                return False
            if end is None:
                end = now + self.deadline(task)
            pause = 0.05 if task.poll_ms is None else min(max(task.poll_ms / 1000, 0.005), 5.0)
            if self.settle is not None:
                pause = min(pause, max(self.settle / 3, 0.005))
            await self.client.pacer.sleep(min(pause, max(0.0, end - now) + 0.001))

    def _given_up(self, task: WireTask, aspect: str) -> bool:
        """An effect that never came before is not waited for again."""
        cause = task.cause
        if cause is None:
            return False
        requirement = self.automaton.model.blame(cause.row, cause.state, aspect, task.node.status)
        fingerprint = f"{requirement}/{cause.row}/{cause.state}/{aspect}"
        if fingerprint not in self.known:
            return False
        self.repeated[fingerprint] += 1
        task.unjudged = True
        return True

    def _forms_of(self, task: WireTask, result: Mapping[str, JSON]) -> None:
        self.automaton.shapes["get"] += 1
        self.automaton.shapes[f"get-{result.get('status')}"] += 1
        smells = self.forms.task(result)
        if smells:
            self.smelled(smells, "get", "tasks/get")
            # What has no proper form is no news for the model, which would give it a second name.
            task.unjudged |= any(smell.aspect in _JUDGED for smell in smells)

    # --- calls on one task -----------------------------------------------------------------

    async def _set_input(self, operation: SetInput) -> None:
        task = self._task(operation.task)
        if not operation.requests:
            return  # a tool that asks for nothing asks nobody
        if self.profile.free:
            if task.node.status not in (ABSENT, GONE):
                await self._read(task, lambda result: result.get("status") == "input_required")
            return
        entries: list[tuple[str, Payload]] = []
        for key, body in operation.requests:
            name = task.fresh_key(key)
            request = translate.request_of(body, name, len(task.requests))
            task.requests[name] = request
            entries.append((name, request))
        numbers = tuple((task.key_number(key), task.body_number(request)) for key, request in entries)
        step = {"action": "request_input", "requests": {key: request.fresh() for key, request in entries}}
        await self._step(task, "set_input", Call("set", numbers), step)

    async def _complete(self, operation: Complete) -> None:
        task = self._task(operation.task)
        if self.profile.free:
            if await self._read(task, lambda result: result.get("status") in TERMINAL):
                await compare_with_call(self, task)
            return
        result = translate.result_of(operation.result)
        call = Call("complete", (), task.body_number(payload_of(result.value, result=True)))
        await self._step(task, "complete", call, {"action": "complete", "result": result.fresh()})

    async def _fail(self, operation: Fail) -> None:
        task = self._task(operation.task)
        if self.profile.free:
            if await self._read(task, lambda result: result.get("status") in TERMINAL):
                await compare_with_call(self, task)
            return
        error = translate.error_of(operation.error)
        call = Call("fail", (), task.body_number(payload_of(error.value, error=True)))
        await self._step(task, "fail", call, {"action": "fail", "error": error.fresh()})

    async def _step(self, task: WireTask, operation: str, call: Call, step: dict[str, JSON]) -> None:
        task.steps += 1
        reply = await self.send(operation, "tools/call", Control.stepping(task.id, step))
        if reply is None:
            return
        outcome: Step = step_of(reply)
        self._conclude(task, call, outcome.answer, reply)
        self.answers.judge(task, outcome)

    async def _resolve(self, operation: Resolve) -> None:
        task = self._task(operation.task)
        if self.store.renames_keys is not False and len(task.shown_as) < len(task.requests):
            await self._read(task)  # the server may have names of its own for what it asks
        responses: dict[str, JSON] = {}
        numbers: list[tuple[int, int]] = []
        sent: list[tuple[str, Payload]] = []
        for key, body in operation.responses:
            name = self._asked(task, key)
            response = translate.response_of(body, self.request_under(task, name))
            responses[task.shown_as.get(name, name)] = response.fresh()
            numbers.append((task.key_number(name), 0))
            sent.append((name, response))
        reply = await self.send("resolve", "tasks/update", {"taskId": task.id, "inputResponses": responses})
        if reply is None:
            return
        for name, response in sent:
            task.sent.setdefault(name, []).append(response)
        self._conclude(task, Call("resolve", tuple(sorted(numbers))), self._ack("resolve", reply), reply)

    def _asked(self, task: WireTask, key: str) -> str:
        """The key that an operation's key stands for: as it was last asked, or, with tools that ask by themselves,
        one of those shown."""
        if not self.profile.free:
            return task.current.get(key, key)
        known = task.current.get(key)
        if known is None:
            free = [task.keys[number] for number, _ in sorted(task.node.pairs)]
            free = [name for name in free if name not in task.current.values()]
            known = task.current[key] = free[0] if free and key != "never-asked" else key
        return known

    @staticmethod
    def request_under(task: WireTask, name: str) -> Payload | None:
        """What is asked under a key, as far as it is known."""
        return task.requests.get(name) or task.meanings.get(task.shown_as.get(name, name))

    async def _cancel(self, operation: Cancel) -> None:
        task = self._task(operation.task)
        reply = await self.send("cancel", "tasks/cancel", {"taskId": task.id})
        if reply is not None:
            self._conclude(task, Call("cancel"), self._ack("cancel", reply), reply)

    def _ack(self, operation: str, reply: Reply) -> str:
        if reply.result is None:
            return "invalid" if reply.code == INVALID_PARAMS else "error"
        method = reply.method
        self.automaton.shapes["update" if operation == "resolve" else "cancel"] += 1
        self.smelled(self.forms.ack(method, reply.result), operation, method)
        return "ack"

    def _conclude(self, task: WireTask, call: Call, answer: str, reply: Reply) -> None:
        before = task.node
        step = self.automaton.step(before, call)
        task.unjudged |= step.vast
        self.changes.append(step.cause.name)
        if task.near_expiry:
            task.unjudged = True  # its ttl passed while the request was under way
        if task.unjudged:
            return
        edge = step.edges.get(answer)
        told = f"error {reply.code}: {text_of(reply.error['message'], 80)}" if reply.error else answer
        cause = step.cause
        if edge is None:
            expected = " or ".join(_ANSWERS[name] for name in step.edges)
            self.breach(
                step.requirement,
                cause.name,
                cause.row,
                cause.state,
                "return",
                f"{method_of(cause.name)} on a task that is {word(cause.state)} is answered with {_ANSWERS.get(told, told)}",
                expected,
                _ANSWERS.get(told, told),
            )
            return
        edge.count += 1
        if edge.warn is not None:
            self.breach(
                edge.warn,
                cause.name,
                cause.row,
                cause.state,
                f"return-{answer}",
                f"{method_of(cause.name)} on a task that is {word(cause.state)} is answered with {_ANSWERS.get(told, told)}",
                " or ".join(_ANSWERS[name] for name, other in step.edges.items() if other.warn is None),
                _ANSWERS.get(told, told),
                soft=True,
            )
        if edge.target is not before and answer in ("applied", "refused") and len(task.stale) < 8:
            task.stale.append(before)
        task.node = edge.target
        if task.cause is None or cause.state not in TERMINAL or task.cause.state in TERMINAL:
            # A no-op on a finished task does not take the blame from an unread transition before it.
            task.cause = cause

    # --- the end ---------------------------------------------------------------------------

    async def _end(self, *, judged: bool) -> None:
        """End every task that the sequence opened, and see where the answers went.

        Raises:
            Stop: an answer did not arrive, or at the wrong question.
        """
        while self._opened:
            task = self._opened[-1]
            if not self.profile.free:
                await self._end_by_step(task, judged=judged)
            elif task.node.status not in TERMINAL:
                await self._silently("tasks/cancel", {"taskId": task.id})
            self._opened.pop()
        self.client.reserve = 0

    async def _end_by_step(self, task: WireTask, *, judged: bool) -> None:
        due = judged and self.answers.outstanding(task)
        if task.node.status in TERMINAL and not task.stale and not due:
            return
        params = Control.stepping(task.id, {"action": "complete", "result": dict(_ENDING)})
        end = time.monotonic() + self.deadline(task)
        while True:
            asked = time.monotonic()
            reply = await self._silently("tools/call", params)
            if reply is None or not judged or task.unjudged:
                return
            outcome = step_of(reply)
            self.answers.judge(task, outcome)
            if not self.answers.outstanding(task):
                return
            if asked >= end or self.answers.given_up:
                self.answers.missing(task)
                return
            if not self.client.allowance.spares(len(self._opened) - 1):
                return  # the others have to be ended, too
            await self.client.pacer.sleep(0.02)

    async def _silently(self, method: str, params: Mapping[str, JSON]) -> Reply | None:
        if self.client.hangs(method, params):
            return None
        self.transcript.add(method, params)
        try:
            return await self.client.request(method, params, beyond=True)
        except WireProblem:
            return None


_ANSWERS: Final = {
    "ack": "an empty acknowledgement",
    "invalid": "error -32602",
    "error": "another error",
    "applied": "applied: true",
    "refused": "applied: false",
}
