"""Messages of MCP 2025-11-25 that have to do with tasks, as pydantic models.

Models are open (unknown members pass) and strict (no coercion).  A *number* of the schema may be an integer or a
fraction.  Times stay text here; whether they are ISO 8601 is looked at in :mod:`.forms`.

Source: MCP schema/2025-11-25/schema.ts.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from mcptasks.conformance.wire.payloads import ContentBlock, JSONObject, WireModel, absent
from mcptasks.strategies.json_values import JSON

__all__ = [
    "PARAMS",
    "CallToolParams",
    "CallToolResult",
    "CreateTaskResult",
    "GetTaskParams",
    "Implementation",
    "InitializeParams",
    "InitializeResult",
    "ListTasksParams",
    "ListTasksResult",
    "ListToolsResult",
    "RelatedTask",
    "Task",
    "TaskMetadata",
    "TaskStatus",
    "Tool",
    "ToolExecution",
]

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]
Number = int | float


class Implementation(WireModel):
    """Name and version of a client or server."""

    name: str
    version: str
    title: str = Field(default_factory=absent)


class InitializeParams(WireModel):
    """Parameters of ``initialize``."""

    protocol_version: str
    capabilities: JSONObject
    client_info: Implementation


class InitializeResult(WireModel):
    """Answer to ``initialize``."""

    protocol_version: str
    capabilities: JSONObject
    server_info: Implementation
    instructions: str = Field(default_factory=absent)


class ToolExecution(WireModel):
    """How a tool may be called."""

    task_support: Literal["forbidden", "optional", "required"] = Field(default_factory=absent)


class Tool(WireModel):
    """A tool as ``tools/list`` shows it."""

    name: str
    title: str = Field(default_factory=absent)
    description: str = Field(default_factory=absent)
    input_schema: JSONObject
    output_schema: JSONObject = Field(default_factory=absent)
    execution: ToolExecution = Field(default_factory=absent)


class ListToolsResult(WireModel):
    """Answer to ``tools/list``."""

    tools: list[Tool]
    next_cursor: str = Field(default_factory=absent)


class TaskMetadata(WireModel):
    """The member ``task`` of a task-augmented request."""

    ttl: Number = Field(default_factory=absent)


class CallToolParams(WireModel):
    """Parameters of ``tools/call``."""

    name: str
    arguments: JSONObject = Field(default_factory=absent)
    task: TaskMetadata = Field(default_factory=absent)
    meta: JSONObject = Field(default_factory=absent, alias="_meta")


class CallToolResult(WireModel):
    """A tool's answer."""

    content: list[ContentBlock]
    structured_content: dict[str, JSON] = Field(default_factory=absent)
    is_error: bool = Field(default_factory=absent)
    meta: JSONObject = Field(default_factory=absent, alias="_meta")


class Task(WireModel):
    """A task, in every status: it never carries a payload."""

    task_id: str
    status: TaskStatus
    status_message: str = Field(default_factory=absent)
    created_at: str
    last_updated_at: str
    ttl: Number | None
    poll_interval: Number = Field(default_factory=absent)


class CreateTaskResult(WireModel):
    """A task in lieu of a result: nested."""

    task: Task
    meta: JSONObject = Field(default_factory=absent, alias="_meta")


class GetTaskParams(WireModel):
    """Parameters of ``tasks/get``, ``tasks/result`` and ``tasks/cancel``."""

    task_id: str
    meta: JSONObject = Field(default_factory=absent, alias="_meta")


class ListTasksParams(WireModel):
    """Parameters of ``tasks/list``."""

    cursor: str = Field(default_factory=absent)


class ListTasksResult(WireModel):
    """Answer to ``tasks/list``."""

    tasks: list[Task]
    next_cursor: str = Field(default_factory=absent)


class RelatedTask(WireModel):
    """The value of the related-task member of ``_meta``."""

    task_id: str


PARAMS: Final[dict[str, type[Any]]] = {
    "initialize": InitializeParams,
    "tools/call": CallToolParams,
    "tasks/get": GetTaskParams,
    "tasks/result": GetTaskParams,
    "tasks/cancel": GetTaskParams,
    "tasks/list": ListTasksParams,
}
"""The model of each method's parameters, for what the suite itself sends."""
