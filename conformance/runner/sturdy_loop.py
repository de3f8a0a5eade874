"""An event loop that a target cannot stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from typing import Any, TypeVar

__all__ = ["SturdyLoop"]

_T = TypeVar("_T")


class SturdyLoop(asyncio.SelectorEventLoop):
    """Runs a future to its end, whatever other tasks and callbacks in the loop do.

    asyncio lets ``KeyboardInterrupt`` and ``SystemExit`` from any task or callback leave the loop, and
    anybody may call ``stop()``.  The future is pending still, and goes on where it was.
    """

    def run_until_complete(self, future: Generator[Any, None, _T] | Awaitable[_T]) -> _T:
        """The future's result.

        Raises:
            BaseException: what the future itself raises.
            RuntimeError: the loop is closed, or runs already.
            OSError: the loop's own descriptors are gone.
        """
        task: asyncio.Future[_T] = asyncio.ensure_future(future, loop=self)  # type: ignore[arg-type]  # as typeshed has it
        while True:
            try:
                return super().run_until_complete(task)
            except (KeyboardInterrupt, SystemExit, RuntimeError) as error:
                if task.done():
                    if task.cancelled() or task.exception() is error:
                        raise
                    return task.result()
                if self.is_closed() or self.is_running():
                    raise
