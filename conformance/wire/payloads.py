"""Payloads inside messages: content of tool results, requests for input and their responses.

MCP 2026-07-28, schema.ts.  Every model is open (unknown members are allowed) and strict (no
coercion).  A member that the schema marks optional may be absent but not null: its default stands
for "absent" and is never written.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from mcptasks.strategies.json_values import JSON

__all__ = [
    "Annotations",
    "AudioContent",
    "BlobResource",
    "BooleanSchema",
    "CallToolPayload",
    "ContentBlock",
    "CreateMessageParams",
    "CreateMessageRequest",
    "CreateMessageResult",
    "ElicitFormParams",
    "ElicitRequest",
    "ElicitResult",
    "ElicitURLParams",
    "EmbeddedResource",
    "ErrorObject",
    "ImageContent",
    "InputRequest",
    "InputResponse",
    "Integer",
    "JSONObject",
    "ListRootsRequest",
    "ListRootsResult",
    "MultiSelectSchema",
    "NumberSchema",
    "ResourceLink",
    "Root",
    "SamplingMessage",
    "StringSchema",
    "TextContent",
    "TextResource",
    "WireModel",
    "absent",
]

JSONObject = dict[str, JSON]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer = Annotated[int, BeforeValidator(_whole)]
"""An integer inside a payload, where JSON makes no difference between 1 and 1.0 and a store need make none."""


def absent() -> Any:
    """The value of an optional member that is not there."""
    return None


class WireModel(BaseModel):
    """Base of all wire models: snake_case attributes, camelCase members, open and strict."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow", strict=True, defer_build=True)

    def to_wire(self) -> JSONObject:
        """The message as JSON: only members that were given."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class ErrorObject(WireModel):
    """A JSON-RPC error object."""

    code: Integer
    message: str
    data: JSON = Field(default_factory=absent)


class Annotations(WireModel):
    """Hints on a content block."""

    audience: list[Literal["user", "assistant"]] = Field(default_factory=absent)
    priority: float = Field(default_factory=absent, ge=0, le=1)
    last_modified: str = Field(default_factory=absent)


class _Block(WireModel):
    annotations: Annotations = Field(default_factory=absent)
    meta: JSONObject = Field(default_factory=absent, alias="_meta")


class TextContent(_Block):
    """Text."""

    type: Literal["text"]
    text: str


class ImageContent(_Block):
    """An image in Base64."""

    type: Literal["image"]
    data: str
    mime_type: str


class AudioContent(_Block):
    """Sound in Base64."""

    type: Literal["audio"]
    data: str
    mime_type: str


class ResourceLink(_Block):
    """A resource by its URI."""

    type: Literal["resource_link"]
    uri: str
    name: str


class TextResource(WireModel):
    """Contents of a resource as text."""

    uri: str
    text: str


class BlobResource(WireModel):
    """Contents of a resource in Base64."""

    uri: str
    blob: str


class EmbeddedResource(_Block):
    """A resource with its contents."""

    type: Literal["resource"]
    resource: TextResource | BlobResource


ContentBlock = Annotated[
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource, Field(discriminator="type")
]


class CallToolPayload(WireModel):
    """A ``CallToolResult`` as a task carries it: ``resultType`` may be absent (ambiguity AMB-01 of the catalogue)."""

    content: list[ContentBlock]
    structured_content: JSON = Field(default_factory=absent)
    is_error: bool = Field(default_factory=absent)
    result_type: Literal["complete"] = Field(default_factory=absent)
    meta: JSONObject = Field(default_factory=absent, alias="_meta")


class SamplingMessage(WireModel):
    """A message of a sampling conversation; its content may also be a tool use or a tool result."""

    role: Literal["user", "assistant"]
    content: JSONObject | list[JSONObject]


class CreateMessageParams(WireModel):
    """Parameters of a request to sample."""

    messages: list[SamplingMessage]
    max_tokens: Integer
    system_prompt: str = Field(default_factory=absent)
    temperature: float = Field(default_factory=absent)
    stop_sequences: list[str] = Field(default_factory=absent)
    include_context: Literal["none", "thisServer", "allServers"] = Field(default_factory=absent)


class CreateMessageRequest(WireModel):
    """A request to sample."""

    method: Literal["sampling/createMessage"]
    params: CreateMessageParams


class CreateMessageResult(SamplingMessage):
    """What was sampled."""

    model: str
    stop_reason: str = Field(default_factory=absent)


class ListRootsRequest(WireModel):
    """A request for the client's roots."""

    method: Literal["roots/list"]
    params: JSONObject = Field(default_factory=absent)


class Root(WireModel):
    """A root of the client."""

    uri: str
    name: str = Field(default_factory=absent)


class ListRootsResult(WireModel):
    """The client's roots."""

    roots: list[Root]


class StringSchema(WireModel):
    """A text field of a form, or a choice of one."""

    type: Literal["string"]
    title: str = Field(default_factory=absent)
    description: str = Field(default_factory=absent)
    min_length: Integer = Field(default_factory=absent)
    max_length: Integer = Field(default_factory=absent)
    format: Literal["email", "uri", "date", "date-time"] = Field(default_factory=absent)
    enum: list[str] = Field(default_factory=absent)
    enum_names: list[str] = Field(default_factory=absent)
    default: str = Field(default_factory=absent)


class NumberSchema(WireModel):
    """A number field of a form."""

    type: Literal["number", "integer"]
    title: str = Field(default_factory=absent)
    description: str = Field(default_factory=absent)
    minimum: float = Field(default_factory=absent)
    maximum: float = Field(default_factory=absent)
    default: float = Field(default_factory=absent)


class BooleanSchema(WireModel):
    """A yes-or-no field of a form."""

    type: Literal["boolean"]
    title: str = Field(default_factory=absent)
    description: str = Field(default_factory=absent)
    default: bool = Field(default_factory=absent)


class MultiSelectSchema(WireModel):
    """A choice of several."""

    type: Literal["array"]
    items: JSONObject
    title: str = Field(default_factory=absent)
    description: str = Field(default_factory=absent)
    min_items: Integer = Field(default_factory=absent)
    max_items: Integer = Field(default_factory=absent)
    default: list[str] = Field(default_factory=absent)


_Primitive = Annotated[StringSchema | NumberSchema | BooleanSchema | MultiSelectSchema, Field(discriminator="type")]


class RequestedSchema(WireModel):
    """The form of an elicitation: a flat object of primitive fields."""

    type: Literal["object"]
    properties: dict[str, _Primitive]
    required: list[str] = Field(default_factory=absent)


class ElicitFormParams(WireModel):
    """An elicitation by form."""

    mode: Literal["form"] = Field(default_factory=absent)
    message: str
    requested_schema: RequestedSchema


class ElicitURLParams(WireModel):
    """An elicitation by URL."""

    mode: Literal["url"]
    message: str
    url: str


class ElicitRequest(WireModel):
    """A request to ask the user."""

    method: Literal["elicitation/create"]
    params: ElicitURLParams | ElicitFormParams


class ElicitResult(WireModel):
    """What the user answered."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, str | int | float | bool | list[str]] = Field(default_factory=absent)


InputRequest = Annotated[ElicitRequest | CreateMessageRequest | ListRootsRequest, Field(discriminator="method")]
InputResponse = ElicitResult | CreateMessageResult | ListRootsResult
