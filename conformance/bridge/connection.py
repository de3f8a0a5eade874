"""The suite's end of one bridge process: requests that may overlap, notifications, and the process's end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mcptasks.conformance.bridge.faults import BridgeFault, BridgeGone, Hooks, StoreError
from mcptasks.conformance.bridge.messages import METHOD_NOT_FOUND, BadMessage, Failure, Response, read_message
from mcptasks.conformance.wire.stdio_lines import Lines, TooLongError
from mcptasks.conformance.wire.stdio_process import StdioProcess, shown_command
from mcptasks.strategies.json_values import JSON, text_of

__all__ = ["LONGEST_LINE", "Connection", "Request"]

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of one line: a page of many tasks, or a payload of 2 MiB with every character escaped, fits well."""
_GIVEN_UP: Final = 100_000
"""Waiters given up whose ids are remembered: they may be answered late."""

Listener = Callable[[str, dict[str, JSON]], None]
_Key = tuple[type, str | int]


@dataclass(frozen=True, slots=True)
class Request:
    """A request on its way."""

    id: str | int
    method: str
    response: asyncio.Future[Response]


class Connection:
    """One process.  Requests are written in the order of the calls of :meth:`send`.

    Args:
        process: as started.
        command: that started it, for messages.
        hooks: told of its end.
    """

    def __init__(self, process: StdioProcess, command: str, hooks: Hooks) -> None:
        self._process = process
        self.name = f"--bridge {shown_command(command)}"
        self._hooks = hooks
        self._pending: dict[_Key, Request] = {}
        self._given_up: dict[_Key, None] = {}
        self._count = 0
        self._lines = Lines(LONGEST_LINE)
        self._error: BridgeFault | BridgeGone | None = None
        self._closing = False
        self.listener: Listener | None = None
        """Takes notifications."""
        self.in_use = False
        """Whether a store is open: then the end of the process is told to the hooks."""
        self._reader = asyncio.ensure_future(self._read())

    @classmethod
    async def start(cls, command: str, hooks: Hooks) -> Connection:
        """Start the process.

        Raises:
            UsageError: the command cannot be run.
        """
        return cls(await StdioProcess.start(command, "--bridge"), command, hooks)

    @property
    def usable(self) -> bool:
        """Whether another store may be opened here: the process lives and owes no answer but those of waiters."""
        return self._error is None and not self._pending

    # --- requests --------------------------------------------------------------------------

    def send(self, method: str, params: Mapping[str, JSON] | None = None, *, own_id: str | None = None) -> Request:
        """Write a request; it is under way when this returns.

        Args:
            method: such as ``store/get``.
            params: its parameters.
            own_id: a text to be its id; numbers are used otherwise.

        Raises:
            BridgeFault, BridgeGone: the bridge cannot be used any more.
        """
        if self._error is not None:
            self._tell(self._error)
            raise self._error
        self._count += 1
        own: str | int = own_id if own_id is not None else self._count
        request = Request(own, method, asyncio.get_running_loop().create_future())
        self._pending[type(own), own] = request
        message = {"jsonrpc": "2.0", "id": own, "method": method, "params": dict(params or {})}
        # What cannot be written because the process is gone is told by the end of its output.
        self._process.write_at_once(json.dumps(message, separators=(",", ":"), allow_nan=False).encode())
        return request

    async def answer(self, request: Request, *, waits: bool = False) -> JSON:
        """The result of a request.

        Args:
            request: as :meth:`send` gave it.
            waits: it may be given up without being answered.

        Raises:
            StoreError: the answer is an error.
            BridgeFault: the bridge does not know the method, or breaks its protocol meanwhile.
            BridgeGone: its process ends first.
        """
        try:
            response = await request.response
        finally:
            if waits:
                self.give_up(request)
        failure = response.failure
        if failure is None:
            return response.result
        if failure.code == METHOD_NOT_FOUND:
            raise self.broken(f"does not know the method {request.method}")
        raise StoreError(_words(failure))

    def give_up(self, request: Request) -> None:
        """Expect no answer any more; one that comes all the same is nobody's."""
        key = type(request.id), request.id
        if self._pending.pop(key, None) is not None:
            self._given_up[key] = None
            if len(self._given_up) > _GIVEN_UP:
                del self._given_up[next(iter(self._given_up))]

    async def call(self, method: str, params: Mapping[str, JSON] | None = None) -> JSON:
        """Send a request and await its result; raises what :meth:`send` and :meth:`answer` raise."""
        return await self.answer(self.send(method, params))

    def note(self, text: str) -> None:
        """Tell something that is no fault."""
        self._hooks.note(text)

    async def close(self, gently: float = 1.0) -> None:
        """End the process: close its input, wait for so many seconds, terminate, kill."""
        self._closing = True
        self.in_use = False
        await self._process.stop(gently)
        self._reader.cancel()
        await asyncio.wait((self._reader,))

    # --- reading ---------------------------------------------------------------------------

    async def _read(self) -> None:
        while chunk := await self._process.read():
            try:
                for line in self._lines.feed(chunk):
                    if line.strip():
                        self._take(line)
            except TooLongError:
                self.broken(f"writes a line of more than {LONGEST_LINE // 2**20} MiB")
            except BadMessage as error:
                self.broken(str(error))
            if self._error is not None:
                await self._process.stop(0.0)
                return
        if not self._closing:
            self._end(BridgeGone(f"the bridge's process {await self._process.fate()}"))

    def _take(self, line: bytes) -> None:
        message = read_message(line)
        if not isinstance(message, Response):
            if self.listener is None:
                return  # the store that it is about was closed
            self.listener(message.method, message.params)
            return
        key = type(message.id), message.id
        request = self._pending.pop(key, None)
        if request is None:
            if key in self._given_up:
                del self._given_up[key]
                return
            shown = text_of(message.id, 40)
            if isinstance(message.id, int) and 0 < message.id <= self._count:
                raise BadMessage(f"answers the request with id {shown} twice")
            raise BadMessage(f"answers with the id {shown}, which no request has")
        if not request.response.done():
            request.response.set_result(message)

    def broken(self, text: str) -> BridgeFault:
        """Give the bridge up, since it does not keep to its protocol; ``text`` completes *the bridge …*."""
        fault = BridgeFault(f"{self.name} {text}")
        self._end(fault)
        return fault

    def _end(self, error: BridgeFault | BridgeGone) -> None:
        """Nothing works any more; the first reason counts."""
        if self._error is None:
            self._error = error
        busy = bool(self._pending)
        if busy or isinstance(error, BridgeFault):
            self._tell(self._error)
        for request in self._pending.values():
            if not request.response.done():
                request.response.set_exception(self._error)
                request.response.exception()  # looked at, so that nobody warns of it
        self._pending.clear()

    def _tell(self, error: BridgeFault | BridgeGone) -> None:
        if self.in_use:
            (self._hooks.fault if isinstance(error, BridgeFault) else self._hooks.gone)(str(error))


def _words(failure: Failure) -> str:
    return f"{failure.message} (code {failure.code})" if failure.message else f"code {failure.code}"
