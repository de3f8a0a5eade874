"""Checking a bridge before the store behind it is judged: what is wrong here is never charged to the store.

What is asked of a bridge is in section 6 of the contract and in docs/guides/check-a-store-in-another-language.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from mcptasks.conformance.bridge.connection import Connection, Request
from mcptasks.conformance.bridge.description import Description, read_description
from mcptasks.conformance.bridge.faults import BridgeFault, BridgeGone, StoreError
from mcptasks.conformance.bridge.messages import METHOD_NOT_FOUND, Response
from mcptasks.conformance.bridge.stores import milliseconds
from mcptasks.conformance.errors import TargetUnusableError, UsageError
from mcptasks.conformance.targets.clock import EPOCH
from mcptasks.conformance.targets.records import Garbage, instant
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["Checked", "check_bridge"]

_STARTING: Final = 6
"""How many times longer than a call the first answer may take: some languages start slowly."""
_BRIEF_S: Final = 0.3
"""Seconds in which a bridge says that it does not know a method."""
_NOBODY: Final = "mcptasks-no-such-task"
_HOUR: Final = timedelta(hours=1)

_CALLS: Final[Mapping[str, Sequence[tuple[str, dict[str, JSON]]]]] = {
    "2026-07-28": (
        ("store/setInputRequests", {"inputRequests": {}}),
        ("store/resolveInputRequests", {"inputResponses": {}}),
        ("store/setCancelled", {}),
        ("store/setCompleted", {"result": {"content": []}}),
        ("store/setFailed", {"error": {"code": -32603, "message": "m"}}),
        ("store/get", {}),
    ),
    "2025-11-25": (
        ("store25/storeResult", {"status": "completed", "result": {"content": []}}),
        ("store25/updateStatus", {"status": "cancelled"}),
        ("store25/getResult", {}),
        ("store25/list", {}),
        ("store25/get", {}),
    ),
}
"""Every method that a bridge must know, called about a task that there is not; what it answers is the store's affair."""
_CREATE: Final[Mapping[str, tuple[str, dict[str, JSON]]]] = {
    "2026-07-28": ("store/create", {}),
    "2025-11-25": (
        "store25/create",
        {"options": {}, "requestId": 1, "request": {"method": "tools/call", "params": {"name": "n", "arguments": {}}}},
    ),
}
_GET: Final = {"2026-07-28": "store/get", "2025-11-25": "store25/get"}


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check has shown."""

    description: Description
    reusable: bool
    """Whether a process can open one store after another, each without the tasks of those before."""
    clock_refused: str | None
    """Why no clock may be injected, though the description names ``clockMs``."""


async def check_bridge(connection: Connection, timeout: float, *, again: bool = False) -> Checked:
    """Check a bridge that was just started.

    Args:
        connection: to it; not to be used afterwards, since the store behind may have broken it.
        timeout: seconds for each answer but the first.
        again: it was checked before: only what has to be known is asked.

    Raises:
        BridgeFault: it does not keep to its protocol.
        TargetUnusableError: it ends or never answers, or its store cannot be opened.
        UsageError: it lacks a method.
    """
    return await _Check(connection, timeout).run(again=again)


class _Check:
    def __init__(self, connection: Connection, timeout: float) -> None:
        self._connection = connection
        self._timeout = timeout

    async def run(self, *, again: bool) -> Checked:
        description = await self._describe()
        if again:
            return Checked(description, False, await self._clock_refused(description))
        await self._ids(description)
        await self._unknown_method()
        await self._open({})
        reusable = False
        try:
            await self._methods(description)
            first = await self._create(description)
            if "waitForResult" in description.optional:
                await self._overlap(first)
            await self._close()
            await self._open({})
            reusable = await self._absent(description, first)
            await self._close()
        except (BridgeGone, TimeoutError, StoreError):
            return Checked(description, False, None)  # of the store, and found again where it is judged
        return Checked(description, reusable, await self._clock_refused(description))

    # --- the bridge alone ------------------------------------------------------------------

    async def _describe(self) -> Description:
        patience = _STARTING * self._timeout
        try:
            answer = await self._answer(self._connection.send("store/describe"), patience)
        except TimeoutError:
            raise TargetUnusableError(
                f"{self._connection.name} does not answer store/describe within {patience:g} s"
            ) from None
        except BridgeGone as error:
            raise TargetUnusableError(
                f"{self._connection.name}: {error}; it has not answered store/describe before"
            ) from error
        if answer.failure is not None:
            raise self._fault(f"answers store/describe with an error: {text_of(answer.failure.message, 120)}")
        try:
            return read_description(answer.result)
        except ValueError as error:
            shown = text_of(answer.result, 100)
            raise self._fault(f"answers store/describe with {shown}, where {error}") from error

    async def _ids(self, description: Description) -> None:
        """Several requests at once, one with a text as id: each is answered under its own."""
        sent = [
            self._connection.send("store/describe", own_id="mcptasks-Ä 1"),
            *(self._connection.send("store/describe") for _ in range(3)),
        ]
        for request in sent:
            answer = await self._due(request)
            if answer.result is None or read_description(answer.result) != description:
                raise self._fault("answers store/describe differently when it is asked again")

    async def _unknown_method(self) -> None:
        answer = await self._due(self._connection.send("store/no-such-method"))
        if answer.failure is None or answer.failure.code != METHOD_NOT_FOUND:
            got = "a result" if answer.failure is None else f"the error {answer.failure.code}"
            raise self._fault(f"answers an unknown method with {got}, not with the error {METHOD_NOT_FOUND}")

    async def _open(self, params: dict[str, JSON]) -> None:
        answer = await self._due(self._connection.send("store/open", params))
        if answer.failure is not None:
            raise TargetUnusableError(
                f"{self._connection.name}: store/open fails: {text_of(answer.failure.message, 160)[1:-1]}"
            )

    async def _close(self) -> None:
        answer = await self._answer(self._connection.send("store/close"), self._timeout)
        if answer.failure is not None and answer.failure.code == METHOD_NOT_FOUND:
            raise self._fault("does not know the method store/close")

    # --- with the store --------------------------------------------------------------------

    async def _methods(self, description: Description) -> None:
        for method, params in _CALLS[description.revision]:
            answer = await self._answer(self._connection.send(method, {"taskId": _NOBODY, **params}), self._timeout)
            self._known(method, answer)
        if "waitForResult" in description.optional:
            request = self._connection.send("store25/waitForResult", {"taskId": _NOBODY})
            try:
                self._known(request.method, await self._answer(request, _BRIEF_S))
            except TimeoutError:
                self._connection.give_up(request)

    async def _create(self, description: Description) -> str:
        """Create a task; its id."""
        method, params = _CREATE[description.revision]
        record = await asyncio.wait_for(self._connection.call(method, params), self._timeout)
        if not isinstance(record, dict):
            raise self._fault(f"answers {method} with {text_of(record, 80)}, which is no record")
        snake = next((name for name in ("task_id", "created_at", "last_updated_at") if name in record), None)
        if snake is not None and "taskId" not in record:
            raise self._fault(f"answers {method} with the member {snake}; members are camelCase, such as taskId")
        task_id, status = record.get("taskId"), record.get("status")
        if not isinstance(task_id, str) or not isinstance(status, str):
            shown = text_of(record, 100)
            raise self._fault(f"answers {method} with {shown}, which lacks taskId or status, or has no texts there")
        return task_id

    async def _overlap(self, task_id: str) -> None:
        """A waiter keeps nobody else from being answered."""
        waiter = self._connection.send("store25/waitForResult", {"taskId": task_id})
        request = self._connection.send("store25/get", {"taskId": task_id})
        try:
            await self._answer(request, self._timeout)
        except TimeoutError:
            text = f"does not answer {request.method} while {waiter.method} waits: requests may overlap"
            raise self._fault(text) from None
        self._connection.give_up(waiter)
        end = self._connection.send("store25/updateStatus", {"taskId": task_id, "status": "cancelled"})
        await self._answer(end, self._timeout)

    async def _absent(self, description: Description, task_id: str) -> bool:
        """Whether a store that was opened anew does not have the tasks of the one before."""
        request = self._connection.send(_GET[description.revision], {"taskId": task_id})
        answer = await self._answer(request, self._timeout)
        return answer.result is None

    async def _clock_refused(self, description: Description) -> str | None:
        if "clockMs" not in description.keywords:
            return None
        later = EPOCH + _HOUR
        try:
            await self._open({"clockMs": milliseconds(EPOCH)})
            if await self._created(description) != EPOCH:
                return None  # taken and not used: found where the store is opened with a clock
            answer = await self._due(self._connection.send("clock/set", {"ms": milliseconds(later)}))
            if answer.failure is not None:
                return f"the bridge names clockMs, and clock/set fails: {text_of(answer.failure.message, 80)}"
            if await self._created(description) != later:
                return "the bridge names clockMs, and clock/set does not move the store's clock"
            await self._close()
        except (BridgeGone, TimeoutError, StoreError):
            return None
        return None

    async def _created(self, description: Description) -> datetime | None:
        """The time of creation of a new task, to the second; ``None`` if it has none."""
        method, params = _CREATE[description.revision]
        record = await asyncio.wait_for(self._connection.call(method, params), self._timeout)
        try:
            found = instant(record.get("createdAt"))
        except (AttributeError, Garbage):
            return None
        for time in (EPOCH, EPOCH + _HOUR):
            if abs(found - time) <= timedelta(seconds=1):
                return time
        return found

    # --- answers ---------------------------------------------------------------------------

    async def _answer(self, request: Request, seconds: float) -> Response:
        return await asyncio.wait_for(request.response, seconds)

    async def _due(self, request: Request) -> Response:
        """The answer to what a bridge answers by itself."""
        try:
            return await self._answer(request, self._timeout)
        except TimeoutError:
            raise self._fault(f"does not answer {request.method} within {self._timeout:g} s") from None

    def _known(self, method: str, answer: Response) -> None:
        if answer.failure is not None and answer.failure.code == METHOD_NOT_FOUND:
            raise UsageError(f"{self._connection.name} lacks the method {method}")

    def _fault(self, text: str) -> BridgeFault:
        return self._connection.broken(text)
