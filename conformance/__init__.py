"""The suite: targets, engine, verdicts; and what a test or a script uses of it.

The names below are loaded when they are first used, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mcptasks.conformance.api import StoreReport, check_sequence, check_store
    from mcptasks.conformance.engine.machine import TaskStoreMachine
    from mcptasks.conformance.engine.machine_2025 import TaskStoreMachine2025
    from mcptasks.conformance.pytest_class import ConformanceWarning, TaskServerConformance, TaskStoreConformance
    from mcptasks.conformance.server_api import check_server

__all__ = [
    "ConformanceWarning",
    "StoreReport",
    "TaskServerConformance",
    "TaskStoreConformance",
    "TaskStoreMachine",
    "TaskStoreMachine2025",
    "check_sequence",
    "check_server",
    "check_store",
]

_PLACES: Final = {
    "ConformanceWarning": "mcptasks.conformance.pytest_class",
    "StoreReport": "mcptasks.conformance.api",
    "TaskServerConformance": "mcptasks.conformance.pytest_class",
    "TaskStoreConformance": "mcptasks.conformance.pytest_class",
    "TaskStoreMachine": "mcptasks.conformance.engine.machine",
    "TaskStoreMachine2025": "mcptasks.conformance.engine.machine_2025",
    "check_sequence": "mcptasks.conformance.api",
    "check_server": "mcptasks.conformance.server_api",
    "check_store": "mcptasks.conformance.api",
}


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(place), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
