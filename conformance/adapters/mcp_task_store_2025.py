"""Adapter ``mcp-2025``: the ``TaskStore`` interface of the Python SDK (PyPI ``mcp`` 1.x) as a 2025-11-25 store.

Every method makes the calls that the SDK's own server code makes, in its order:

========================  ======================================================================================
store protocol            calls on the SDK's store
========================  ======================================================================================
``create_task``           ``create_task(TaskMetadata(ttl=options["ttl"]))``; the store picks id and poll interval
``get_task``              ``get_task``
``store_task_result``     ``store_result``, then ``update_task(status=…)`` (``TaskContext.complete``)
``get_task_result``       ``get_result``
``update_task_status``    ``update_task(status=…, status_message=…)``
``list_tasks``            ``list_tasks(cursor)``
``wait_for_task_result``  ``get_task``, and while the task lives ``wait_for_update``, then ``get_result`` (the SDK's
                          handler of ``tasks/result``)
========================  ======================================================================================

What the interface cannot express: it knows no sessions, so the suite names none, and all tasks are one caller's; no
poll interval and no ``_meta`` is given to it; it tells nobody of a changed status.  How results travel is said in
:mod:`.mcp_sdk`.

The SDK is imported when the first store is wrapped, never before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcptasks.conformance.adapters.adapter import Adapter
from mcptasks.conformance.adapters.mcp_sdk import Sdk, check_methods, close_store, payload_of
from mcptasks.strategies.json_values import JSON

__all__ = ["ADAPTER", "McpTaskStoreAdapter2025"]

_NEEDED: Final = (
    "create_task", "get_task", "update_task", "store_result", "get_result", "list_tasks", "wait_for_update",
)  # fmt: skip
_NO_SESSIONS: Final = "the TaskStore interface of PyPI mcp knows no sessions"


class McpTaskStoreAdapter2025:
    """The store protocol 2025-11-25, without sessions and status events, over an SDK ``TaskStore``."""

    def __init__(self, store: object) -> None:
        """Wrap ``store``, an open implementation of ``mcp.shared.experimental.tasks.store.TaskStore``.

        Raises:
            AdapterError: the SDK is not installed, or ``store`` lacks one of its methods.
        """
        check_methods(store, _NEEDED)
        self._store: Any = store
        self._sdk = Sdk("mcp-2025")

    async def create_task(
        self, options: Mapping[str, JSON], request_id: str | int, request: JSON, session_id: str | None = None
    ) -> dict[str, JSON]:
        """Create a task that asks for the ttl of ``options``; returns its record."""
        return _record(await self._store.create_task(self._sdk.task_metadata(ttl=options.get("ttl"))))

    async def get_task(self, task_id: str, session_id: str | None = None) -> dict[str, JSON] | None:
        """The task's record, or None for an unknown id."""
        task = await self._store.get_task(task_id)
        return None if task is None else _record(task)

    async def store_task_result(self, task_id: str, status: str, result: JSON, session_id: str | None = None) -> None:
        """End the task with ``result``."""
        await self._store.store_result(task_id, self._sdk.wrapped(result))
        await self._store.update_task(task_id, status=status)

    async def get_task_result(self, task_id: str, session_id: str | None = None) -> JSON | None:
        """The stored result, or None."""
        result = await self._store.get_result(task_id)
        return None if result is None else payload_of(result)

    async def update_task_status(
        self, task_id: str, status: str, status_message: str | None = None, session_id: str | None = None
    ) -> None:
        """Set status and message."""
        await self._store.update_task(task_id, status=status, status_message=status_message)

    async def list_tasks(self, cursor: str | None = None, session_id: str | None = None) -> dict[str, JSON]:
        """The page at ``cursor``."""
        tasks, following = await self._store.list_tasks(cursor)
        return {"tasks": [_record(task) for task in tasks], "next_cursor": following}

    async def wait_for_task_result(self, task_id: str, session_id: str | None = None) -> tuple[str, JSON | None]:
        """Status and result, once the task has ended.

        Raises:
            LookupError: there is no such task.
        """
        while True:
            task = await self._store.get_task(task_id)
            if task is None:
                raise LookupError(f"no task {task_id!r}")
            if self._sdk.is_terminal(task.status):
                return task.status, await self.get_task_result(task_id)
            await self._store.wait_for_update(task_id)

    async def close(self) -> None:
        """Close the store if it can be closed."""
        await close_store(self._store)


def _record(task: Any) -> dict[str, JSON]:
    return {
        "task_id": task.taskId,
        "status": task.status,
        "created_at": task.createdAt,
        "last_updated_at": task.lastUpdatedAt,
        "ttl": task.ttl,
        "poll_interval": task.pollInterval,
        "status_message": task.statusMessage,
    }


ADAPTER: Final = Adapter(
    name="mcp-2025",
    wrap=McpTaskStoreAdapter2025,
    revision="2025-11-25",
    not_applicable={
        "store25.create.session-bound": _NO_SESSIONS,
        "store25.get.other-session": _NO_SESSIONS,
        "store25.result.session": _NO_SESSIONS,
        "store25.status.session": _NO_SESSIONS,
        "store25.wait.session": _NO_SESSIONS,
        "store25.list.session": _NO_SESSIONS,
        "store25.create.poll-interval": "the TaskStore interface of PyPI mcp is given no poll interval",
    },
    sessions=False,
)
