"""Undoing what a target does to the task that calls it.

``asyncio.current_task().cancel()`` in a target cancels the suite's own task, at the latest when that
next waits or ends.  Nobody else cancels it but the watchdog, which says so.
"""

from __future__ import annotations

import asyncio
import contextlib

__all__ = ["absorbed", "uncancel"]


def uncancel() -> None:
    """Take back requests to cancel the current task that it has got already."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


async def absorbed() -> bool:
    """Whether the current task was asked to cancel; if so it has not been, afterwards."""
    task = asyncio.current_task()
    if task is None or not task.cancelling():
        return False
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
    uncancel()
    return True
