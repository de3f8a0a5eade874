"""Messages of MCP 2026-07-28 with the tasks extension, as pydantic models.

They are the source for both directions: the harness validates requests with them, the suite
validates answers, and the JSON Schemas of both are generated from them.  Models are open (unknown
members pass) and strict (no coercion).  Times stay text here, since the schema leaves them
unconstrained; whether they are ISO 8601 is a requirement of its own.

Sources: MCP schema/2026-07-28/schema.ts and the tasks extension's schema/draft/schema.ts (SEP-2663).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from mcptasks.conformance.wire import names
from mcptasks.conformance.wire.payloads import (
    CallToolPayload,
    ErrorObject,
    InputRequest,
    JSONObject,
    WireModel,
    absent,
)
from mcptasks.strategies.json_values import JSON

__all__ = [
    "PARAMS",
    "Ack",
    "AcknowledgedNotification",
    "CallToolParams",
    "CallToolResult",
    "CancelTaskParams",
    "CancelledTask",
    "ClientCapabilities",
    "CompletedTask",
    "CreateTaskResult",
    "DetailedTask",
    "DiscoverParams",
    "DiscoverResult",
    "ErrorResponse",
    "FailedTask",
    "GetTaskParams",
    "Implementation",
    "InputRequiredResult",
    "InputRequiredTask",
    "ListToolsParams",
    "ListToolsResult",
    "ListenParams",
    "ListenResult",
    "Notification",
    "Request",
    "RequestId",
    "RequestMeta",
    "RequestParams",
    "Result",
    "ResultResponse",
    "SubscriptionFilter",
    "Task",
    "TaskNotification",
    "TaskStatus",
    "Tool",
    "UpdateTaskParams",
    "WorkingTask",
]

RequestId = str | int
TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]


# ---- what every request and every result carries --------------------------------------------------


class Implementation(WireModel):
    """Name and version of a client or server."""

    name: str
    version: str
    title: str = Field(default_factory=absent)


class Elicitation(WireModel):
    """What kinds of elicitation a client can do; without members: by form."""

    form: JSONObject = Field(default_factory=absent)
    url: JSONObject = Field(default_factory=absent)


class ClientCapabilities(WireModel):
    """What the client of one request can do."""

    experimental: dict[str, JSONObject] = Field(default_factory=absent)
    roots: JSONObject = Field(default_factory=absent)
    sampling: JSONObject = Field(default_factory=absent)
    elicitation: Elicitation = Field(default_factory=absent)
    extensions: dict[str, JSONObject] = Field(default_factory=absent)


class RequestMeta(WireModel):
    """``_meta`` of a request (basic/index, "_meta")."""

    protocol_version: str = Field(alias=names.PROTOCOL_VERSION)
    client_capabilities: ClientCapabilities = Field(alias=names.CLIENT_CAPABILITIES)
    client_info: Implementation = Field(default_factory=absent, alias=names.CLIENT_INFO)
    progress_token: RequestId = Field(default_factory=absent)


class RequestParams(WireModel):
    """Parameters that every request has."""

    meta: RequestMeta = Field(alias="_meta")


class ResultMeta(WireModel):
    """``_meta`` of a result."""

    server_info: Implementation = Field(default_factory=absent, alias=names.SERVER_INFO)


class Result(WireModel):
    """What every result has."""

    result_type: str
    meta: ResultMeta = Field(default_factory=absent, alias="_meta")


class Ack(Result):
    """The empty answer to ``tasks/update`` and ``tasks/cancel``."""

    result_type: Literal["complete"]


# ---- discovery and tools ---------------------------------------------------------------------------


class DiscoverParams(RequestParams):
    """Parameters of ``server/discover``."""


class DiscoverResult(Result):
    """Answer to ``server/discover``; its ``ttlMs`` is how long it may be cached."""

    result_type: Literal["complete"]
    supported_versions: list[str]
    capabilities: JSONObject
    ttl_ms: int = Field(ge=0)
    cache_scope: Literal["public", "private"]
    instructions: str = Field(default_factory=absent)


class ToolInputSchema(WireModel):
    """JSON Schema of a tool's arguments."""

    type: Literal["object"]


class Tool(WireModel):
    """A tool as ``tools/list`` shows it."""

    name: str
    title: str = Field(default_factory=absent)
    description: str = Field(default_factory=absent)
    input_schema: ToolInputSchema
    output_schema: JSONObject = Field(default_factory=absent)


class ListToolsParams(RequestParams):
    """Parameters of ``tools/list``."""

    cursor: str = Field(default_factory=absent)


class ListToolsResult(Result):
    """Answer to ``tools/list``."""

    result_type: Literal["complete"]
    tools: list[Tool]
    ttl_ms: int = Field(ge=0)
    cache_scope: Literal["public", "private"]
    next_cursor: str = Field(default_factory=absent)


class CallToolParams(RequestParams):
    """Parameters of ``tools/call``; the last two belong to a retry after an input-required result."""

    name: str
    arguments: JSONObject = Field(default_factory=absent)
    input_responses: dict[str, JSONObject] = Field(default_factory=absent)
    request_state: str = Field(default_factory=absent)


