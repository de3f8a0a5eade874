"""Adapter ``mcp``: the ``TaskStore`` interface of the Python SDK (PyPI ``mcp`` 1.x) as a 2026-07-28 store.

Every method makes the calls that the SDK's own server code makes, in its order:

=====================  ===================================================================================
store protocol         calls on the SDK's store
=====================  ===================================================================================
``create_task``        ``create_task(TaskMetadata(ttl=default_ttl_ms))``; the store picks the id
``get_task``           ``get_task``, and for a terminal task ``get_result``, as ``tasks/result`` answers it
``set_completed``      ``store_result``, then ``update_task(status="completed")`` (``TaskContext.complete``)
``set_failed``         ``update_task(status="failed", status_message=…)`` (``TaskContext.fail``)
``set_cancelled``      the SDK's helper ``cancel_task``: ``get_task``, then ``update_task(status="cancelled")``
=====================  ===================================================================================

What the translation itself does to what can be seen:

* A result travels as a lawful ``CallToolResult`` whose ``structuredContent`` is ``{"payload": result}``.
  Pydantic keeps the inner value by reference, so a store that keeps the object it was given, or
  hands out the one it keeps, is seen to do so, and one that copies is not accused.
* The SDK keeps no error object: a failed task has a status message, a text.  An error travels as the
  JSON text of ``{"error": error}``, so aliasing of errors cannot be seen.  A status message that is
  no such text belongs to the store and is reported as ``status_message``.
* ``set_cancelled`` maps the two ways in which the SDK refuses a cancellation to False: ``McpError``
  with code -32602 from the helper, and the ``ValueError`` that the interface prescribes for
  ``update_task`` on an unknown or terminal task.  All other exceptions pass through, those of
  ``set_completed`` and ``set_failed`` without exception.
* A time to live is a wish of the task's creator here (``TaskMetadata.ttl``), None asks for none.

The SDK is imported when the first store is wrapped, never before.
"""

from __future__ import annotations

import json
from typing import Any, Final

from mcptasks.conformance.adapters.adapter import Adapter
from mcptasks.conformance.adapters.mcp_sdk import Sdk, check_methods, close_store, payload_of
from mcptasks.strategies.json_values import JSON

__all__ = ["ADAPTER", "McpTaskStoreAdapter"]

_NEEDED: Final = ("create_task", "get_task", "update_task", "store_result", "get_result")
_NO_INPUT: Final = (
    "the TaskStore interface of PyPI mcp has no input requests: the SDK keeps them in a message queue beside the store"
)
_NO_EVENTS: Final = "the TaskStore interface of PyPI mcp reports no input responses"


class McpTaskStoreAdapter:
    """The store protocol 2026-07-28, without input requests and events, over an SDK ``TaskStore``."""

    def __init__(self, store: object, *, default_ttl_ms: int | None = None) -> None:
        """Wrap ``store``.

        Args:
            store: an open implementation of ``mcp.shared.experimental.tasks.store.TaskStore``.
            default_ttl_ms: time to live in milliseconds that every created task asks for; None asks for none.

        Raises:
            AdapterError: the SDK is not installed, or ``store`` lacks one of its methods.
        """
        check_methods(store, _NEEDED)
        self._store: Any = store
        self._sdk = Sdk("mcp")
        self._ttl = default_ttl_ms

    async def create_task(self) -> dict[str, JSON]:
        """Create a task; returns its record."""
        task = await self._store.create_task(self._sdk.task_metadata(ttl=self._ttl))
        return _record(task)

    async def get_task(self, task_id: str) -> dict[str, JSON] | None:
        """The task's record, or None for an unknown id."""
        task = await self._store.get_task(task_id)
        if task is None:
            return None
        record = _record(task)
        if self._sdk.is_terminal(task.status):
            result = await self._store.get_result(task_id)
            if result is not None:
                record["result"] = payload_of(result)
            elif task.status == "completed" and await self._store.get_task(task_id) is None:
                return None  # it expired between the two calls that one get is here
        return record

    async def set_completed(self, task_id: str, result: JSON) -> None:
        """Complete the task with ``result``."""
        wrapped = self._sdk.wrapped(result)
        await self._store.store_result(task_id, wrapped)
        await self._store.update_task(task_id, status="completed")

    async def set_failed(self, task_id: str, error: JSON) -> None:
        """Fail the task with ``error``."""
        message = json.dumps({"error": error}, ensure_ascii=False)
        await self._store.update_task(task_id, status="failed", status_message=message)

    async def set_cancelled(self, task_id: str) -> bool:
        """Cancel the task; True when the SDK says that it did, False when it refused."""
        try:
            await self._sdk.cancel_task(self._store, task_id)
        except self._sdk.mcp_error as refusal:
            if refusal.error.code != self._sdk.invalid_params:
                raise
            return False
        except ValueError:
            return False
        return True

    async def close(self) -> None:
        """Close the store if it can be closed."""
        await close_store(self._store)


def _record(task: Any) -> dict[str, JSON]:
    record: dict[str, JSON] = {
        "task_id": task.taskId,
        "status": task.status,
        "created_at": task.createdAt,
        "last_updated_at": task.lastUpdatedAt,
        "ttl_ms": task.ttl,
        "poll_interval_ms": task.pollInterval,
    }
    if task.statusMessage is not None:
        try:
            decoded = json.loads(task.statusMessage)
        except (TypeError, ValueError):
            decoded = None
        if isinstance(decoded, dict) and decoded.keys() == {"error"}:
            record["error"] = decoded["error"]
        else:
            record["status_message"] = task.statusMessage
    return record


ADAPTER: Final = Adapter(
    name="mcp",
    wrap=McpTaskStoreAdapter,
    revision="2026-07-28",
    not_applicable={
        "store.input.*": _NO_INPUT,
        "store.resolve.*": _NO_INPUT,
        "store.event.*": _NO_EVENTS,
        "store.misc.status-pending": _NO_INPUT,
        "store.misc.pending-on-terminal": _NO_INPUT,
        "store.conc.no-lost-set": _NO_INPUT,
        "store.conc.disjoint-resolve": _NO_INPUT,
        "store.conc.set-vs-resolve": _NO_INPUT,
    },
    missing_methods=frozenset({"set_input_requests", "resolve_input_requests", "on_input_response"}),
    payloads="any",
    keywords=frozenset({"default_ttl_ms"}),
)
