"""Sequences written by hand for 2025-11-25 stores: what short exhaustive ones do not reach."""

from __future__ import annotations

from collections.abc import Iterator

from mcptasks.conformance.engine.exhaustive import TTL_MS
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.operations import AdvanceClock, Operation, Tamper, Unsubscribe
from mcptasks.strategies.operations_2025 import (
    AwaitResult,
    BadCursor,
    CreateTask,
    ForeignCursor,
    GetResult,
    GetTask,
    ListTasks,
    OnStatus,
    StoreResult,
    UpdateStatus,
)

__all__ = ["Scenario", "scenarios_2025"]

Scenario = tuple[list[Operation], StoreOptions]

_TTLS: tuple[int | None, ...] = (
    None, 0, -1, 1, 1000, TTL_MS, 2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**32 + 1, 2**53 - 1,
)  # fmt: skip


def _tasks(count: int, session: str | None, first: int = 1) -> list[Operation]:
    return [CreateTask(f"t{number}", {}, session) for number in range(first, first + count)]


def _ttls(options: StoreOptions) -> Iterator[Scenario]:
    for ttl in _TTLS:
        made: list[Operation] = [CreateTask("t1", {"ttl": ttl}, "A"), GetTask("t1"), ListTasks("A"), GetTask("t1")]
        yield [*made, StoreResult("t1", "completed", {"n": 1}), GetTask("t1"), GetResult("t1")], options
        if options.clock:
            for step in (TTL_MS // 2, 86_400_000, 30 * 86_400_000):
                reads: list[Operation] = [GetTask("t1"), GetResult("t1"), ListTasks("A"), GetTask("t1")]
                yield [*made, AdvanceClock(step), *reads, *_tasks(1, "A", 9), *reads], options
                ended = StoreResult("t1", "failed", {"n": 1})
                yield [made[0], ended, AdvanceClock(step), *reads, *_tasks(1, "A", 9), *reads], options


def _lists(options: StoreOptions) -> Iterator[Scenario]:
    for session in ("A", None):
        for count in (0, 1, 2, 3, 4, 5, 7):
            yield [*_tasks(count, session), ListTasks(session)], options
        moved: list[Operation] = [UpdateStatus("t1", "input_required"), StoreResult("t3", "completed", {"n": 1})]
        yield [*_tasks(7, session), *moved, ListTasks(session), ListTasks(session)], options
    between: tuple[Operation, ...] = (CreateTask("u1", {}, "A"), CreateTask("u2", {}, "A"), CreateTask("u3", {}, "A"))
    for count in (3, 5, 7):
        yield [*_tasks(count, "A"), ListTasks("A", between), ListTasks("A")], options
        yield [*_tasks(count, "A"), ListTasks("A", (UpdateStatus("t1", "input_required"),)), ListTasks("A")], options
        yield [*_tasks(count, "A"), ListTasks("A", (StoreResult("t2", "completed", {"n": 1}),))], options
    mixed = [CreateTask(f"t{n}", {}, "AB"[n % 2]) for n in range(1, 9)]
    yield [*mixed, ListTasks("A"), ListTasks("B"), ListTasks(None)], options
    yield [*mixed, ForeignCursor("B", "A"), ForeignCursor(None, "A"), ForeignCursor("A", "B")], options
    for cursor in ("no-such-cursor", "\x00", "t1", "ünbekannt"):
        yield [*_tasks(3, "A"), BadCursor(cursor, "A"), ListTasks("A")], options
    if options.clock:
        brief = [CreateTask(f"t{n}", {"ttl": TTL_MS if n % 2 else None}, "A") for n in range(1, 8)]
        yield [*brief, ListTasks("A", (AdvanceClock(4 * TTL_MS),)), ListTasks("A")], options
        yield [*brief, AdvanceClock(4 * TTL_MS), ListTasks("A"), *(GetTask(f"t{n}") for n in range(1, 8))], options
        spaced: list[Operation] = []
        for operation in _tasks(5, "A"):
            spaced += [operation, AdvanceClock(1000)]
        yield [*spaced, ListTasks("A"), UpdateStatus("t1", "input_required"), ListTasks("A")], options


def _strangers() -> Iterator[Scenario]:
    plain = StoreOptions()
    for name in ("nobody", "t1~prefix", "t1~suffix", "t1~space"):
        reads: list[Operation] = [GetTask(name), GetResult(name)]
        for call in (StoreResult(name, "completed", {"n": 1}), UpdateStatus(name, "working"), AwaitResult(name)):
            yield [CreateTask("t1", {}, "A"), *reads, call, *reads, ListTasks("A"), GetTask("t1")], plain
    yield [GetTask("nobody"), GetResult("nobody"), UpdateStatus("nobody"), GetTask("nobody"), ListTasks(None)], plain


def _creations() -> Iterator[Scenario]:
    plain = StoreOptions()
    reads: list[Operation] = [GetTask("t1"), GetResult("t1"), GetTask("t1")]
    meta = {"trace": {"id": "0"}}
    for operation in (
        CreateTask("t1"),
        CreateTask("t1", {"poll_interval": 1}),
        CreateTask("t1", {"poll_interval": 5000, "ttl": 3_600_000}, "A"),
        CreateTask("t1", {"meta": meta, "ttl": None}, "A"),
        CreateTask("t1", {}, "A", "request-1"),
        CreateTask("t1", {}, "A", 2**53, {"method": "tools/call", "params": {"name": "ä", "arguments": {"q": [1]}}}),
    ):
        yield [operation, *reads, StoreResult("t1", "completed", {"n": 1}), *reads], plain
        yield [operation, UpdateStatus("t1", "failed", "why"), *reads, GetResult("t1")], plain
    unowned: list[Operation] = [CreateTask("t1"), UpdateStatus("t1", "input_required", "ask"), *reads]
    yield [*unowned, StoreResult("t1", "failed", {"n": 1}), *reads, ListTasks(None)], plain


def _tampering() -> Iterator[Scenario]:
    plain = StoreOptions()
    yield [CreateTask("t1"), Tamper("t1", "returned"), GetTask("t1")], plain
    yield [CreateTask("t1", {"meta": {"a": {}}}), Tamper("t1", "given"), GetTask("t1")], plain
    for what in ("returned", "given"):
        ended: list[Operation] = [CreateTask("t1"), StoreResult("t1", "completed", {"a": {"b": [1]}})]
        yield [*ended, Tamper("t1", what), GetResult("t1")], plain


def _waiting() -> Iterator[Scenario]:
    plain = StoreOptions()
    ends: tuple[Operation, ...] = (
        StoreResult("t1", "completed", {"n": 1}),
        StoreResult("t1", "failed", {"n": 1}),
        UpdateStatus("t1", "cancelled"),
        UpdateStatus("t1", "failed", "why"),
    )
    made = CreateTask("t1", {}, "A")
    for end in ends:
        yield [made, AwaitResult("t1"), end, GetTask("t1")], plain
        yield [made, AwaitResult("t1"), AwaitResult("t1"), AwaitResult("t1"), end], plain
        yield [made, end, AwaitResult("t1"), GetResult("t1")], plain
        yield [made, AwaitResult("t1"), UpdateStatus("t1", "input_required"), end, GetResult("t1")], plain
    other = CreateTask("t2", {}, "A")
    yield [made, other, AwaitResult("t1"), AwaitResult("t2"), StoreResult("t2", "completed", {"n": 2})], plain
    yield [made, other, AwaitResult("t1"), StoreResult("t2", "completed", {"n": 2}), ends[0], GetResult("t1")], plain
    yield [made, AwaitResult("t1", "B"), ends[0]], plain
    yield [made, ends[0], AwaitResult("t1", "B"), AwaitResult("t1", None)], plain


def _listening() -> Iterator[Scenario]:
    plain = StoreOptions()
    made = CreateTask("t1", {}, "A")
    moves: list[Operation] = [
        UpdateStatus("t1", "input_required", "ask"),
        UpdateStatus("t1", "working"),
        StoreResult("t1", "completed", {"n": 1}),
    ]
    both: list[Operation] = [OnStatus("l1"), OnStatus("l2", "getting")]
    yield [OnStatus("l1"), made, *moves], plain
    yield [*both, made, *moves], plain
    yield [*both, made, moves[0], Unsubscribe("l1"), *moves[1:]], plain
    yield [*both, made, moves[0], Unsubscribe("l2"), *moves[1:]], plain
    yield [OnStatus("l1"), CreateTask("t1"), *moves], plain
    yield [OnStatus("l1"), made, CreateTask("t2", {}, "B"), *moves, UpdateStatus("t2", "cancelled")], plain
    yield [OnStatus("l1"), made, moves[2], UpdateStatus("t1", "working"), StoreResult("t1", "failed", {})], plain


def scenarios_2025(*, clock: bool, statuses: bool, wait: bool, pages: bool) -> list[Scenario]:
    """The scenarios that a store with these features can be driven with, each with how the store is opened."""
    out = [*_creations(), *_strangers(), *_tampering()]
    out += _ttls(StoreOptions(clock=clock))
    for size in (2, 3, 1) if pages else (None,):
        out += _lists(StoreOptions(clock=clock, page_size=size))
    if wait:
        out += _waiting()
    if statuses:
        out += _listening()
    return out
