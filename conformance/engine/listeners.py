"""Listeners of the suite, and the ledger of events that are due.

A listener records each event at once, whatever thread it comes in.  The ledger knows which events
the operations so far have made due or lawful, and what an event breaches that is neither.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from mcptasks.strategies.json_values import Payload

__all__ = ["Arrival", "Due", "Listener", "ListenerError"]


class ListenerError(RuntimeError):
    """What a raising listener raises."""


class Arrival:
    """One event as it came in."""

    __slots__ = ("event", "index", "listener", "read", "read_error")

    def __init__(self, listener: Listener, event: Any, index: int) -> None:
        self.listener = listener
        self.event = event
        self.index = index
        """The operation that was under way."""
        self.read: Any = None
        """What a getting listener read from within, if the read was over before the resolve was."""
        self.read_error: BaseException | None = None


class Due:
    """An event that one resolve makes due (or only lawful) for one listener."""

    __slots__ = ("count", "index", "key", "listener", "response", "unmatched", "wanted")

    def __init__(
        self, listener: Listener, key: str, response: Payload, index: int, wanted: bool, unmatched: bool = False
    ) -> None:
        self.listener = listener
        self.key = key
        self.response = response
        self.index = index
        self.wanted = wanted
        """Whether it must come; else it may."""
        self.unmatched = unmatched
        """Whether the key answered nothing in any possible state."""
        self.count = 0


class Listener:
    """A subscribed listener: ``plain`` records, ``raising`` records and raises, ``getting`` also reads the task."""

    def __init__(
        self, name: str, kind: str, arrivals: list[Arrival], now: Callable[[], int], read: Callable[[str], Any]
    ) -> None:
        self.name = name
        self.kind = kind
        self.active = True
        self.unsubscribe: Callable[[], Any] | None = None
        self._arrivals = arrivals
        self._now = now
        self._read = read

    def disown(self) -> None:
        """What comes from now on is nobody's: the subscription itself went wrong."""
        self._arrivals = []

    def __call__(self, event: Any) -> Awaitable[None] | None:
        """Record the event; raise or read the task if that is this listener's kind."""
        arrival = Arrival(self, event, self._now())
        self._arrivals.append(arrival)
        if self.kind == "raising":
            raise ListenerError("the suite's raising listener")
        if self.kind == "getting":
            return self._look(arrival)
        return None

    def _look(self, arrival: Arrival) -> Awaitable[None] | None:
        event = arrival.event
        try:
            task_id = event.get("task_id", event.get("taskId")) if hasattr(event, "get") else None
            if task_id is None:
                task_id = getattr(event, "task_id", None) or getattr(event, "taskId", None)
            if not isinstance(task_id, str):
                return None
            value = self._read(task_id)
            if not inspect.isawaitable(value):
                arrival.read = value
                return None
        except BaseException as error:
            arrival.read_error = error
            return None
        try:
            return _driven(value, arrival)
        except RuntimeError:
            return None  # called in a thread without an event loop: the read cannot be finished there


def _driven(awaitable: Any, arrival: Arrival) -> Awaitable[None] | None:
    """Run the read as far as it goes without waiting, then leave the rest to the loop.

    A store need not await what a listener returns; stepping the read at once still tells what the
    store's state was when the event was raised.
    """
    if not inspect.iscoroutine(awaitable):
        return asyncio.ensure_future(_finish(awaitable, arrival))
    try:
        waiting_for = awaitable.send(None)
    except StopIteration as done:
        arrival.read = done.value
        return None
    except BaseException as error:
        arrival.read_error = error
        return None
    return asyncio.ensure_future(_finish(_Resumed(awaitable, waiting_for), arrival))


class _Resumed:
    """An already started coroutine as an awaitable, from where it waits."""

    def __init__(self, coroutine: Any, waiting_for: Any) -> None:
        self._coroutine = coroutine
        self._waiting_for = waiting_for

    def __await__(self) -> Any:
        waiting_for = self._waiting_for
        while True:
            error: BaseException | None = None
            sent: Any = None
            try:
                sent = yield waiting_for
            except BaseException as thrown:
                error = thrown
            try:
                waiting_for = self._coroutine.send(sent) if error is None else self._coroutine.throw(error)
            except StopIteration as done:
                return done.value


async def _finish(awaitable: Any, arrival: Arrival) -> None:
    try:
        arrival.read = await awaitable
    except BaseException as error:
        arrival.read_error = error