class CallToolResult(CallToolPayload):
    """A tool's answer on the wire; unlike a task's payload it must say its type."""

    result_type: Literal["complete"]


class InputRequiredResult(Result):
    """A tool's answer that asks for input first; it has at least one of its two members."""

    result_type: Literal["input_required"]
    input_requests: dict[str, InputRequest] = Field(default_factory=absent)
    request_state: str = Field(default_factory=absent)


# ---- tasks -----------------------------------------------------------------------------------------


class Task(WireModel):
    """Members of a task in every status."""

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl_ms: int | None
    poll_interval_ms: int = Field(default_factory=absent)
    status_message: str = Field(default_factory=absent)


class WorkingTask(Task):
    """A task at work."""

    status: Literal["working"]


class InputRequiredTask(Task):
    """A task that waits for input."""

    status: Literal["input_required"]
    input_requests: dict[str, InputRequest]


class CompletedTask(Task):
    """A task with its result."""

    status: Literal["completed"]
    result: JSONObject


class FailedTask(Task):
    """A task with its error."""

    status: Literal["failed"]
    error: ErrorObject


class CancelledTask(Task):
    """A task that was cancelled."""

    status: Literal["cancelled"]


DetailedTask = Annotated[
    WorkingTask | InputRequiredTask | CompletedTask | FailedTask | CancelledTask, Field(discriminator="status")
]
"""What ``tasks/get`` answers (there also ``resultType: complete``) and ``notifications/tasks`` carries."""


class CreateTaskResult(Task):
    """A task in lieu of a result: flat, without payload."""

    result_type: Literal["task"]
    meta: ResultMeta = Field(default_factory=absent, alias="_meta")


class TaskParams(RequestParams):
    """Parameters that name a task."""

    task_id: str = Field(min_length=1)


class GetTaskParams(TaskParams):
    """Parameters of ``tasks/get``."""


class CancelTaskParams(TaskParams):
    """Parameters of ``tasks/cancel``."""


class UpdateTaskParams(TaskParams):
    """Parameters of ``tasks/update``; a response is any object here, since one to no request may be ignored."""

    input_responses: dict[str, JSONObject]


# ---- subscriptions ---------------------------------------------------------------------------------


class SubscriptionFilter(WireModel):
    """What a subscription is about."""

    task_ids: list[str] = Field(default_factory=absent)
    tools_list_changed: bool = Field(default_factory=absent)
    prompts_list_changed: bool = Field(default_factory=absent)
    resources_list_changed: bool = Field(default_factory=absent)
    resource_subscriptions: list[str] = Field(default_factory=absent)


class ListenParams(RequestParams):
    """Parameters of ``subscriptions/listen``."""

    notifications: SubscriptionFilter


class SubscriptionMeta(WireModel):
    """``_meta`` of everything on a subscription's stream."""

    subscription_id: RequestId = Field(alias=names.SUBSCRIPTION_ID)


class ListenResult(Result):
    """The end of a subscription."""

    result_type: Literal["complete"]
    meta: SubscriptionMeta = Field(alias="_meta")  # type: ignore[assignment]


class AcknowledgedParams(WireModel):
    """Parameters of ``notifications/subscriptions/acknowledged``."""

    notifications: SubscriptionFilter
    meta: SubscriptionMeta = Field(alias="_meta")


class AcknowledgedNotification(WireModel):
    """The first message of a subscription."""

    jsonrpc: Literal["2.0"]
    method: Literal["notifications/subscriptions/acknowledged"]
    params: AcknowledgedParams


class TaskNotification(WireModel):
    """A task's state on a subscription's stream; ``params`` is a :data:`DetailedTask` with the subscription's ``_meta``."""

    jsonrpc: Literal["2.0"]
    method: Literal["notifications/tasks"]
    params: DetailedTask


# ---- envelopes -------------------------------------------------------------------------------------


class Request(WireModel):
    """A JSON-RPC request."""

    jsonrpc: Literal["2.0"]
    id: RequestId
    method: str
    params: JSONObject = Field(default_factory=absent)


class Notification(WireModel):
    """A JSON-RPC notification."""

    jsonrpc: Literal["2.0"]
    method: str
    params: JSONObject = Field(default_factory=absent)


class ResultResponse(WireModel):
    """A JSON-RPC response with a result."""

    jsonrpc: Literal["2.0"]
    id: RequestId
    result: dict[str, JSON]


class ErrorResponse(WireModel):
    """A JSON-RPC response with an error; without id only if the request's could not be read."""

    jsonrpc: Literal["2.0"]
    id: RequestId = Field(default_factory=absent)
    error: ErrorObject


PARAMS: Final[dict[str, type[Any]]] = {
    "server/discover": DiscoverParams,
    "tools/list": ListToolsParams,
    "tools/call": CallToolParams,
    "tasks/get": GetTaskParams,
    "tasks/update": UpdateTaskParams,
    "tasks/cancel": CancelTaskParams,
    "subscriptions/listen": ListenParams,
}
"""The model of each method's parameters."""
