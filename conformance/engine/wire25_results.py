"""Judging ``tasks/result``: it waits while the task lives, and then gives what the task ended with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcptasks.conformance.engine.wire25_describe import ASPECTS, expected_result, shown, word
from mcptasks.conformance.engine.wire25_tasks import Task25, ending_of
from mcptasks.conformance.model.states import ABSENT, CANCELLED, COMPLETED, FAILED, GONE, LIVE, TERMINAL
from mcptasks.conformance.model.wire_2025 import ENDED, RUNNING, Answer25, Fit, fit_result
from mcptasks.conformance.model.wire_attribution_2025 import result_at_risk
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.names import INVALID_PARAMS
from mcptasks.conformance.wire_2025.forms import related_task
from mcptasks.conformance.wire_2025.session import Session, Waiting
from mcptasks.strategies.json_values import text_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.wire25_interpreter import Wire25Interpreter

__all__ = ["Result25"]

_BLOCKING_S: Final = 0.03
"""Seconds for which a new waiter is watched: an answer that comes at once is seen at once."""


class Result25:
    """The interpreter's judgement of results."""

    def __init__(self, interpreter: Wire25Interpreter) -> None:
        self._run = interpreter

    # --- waiting ---------------------------------------------------------------------------

    async def begin(self, task: Task25) -> Waiting:
        """Begin to wait for a task's result.

        Raises:
            Stop: it is answered although the task has not ended.
        """
        run = self._run
        session = await run.session()
        params = {"taskId": task.id}
        run.transcript.add("tasks/result", params, note="waits")
        waiting = session.begin("tasks/result", params)
        task.waiters.append(waiting)
        await self._until_over(session, waiting, _BLOCKING_S)
        self.check(task)
        return waiting

    async def watch(self, task: Task25) -> None:
        """Give the waiters of a task that lives a moment in which an answer would be too early.

        Raises:
            Stop: one is answered.
        """
        if not task.waiters:
            return
        session = await self._run.session()
        await session.until(lambda: bool(session.lost) or any(item.done for item in task.waiters), _BLOCKING_S)
        self.check(task)

    @staticmethod
    async def _until_over(session: Session, waiting: Waiting, seconds: float) -> None:
        await session.until(lambda: waiting.done or bool(session.lost), seconds)

    async def confirm(self, task: Task25) -> None:
        """Read a task that has been ended before its result is found wrong: it may not have ended as it should.

        Raises:
            Stop: it has not.
        """
        if task.cause is not None and task.node.status in TERMINAL and not task.unjudged:
            await self._run.reads.read(task)

    def check(self, task: Task25) -> None:
        """Judge the waiters of a task that lives.

        Raises:
            Stop: one was answered, or the session went with it.
        """
        for waiting in task.waiters:
            if waiting.problem is not None:
                self._run.broken(waiting.problem, "wait_result")
            if waiting.reply is not None and task.node.status in LIVE and not task.unjudged:
                self._judge(task, waiting.reply, "wait_result")
        if task.waiters and task.node.status in LIVE:
            self._run.automaton.shapes["blocked"] += 1

    def settled(self, task: Task25, read_begun: float) -> None:
        """Judge the waiters of a task that moves by itself, after a read that began at ``read_begun`` showed it alive."""
        for waiting in task.waiters:
            if waiting.ended is None or waiting.ended >= read_begun or waiting.reply is None:
                continue
            self._wrong(task, "blocks", waiting.reply, "wait_result")

    async def collect(self, task: Task25) -> None:
        """Wait for the answers that are due now that a task has ended, and judge them.

        Raises:
            Stop: one is wrong, or does not come in time.
        """
        run = self._run
        session = await run.session()
        while task.waiters:
            waiting = task.waiters[0]
            known = f"tasks25.result.terminal/result/{task.node.status}/hang" in run.known
            patience = 0.05 if known else run.deadline(task)
            await self._until_over(session, waiting, patience)
            task.waiters.pop(0)
            if waiting.problem is not None:
                run.broken(waiting.problem, "wait_result")
            if waiting.reply is None:
                waiting.drop()
                await self.confirm(task)
                if not task.unjudged:
                    self._hangs(task, "wait_result", patience)
            elif waiting.ended is not None and waiting.ended < task.moving[0] and not task.unjudged:
                self._wrong(task, "blocks", waiting.reply, "wait_result", status=task.moving[1])
            else:
                await self._judge_ended(task, waiting.reply, "wait_result")

    # --- fetching --------------------------------------------------------------------------

    async def fetch(self, task: Task25, operation: str) -> None:
        """Ask for the result of a task that has ended, or does not exist.

        Raises:
            Stop: the answer is wrong, or does not come.
        """
        run = self._run
        session = await run.session()
        run.transcript.add("tasks/result", {"taskId": task.id})
        waiting = session.begin("tasks/result", {"taskId": task.id})
        patience = (
            min(run.deadline(task), session.client.limits.answer_s) if run.profile.settles else run.deadline(task)
        )
        if f"tasks25.result.terminal/result/{task.node.status}/hang" in run.known:
            patience = min(patience, 0.2)
        await self._until_over(session, waiting, patience)
        if waiting.problem is not None:
            run.broken(waiting.problem, operation)
        if waiting.reply is None:
            waiting.drop()
            await self.confirm(task)
            if not task.unjudged:
                self._hangs(task, operation, patience)
            return
        await self._judge_ended(task, waiting.reply, operation)

    def _hangs(self, task: Task25, operation: str, seconds: float) -> None:
        status = task.node.status
        gone = status in (ABSENT, GONE)
        self._run.breach(
            "tasks25.result.unknown" if gone else "tasks25.result.terminal",
            operation,
            "result",
            status,
            "hang",
            f"tasks/result of a task that is {word(status)} is not answered within {seconds:g} s",
            expected_result(task),
            "no answer",
            soft=True,
            waited=True,
        )

    # --- judging ---------------------------------------------------------------------------

    async def _judge_ended(self, task: Task25, reply: Reply, operation: str) -> None:
        if not task.unjudged and all(item.state is None for item in self._fits(task, reply)):
            await self.confirm(task)
        self._judge(task, reply, operation)

    def _judge(self, task: Task25, reply: Reply, operation: str) -> None:
        run = self._run
        run.took(reply, operation)
        if task.unjudged:
            return
        was = task.ending()
        result = was.get("result")
        tool_error = isinstance(result, dict) and result.get("isError") is True
        fits = self._fits(task, reply)
        good = [item for item in fits if item.state is not None]
        if not good:
            self._wrong(task, fits[0].aspect, reply, operation)
            return
        before = task.node
        if not task.node.expired and task.node.status not in (ABSENT, GONE, CANCELLED):
            self._related(task, reply, operation)
        for requirement in result_at_risk(before.states[0][0], error="error" in was, tool_error=tool_error):
            run.exercised[requirement] += 1
        if good[0].aspect:
            self._wrong(task, good[0].aspect, reply, operation, soft=True)
        if before.status in (COMPLETED, FAILED, ENDED):
            if task.fetched:
                run.automaton.choices[("tasks25.result.repeatable", "the same again")] += 1
            task.there |= task.cause is None
            task.fetched = True
        if before.status == RUNNING:
            task.cause = run.automaton.cause(operation, "result", RUNNING)
        task.node = run.automaton.node([(item.state, None) for item in good if item.state is not None])
        run.automaton.coverage[(operation, before.status)] += 1

    @staticmethod
    def _fits(task: Task25, reply: Reply) -> list[Fit]:
        """What each possible state is after an answer."""
        error = reply.error
        ending = ending_of(reply.result if error is None else error, error=error is not None)
        kind = "result" if error is None else "invalid" if reply.code == INVALID_PARAMS else "error"
        seen = Answer25(kind, task.ending_number(ending), reply.code or 0)
        was = task.ending()
        wanted, result = was.get("error"), was.get("result")
        code = wanted.get("code", 0) if isinstance(wanted, dict) else 0
        tool_error = isinstance(result, dict) and result.get("isError") is True
        return [
            fit_result(state, seen, error="error" in was, tool_error=tool_error, code=code)
            for state, _ in task.node.states
        ]

    def _related(self, task: Task25, reply: Reply, operation: str) -> None:
        if reply.result is None:
            return
        run = self._run
        run.automaton.shapes["result"] += 1
        named = related_task(reply.result)
        if named == task.id:
            return
        told = "no related-task" if named is None else f"related-task {text_of(named, 60)}"
        run.breach(
            "tasks25.result.related-task",
            operation,
            "result",
            "every",
            "_meta" if named is None else "taskId",
            f"the answer to tasks/result has {told} in its _meta",
            f"related-task with taskId {text_of(task.id, 60)}",
            told,
            soft=True,
        )

    def _wrong(
        self, task: Task25, aspect: str, reply: Reply, operation: str, *, soft: bool = False, status: str = ""
    ) -> None:
        run, status = self._run, status or task.node.status
        requirement = run.automaton.model.blame("result", status, aspect)
        again = " again" if task.fetched and status in TERMINAL else ""
        run.breach(
            requirement,
            operation,
            "refetch" if again else "result",
            status,
            aspect,
            f"tasks/result{again} of a task that is {word(status)} gives {ASPECTS[aspect]}",
            "no answer before the task has ended" if aspect == "blocks" else expected_result(task),
            shown(reply.result, reply.error, whole=True),
            soft=soft,
            warning=soft,
        )
