"""Making a failing sequence short: operations first, then tasks, keys and payloads.

Hypothesis shrinks what it generated itself; this shrinks any sequence, wherever it came from.  The
test decides what counts as the same failure.  Everything is deterministic.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.expand import task_names, without_inner_reads
from mcptasks.conformance.engine.renaming import renamed
from mcptasks.conformance.engine.shrink_2025 import simpler_2025
from mcptasks.strategies.json_values import JSON, Payload
from mcptasks.strategies.operations import (
    Abort,
    AdvanceClock,
    Cancel,
    Complete,
    Create,
    Fail,
    Get,
    Operation,
    Resolve,
    SetInput,
    Subscribe,
    Tamper,
    Unsubscribe,
)
from mcptasks.strategies.operations_2025 import NAMES, CreateTask, StoreResult

__all__ = ["Shrinker", "one_step_simpler", "shortest"]

_LONG: Final = 40
_FEW_TASKS: Final = 4

Test = Callable[[Sequence[Operation]], Awaitable[Breach | None]]
"""Runs a candidate; the breach if it still fails in the way that is looked for, else ``None``."""


class Shrinker:
    """Shrinks one failing sequence.

    Args:
        test: see :data:`Test`.
        budget: how many candidates may be run.
    """

    def __init__(self, test: Test, budget: int = 1500) -> None:
        self._test = test
        self._left = budget
        self._tried: set[tuple[Operation, ...]] = set()

    async def shrink(self, operations: Sequence[Operation], breach: Breach) -> tuple[list[Operation], Breach]:
        """The shortest failing sequence found, and its breach."""
        self._best = list(operations)
        self._breach = breach
        self._cut()
        await self._delete_reads()
        await self._delete_tasks()
        await self._simplify_all()
        while self._left > 0:
            before = list(self._best)
            await self._delete_chunks()
            await self._delete_pairs()
            await self._merge()
            await self._merge_tasks()
            await self._simplify()
            if self._best == before:
                break
        await self._rename()
        return self._best, self._breach

    def _cut(self) -> None:
        """What comes after the revealing operation proves nothing."""
        self._best = self._best[: self._breach.index + 1]

    async def _try(self, candidate: list[Operation]) -> bool:
        key = tuple(candidate)
        if not candidate or self._left <= 0 or key in self._tried:
            return False
        self._tried.add(key)
        self._left -= 1
        breach = await self._test(candidate)
        if breach is None:
            return False
        self._best, self._breach = candidate, breach
        self._cut()
        return True

    async def _delete_reads(self) -> None:
        """The reads of a long sequence at once, or those of all tasks but the one that is read last."""
        if len(self._best) <= _LONG or await self._try(without_inner_reads(self._best)):
            return
        last = self._best[-1]
        task = last.task if isinstance(last, Get) else None
        if await self._try([item for item in self._best if not isinstance(item, Get) or item.task == task]):
            reads = [index for index, item in enumerate(self._best[:-1]) if isinstance(item, Get)]
            await self._try([item for index, item in enumerate(self._best) if index not in reads[1:]])

    async def _delete_tasks(self) -> None:
        """Whole tasks at once, half of them first: what needs hundreds of tasks is out of reach of single deletions."""
        size = len(task_names(self._best)) // 2
        while size >= 1:
            names = task_names(self._best)
            for end in range(len(names), 0, -size):
                group = set(names[max(0, end - size) : end])
                await self._try([item for item in self._best if not group.intersection(task_names([item]))])
            size //= 2

    async def _simplify_all(self) -> None:
        """Every payload of a long sequence at once: one after the other costs a run for each."""
        if len(self._best) > _LONG:
            await self._try([_simplest(operation) for operation in self._best])

    async def _delete_chunks(self) -> None:
        size = max(1, len(self._best) // 2)
        while size >= 1:
            end = len(self._best)
            while end > 0 and self._left > 0:
                start = max(0, end - size)
                await self._try(self._best[:start] + self._best[end:])
                end = min(start, len(self._best))  # what was deleted may have been cut off at its new end, too
            size //= 2

    async def _delete_pairs(self) -> None:
        if len(self._best) > 12:
            return
        again = True
        while again and self._left > 0:
            again = False
            for first in range(len(self._best)):
                for second in range(first + 1, len(self._best)):
                    candidate = [op for i, op in enumerate(self._best) if i not in (first, second)]
                    if await self._try(candidate):
                        again = True
                        break
                if again:
                    break

    async def _merge(self) -> None:
        """Two calls that ask, or answer, on one task as one call."""
        position = 0
        while position < len(self._best) and self._left > 0:
            for later in range(position + 1, len(self._best)):
                merged = _merged(self._best[position], self._best[later])
                rest = self._best[position + 1 : later] + self._best[later + 1 :]
                if merged is not None and await self._try([*self._best[:position], merged, *rest]):
                    break
            else:
                position += 1

    async def _merge_tasks(self) -> None:
        """Two tasks as one, under the keys that they have or with keys of its own for what was the other's."""
        names = task_names(self._best)
        if not 2 <= len(names) <= _FEW_TASKS:
            return
        for first in names:
            for other in names:
                if first != other and {first, other} <= set(task_names(self._best)):
                    for suffix in ("", "~"):
                        if await self._try(_as_one_task(self._best, first, other, suffix)):
                            break

    async def _simplify(self) -> None:
        position = 0
        while position < len(self._best) and self._left > 0:
            progress = True
            while progress and position < len(self._best):
                progress = False
                for simpler in _simpler(self._best[position]):
                    candidate = list(self._best)
                    candidate[position] = simpler
                    if await self._try(candidate):
                        progress = True
                        break
            position += 1

    async def _rename(self) -> None:
        for rename in (_rename_tasks, _rename_keys):
            candidate = rename(self._best)
            if candidate != self._best:
                self._left = max(self._left, 1)
                await self._try(candidate)


