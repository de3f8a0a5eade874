"""Judging what ``tasks/get`` shows: against the model, and against what was shown before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from mcptasks.conformance.engine.wire25_describe import ASPECTS, ROWS, expected_states, method_of, shown, word
from mcptasks.conformance.engine.wire25_tasks import Task25
from mcptasks.conformance.engine.wire_speaking import LOOKS
from mcptasks.conformance.model.automaton import Cause
from mcptasks.conformance.model.states import (
    ABSENT,
    CANCELLED,
    COMPLETED,
    FAILED,
    GONE,
    INPUT_REQUIRED,
    STATUSES,
    TERMINAL,
    TaskState,
)
from mcptasks.conformance.model.wire_2025 import RUNNING, Fit, fit
from mcptasks.conformance.wire.client import Reply
from mcptasks.conformance.wire.forms import instant
from mcptasks.conformance.wire.names import INVALID_PARAMS
from mcptasks.conformance.wire.problems import Smell
from mcptasks.strategies.json_values import JSON, text_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.wire25_interpreter import Wire25Interpreter

__all__ = ["Read25"]

_SOFT: Final = ("asked", "left")


class Read25:
    """The interpreter's judgement of reads."""

    def __init__(self, interpreter: Wire25Interpreter) -> None:
        self._run = interpreter

    # --- reading until it is settled --------------------------------------------------------

    async def read(self, task: Task25, wanted: Callable[[Mapping[str, JSON]], bool] | None = None) -> bool:
        """Read a task until what it shows is settled (and wanted); false if that does not come in time."""
        end: float | None = None
        pauses = self._pauses(task)
        looks = 0
        while True:
            begun, looks = time.monotonic(), looks + 1
            reply = await self._run.send("get", "tasks/get", {"taskId": task.id})
            if reply is None:
                return False
            if reply.result is not None and task.node.status not in (ABSENT, GONE):
                self._forms_of(task, reply)
            now = time.monotonic()
            # By when it was asked: where everything stalls, an answer that comes late tells of earlier.
            final = end is not None and begun >= end and looks >= LOOKS
            aspect = self.judge(task, reply, final=final)
            if self._run.profile.free and task.node.status == RUNNING and not task.unjudged:
                self._run.results.settled(task, begun)
            self._run.look()
            missing = wanted is not None and not (reply.result is not None and wanted(reply.result))
            if not aspect and (not missing or (reply.result or {}).get("status") in TERMINAL):
                return not missing
            if (aspect and self._given_up(task, aspect)) or final or task.unjudged:
                return False
            if end is None:
                end = now + self._run.deadline(task)
            await self._run.client.pacer.sleep(min(next(pauses), max(0.0, end - now) + 0.001))

    def _pauses(self, task: Task25) -> Iterator[float]:
        """Seconds between reads: most effects come at once, and the server's interval is for those that do not."""
        yield from (0.01, 0.03, 0.1)
        poll = 0.05 if task.poll_ms is None else min(max(task.poll_ms / 1000, 0.005), 2.0)
        while True:
            yield poll if self._run.settle is None else min(poll, max(self._run.settle / 3, 0.005))

    def _given_up(self, task: Task25, aspect: str) -> bool:
        """An effect that never came before is not waited for again."""
        cause = task.cause
        if cause is None:
            return False
        requirement = self.blame(task, cause, aspect)
        fingerprint = f"{requirement}/{cause.row}/{cause.state}/{aspect}"
        if fingerprint not in self._run.known:
            return False
        self._run.repeated[fingerprint] += 1
        task.unjudged = True
        return True

    def _forms_of(self, task: Task25, reply: Reply) -> None:
        assert reply.result is not None
        self._run.automaton.shapes["get"] += 1
        if reply.form == "sse":
            self._run.soft(
                "tasks25.get.no-sse", "get", "every", "stream", "tasks/get is answered with a stream", "one JSON object"
            )
        smells = self._run.forms.task("tasks/get", reply.result)
        status = reply.result.get("status")
        if status == "failed" and not reply.result.get("statusMessage"):
            told = "shows a failed task without statusMessage"
            smells.append(Smell("tasks25.life.failed-message", "statusMessage", "a failed task says why", told))
        if smells:
            task.smells.update(smell.aspect for smell in smells)
            self._run.smelled(smells, "get", "tasks/get")
            task.unjudged |= any(smell.aspect in ("status", "taskId") for smell in smells)

    # --- judging one read -------------------------------------------------------------------

    def blame(self, task: Task25, cause: Cause, aspect: str) -> str:
        """The requirement that a read breaches; see :func:`.wire_attribution_2025.blame`."""
        row = "set" if aspect == "asked" and not task.waited else cause.row
        return self._run.automaton.model.blame(row, cause.state, aspect, task.node.status)

    def judge(self, task: Task25, reply: Reply, *, final: bool) -> str:
        """Judge one ``tasks/get``.

        Returns:
            The aspect that is not settled, so that it has to be read again unless this is the ``final`` time; else
            nothing.

        Raises:
            Stop: it shows a breach.
        """
        if task.unjudged:
            return ""
        cause = self._cause(task)
        seen = self._seen(task, cause, reply)
        if seen is None:
            return ""
        fits = [(fit(state, seen), choice) for state, choice in task.node.states]
        settled = [(item.state, choice) for item, choice in fits if item.state is not None and not item.aspect]
        if settled:
            self._accept(task, cause, settled, seen)
            return ""
        return self._unsettled(task, cause, [item for item, _ in fits], reply, seen, final=final)

    def _unsettled(self, task: Task25, cause: Cause, fits: list[Fit], reply: Reply, seen: str, *, final: bool) -> str:
        soft = [item for item in fits if item.state is not None]
        aspect = (soft or fits)[0].aspect
        if soft or self._was_so(task, seen):
            if not final:
                return aspect
            if not self._run.profile.settles:
                self._run.inconclusive(task, cause)
                return ""
            if soft:
                # A recommendation only: the sequence goes on with what is shown, and may yet tell why it is so.
                with self._run.deferring():
                    self._wrong(task, cause, aspect, reply, soft=True, waited=True)
                self._accept(task, cause, [(item.state, None) for item in soft if item.state is not None], seen)
                return ""
            self._wrong(task, cause, aspect, reply, waited=True)
        if aspect == "life" and task.near_expiry:
            task.node, task.cause = self._run.automaton.start(TaskState(GONE)), None
            return ""
        if aspect == "life" and task.fetched and task.there and task.node.status in TERMINAL:
            self._forgotten(task, cause, reply)
            return ""
        self._wrong(task, cause, aspect, reply)
        return ""

    def _was_so(self, task: Task25, seen: str) -> bool:
        """Whether it was lawful before steps whose effect no read has shown yet."""
        return any(
            (item := fit(state, seen)).state is not None and not item.aspect
            for node in task.stale
            for state, _ in node.states
        )

    # --- what was shown --------------------------------------------------------------------

    def _cause(self, task: Task25) -> Cause:
        if task.cause is not None:
            return task.cause
        automaton, status = self._run.automaton, task.node.status
        row = "other" if self._run.changes[task.seen_at :] else "reread"
        return automaton.cause("get", row, status)

    def _seen(self, task: Task25, cause: Cause, reply: Reply) -> str | None:
        result = reply.result
        if result is None:
            task.outline = reply.code
            if reply.code == INVALID_PARAMS:
                return ABSENT
            actual = shown(None, reply.error)
            self._run.breach(
                "tasks25.get.unknown",
                "get",
                "get",
                task.node.status,
                "return",
                f"tasks/get of a task that is {word(task.node.status)} is answered with {actual}",
                expected_states(task.node),
                actual,
            )
            return None
        status = result.get("status")
        if not isinstance(status, str) or status not in STATUSES:
            task.unjudged = True  # reported by its form
            return None
        named = result.get("taskId")
        if isinstance(named, str) and named != task.id and task.node.status not in (ABSENT, GONE):
            self._run.breach(
                "tasks25.shape.get-flat",
                "get",
                "get",
                status,
                "identity",
                f"tasks/get shows a task whose taskId is {text_of(named, 60)}",
                "the taskId that was asked for",
                f"taskId {text_of(named, 60)}",
            )
        self.times(task, status, result)
        task.was_read = True
        task.waited |= status == INPUT_REQUIRED
        task.outline = status
        return status

    def times(self, task: Task25, status: str, result: Mapping[str, JSON]) -> None:
        """Take what a task says of its times."""
        created = instant(result.get("createdAt"))
        if task.created is not None and created is not None and created != task.created:
            self._run.soft(
                "tasks25.shape.createdat",
                "get",
                status,
                "createdAt",
                f"createdAt changes from {task.created.isoformat()} to {created.isoformat()}",
                "createdAt is when the task was created, and stays so",
            )
        updated = instant(result.get("lastUpdatedAt"))
        if task.updated is not None and updated is not None and updated < task.updated:
            told = f"lastUpdatedAt goes back from {task.updated.isoformat()} to {updated.isoformat()}"
            self._run.breach(
                "tasks25.shape.lastupdatedat",
                "get",
                "get",
                status,
                "back",
                f"tasks/get: {told}",
                "lastUpdatedAt never goes back",
                told,
                soft=True,
                warning=True,
            )
        task.updated = updated or task.updated
        task.created = task.created or created
        ttl, poll = result.get("ttl"), result.get("pollInterval")
        # A negative one is nothing that can pass.
        task.ttl_ms = ttl if isinstance(ttl, (int, float)) and not isinstance(ttl, bool) and ttl >= 0 else None
        task.poll_ms = poll if isinstance(poll, (int, float)) and not isinstance(poll, bool) and poll >= 0 else None
        choices = self._run.automaton.choices
        if poll is not None and task.poll_ms is not None:
            choices[("tasks25.shape.pollinterval", "given")] += 1
        elif poll is None:
            choices[("tasks25.shape.pollinterval", "absent")] += 1

    # --- accepting -------------------------------------------------------------------------

    def _accept(
        self,
        task: Task25,
        cause: Cause,
        fits: list[tuple[TaskState, tuple[str, str] | None]],
        seen: str,
    ) -> None:
        automaton = self._run.automaton
        task.node = automaton.node([(state, None) for state, _ in fits])
        cause.reads[task.node] = cause.reads.get(task.node, 0) + 1
        if task.node.status == GONE and cause.state not in (ABSENT, GONE) and not task.node.expired:
            automaton.choices[("tasks25.cancel.delete", "deleted")] += 1
        elif seen == CANCELLED:
            automaton.choices[("tasks25.cancel.delete", "kept")] += 1
        tool_error = bool(task.ending().get("result", {}).get("isError")) if task.ending() else False
        if cause.row == "complete-error" and seen == COMPLETED and tool_error:
            self._run.soft(
                "tasks25.life.iserror-failed",
                "complete",
                cause.state,
                "status",
                "a task whose tool gave a result with isError ends completed",
                "status failed",
            )
        if seen in TERMINAL:
            self._run.automaton.shapes[f"get-{FAILED}" if seen == FAILED else "get-ended"] += 1
        task.cause = None
        task.stale.clear()
        task.seen_at = len(self._run.changes)

    # --- breaches --------------------------------------------------------------------------

    def _forgotten(self, task: Task25, cause: Cause, reply: Reply) -> None:
        """A task that goes once its result was handed out: its ttl is how long it is retained (schema.ts, Task)."""
        self._run.breach(
            "tasks25.result.terminal",
            "get_result",
            "result",
            cause.state,
            "life",
            "a task is gone once its result was fetched, before its ttl has passed",
            "the task, until its ttl has passed",
            shown(reply.result, reply.error),
        )

    def _wrong(
        self, task: Task25, cause: Cause, aspect: str, reply: Reply, *, soft: bool = False, waited: bool = False
    ) -> None:
        run, node = self._run, task.node
        if aspect == "life" and not task.was_read:
            cause = run.automaton.cause("create", "create", node.status)  # nobody has ever seen it
        requirement = self.blame(task, cause, aspect)
        told = ROWS.get(cause.row, f"tasks/get after {method_of(cause.name)} on a task that was {word(cause.state)}")
        text = f"{told} shows {ASPECTS[aspect]}"
        if waited:
            text += f" for {run.deadline(task):g} s"
        run.breach(
            requirement,
            cause.name,
            cause.row,
            cause.state,
            aspect,
            text,
            expected_states(node),
            shown(reply.result, reply.error),
            soft=soft,
            waited=waited,
        )
