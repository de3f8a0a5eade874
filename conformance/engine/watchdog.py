"""Noticing a call that does not end, from inside the event loop.

A coroutine that waits for ever leaves the loop free, so a timer in it can cancel the call.  A plain
function that blocks does not: that is seen from outside, by the parent process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from mcptasks.conformance.engine.beat import Words, seen
from mcptasks.conformance.engine.calling import Caller

__all__ = ["Watchdog"]


class Watchdog:
    """Cancels the interpreter's task when no call was begun for ``timeout`` seconds."""

    def __init__(self, beat: Words, timeout: float) -> None:
        self._beat = beat
        self._timeout = timeout
        self._interpreter: Caller | None = None
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._seen = (-1, -1)
        self._quiet = 0

    def start(self) -> None:
        """Begin to look, in the running loop."""
        self._arm()

    async def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def touch(self) -> None:
        """Something else than a call took time."""
        self._quiet = 0

    @contextmanager
    def over(self, interpreter: Caller) -> Iterator[None]:
        """Look after what the current task runs on ``interpreter``."""
        before = self._interpreter, self._task
        self._interpreter, self._task = interpreter, asyncio.current_task()
        self._quiet = 0
        try:
            yield
        finally:
            self._interpreter, self._task = before

    def _arm(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._timeout / 4, self._look)

    def _look(self) -> None:
        self._arm()
        if self._interpreter is None or self._task is None:
            self._quiet = 0
            return
        now = seen(self._beat)
        self._quiet = self._quiet + 1 if now == self._seen else 0
        self._seen = now
        # Five quarters: the first look may come just after the call began.
        if self._quiet >= 5:
            self._quiet = 0
            self._interpreter.hung = True
            self._task.cancel()