def _simplest(operation: Operation) -> Operation:
    """The operation with the simplest payloads."""
    match operation:
        case Complete(task, _):
            return Complete(task, {"n": 1})
        case Fail(task, _):
            return Fail(task, {"n": 1})
        case SetInput(task, requests):
            return SetInput(task, [(key, Payload({"n": 1})) for key, _ in requests])
        case Resolve(task, responses):
            return Resolve(task, [(key, Payload({"n": 1})) for key, _ in responses])
        case StoreResult():
            return replace(operation, result=Payload({"n": 1}))
        case _:
            return operation


def _as_one_task(operations: Sequence[Operation], first: str, other: str, suffix: str) -> list[Operation]:
    """What was done to ``other`` done to ``first``, its keys followed by ``suffix``."""
    out: list[Operation] = []
    for operation in operations:
        if isinstance(operation, (Create, CreateTask)) and operation.as_ == other:
            continue
        inner = operation.operation if isinstance(operation, Abort) else operation
        if getattr(inner, "task", None) == other and isinstance(inner, (SetInput, Resolve)) and suffix:
            entries = inner.requests if isinstance(inner, SetInput) else inner.responses
            inner = type(inner)(other, [(key + suffix, body) for key, body in entries])
            operation = Abort(inner, operation.after) if isinstance(operation, Abort) else inner
        out.append(renamed(operation, lambda name: first if name == other else name, lambda name: name))
    return out


def _merged(first: Operation, second: Operation) -> Operation | None:
    match first, second:
        case SetInput(task, requests), SetInput(other, more) if task == other:
            return SetInput(task, {**dict(requests), **dict(more)})
        case Resolve(task, responses), Resolve(other, more) if task == other:
            return Resolve(task, {**dict(responses), **dict(more)})
        case _:
            return None


def one_step_simpler(operations: Sequence[Operation], limit: int = 60) -> Iterator[list[Operation]]:
    """Sequences that are simpler by one operation less or one operation simpler."""
    made = 0
    for index, operation in enumerate(operations):
        for replacement in ((), *((item,) for item in _simpler(operation))):
            made += 1
            if made > limit:
                return
            yield [*operations[:index], *replacement, *operations[index + 1 :]]


