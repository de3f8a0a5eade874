"""Giving tasks and listeners of a sequence other names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mcptasks.strategies.operations import (
    Abort,
    AdvanceClock,
    Cancel,
    Complete,
    Create,
    Fail,
    Get,
    Operation,
    Probe,
    Resolve,
    SetInput,
    Subscribe,
    Tamper,
    Unsubscribe,
)
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

__all__ = ["prefixed", "renamed"]

Rename = Callable[[str], str]


def renamed(operation: Operation, task: Rename, listener: Rename) -> Operation:
    """The operation with its task and listener renamed; an id variant keeps its suffix."""

    def name(full: str) -> str:
        base, tilde, variant = full.partition("~")
        return task(base) + tilde + variant

    match operation:
        case Create(as_):
            return Create(task(as_))
        case Get(old):
            return Get(name(old))
        case SetInput(old, requests):
            return SetInput(name(old), requests)
        case Resolve(old, responses):
            return Resolve(name(old), responses)
        case Cancel(old):
            return Cancel(name(old))
        case Complete(old, result):
            return Complete(name(old), result)
        case Fail(old, error):
            return Fail(name(old), error)
        case Tamper(old, what):
            return Tamper(name(old), what)
        case Abort(inner, after):
            changed = renamed(inner, task, listener)
            assert isinstance(changed, (Get, SetInput, Resolve, Cancel, Complete, Fail))
            return Abort(changed, after)
        case Subscribe(as_, kind):
            return Subscribe(listener(as_), kind)
        case Unsubscribe(old):
            return Unsubscribe(listener(old))
        case CreateTask():
            return replace(operation, as_=task(operation.as_))
        case GetTask(old) | StoreResult(old) | GetResult(old) | UpdateStatus(old) | AwaitResult(old):
            return replace(operation, task=name(old))
        case ListTasks(session, during):
            return ListTasks(session, tuple(renamed(item, task, listener) for item in during))
        case OnStatus(as_, kind):
            return OnStatus(listener(as_), kind)
        case AdvanceClock() | Probe() | BadCursor() | ForeignCursor():
            return operation


def prefixed(operations: Sequence[Operation], prefix: str) -> list[Operation]:
    """The sequence with ``prefix`` before every name of a task or listener.

    Listeners still subscribed at its end are unsubscribed, as between sequences on one store.
    """
    out = [renamed(operation, lambda name: prefix + name, lambda name: prefix + name) for operation in operations]
    open_listeners: dict[str, None] = {}
    for operation in out:
        if isinstance(operation, (Subscribe, OnStatus)):
            open_listeners[operation.as_] = None
        elif isinstance(operation, Unsubscribe):
            open_listeners.pop(operation.listener, None)
    return [*out, *(Unsubscribe(name) for name in open_listeners)]
