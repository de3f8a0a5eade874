"""Judging what a get and a get of the result return: against the possible states and the session."""

from __future__ import annotations

from typing import Any, Final

from mcptasks.conformance.engine.bridged import is_body
from mcptasks.conformance.engine.calling import RAISED, Caller, word
from mcptasks.conformance.engine.tasks_2025 import TrackedTask25
from mcptasks.conformance.engine.times_2025 import EXPIRE, TimeJudge25
from mcptasks.conformance.model.attribution_2025 import blame
from mcptasks.conformance.model.automaton import Cause
from mcptasks.conformance.model.states import ABSENT, GONE, TaskState
from mcptasks.conformance.model.store_2025 import ANY_PAYLOAD
from mcptasks.conformance.targets.records import MISSING, Garbage, describe_error, plain_text, status_text
from mcptasks.conformance.targets.records_2025 import TaskRecord, read_task
from mcptasks.strategies.json_values import text_of

__all__ = ["Reader25"]

_TOLD: Final = {
    "reread": "a second read",
    "other": "a read after operations on other tasks only",
    "clock": "a read after the clock moved",
    "tamper": "a read after the caller changed its own copy",
    "foreign-store": "a read after store_result with another session",
    "foreign-update": "a read after update_status with another session",
}
_ASPECTS: Final = {
    "life": "no task",
    "appears": "a task that must not be there",
    "status": "another status",
    "message": "another status message than was given",
    "result": "another result than was stored",
    "stray": "a result where none was stored",
}