def _simpler(operation: Operation) -> Iterator[Operation]:
    match operation:
        case Abort(inner, after):
            yield inner
            if after:
                yield Abort(inner, 0)
                yield Abort(inner, after - 1)
            for smaller in _simpler(inner):
                if isinstance(smaller, (Get, SetInput, Resolve, Cancel, Complete, Fail)):
                    yield Abort(smaller, after)
        case Complete(task, result):
            for value in _simpler_values(result.value):
                yield Complete(task, value)
        case Fail(task, error):
            for value in _simpler_values(error.value):
                yield Fail(task, value)
        case SetInput(task, requests):
            for entries in _simpler_entries(requests):
                yield SetInput(task, entries)
        case Resolve(task, responses):
            for entries in _simpler_entries(responses):
                yield Resolve(task, entries)
        case AdvanceClock(ms):
            for step in (0, 1, 1000, 60_000, ms // 2):
                if abs(step) < abs(ms):
                    yield AdvanceClock(step)
        case Subscribe(as_, kind) if kind != "plain":
            yield Subscribe(as_, "plain")
        case Tamper(task, "given"):
            yield Tamper(task, "returned")
        case StoreResult(result=result):
            for value in _simpler_values(result.value):
                yield replace(operation, result=Payload(value))
        case Get() | Create() | Unsubscribe():
            return
        case _:
            yield from simpler_2025(operation)


def _simpler_entries(entries: tuple[tuple[str, Payload], ...]) -> Iterator[tuple[tuple[str, Payload], ...]]:
    for index in range(len(entries)):
        yield entries[:index] + entries[index + 1 :]
    for index, (key, body) in enumerate(entries):
        for value in _simpler_values(body.value):
            yield (*entries[:index], (key, Payload(value)), *entries[index + 1 :])


_SIMPLE: tuple[JSON, ...] = ({}, {"n": 1}, {"n": 2}, "x")


def _weight(value: JSON) -> int:
    return len(Payload(value).text)


def _simpler_values(value: JSON) -> Iterator[JSON]:
    """Simpler JSON values than ``value``, simplest first; none is ``null``."""
    weight = _weight(value)
    for simple in _SIMPLE:
        if value == simple:
            return
        if _weight(simple) < weight or weight > 40 or not isinstance(value, dict):
            yield simple
    if isinstance(value, dict):
        for key in value:
            if value[key] is not None:
                yield value[key]
            yield {other: item for other, item in value.items() if other != key}
        for key, item in value.items():
            for smaller in _simpler_parts(item):
                yield {**value, key: smaller}
    elif isinstance(value, list):
        half = len(value) // 2
        if half:
            yield value[:half]
            yield value[half:]
        for index, item in enumerate(value[:8]):
            yield value[:index] + value[index + 1 :]
            for smaller in _simpler_parts(item):
                yield [*value[:index], smaller, *value[index + 1 :]]
    elif isinstance(value, str) and len(value) > 1:
        half = len(value) // 2
        yield value[:half]
        yield value[half:]
        if len(value) < 20:
            for index in range(len(value)):
                yield value[:index] + value[index + 1 :]


def _simpler_parts(value: JSON) -> Iterator[JSON]:
    if isinstance(value, (dict, list, str)) and value:
        yield from list(_simpler_values(value))[:24]


def _rename_tasks(operations: Sequence[Operation]) -> list[Operation]:
    tasks: dict[str, str] = {}
    listeners: dict[str, str] = {}
    return [
        renamed(
            operation,
            lambda name: tasks.setdefault(name, f"t{len(tasks) + 1}"),
            lambda name: listeners.setdefault(name, f"l{len(listeners) + 1}"),
        )
        for operation in operations
    ]


def _rename_keys(operations: Sequence[Operation]) -> list[Operation]:
    names: dict[str, str] = {}

    def named(entries: tuple[tuple[str, Payload], ...]) -> tuple[tuple[str, Payload], ...]:
        return tuple((names.setdefault(key, chr(ord("a") + len(names) % 26)), body) for key, body in entries)

    out: list[Operation] = []
    for operation in operations:
        match operation:
            case SetInput(task, requests):
                out.append(SetInput(task, named(requests)))
            case Resolve(task, responses):
                out.append(Resolve(task, named(responses)))
            case Abort(SetInput(task, requests), after):
                out.append(Abort(SetInput(task, named(requests)), after))
            case Abort(Resolve(task, responses), after):
                out.append(Abort(Resolve(task, named(responses)), after))
            case _:
                out.append(operation)
    return out if len(names) <= 26 else list(operations)


def shortest(operations: Sequence[Operation]) -> list[list[Operation]]:
    """Where a try is dear: the candidates to begin with, the last operation alone and on a new task."""
    if not operations:
        return []
    last = operations[-1]
    inner = last.operation if isinstance(last, Abort) else last
    task = getattr(inner, "task", None)
    candidates: list[list[Operation]] = [[last]]
    if isinstance(task, str) and "~" not in task:
        made = (item for item in operations if isinstance(item, CreateTask) and item.as_ == task)
        candidates = [[next(made, CreateTask(task)) if type(last) in NAMES else Create(task), last]]
    return [candidate for candidate in candidates if len(candidate) < len(operations)]
