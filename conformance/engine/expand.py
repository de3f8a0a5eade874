"""Adding and removing reads: a deviation is attributed best where every call is read back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

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
)
from mcptasks.strategies.operations_2025 import (
    NAMES,
    CreateTask,
    GetResult,
    GetTask,
    ListTasks,
    StoreResult,
    UpdateStatus,
)

__all__ = ["closing_reads", "is_2025", "with_reads", "without_inner_reads"]

_MANY_READS: Final = 1500
_CALLS: Final = (SetInput, Resolve, Cancel, Complete, Fail, StoreResult, UpdateStatus)
_READS: Final = (Get, GetTask, GetResult)


def touched(operation: Operation) -> str | None:
    """The task that an operation changes, if it changes one."""
    if isinstance(operation, (Create, CreateTask)):
        return operation.as_
    if isinstance(operation, Abort):
        return operation.operation.task
    return operation.task if isinstance(operation, _CALLS) else None


def task_names(operations: Iterable[Operation]) -> list[str]:
    """Every task that a sequence names, in order of first appearance."""
    names: dict[str, None] = {}
    for operation in operations:
        if isinstance(operation, (Create, CreateTask)):
            names.setdefault(operation.as_)
        elif isinstance(operation, ListTasks):
            names.update(dict.fromkeys(task_names(operation.during)))
        elif isinstance(operation, Abort):
            names.setdefault(operation.operation.task)
        else:
            task = getattr(operation, "task", None)
            if isinstance(task, str):
                names.setdefault(task)
    return list(names)


def closing_reads(operations: Sequence[Operation]) -> list[Operation]:
    """A get of every task that the sequence names."""
    return [read for name in task_names(operations) for read in _reads(name, is_2025(operations))]


def is_2025(operations: Iterable[Operation]) -> bool:
    """Whether a sequence is for a store of revision 2025-11-25.

    On a server of that revision some of these operations stand among those of the other, which say what it is.
    """
    operations = list(operations)
    return any(type(operation) in NAMES for operation in operations) and not any(map(_of_2026, operations))


def _of_2026(operation: Operation) -> bool:
    return isinstance(operation, (Create, Get, SetInput, Resolve, Cancel, Complete, Fail))


def _reads(task: str, later: bool) -> list[Operation]:
    """What shows all of a task's state."""
    return [GetTask(task), GetResult(task)] if later else [Get(task)]


def with_reads(operations: Sequence[Operation]) -> list[Operation]:
    """The sequence with its task read after every call, and every other one so far, too.

    In long sequences of many tasks the others are read after every few calls only: the number of reads
    would grow with the square of the length.
    """
    out: list[Operation] = []
    names: dict[str, None] = {}
    stride = 1 + len(task_names(operations)) * len(operations) // _MANY_READS
    later = is_2025(operations)
    for number, operation in enumerate(operations):
        out.append(operation)
        task = touched(operation)
        if isinstance(operation, AdvanceClock):
            out.extend(read for name in names for read in _reads(name, later))
            continue
        if task is None:
            if isinstance(operation, _READS):
                names.setdefault(operation.task)
            continue
        names.pop(task, None)
        # Twice: the second shows what the first one did, if a read changes something.
        out += [*_reads(task, later), *_reads(task, later)]
        if number % stride == 0:
            out.extend(read for name in reversed(names) for read in _reads(name, later))
        names[task] = None
    return out


def without_inner_reads(operations: Sequence[Operation]) -> list[Operation]:
    """The sequence without its reads, except a last one."""
    last = operations[-1:] if operations and isinstance(operations[-1], _READS) else []
    return [operation for operation in operations if not isinstance(operation, _READS)] + list(last)