class Reader25(Caller):
    """The part of the interpreter that judges reads; see :class:`.interpreter_2025.Interpreter25`."""

    times: TimeJudge25  # type: ignore[assignment]  # of the other revision
    creations: int

    # --- get -------------------------------------------------------------------------------

    def quiet_cause(self, task: TrackedTask25) -> Cause:
        """What to blame where nothing was done to the task itself since it was last read."""
        status = task.node.status
        if task.seen_at != self.changes:
            return self.automaton.cause("get_task", "other", status)
        if self.clock_moves and self.times.moved_since(task):
            return self.automaton.cause("get_task", "clock", status)
        return self.automaton.cause("get_task", "reread", status)

    def judge_get(self, task: TrackedTask25, raw: Any) -> None:
        """Judge what a get by the task's own session returned.

        Raises:
            Stop: it shows a breach.
        """
        if task.unjudged:
            return
        cause = task.cause or self.quiet_cause(task)
        if raw is None:
            self.judge_nothing(task, cause)
            return
        if raw is RAISED:
            self._bad_get(task, cause, f"raises {describe_error(self.error)}")  # type: ignore[arg-type]
            return
        try:
            record = read_task(raw)
        except Garbage as error:
            self._bad_get(task, cause, f"returns what is no record: {error}")
            return
        if plain_text(record.task_id) != task.id:
            self._bad_get(task, cause, f"returns a record whose task_id is {text_of(record.task_id, 60)}")
        try:
            status = status_text(record.status)
        except Garbage:
            status = ""
        fits: list[int] = []
        nearest = ""
        for index, (state, _) in enumerate(task.node.states):
            aspect = self._misfit(task, state, status, record)
            if not aspect:
                fits.append(index)
            elif nearest in ("", "appears"):
                nearest = aspect
        if not fits:
            self._wrong(task, cause, nearest, seen_task(record, status))
            return
        if len(fits) < len(task.node.states) or len(fits) > 1:
            task.node = self.automaton.narrow(task.node, fits)
        cause.reads[task.node] = cause.reads.get(task.node, 0) + 1
        self.times.read(task, record, cause)
        task.seen = (status, record.status_message)
        task.raw = raw
        task.cause = None
        task.seen_at = self.changes

    @staticmethod
    def _misfit(task: TrackedTask25, state: TaskState, status: str, record: TaskRecord) -> str:
        if state.status in (ABSENT, GONE):
            return "appears"
        if status != state.status:
            return "status"
        if state.message < 0:
            return ""
        return "" if plain_text(record.status_message) == task.keys[state.message] else "message"

    def age(self, task: TrackedTask25) -> None:
        """Where no clock is injected, take a task as one that may be gone once its ttl is as good as over."""
        if not task.node.may_be_gone and self.times.may_have_expired(task):
            task.goes_to(self.automaton.step(task.node, EXPIRE).edges["ok"].target)

    def judge_nothing(self, task: TrackedTask25, cause: Cause) -> None:
        """Judge that a get showed no task."""
        self.age(task)
        node = task.node
        if not node.may_be_gone:
            if self.clock_moves and self.times.moved_since(task):
                cause = self.automaton.cause("get_task", "clock", node.status)
            self._wrong(task, cause, "life", "None")
            return
        cause.reads[node] = cause.reads.get(node, 0) + 1
        self._absent_now(task)

    def _absent_now(self, task: TrackedTask25) -> None:
        if task.node.status != ABSENT:
            task.node = self.automaton.start(TaskState(GONE))
            if self.times.is_overdue(task):
                self.exercised["store25.ttl.cleanup"] += 1
        task.raw = task.seen = task.cause = None
        task.seen_at = self.changes

    def judge_foreign_get(self, task: TrackedTask25, raw: Any, session: str | None) -> None:
        """Judge what a get by another session than the task's returned."""
        if task.unjudged:
            return
        self.exercised["store25.get.other-session"] += 1
        if raw is None:
            return
        refuses = raw is RAISED
        actual = f"raises {describe_error(self.error)}" if refuses and self.error else "shows the task"
        aspect = "return" if refuses else "appears"
        self._foreign("store25.get.other-session", "get_task", "foreign-get", task, session, aspect, actual)

    # --- get of the result -----------------------------------------------------------------

    def judge_result(self, task: TrackedTask25, raw: Any) -> None:
        """Judge what a get of the result by the task's own session returned.

        Raises:
            Stop: it shows a breach.
        """
        if task.unjudged:
            return
        cause = task.result_cause or self._result_quiet(task)
        if raw is RAISED:
            has = all(state.payload >= 0 for state, _ in task.node.states)
            requirement = "store25.result.store" if has else "store25.result.get-none"
            actual = f"raises {describe_error(self.error)}" if self.error else "raises"
            self.breach(
                requirement, "get_result", "get-result", task.node.status, "return",
                f"get_result of a task that is {word(task.node.status)} {actual}",
                "the stored result" if has else "None", actual, soft=True,
            )  # fmt: skip
            return
        fits: list[int] = []
        nearest = ""
        for index, (state, _) in enumerate(task.node.states):
            aspect = self._result_misfit(task, state, raw)
            if not aspect:
                fits.append(index)
            elif nearest in ("", "appears"):
                nearest = aspect
        if not fits:
            self.age(task)
            if raw is None and task.node.may_be_gone:
                return
            self._wrong(task, cause, nearest, "None" if raw is None else f"result {text_of(raw, 120)}", result=True)
            return
        if len(fits) < len(task.node.states):
            task.node = self.automaton.narrow(task.node, fits)
        first = task.node.states[0][0]
        aspect = "result" if first.payload >= 0 else "stray"
        self.exercised[blame(cause.row, cause.state, aspect, first.status)] += 1
        if first.payload < 0:
            self.exercised["store25.result.get-none"] += 1
        if raw is not None:
            self.exercised["store25.result.store"] += 1
        elif first.payload >= 0:
            self._absent_now(task)  # it had one and may be gone: now it is
        task.result_cause = None
        task.result_seen_at = self.changes

    def _result_quiet(self, task: TrackedTask25) -> Cause:
        row = "other" if task.result_seen_at != self.changes else "reread"
        return self.automaton.cause("get_result", row, task.node.status)

    def _result_misfit(self, task: TrackedTask25, state: TaskState, raw: Any) -> str:
        if state.status in (ABSENT, GONE):
            return "appears" if raw is not None else ""
        if state.payload == ANY_PAYLOAD:
            return ""
        if state.payload < 0:
            return "stray" if raw is not None else ""
        if raw is None:
            return "" if state.expired else "result"
        return "" if is_body(self.store, task.bodies[state.payload], raw) else "result"

    def judge_foreign_result(self, task: TrackedTask25, raw: Any, session: str | None) -> None:
        """Judge what a get of the result by another session than the task's returned; raising shows nothing."""
        if task.unjudged:
            return
        self.exercised["store25.result.session"] += 1
        if raw is None or raw is RAISED:
            return
        actual = f"shows result {text_of(raw, 80)}"
        self._foreign("store25.result.session", "get_result", "foreign-result", task, session, "appears", actual)

    def _foreign(
        self, requirement: str, name: str, row: str, task: TrackedTask25, session: str | None, aspect: str, actual: str
    ) -> None:
        """What a call saw that was not of the task's session; that a call without any sees all is only a warning.

        The interfaces say what a session may see, and leave open whether a caller without one is restricted at all.
        """
        unbound = session is None
        how = "without a session" if unbound else "with another session than the task's"
        self.breach(
            requirement, name, row, task.node.status, f"{aspect}-unbound" if unbound else aspect,
            f"{name} {how} {actual}", "None", actual, soft=True, warning=unbound or aspect == "return",
        )  # fmt: skip

    # --- breaches --------------------------------------------------------------------------

    def _bad_get(self, task: TrackedTask25, cause: Cause, actual: str) -> None:
        status = task.node.status
        if status in (ABSENT, GONE):
            requirement = "store25.get.absent"
        elif cause.row in ("reread", "other", "tamper", "clock"):
            requirement = "store25.get.pure"
        else:
            requirement = blame(cause.row, cause.state, "life" if cause.row == "create" else "status", status)
        self.breach(
            requirement, "get_task", "get", status, "return",
            f"get_task of a task that is {word(status)} {actual}", expected_states(task), actual,
        )  # fmt: skip

    def _wrong(self, task: TrackedTask25, cause: Cause, aspect: str, actual: str, *, result: bool = False) -> None:
        if aspect == "appears" and task.hidden:
            requirement = "store25.list.includes-gettable"
        elif aspect == "appears" and result and task.node.status == ABSENT:
            requirement = "store25.result.get-none"
        elif aspect == "life" and cause.row == "create" and task.ttl_ms is not None:
            requirement = "store25.ttl.no-early"
        elif aspect == "life" and cause.row in ("clock", "other", "reread") and task.ttl_ms is None:
            requirement = "store25.create.ttl-null" if cause.row == "clock" else "store25.ttl.no-early"
        elif aspect == "life" and cause.row in ("other", "reread") and self.store.clock is None:
            requirement = "store25.ttl.no-early"  # real time has passed, too, though less than its ttl
        else:
            requirement = blame(cause.row, cause.state, aspect, task.node.status)
        told = _TOLD.get(cause.row, f"a read after {cause.row} on a task that was {word(cause.state)}")
        self.breach(
            requirement, cause.name, cause.row, cause.state, aspect,
            f"{told} shows {_ASPECTS[aspect]}", expected_states(task, result=result), actual,
        )  # fmt: skip


def seen_task(record: TaskRecord, status: str) -> str:
    """What a get showed."""
    shown = status or f"{text_of(record.status, 40)} (not a string)"
    message = record.status_message
    told = "" if message is None or message is MISSING else f", status_message {text_of(message, 80)}"
    return f"a record with status {shown}{told}"


def expected_states(task: TrackedTask25, *, result: bool = False) -> str:
    """What a read of ``task`` may show, one alternative for each possible state."""
    return "; or ".join(dict.fromkeys(_expected(task, state, result) for state, _ in task.node.states[:4]))


def _expected(task: TrackedTask25, state: TaskState, result: bool) -> str:
    if state.status in (ABSENT, GONE):
        return "None"
    if result:
        if state.payload == ANY_PAYLOAD:
            return "any result"
        return "None" if state.payload < 0 else f"result {text_of(task.bodies[state.payload].value, 120)}"
    message = f", status_message {text_of(task.keys[state.message], 80)}" if state.message >= 0 else ""
    gone = ", or None (it may be gone)" if state.expired else ""
    return f"a record with status {state.status}{message}{gone}"
