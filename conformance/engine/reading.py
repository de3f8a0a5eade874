"""Judging what a get returns: against the possible states, the last read, and the caller's older records."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from mcptasks.conformance.engine.bridged import is_body
from mcptasks.conformance.engine.calling import RAISED, Caller, word
from mcptasks.conformance.engine.describe import expected_states, seen_record
from mcptasks.conformance.engine.tasks import TrackedTask
from mcptasks.conformance.model.attribution import blame
from mcptasks.conformance.model.automaton import Cause, Node
from mcptasks.conformance.model.states import ABSENT, COMPLETED, FAILED, GONE, LIVE, Call, TaskState
from mcptasks.conformance.targets.records import (
    MISSING,
    Garbage,
    Record,
    describe_error,
    plain_text,
    read_record,
    status_text,
)
from mcptasks.strategies.json_values import Payload, text_of

__all__ = ["Reader", "outline"]


class Reader(Caller):
    """The part of the interpreter that judges reads; see :class:`.interpreter.Interpreter`."""

    def _cause(self, task: TrackedTask) -> Cause:
        """What to blame where nothing was done to the task itself since it was last read."""
        status = task.node.status
        if task.seen_at != self.changes:
            return self.automaton.cause("get", "other", status)
        if task.seen is not None and self.clock_moves and self.times.moved_since(task):
            return self.automaton.cause("get", "clock", status)
        return self.automaton.cause("get", "reread", status)

    def _judge_read(self, task: TrackedTask, raw: Any) -> None:
        if task.unjudged:
            return
        node = task.node
        cause = task.cause or self._cause(task)
        if raw is None:
            self._judge_nothing(task, node, cause)
            return
        if raw is RAISED:
            self._bad_read(task, cause, "return", f"raises {describe_error(self.error)}", None)  # type: ignore[arg-type]
        try:
            record = read_record(raw)
        except Garbage as error:
            self._bad_read(task, cause, "identity", f"returns what is no record: {error}", None)
            return
        status = record.status
        if type(status) is not str:
            try:
                status = status_text(status)
            except Garbage:
                # Whatever wrote this is to blame as for any other wrong status.
                self._wrong_read(task, node, cause, "status", record, f"{text_of(status, 40)} (not a string)")
                return
        if (record.task_id if type(record.task_id) is str else plain_text(record.task_id)) != task.id:
            self._bad_read(
                task, cause, "identity", f"returns a record whose task_id is {text_of(record.task_id, 60)}", record
            )
        requests = record.input_requests
        if (
            node.plain
            and record.result is None
            and record.error is None
            and (requests is None or (type(requests) is dict and not requests))
        ):
            # The most frequent record by far: nothing in it but a status.
            if status != node.status:
                self._wrong_read(task, node, cause, "status", record, status)
        elif node.single:
            aspect = self._misfit(task, node.status, node.payload, node.pairs, status, record)
            if aspect:
                self._wrong_read(task, node, cause, aspect, record, status)
        else:
            node = self._narrow(task, node, cause, record, status)
            task.node = node
        cause.reads[node] = cause.reads.get(node, 0) + 1
        if task.raw is not None and task.cause is not None:
            self._judge_snapshot(task)
        self.times.read(task, record, cause)
        task.seen = outline(record, status)
        task.raw = raw
        task.cause = None
        task.seen_at = self.changes

    def _judge_nothing(self, task: TrackedTask, node: Node, cause: Cause) -> None:
        if not node.may_be_gone and self.times.may_have_expired(task):
            node = task.node = self.automaton.step(node, Call("expire")).edges["ok"].target
        if not node.may_be_gone:
            if self.clock_moves and self.times.moved_since_creation(task):
                cause = self.automaton.cause("get", "clock", node.status)
            self._wrong_read(task, node, cause, "life", None, "")
        if node.status not in (ABSENT, GONE):
            self.times.expired_choice(task, "gone")
        cause.reads[node] = cause.reads.get(node, 0) + 1
        if node.status != ABSENT:
            task.node = self.automaton.start(TaskState(GONE))
        task.raw = task.seen = task.cause = None
        task.seen_at = self.changes

    def _narrow(self, task: TrackedTask, node: Node, cause: Cause, record: Record, status: str) -> Node:
        fits: list[int] = []
        nearest = ""
        for index, (state, _) in enumerate(node.states):
            if state.status in (ABSENT, GONE):
                aspect = "appears"
            else:
                aspect = self._misfit(task, state.status, state.payload, tuple(state.pending), status, record)
            if not aspect:
                fits.append(index)
            elif not nearest or nearest == "appears":
                nearest = aspect  # the first state is the one in which nothing unusual was chosen
        if not fits:
            if status == FAILED and _only_error(record):
                for state, _ in node.states:
                    if state.expired and state.status in LIVE:
                        return self._expired_to_failed(task, state, record)
            self._wrong_read(task, node, cause, nearest, record, status)
        if node.expired:
            self.times.expired_choice(task, "still there")
        if len(node.states) == len(fits) == 1 and node.states[0][1] is None:
            return node
        return self.automaton.narrow(node, fits)

    def _expired_to_failed(self, task: TrackedTask, state: TaskState, record: Record) -> Node:
        """After its ttl a live task may be marked failed, with an error of the store's own."""
        self.times.expired_choice(task, "marked failed")
        try:
            payload = task.body_number(Payload(record.error))
        except ValueError:
            task.unjudged = True
            payload = -1
        pending = state.pending if _keys(record.input_requests) else frozenset()
        return self.automaton.start(state._replace(status=FAILED, payload=payload, pending=pending))

    def _misfit(
        self,
        task: TrackedTask,
        expected: str,
        payload: int,
        pairs: tuple[tuple[int, int], ...],
        status: str,
        record: Record,
    ) -> str:
        """The first aspect in which a record differs from a state, or an empty string."""
        if status != expected:
            return "status"
        result, error = record.result, record.error
        if status == COMPLETED:
            if error is not None and error is not MISSING:
                return "stray"
            if result is None or result is MISSING or not is_body(self.store, task.bodies[payload], result):
                return "payload"
        elif result is not None and result is not MISSING:
            return "stray"
        elif status == FAILED:
            if error is None or error is MISSING or not is_body(self.store, task.bodies[payload], error):
                return "payload"
        elif error is not None and error is not MISSING:
            return "stray"
        requests = record.input_requests
        if requests is None or requests is MISSING:
            return "pending-missing" if pairs else ""
        try:
            count = len(requests)
            if not pairs:
                return "pending-extra" if count else ""
            body_wrong = False
            for key, body in pairs:
                name = task.keys[key]
                if name not in requests:
                    return "pending-missing"
                if not is_body(self.store, task.bodies[body], requests[name]):
                    body_wrong = True
        except BaseException:
            return "pending-body"  # no mapping at all
        if count != len(pairs):
            return "pending-extra"
        return "pending-body" if body_wrong else ""

    def _judge_snapshot(self, task: TrackedTask) -> None:
        """A record obtained earlier must still say what it said."""
        self.snapshots += 1
        try:
            old = read_record(task.raw)
            now = outline(old, status_text(old.status))
        except BaseException:
            return
        if now != task.seen:
            cause = task.cause
            assert cause is not None
            before = task.seen[0] if task.seen else ""
            self.breach(
                "store.get.old-snapshot-stable",
                cause.name,
                cause.row,
                cause.state,
                "life",
                f"a record that an earlier get returned changes when the task does ({cause.name})",
                f"the record got earlier still says status {before}",
                f"it now is {seen_record(old)}",
                soft=True,
            )

    def _bad_read(self, task: TrackedTask, cause: Cause, aspect: str, actual: str, record: Record | None) -> None:
        absent = task.node.status == ABSENT
        if absent or task.node.status == GONE:
            requirement = (
                blame(cause.row, task.node.status, "appears") if record is not None else "store.get.absent-null"
            )
        else:
            requirement = "store.get.current"
        self.breach(
            requirement,
            "get",
            "get",
            task.node.status,
            aspect,
            f"get of a task that is {word(task.node.status)} {actual}",
            expected_states(task, task.node),
            actual,
        )

    def _wrong_read(
        self, task: TrackedTask, node: Node, cause: Cause, aspect: str, record: Record | None, status: str
    ) -> None:
        requirement = blame(cause.row, cause.state, aspect, node.status)
        actual = seen_record(record, status)
        told = {
            "reread": "a second get",
            "other": "get, after operations on other tasks only,",
            "clock": "get, after the clock moved,",
            "tamper": "get, after the caller changed its own copy,",
            "abort": "get, after a cancelled call,",
        }.get(cause.row, f"get after {cause.name} on a task that was {word(cause.state)}")
        self.breach(
            requirement,
            cause.name,
            cause.row,
            cause.state,
            aspect,
            f"{told} shows {_ASPECTS[aspect]}",
            expected_states(task, node),
            actual,
            stale=record is not None and task.seen is not None and task.seen == outline(record, status),
        )


