"""What the adapters for the Python SDK (PyPI ``mcp`` 1.x) have in common.

A result travels as a lawful ``CallToolResult`` whose ``structuredContent`` is ``{"payload": result}``.  Pydantic keeps
the inner value by reference, so a store that keeps the object it was given, or hands out the one it keeps, is seen to
do so, and one that copies is not accused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from mcptasks.conformance.adapters.adapter import AdapterError
from mcptasks.strategies.json_values import JSON

__all__ = ["Sdk", "check_methods", "close_store", "payload_of"]


class Sdk:
    """The few names of the SDK that are needed.

    Args:
        adapter: whose name a message tells.

    Raises:
        AdapterError: the SDK is not installed.
    """

    def __init__(self, adapter: str) -> None:
        try:
            types = import_module("mcp.types")
            helpers = import_module("mcp.shared.experimental.tasks.helpers")
            exceptions = import_module("mcp.shared.exceptions")
        except ImportError as error:
            raise AdapterError(
                f"adapter {adapter!r} needs the experimental tasks of the MCP Python SDK:"
                f" pip install mcp==1.30.0 ({error})"
            ) from error
        self.task_metadata: Any = types.TaskMetadata
        self.call_tool_result: Any = types.CallToolResult
        self.invalid_params: Any = types.INVALID_PARAMS
        self.cancel_task: Any = helpers.cancel_task
        self.is_terminal: Any = helpers.is_terminal
        self.mcp_error: Any = exceptions.McpError

    def wrapped(self, result: JSON) -> Any:
        """A result that carries any JSON value."""
        return self.call_tool_result(content=[], structuredContent={"payload": result})


def payload_of(result: Any) -> JSON:
    """The value inside a wrapped result; another result as JSON."""
    content = getattr(result, "structuredContent", None)
    if isinstance(content, Mapping) and "payload" in content:
        return content["payload"]
    return result.model_dump(by_alias=True, mode="json") if hasattr(result, "model_dump") else result


def check_methods(store: object, needed: Sequence[str]) -> None:
    """Look for the methods that an adapter calls.

    Raises:
        AdapterError: one is missing.
    """
    missing = [name for name in needed if not callable(getattr(store, name, None))]
    if missing:
        kind = store if isinstance(store, type) else type(store)
        raise AdapterError(f"{kind.__module__}.{kind.__qualname__} is no mcp TaskStore: it lacks {', '.join(missing)}")


async def close_store(store: Any) -> None:
    """Close the store if it can be closed."""
    for name in ("aclose", "close"):
        close = getattr(store, name, None)
        if callable(close):
            outcome = close()
            if hasattr(outcome, "__await__"):
                await outcome
            return
