"""Simpler forms of the operations on 2025-11-25 stores, simplest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mcptasks.strategies.json_values import Payload
from mcptasks.strategies.operations import Operation
from mcptasks.strategies.operations_2025 import CreateTask, ListTasks, OnStatus, UpdateStatus

__all__ = ["simpler_2025"]

_PLAIN = CreateTask()


def simpler_2025(operation: Operation) -> Iterator[Operation]:
    """Simpler operations of the same kind; nothing for those of the other revision."""
    match operation:
        case CreateTask():
            yield from _simpler_creation(operation)
        case UpdateStatus(message=str(message)):
            yield replace(operation, message=None)
            if message != "m":
                yield replace(operation, message="m")
        case ListTasks(session, during) if during:
            yield ListTasks(session, ())
            for index in range(len(during)):
                yield ListTasks(session, during[:index] + during[index + 1 :])
        case OnStatus(as_, "getting"):
            yield OnStatus(as_, "plain")
        case _:
            return


def _simpler_creation(operation: CreateTask) -> Iterator[Operation]:
    options = operation.options.value
    for name in options:
        yield replace_options(operation, {key: item for key, item in options.items() if key != name})
    if operation.session is not None:
        yield CreateTask(operation.as_, operation.options, None, operation.request_id, operation.request)
    if (operation.request_id, operation.request) != (_PLAIN.request_id, _PLAIN.request):
        yield CreateTask(operation.as_, operation.options, operation.session)


def replace_options(operation: CreateTask, options: object) -> CreateTask:
    """The creation with other options."""
    return CreateTask(operation.as_, Payload(options), operation.session, operation.request_id, operation.request)
