"""How much a run may spend: calls to the target, or seconds."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT_CALLS", "Budget", "Meter"]

DEFAULT_CALLS: Final = 450_000
"""Enough for every sequence of up to five operations on one task, and as much again for the rest."""

_SECONDS: Final = re.compile(r"(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")


@dataclass(frozen=True, slots=True)
class Budget:
    """Calls (equal seeds give equal runs) or seconds of wall time (they do not)."""

    calls: int | None = DEFAULT_CALLS
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """A budget from ``200000``, ``200k``, ``2M``, ``8s``, ``2m`` or ``1m30s``.

        Raises:
            ValueError: none of these, or zero.
        """
        text = text.strip()
        number = re.fullmatch(r"(\d+)([kM]?)", text)
        if number:
            calls = int(number[1]) * {"": 1, "k": 1000, "M": 1_000_000}[number[2]]
            if calls:
                return cls(calls=calls)
        found = _SECONDS.fullmatch(text)
        if found and text:
            seconds = 60 * float(found[1] or 0) + float(found[2] or 0)
            if seconds:
                return cls(calls=None, seconds=seconds)
        raise ValueError(f"'{text}' is no budget: write a number of calls (200k) or a time (8s, 2m)")

    def __str__(self) -> str:
        return f"{self.calls} calls" if self.calls is not None else f"{self.seconds:g} s"


class Meter:
    """What has been spent of a budget."""

    def __init__(self, budget: Budget, calls: Callable[[], int], spent_seconds: float = 0.0) -> None:
        self._budget = budget
        self._calls = calls
        self._started = time.monotonic() - spent_seconds

    @property
    def seconds(self) -> float:
        """Wall time since the run started."""
        return time.monotonic() - self._started

    @property
    def spent(self) -> float:
        """The share of the budget that is spent; above 1 when it is used up."""
        if self._budget.seconds is not None:
            return self.seconds / self._budget.seconds
        return self._calls() / (self._budget.calls or 1)

    def fits(self, calls: int, share: float) -> bool:
        """Whether ``calls`` more are likely to fit below ``share`` of the budget."""
        if self._budget.seconds is not None:
            made = self._calls()
            rate = made / self.seconds if made > 500 and self.seconds > 0.05 else 20_000.0
            return self.spent + calls / rate / self._budget.seconds <= share
        return self.spent + calls / (self._budget.calls or 1) <= share
