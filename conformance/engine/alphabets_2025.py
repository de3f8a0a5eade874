"""What exhaustive sequences on a 2025-11-25 store are made of."""

from __future__ import annotations

from mcptasks.conformance.engine.exhaustive import TTL_MS, Alphabet, Letter
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.operations import AdvanceClock, Operation
from mcptasks.strategies.operations_2025 import (
    OWN,
    AwaitResult,
    CreateTask,
    FinalStatus,
    GetResult,
    GetTask,
    ListTasks,
    OnStatus,
    StoreResult,
    TaskStatus,
    UpdateStatus,
)

__all__ = ["alphabets_2025"]

_READS: tuple[Operation, ...] = (GetTask("t1"), GetResult("t1"))


def _constant(operation: Operation) -> Letter:
    return lambda position: operation


def _stores(task: str, status: FinalStatus, session: str | None = OWN) -> Letter:
    return lambda position: StoreResult(task, status, {"n": position + 1}, session)


def _moves(task: str, status: TaskStatus, session: str | None = OWN) -> Letter:
    return lambda position: UpdateStatus(task, status, f"m{position + 1}", session)


def _one_task() -> Alphabet:
    letters = (
        *(_constant(read) for read in _READS),
        _stores("t1", "completed"),
        _stores("t1", "failed"),
        _moves("t1", "working"),
        _moves("t1", "input_required"),
        _moves("t1", "cancelled"),
        _moves("t1", "failed"),
    )
    words = "get_task, get_result, store_result (completed, failed), update_status (to four statuses) on one task"
    return Alphabet("one-task", words, (CreateTask("t1", {}, "A"),), letters, _READS)


def _sessions() -> Alphabet:
    letters = (
        _constant(GetTask("t1", "B")),
        _constant(GetTask("t1", None)),
        _constant(GetResult("t1", "B")),
        _stores("t1", "completed", "B"),
        _moves("t1", "cancelled", "B"),
        _moves("t1", "input_required", None),
        _stores("t1", "completed"),
        _moves("t1", "input_required"),
        _constant(ListTasks("A")),
        _constant(ListTasks("B")),
    )
    words = "reads, writes and lists of a task's own session, of another one and of none, on one task"
    return Alphabet("sessions", words, (CreateTask("t1", {}, "A"),), letters, (*_READS, ListTasks("A")))


def _two_tasks() -> Alphabet:
    letters: list[Letter] = []
    for task in ("t1", "t2"):
        letters += [
            _constant(GetTask(task)),
            _stores(task, "completed"),
            _moves(task, "input_required"),
            _moves(task, "cancelled"),
        ]
    closing = (GetTask("t1"), GetResult("t1"), GetTask("t2"), GetResult("t2"), ListTasks("A"))
    words = "get_task, store_result, update_status on two tasks of one session"
    prefix = (CreateTask("t1", {}, "A"), CreateTask("t2", {}, "A"))
    return Alphabet("two-tasks", words, prefix, tuple(letters), closing, ((4, 5, 6, 7, 0, 1, 2, 3),))


def _listener() -> Alphabet:
    letters = (
        _stores("t1", "completed"),
        _stores("t1", "failed"),
        _moves("t1", "working"),
        _moves("t1", "input_required"),
        _moves("t1", "cancelled"),
    )
    words = "store_result, update_status on one task with a listener that reads the task"
    return Alphabet("listener", words, (OnStatus("l1", "getting"), CreateTask("t1", {}, "A")), letters, _READS)


def _waiter() -> Alphabet:
    letters = (
        _constant(AwaitResult("t1")),
        _constant(AwaitResult("t1", "B")),
        _stores("t1", "completed"),
        _stores("t1", "failed"),
        _moves("t1", "input_required"),
        _moves("t1", "failed"),
    )
    words = "waiting for the result by its own and another session, store_result, update_status on one task"
    return Alphabet("waiter", words, (CreateTask("t1", {}, "A"),), letters, _READS)


def _clock() -> Alphabet:
    letters = (
        *(_constant(read) for read in _READS),
        _stores("t1", "completed"),
        _moves("t1", "input_required"),
        _constant(ListTasks("A")),
        _constant(AdvanceClock(TTL_MS // 3)),
        _constant(AdvanceClock(4 * TTL_MS)),
        lambda position: CreateTask(f"u{position}", {"ttl": None}, "A"),
    )
    words = "reads, store_result, update_status, lists, further tasks and clock moves within and past the ttl"
    prefix = (CreateTask("t1", {"ttl": TTL_MS}, "A"),)
    return Alphabet(
        "clock", words, prefix, letters, (*_READS, ListTasks("A"), *_READS), options=StoreOptions(clock=True)
    )


def alphabets_2025(*, clock: bool, statuses: bool, wait: bool) -> list[Alphabet]:
    """The alphabets that a store with these features can be driven with."""
    made = [_one_task(), _sessions(), _two_tasks()]
    if statuses:
        made.append(_listener())
    if wait:
        made.append(_waiter())
    if clock:
        made.append(_clock())
    return made
