"""Stores behind a bridge, with the methods of the store protocol (contract, sections 2 and 6)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from mcptasks.conformance.bridge.connection import Connection
from mcptasks.conformance.bridge.digits import Digits
from mcptasks.conformance.bridge.messages import BadMessage
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["BridgedStore", "BridgedStore25", "BridgedStore26", "milliseconds"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(time: datetime) -> int:
    """Milliseconds since 1970."""
    return round((time - _EPOCH).total_seconds() * 1000)


class BridgedStore:
    """What the stores of both revisions have in common.

    Args:
        connection: to a process in which a store was opened.
        release: gives the connection back when the store is closed.
        clock: as the factory was given it; the store's is set before each call for which it has moved.
    """

    event: ClassVar[str]
    """The notification that listeners hear of."""
    event_members: ClassVar[tuple[str, ...]]
    """Members that it must have."""

    def __init__(
        self, connection: Connection, release: Callable[[Connection], Any], clock: Callable[[], datetime] | None = None
    ) -> None:
        self._connection = connection
        self._release = release
        self._clock = clock
        self._told = None if clock is None else milliseconds(clock())
        self._order = asyncio.Lock()
        self._digits = Digits()
        self._listeners: dict[int, Callable[[Any], Any]] = {}
        self._subscribed = 0
        self._running: set[asyncio.Future[Any]] = set()
        connection.listener = self._heard

    async def _call(self, method: str, params: Mapping[str, JSON], *, waits: bool = False) -> JSON:
        async with self._order:  # calls reach the store in the order in which they are made
            if self._clock is not None and (now := milliseconds(self._clock())) != self._told:
                self._told = now
                await self._connection.call("clock/set", {"ms": now})
            self._digits.send(params)
            request = self._connection.send(method, params)
        value = await self._connection.answer(request, waits=waits)
        if self._digits.lost is None:
            self._digits.receive(value)
            if self._digits.lost is not None:
                self._connection.note(f"integers beyond 2^53 lose digits over this bridge: {self._digits.lost}")
        return value

    def _subscribe(self, listener: Callable[[Any], Any]) -> Callable[[], None]:
        self._subscribed += 1
        key = self._subscribed
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe

    def _heard(self, method: str, params: dict[str, JSON]) -> None:
        if method != self.event:
            raise BadMessage(f"sends the notification {text_of(method, 60)}; known is {self.event}")
        missing = [name for name in self.event_members if name not in params]
        if missing:
            raise BadMessage(f"sends {method} without {missing[0]}")
        for listener in list(self._listeners.values()):
            try:
                outcome = listener(params)
            except Exception:
                continue  # a listener that raises does not keep the others from hearing
            if inspect.isawaitable(outcome):
                task = asyncio.ensure_future(outcome)
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """Close the store; a process that does not answer to that is ended."""
        self._connection.listener = None
        self._listeners.clear()
        await self._release(self._connection)


def _record(value: JSON, nullable: tuple[str, ...]) -> JSON:
    """A record in which members that may be null are there: many languages leave out what is null."""
    if isinstance(value, dict):
        for name in nullable:
            value.setdefault(name, None)
    return value


class BridgedStore26(BridgedStore):
    """A store of revision 2026-07-28."""

    event = "store/inputResponse"
    event_members = ("taskId", "requestId", "response")
    _nullable: Final = ("ttlMs", "pollIntervalMs")

    async def create_task(self) -> JSON:
        """The record of a new task."""
        return _record(await self._call("store/create", {}), self._nullable)

    async def get_task(self, task_id: str) -> JSON:
        """The task's record, or None."""
        return _record(await self._call("store/get", {"taskId": task_id}), self._nullable)

    async def set_input_requests(self, task_id: str, input_requests: Mapping[str, JSON]) -> None:
        """Ask for input."""
        await self._call("store/setInputRequests", {"taskId": task_id, "inputRequests": dict(input_requests)})

    async def resolve_input_requests(self, task_id: str, input_responses: Mapping[str, JSON]) -> None:
        """Answer."""
        await self._call("store/resolveInputRequests", {"taskId": task_id, "inputResponses": dict(input_responses)})

    async def set_cancelled(self, task_id: str) -> JSON:
        """Cancel; whether that was done."""
        return await self._call("store/setCancelled", {"taskId": task_id})

    async def set_completed(self, task_id: str, result: JSON) -> None:
        """Complete."""
        await self._call("store/setCompleted", {"taskId": task_id, "result": result})

    async def set_failed(self, task_id: str, error: JSON) -> None:
        """Fail."""
        await self._call("store/setFailed", {"taskId": task_id, "error": error})

    def on_input_response(self, listener: Callable[[Any], Any]) -> Callable[[], None]:
        """Call ``listener`` at every ``store/inputResponse`` from now on; gives the function that ends that."""
        return self._subscribe(listener)


