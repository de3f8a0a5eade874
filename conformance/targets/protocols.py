"""The store protocols of the two revisions: which methods a store has and which factory keywords it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["PROTOCOLS", "STORE_2025", "STORE_2026", "StoreProtocol", "protocol_by_methods"]


@dataclass(frozen=True, slots=True)
class StoreProtocol:
    """What the contract says about the shape of a store (section 2)."""

    revision: str
    required: Mapping[str, int]
    """Methods and how many positional arguments each takes."""
    optional: Mapping[str, int]
    ttl_keyword: str
    """The factory keyword for the lifetime of tasks."""
    keywords: tuple[str, ...]
    """All factory keywords."""


STORE_2026: Final = StoreProtocol(
    "2026-07-28",
    {
        "create_task": 0,
        "get_task": 1,
        "set_input_requests": 2,
        "resolve_input_requests": 2,
        "set_cancelled": 1,
        "set_completed": 2,
        "set_failed": 2,
        "on_input_response": 1,
    },
    {},
    "default_ttl_ms",
    ("clock", "default_ttl_ms", "location"),
)

STORE_2025: Final = StoreProtocol(
    "2025-11-25",
    {
        "create_task": 4,
        "get_task": 2,
        "store_task_result": 4,
        "get_task_result": 2,
        "update_task_status": 4,
        "list_tasks": 2,
    },
    {"wait_for_task_result": 2, "on_status_change": 1},
    "default_ttl",
    ("clock", "default_ttl", "page_size", "location"),
)

PROTOCOLS: Final = {protocol.revision: protocol for protocol in (STORE_2026, STORE_2025)}


def protocol_by_methods(store: object) -> StoreProtocol:
    """The protocol of which a store, or a class of stores, has more methods of its own."""

    def own(protocol: StoreProtocol, other: StoreProtocol) -> int:
        return sum(callable(getattr(store, name, None)) for name in protocol.required.keys() - other.required.keys())

    return STORE_2025 if own(STORE_2025, STORE_2026) > own(STORE_2026, STORE_2025) else STORE_2026
