"""What the parent asks of a child process, as JSON in a file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mcptasks.conformance.engine.budget import Budget
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.strategies.json_values import JSON

__all__ = ["Job", "Spec", "StoreSpec"]


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """A store as the user named it, importable or behind a bridge."""

    store: str
    """``module:attr`` or ``path/file.py:attr``; of a bridge its command."""
    arguments: dict[str, JSON] = field(default_factory=dict)
    adapter: str | None = None
    revision: str = "auto"
    """Of the store protocol; ``auto`` tells it by the methods."""
    guard: Literal["store", "server"] = "store"
    """2025-11-25: who keeps a task that has ended as it is."""
    kind: Literal["store", "bridge"] = "store"

    @property
    def name(self) -> str:
        """How reports name it."""
        return self.store if self.adapter is None else f"{self.store} ({self.adapter})"

    def options(self) -> dict[str, JSON]:
        """How to name it again on the command line."""
        out: dict[str, JSON] = {self.kind: self.store}
        if self.arguments:
            out["store_args"] = dict(self.arguments)
        if self.adapter is not None:
            out["adapter"] = self.adapter
        if self.guard != "store":
            out["guard"] = self.guard
        return out


Spec = StoreSpec | ServerSpec
"""A target as the user named it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One child's work."""

    mode: Literal["probe", "campaign", "replay"]
    spec: Spec
    settings: Settings = Settings()  # noqa: RUF009  # frozen
    operations: list[JSON] = field(default_factory=list)
    store_options: dict[str, JSON] = field(default_factory=dict)

    def to_json(self) -> dict[str, JSON]:
        """The form that :meth:`from_json` reads."""
        value: dict[str, Any] = asdict(self)
        settings = value["settings"]
        settings["avoid"] = sorted(self.settings.avoid)
        settings["known"] = sorted(self.settings.known)
        settings["resume"] = list(self.settings.resume)
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Job:
        """The job that :meth:`to_json` wrote."""
        spec: dict[str, Any] = value["spec"]
        settings = dict(value["settings"])
        settings["budget"] = Budget(**settings["budget"])
        settings["avoid"] = frozenset(settings["avoid"])
        settings["known"] = frozenset(settings["known"])
        settings["resume"] = tuple(settings["resume"])
        return cls(
            mode=value["mode"],
            spec=ServerSpec.from_json(spec) if spec["kind"] == "server" else StoreSpec(**spec),
            settings=Settings(**settings),
            operations=value["operations"],
            store_options=value["store_options"],
        )
