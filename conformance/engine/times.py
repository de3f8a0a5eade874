"""Judging times: creation, last update, and when a task may expire."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from mcptasks.conformance.engine.tasks import TrackedTask
from mcptasks.conformance.model.automaton import Cause
from mcptasks.conformance.model.states import GONE, TERMINAL
from mcptasks.conformance.targets.records import MISSING, Garbage, Record, instant
from mcptasks.strategies.json_values import text_of

if TYPE_CHECKING:
    from mcptasks.conformance.engine.interpreter import Interpreter

__all__ = ["TimeJudge"]

_TOLERANCE: Final = timedelta(seconds=1)
"""How far ``created_at`` may be off the injected clock (contract, section 2)."""

_NEAR_EXPIRY: Final = 0.8
"""In real time, a task is not judged once this share of its ttl has passed."""


class TimeJudge:
    """The interpreter's checks that need instants."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._run = interpreter
        self.clock_ignored = False
        """The store takes a clock and does not use it: found at its first task."""

    def created(self, task: TrackedTask, record: Record) -> None:
        """Judge a new record's times, and learn when the task may expire."""
        run = self._run
        run.exercised["store.create.timestamps"] += 1
        run.exercised["store.create.timing-metadata"] += 1
        clock = run.store.clock
        try:
            task.created = created = instant(record.created_at)
        except Garbage as error:
            task.expiry_unknown = True
            self._bad_creation("created_at", str(error))
            created = None
        try:
            task.updated = updated = instant(record.last_updated_at)
        except Garbage as error:
            self._bad_creation("last_updated_at", str(error))
            updated = None
        task.created_raw, task.updated_raw = record.created_at, record.last_updated_at
        if created is not None and updated is not None and updated < created:
            self._bad_creation("last_updated_at", f"{updated.isoformat()} is before created_at {created.isoformat()}")
        if updated is None:
            task.update_unknown = True
        if clock is not None and created is not None and not self.clock_ignored:
            off = abs(created - clock.now)
            if off > _TOLERANCE:
                if abs(created - datetime.now(UTC)) < timedelta(minutes=1):
                    self.clock_ignored = True
                else:
                    task.expiry_unknown = True
                    self._bad_creation(
                        "created_at", f"{created.isoformat()} is {off.total_seconds():.3f} s off the clock"
                    )
            task.slack_ms = off.total_seconds() * 1000
        self._timing(task, record)
        if clock is not None and not self.clock_ignored:
            task.moved_at = clock.now
        if self.is_expired(task):
            task.node = run.automaton.step(task.node, _expire()).edges["ok"].target

    def _timing(self, task: TrackedTask, record: Record) -> None:
        for member in ("ttl_ms", "poll_interval_ms"):
            value = getattr(record, member)
            if value is MISSING:
                task.expiry_unknown |= member == "ttl_ms"
                self._bad_timing(member, "the record has no such member")
            elif value is not None and not _is_number(value):
                task.expiry_unknown |= member == "ttl_ms"
                self._bad_timing(member, f"{text_of(value, 60)} is no number of milliseconds")
            elif member == "ttl_ms" and value is not None:
                task.ttl_ms = int(value)
                if task.created is not None:
                    try:
                        task.expires = task.created + timedelta(milliseconds=value)
                    except OverflowError:
                        task.expires = None

    def _bad_creation(self, member: str, actual: str) -> None:
        self._run.breach(
            "store.create.timestamps",
            "create",
            "create",
            "absent",
            f"times-{member}",
            f"create: {member} {actual}",
            f"{member} is an aware time, not before created_at and within 1 s of the injected clock",
            actual,
            soft=True,
        )

    def _bad_timing(self, member: str, actual: str) -> None:
        self._run.breach(
            "store.create.timing-metadata",
            "create",
            "create",
            "absent",
            f"times-{member}",
            f"create: {member}: {actual}",
            f"{member} is an integer of milliseconds or None",
            actual,
            soft=True,
        )

    def read(self, task: TrackedTask, record: Record, cause: Cause) -> None:
        """Judge the times of a record that was read."""
        run = self._run
        clock = run.store.clock
        if clock is not None and (clock.set_back or self.clock_ignored):
            task.updated_raw = record.last_updated_at
            task.updated = None
            return
        if task.node.expired:  # what comes back past its ttl is judged by its state alone
            task.updated_raw, task.updated, task.update_unknown = record.last_updated_at, None, True
            return
        run.reads += 1
        if run.clock_moves:
            run.reads_in_time += 1
        created = record.created_at
        if created is not task.created_raw and not _same(created, task.created_raw):
            self._created_again(task, created, cause)
        updated = record.last_updated_at
        # Only a single call since the last read can be told to have moved it, or not.
        alone = task.seen is not None and run.changes - task.seen_at == 1
        if task.update_unknown:
            return  # reported at its creation
        if updated is task.updated_raw or _same(updated, task.updated_raw):
            if alone and cause.state in TERMINAL and cause.row not in _PSEUDO:
                run.automaton.choices[("store.time.noop-keeps-updated", "keeps it")] += 1
            elif (
                clock is not None
                and task.moved_at is not None
                and task.updated is not None
                and cause.row not in _PSEUDO
            ):
                run.updates += 1
                if task.moved_at - task.updated > _TOLERANCE:
                    self._bad_update(task, cause, "last_updated_at does not move though the status did")
            return
        try:
            now = instant(updated)
        except Garbage as error:
            task.update_unknown = True
            self._unreadable(str(error))
            return
        if alone and cause.state in TERMINAL and cause.row not in _PSEUDO and now != task.updated:
            run.automaton.choices[("store.time.noop-keeps-updated", "moves it")] += 1
        if cause.row in ("reread", "clock") and now != task.updated and task.updated is not None:
            self._moved_by_reading(task, now)
        if task.updated is not None:
            run.updates += 1
            if now < task.updated:
                self._bad_update(
                    task, cause, f"last_updated_at goes back from {task.updated.isoformat()} to {now.isoformat()}"
                )
        task.updated, task.updated_raw = now, updated

    def _unreadable(self, actual: str) -> None:
        """One deviation, whatever was done to the task: the record itself is wrong."""
        self._run.breach(
            "store.create.timestamps",
            "get",
            "get",
            "any",
            "times-last_updated_at",
            f"a record's last_updated_at {actual}",
            "last_updated_at is an aware time in every record",
            f"last_updated_at {actual}",
            soft=True,
        )

    def _moved_by_reading(self, task: TrackedTask, now: datetime) -> None:
        if task.node.expired:
            return
        self._run.breach(
            "store.get.pure",
            "get",
            "reread",
            task.node.status,
            "times-last_updated_at",
            "last_updated_at moves though nothing but reading happened",
            f"last_updated_at stays {task.updated.isoformat() if task.updated else ''}",
            f"last_updated_at is now {now.isoformat()}",
            soft=True,
        )

    def _created_again(self, task: TrackedTask, raw: Any, cause: Cause) -> None:
        try:
            now = instant(raw)
            actual = f"created_at is now {now.isoformat()}"
        except Garbage as error:
            now, actual = None, f"created_at {error}"
        if now is not None and (task.created is None or now == task.created):
            return
        self._run.breach(
            "store.time.created-stable",
            cause.name,
            cause.row,
            cause.state,
            "times-created_at",
            f"created_at changes after {cause.name}",
            f"created_at stays {task.created.isoformat() if task.created else text_of(task.created_raw, 40)}",
            actual,
            soft=True,
        )

    def _bad_update(self, task: TrackedTask, cause: Cause, actual: str) -> None:
        self._run.breach(
            "store.time.updated-advances",
            cause.name,
            cause.row,
            cause.state,
            "times-last_updated_at",
            f"after {cause.name}, {actual}",
            "last_updated_at never goes back, and moves when the status does",
            actual,
            soft=True,
        )

    # --- expiry ----------------------------------------------------------------------------

    def is_expired(self, task: TrackedTask) -> bool:
        """Whether the task may be gone by the injected clock, or was born with no time to live."""
        if task.ttl_ms is not None and task.ttl_ms <= 0:
            return True
        clock = self._run.store.clock
        if clock is None or self.clock_ignored:
            return False
        if task.expiry_unknown:
            return self._run.store.options.default_ttl_ms is not None
        if task.expires is None:
            return False
        return clock.now >= task.expires - timedelta(milliseconds=min(task.slack_ms, 1000))

    def may_have_expired(self, task: TrackedTask) -> bool:
        """Whether the task may be gone by real time, where no clock is injected."""
        if task.ttl_ms is None or task.created is None or task.node.status == GONE:
            return False
        if self._run.store.clock is not None and not self.clock_ignored:
            return False
        age = datetime.now(UTC) - task.created
        return age.total_seconds() * 1000 / _NEAR_EXPIRY >= task.ttl_ms

    def expired_choice(self, task: TrackedTask, label: str) -> None:
        """Count what a store does with a task whose ttl has elapsed."""
        nonpositive = task.ttl_ms is not None and task.ttl_ms <= 0
        requirement = "store.ttl.nonpositive" if nonpositive else "store.ttl.after"
        self._run.automaton.choices[(requirement, label)] += 1

    def moved_since(self, task: TrackedTask) -> bool:
        """Whether the clock moved since the task was last read."""
        clock = self._run.store.clock
        return clock is not None and task.moved_at is not None and clock.now != task.moved_at

    def moved_since_creation(self, task: TrackedTask) -> bool:
        """Whether the clock moved since the task was created."""
        clock = self._run.store.clock
        return (
            clock is not None
            and task.created is not None
            and clock.now - task.created > timedelta(milliseconds=1 + task.slack_ms)
        )


_PSEUDO: Final = frozenset({"create", "reread", "other", "tamper", "clock", "abort"})


def _is_number(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and math.isfinite(value)
    )


def _same(left: Any, right: Any) -> bool:
    """Equality of two raw times of the plain types; others are compared as instants."""
    kind = type(left)
    return kind is type(right) and (kind is datetime or kind is str) and left == right


def _expire() -> Any:
    from mcptasks.conformance.model.states import Call

    return Call("expire")