_ASPECTS: Final = {
    "life": "no task",
    "appears": "a task that must not be there",
    "status": "another status",
    "stray": "a result or error that does not belong to this status",
    "payload": "another result or error than was given",
    "pending-missing": "a pending request missing",
    "pending-extra": "a pending request that should not be there",
    "pending-body": "a pending request with another body than was given",
}


def outline(record: Record, status: str) -> tuple[Any, ...]:
    """What a record says, in a form that is cheap to keep and compare."""
    return (
        status,
        _keys(record.input_requests),
        record.result is None,
        record.error is None,
    )


def _keys(requests: Any) -> tuple[Any, ...]:
    """The keys of what a record gives as its pending requests, whatever it may be."""
    if requests is None or requests is MISSING:
        return ()
    try:
        keys = tuple(requests) if type(requests) is dict else tuple(islice(requests, _MANY))
    except BaseException:
        return (_NO_KEYS,)
    return keys if all(type(key) is str for key in keys) else tuple(text_of(key, 40) for key in keys)


_MANY: Final = 10_000
_NO_KEYS: Final = "(no keys)"


def _only_error(record: Record) -> bool:
    """Whether a record has an error and no result."""
    return (record.error is not None and record.error is not MISSING) and (
        record.result is None or record.result is MISSING
    )
