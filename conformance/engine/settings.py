"""How a campaign is run."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcptasks.conformance.engine.budget import Budget

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a campaign is run."""

    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    timeout: float = 5.0
    """Seconds after which a call counts as never ending."""
    settle: float = 2.0
    """Seconds to wait for events that are due."""
    fail_fast: bool = False
    hypothesis: bool = True
    avoid: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    resume: tuple[int, int] = (0, 0)
    """Phase and number of the first sequence to run."""
    spent_calls: int = 0
    spent_seconds: float = 0.0
