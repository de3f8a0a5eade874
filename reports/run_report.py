"""What a run has shown, as frozen data: the one source of all report formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcptasks.conformance.events import (
    BoundReached,
    CoverageCell,
    Finding,
    Note,
    Outcome,
    RequirementResult,
    RunStarted,
    TargetInfo,
    Verdict,
)

__all__ = ["VERDICTS", "RunReport", "TargetReport", "verdict_label"]

VERDICTS: Final[tuple[Verdict, ...]] = ("fail", "warn", "error", "pass", "not_exercised", "not_applicable")
"""All verdicts, in the order in which a reader wants them."""


def verdict_label(verdict: str) -> str:
    """The verdict in words: ``not exercised`` for ``not_exercised``."""
    return verdict.replace("_", " ")


@dataclass(frozen=True, slots=True)
class TargetReport:
    """What was learned about one target."""

    target: TargetInfo
    outcome: Outcome
    reason: str
    requirements: tuple[RequirementResult, ...]
    findings: tuple[Finding, ...]
    """The latest of each fingerprint, in the order in which the fingerprints first came up."""
    coverage: tuple[CoverageCell, ...]
    bounds: tuple[BoundReached, ...]
    """The deepest of each alphabet."""
    notes: tuple[Note, ...]
    seconds: float
    operations: int
    examples: int
    baseline_problems: tuple[str, ...] = ()
    expected_failures: tuple[str, ...] = ()
    """Ids of requirements whose failure the baseline expects."""
    truncated: bool = False
    """The run ended before this target was finished; the verdicts are those known by then."""

    def counts(self) -> dict[Verdict, int]:
        """How many requirements have each verdict, in the order of :data:`VERDICTS`."""
        found = Counter(result.verdict for result in self.requirements)
        return {verdict: found[verdict] for verdict in VERDICTS}

    def with_verdict(self, *verdicts: Verdict) -> tuple[RequirementResult, ...]:
        """The requirements that have one of ``verdicts``."""
        return tuple(result for result in self.requirements if result.verdict in verdicts)

    def findings_by_requirement(self) -> dict[str, list[Finding]]:
        """The findings of each requirement, failures before warnings."""
        grouped: dict[str, list[Finding]] = {}
        for finding in _failures_first(self.findings):
            grouped.setdefault(finding.requirement, []).append(finding)
        return grouped


@dataclass(frozen=True, slots=True)
class RunReport:
    """What was learned in one run."""

    header: RunStarted
    targets: tuple[TargetReport, ...]
    notes: tuple[Note, ...]
    """Those that concern no single target."""
    outcome: Outcome
    exit_code: int | None
    """``None`` when the run did not come to its end."""
    seconds: float
    truncated: bool
    """The run did not come to its end; the report holds what was known by then."""


def _failures_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: finding.verdict != "fail")
