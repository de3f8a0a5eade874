"""Names of protocol 2025-11-25 that both ends of the wire use.

Sources: MCP 2025-11-25 basic/transports (Streamable HTTP) and basic/utilities/tasks.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "HEADER_EVENT",
    "HEADER_SESSION",
    "HEADER_VERSION",
    "IMMEDIATE_RESPONSE",
    "RELATED_TASK",
    "TASK_STATUS",
    "VERSION",
]

VERSION: Final = "2025-11-25"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
IMMEDIATE_RESPONSE: Final = "io.modelcontextprotocol/model-immediate-response"
TASK_STATUS: Final = "notifications/tasks/status"

HEADER_SESSION: Final = "Mcp-Session-Id"
HEADER_VERSION: Final = "MCP-Protocol-Version"
HEADER_EVENT: Final = "Last-Event-ID"
