"""Judging the times of 2025-11-25 tasks: creation, last update, time to live, and when a task may be gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from mcptasks.conformance.engine.tasks_2025 import TrackedTask25
from mcptasks.conformance.model.automaton import Cause
from mcptasks.conformance.model.states import GONE, Call
from mcptasks.conformance.targets.records import MISSING, Garbage, instant
from mcptasks.conformance.targets.records_2025 import TaskRecord
from mcptasks.strategies.json_values import JSON, text_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.interpreter_2025 import Interpreter25

__all__ = ["TimeJudge25"]

_TOLERANCE: Final = timedelta(seconds=1)
_NEAR_EXPIRY: Final = 0.8
_GRACE_MS: Final = 60_000
"""How long past its ttl a task is never said to be kept too long; at least one ttl more."""
_QUIET: Final = frozenset({"create", "reread", "other", "tamper", "clock", "foreign-store", "foreign-update"})
EXPIRE: Final = Call("expire")


def _is_whole(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


class TimeJudge25:
    """The interpreter's checks that need instants."""

    def __init__(self, interpreter: Interpreter25) -> None:
        self._run = interpreter
        self.clock_ignored = False
        """The store takes a clock and does not use it: found at its first task."""

    def created(self, task: TrackedTask25, record: TaskRecord, options: dict[str, JSON]) -> None:
        """Judge a new record's times, and learn when the task may be gone."""
        run = self._run
        run.exercised["store25.create.created-at"] += 1
        run.exercised["store25.create.ttl-returned"] += 1
        self._created_at(task, record)
        try:
            task.updated = instant(record.last_updated_at)
        except Garbage as error:
            task.update_unknown = True
            self._bad("store25.status.updated-at", "create", "last_updated_at", f"last_updated_at {error}")
        task.created_raw, task.updated_raw = record.created_at, record.last_updated_at
        task.ttl_raw, task.poll_interval = record.ttl, record.poll_interval
        self._ttl(task, record, options)
        if self.is_expired(task):
            task.goes_to(run.automaton.step(task.node, EXPIRE).edges["ok"].target)

    def _created_at(self, task: TrackedTask25, record: TaskRecord) -> None:
        clock = self._run.store.clock
        try:
            task.created = created = instant(record.created_at)
        except Garbage as error:
            task.expiry_unknown = True
            self._bad("store25.create.created-at", "create", "created_at", f"created_at {error}")
            return
        if clock is not None and not self.clock_ignored:
            off = abs(created - clock.now)
            if off > _TOLERANCE:
                if abs(created - datetime.now(UTC)) < timedelta(minutes=1):
                    self.clock_ignored = True
                else:
                    task.expiry_unknown = True
                    actual = f"created_at {created.isoformat()} is {off.total_seconds():.3f} s off the clock"
                    self._bad("store25.create.created-at", "create", "created_at", actual)
            task.slack_ms = off.total_seconds() * 1000
            task.moved_at = clock.now

    def _ttl(self, task: TrackedTask25, record: TaskRecord, options: dict[str, JSON]) -> None:
        ttl = record.ttl
        if ttl is MISSING or (ttl is not None and not _is_whole(ttl)):
            task.expiry_unknown = True
            actual = "the record has no ttl" if ttl is MISSING else f"ttl {text_of(ttl, 60)} is no number of ms"
            self._bad("store25.create.ttl-returned", "create", "ttl", actual)
            return
        choices = self._run.automaton.choices
        if "ttl" in options:
            label = "as requested" if options["ttl"] == ttl else "another than requested"
            choices[("store25.create.ttl-override", label)] += 1
        if "poll_interval" in options:
            poll = record.poll_interval
            told = (
                "none" if poll in (None, MISSING) else "as requested" if poll == options["poll_interval"] else "other"
            )
            choices[("store25.create.poll-interval", told)] += 1
        if ttl is None:
            return
        task.ttl_ms = int(ttl)
        if task.created is not None:
            try:
                task.expires = task.created + timedelta(milliseconds=task.ttl_ms)
            except OverflowError:
                task.expires = None

    def _bad(self, requirement: str, name: str, member: str, actual: str, cause: Cause | None = None) -> None:
        # Whatever call came before, times that are wrong later are one kind of deviation.
        self._run.breach(
            requirement,
            cause.name if cause else "create_task",
            "read" if cause else name,
            "there" if cause else "absent",
            f"times-{member}",
            f"after {cause.name}, {actual}" if cause else f"create_task: {actual}",
            _EXPECTED[member],
            actual,
            soft=True,
        )

    def read(self, task: TrackedTask25, record: TaskRecord, cause: Cause) -> None:
        """Judge the times of a record that was read."""
        run = self._run
        clock = run.store.clock
        if clock is not None and (clock.set_back or self.clock_ignored):
            task.updated = None
            task.update_unknown = True
            return
        self._kept_too_long(task)
        if task.node.expired:
            task.updated, task.update_unknown = None, True
            return
        run.exercised["store25.create.ttl-returned"] += 1
        if record.ttl is not task.ttl_raw and record.ttl != task.ttl_raw and not task.expiry_unknown:
            actual = f"get shows ttl {text_of(record.ttl, 40)}, its creation {text_of(task.ttl_raw, 40)}"
            task.expiry_unknown = True
            self._bad("store25.create.ttl-returned", "", "ttl", actual, cause)
        if run.clock_moves and clock is not None:
            run.exercised["store25.ttl.no-early" if task.ttl_ms is not None else "store25.create.ttl-null"] += 1
        self._created_again(task, record, cause)
        self._updated(task, record, cause)

    def _created_again(self, task: TrackedTask25, record: TaskRecord, cause: Cause) -> None:
        if record.created_at is task.created_raw or task.created is None:
            return
        try:
            now = instant(record.created_at)
            actual = f"created_at is now {now.isoformat()} and was {task.created.isoformat()}"
        except Garbage as error:
            now, actual = None, f"created_at {error}"
        if now != task.created:
            self._bad("store25.create.created-at", "", "created_at", actual, cause)

    def _updated(self, task: TrackedTask25, record: TaskRecord, cause: Cause) -> None:
        clock = self._run.store.clock
        if task.update_unknown:
            return
        try:
            now = instant(record.last_updated_at)
        except Garbage as error:
            task.update_unknown = True
            self._bad("store25.status.updated-at", "", "last_updated_at", f"last_updated_at {error}", cause)
            return
        if task.updated is not None:
            self._run.exercised["store25.status.updated-at"] += 1
            if now < task.updated:
                actual = f"last_updated_at goes back from {task.updated.isoformat()} to {now.isoformat()}"
                task.updated = now
                self._bad("store25.status.updated-at", "", "last_updated_at", actual, cause)
            elif (
                clock is not None
                and cause.row not in _QUIET
                and task.moved_at is not None
                and task.moved_at - now > _TOLERANCE
            ):
                actual = "last_updated_at does not move though the status did"
                self._bad("store25.status.updated-at", "", "last_updated_at", actual, cause)
        task.updated = now

    def _kept_too_long(self, task: TrackedTask25) -> None:
        """A task that is still there long after its ttl, and though the store has made others since (SHOULD)."""
        run = self._run
        clock = run.store.clock
        if clock is None or task.expires is None or task.ttl_ms is None or not self.is_overdue(task):
            return
        run.exercised["store25.ttl.cleanup"] += 1
        if not task.late:
            task.late = max(1, run.creations)
        elif run.creations > task.late:
            over = clock.now - task.expires
            actual = f"the task is still there {over.total_seconds():.0f} s after its ttl of {task.ttl_ms} ms"
            run.breach(
                "store25.ttl.cleanup", "get_task", "clock", "expired", "kept", actual,
                "a task is cleaned up once its ttl has passed", actual, soft=True,
            )  # fmt: skip

    # --- expiry ----------------------------------------------------------------------------

    def is_expired(self, task: TrackedTask25) -> bool:
        """Whether the task may be gone by the injected clock, or was born with no time to live."""
        if task.ttl_ms is not None and task.ttl_ms <= 0:
            return True
        clock = self._run.store.clock
        if clock is None or self.clock_ignored:
            return False
        if task.expiry_unknown:
            return True
        if task.expires is None:
            return False
        return clock.now >= task.expires - timedelta(milliseconds=min(task.slack_ms, 1000))

    def may_have_expired(self, task: TrackedTask25) -> bool:
        """Whether the task may be gone by real time, where no clock is injected."""
        if task.ttl_ms is None or task.node.status == GONE:
            return task.expiry_unknown
        if self._run.store.clock is not None and not self.clock_ignored:
            return False
        if task.created is None:
            return True
        age = datetime.now(UTC) - task.created
        return age.total_seconds() * 1000 / _NEAR_EXPIRY >= task.ttl_ms

    def is_overdue(self, task: TrackedTask25) -> bool:
        """Whether the ttl has passed for so long that no grace explains that the task is there."""
        clock = self._run.store.clock
        if clock is None or self.clock_ignored or task.expires is None or task.ttl_ms is None or task.expiry_unknown:
            return False
        return task.ttl_ms > 0 and clock.now >= task.expires + timedelta(milliseconds=max(task.ttl_ms, _GRACE_MS))

    def moved_since(self, task: TrackedTask25) -> bool:
        """Whether the clock moved since the task was last changed."""
        clock = self._run.store.clock
        return clock is not None and task.moved_at is not None and clock.now != task.moved_at


_EXPECTED: Final[dict[str, Any]] = {
    "created_at": "created_at is an aware time within 1 s of the injected clock, and stays",
    "last_updated_at": "last_updated_at is an aware time that never goes back and moves when the status does",
    "ttl": "ttl is the actual lifetime in ms or None, the same in every record of the task",
}