def _spoken(params: dict[str, JSON]) -> dict[str, JSON]:
    """Parameters without those that are null: absent and null say the same."""
    return {name: value for name, value in params.items() if value is not None}


_OPTIONS: Final = {"poll_interval": "pollInterval"}


class BridgedStore25(BridgedStore):
    """A store of revision 2025-11-25; what it may lack, the factory makes ``None``."""

    event = "store25/statusChange"
    event_members = ("taskId", "status")
    _nullable: Final = ("ttl", "pollInterval", "statusMessage")
    wait_for_task_result: Callable[..., Any] | None
    on_status_change: Callable[..., Any] | None

    def __init__(
        self,
        connection: Connection,
        release: Callable[[Connection], Any],
        clock: Callable[[], datetime] | None = None,
        optional: frozenset[str] = frozenset({"waitForResult", "statusChange"}),
    ) -> None:
        super().__init__(connection, release, clock)
        self.wait_for_task_result = self._wait if "waitForResult" in optional else None
        self.on_status_change = self._subscribe if "statusChange" in optional else None

    async def create_task(
        self, options: Mapping[str, JSON], request_id: str | int, request: JSON, session_id: str | None = None
    ) -> JSON:
        """The record of a new task."""
        spelled = {_OPTIONS.get(name, name): value for name, value in options.items()}
        params = {"options": spelled, "requestId": request_id, "request": request, **_spoken({"sessionId": session_id})}
        return _record(await self._call("store25/create", params), self._nullable)

    async def get_task(self, task_id: str, session_id: str | None = None) -> JSON:
        """The task's record, or None."""
        params = _spoken({"taskId": task_id, "sessionId": session_id})
        return _record(await self._call("store25/get", params), self._nullable)

    async def store_task_result(self, task_id: str, status: str, result: JSON, session_id: str | None = None) -> None:
        """End the task with a result."""
        params = {"taskId": task_id, "status": status, "result": result, **_spoken({"sessionId": session_id})}
        await self._call("store25/storeResult", params)

    async def get_task_result(self, task_id: str, session_id: str | None = None) -> JSON:
        """The result, or None."""
        return await self._call("store25/getResult", _spoken({"taskId": task_id, "sessionId": session_id}))

    async def update_task_status(
        self, task_id: str, status: str, status_message: str | None = None, session_id: str | None = None
    ) -> None:
        """Set the status."""
        params = {"taskId": task_id, "status": status, "statusMessage": status_message, "sessionId": session_id}
        await self._call("store25/updateStatus", _spoken(params))

    async def list_tasks(self, cursor: str | None = None, session_id: str | None = None) -> JSON:
        """A page: ``tasks`` and ``nextCursor``."""
        page = await self._call("store25/list", _spoken({"cursor": cursor, "sessionId": session_id}))
        tasks = page.get("tasks") if isinstance(page, dict) else None
        for task in tasks if isinstance(tasks, list) else ():
            _record(task, self._nullable)
        return page

    async def _wait(self, task_id: str, session_id: str | None = None) -> Any:
        """Status and result, once the task has ended."""
        params = _spoken({"taskId": task_id, "sessionId": session_id})
        found = await self._call("store25/waitForResult", params, waits=True)
        if not isinstance(found, dict) or "status" not in found:
            raise self._connection.broken(
                f"answers store25/waitForResult with {text_of(found, 80)}, not with status and result"
            )
        return found["status"], found.get("result")
