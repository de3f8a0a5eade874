"""From verdicts to outcomes, and from outcomes to the exit code (contract, section 5).  Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import IntEnum
from typing import Final, Literal

from mcptasks.conformance.baseline import Baseline, Enforcement, enforce
from mcptasks.conformance.events import Finding, Outcome, RequirementResult

__all__ = ["Condition", "ExitCode", "Judgement", "JudgementOptions", "exit_code", "judge", "overall_outcome"]


class ExitCode(IntEnum):
    """What the process says to its caller; never combined."""

    CONFORMANT = 0
    NONCONFORMANT = 1
    USAGE = 2
    UNUSABLE = 3
    INCONCLUSIVE = 4
    FAULT = 5
    INTERRUPTED = 130


_PRECEDENCE: Final[tuple[Outcome, ...]] = (
    "interrupted",
    "error",
    "nonconformant",
    "unusable",
    "inconclusive",
    "conformant",
)
_CODES: Final[dict[Outcome, ExitCode]] = {
    "interrupted": ExitCode.INTERRUPTED,
    "error": ExitCode.FAULT,
    "nonconformant": ExitCode.NONCONFORMANT,
    "unusable": ExitCode.UNUSABLE,
    "inconclusive": ExitCode.INCONCLUSIVE,
    "conformant": ExitCode.CONFORMANT,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """Why the run of a target did not come to its end."""

    kind: Literal["interrupted", "error", "unusable", "inconclusive"]
    reason: str


@dataclass(frozen=True, slots=True)
class JudgementOptions:
    """What the user asked for beyond the contract's default."""

    strict: bool = False
    """Every selected MUST has to be exercised."""
    fail_on_warn: bool = False
    """A warning counts like a failure."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of one target."""

    outcome: Outcome
    reason: str
    """One sentence."""
    baseline_problems: tuple[str, ...] = ()
    """Stale and expired entries, one line each."""
    expected_failures: tuple[str, ...] = ()
    """Ids of requirements whose failure the baseline expects."""


def judge(
    results: Sequence[RequirementResult],
    findings: Sequence[Finding],
    options: JudgementOptions,
    today: date,
    baseline: Baseline | None = None,
    condition: Condition | None = None,
) -> Judgement:
    """The outcome of a target.

    Args:
        results: one for each *selected* requirement.
        findings: all findings of the target; they matter to a baseline that names fingerprints.
        today: the day (UTC) on which baseline entries may have expired.
        condition: why the run was broken off, if it was.  A target that dies after a failure is
            nonconformant; one that dies before is unusable.
    """
    counted = {"fail", "warn"} if options.fail_on_warn else {"fail"}
    enforced = enforce(
        baseline or Baseline(),
        results,
        [finding for finding in findings if finding.verdict in counted],
        today,
        complete=condition is None,
    )
    breached = [result for result in results if result.verdict in counted]
    expected = tuple(result.id for result in breached if result.id in enforced.expected)
    unexpected = [result for result in breached if result.id not in expected]
    outcome, reason = _outcome(results, unexpected, enforced, options, condition)
    if expected:
        reason = f"{reason}; not counted: {_number(expected, 'requirement')} that the baseline expects to fail"
    return Judgement(outcome, reason, enforced.problems, expected)


def _outcome(
    results: Sequence[RequirementResult],
    unexpected: Sequence[RequirementResult],
    enforced: Enforcement,
    options: JudgementOptions,
    condition: Condition | None,
) -> tuple[Outcome, str]:
    if condition is not None and condition.kind in ("interrupted", "error"):
        return condition.kind, condition.reason
    if faults := [result for result in results if result.verdict == "error"]:
        return "error", f"the suite itself failed on {_listed(faults)}"
    if unexpected or enforced.problems:
        reason = ", ".join(_breaches(unexpected, enforced))
        return "nonconformant", f"{reason}; then {condition.reason}" if condition is not None else reason
    if condition is not None:
        return condition.kind, condition.reason
    exercised = sum(result.exercised > 0 for result in results)
    if not exercised:
        return "inconclusive", "no requirement was exercised"
    if options.strict and (missed := [result for result in results if _is_missed(result)]):
        return "inconclusive", f"strict: {_number(missed, 'MUST')} not exercised: {_listed(missed)}"
    warned = sum(result.verdict == "warn" for result in results)
    warnings = f", {warned} with a warning" if warned else ""
    return "conformant", f"{exercised} of {_number(results, 'requirement')} exercised{warnings}, none failed"


def _is_missed(result: RequirementResult) -> bool:
    # Not applicable is not exercised either: strict asks for proof, whatever kept it from being had.
    return result.level in ("MUST", "MUST NOT") and result.exercised == 0


def _breaches(unexpected: Sequence[RequirementResult], enforced: Enforcement) -> list[str]:
    failed = [result for result in unexpected if result.verdict == "fail"]
    warned = [result for result in unexpected if result.verdict == "warn"]
    problems = enforced.problems
    return [
        *([f"{_number(failed, 'requirement')} failed"] if failed else []),
        *([f"{_number(warned, 'requirement')} warned"] if warned else []),
        *([f"{_number(problems, 'baseline entry', 'baseline entries')} stale or expired"] if problems else []),
    ]


def _number(items: Sequence[object], one: str, many: str | None = None) -> str:
    return f"{len(items)} {one if len(items) == 1 else many or one + 's'}"


def _listed(results: Sequence[RequirementResult], most: int = 3) -> str:
    more = f" and {len(results) - most} more" if len(results) > most else ""
    return ", ".join(result.id for result in results[:most]) + more


def overall_outcome(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of a run over several targets; without any target nothing was exercised."""
    found = set(outcomes)
    return next((outcome for outcome in _PRECEDENCE if outcome in found), "inconclusive")


def exit_code(outcomes: Iterable[Outcome], usage_error: bool = False) -> ExitCode:
    """The exit code of a run; ``usage_error`` says that some target or file was named wrongly."""
    outcome = overall_outcome(outcomes)
    if usage_error and outcome != "interrupted":
        return ExitCode.USAGE
    return _CODES[outcome]
