"""From counts, choices and findings to a verdict on every requirement.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from mcptasks.conformance.catalogue import NEEDS, Need, Requirement
from mcptasks.conformance.catalogue.unjudged import UNJUDGED
from mcptasks.conformance.events import Finding, RequirementResult, Verdict

__all__ = ["Learned", "results"]

_LATER: Final[dict[str, str]] = {
    "concurrency": "needs calls that overlap; this version drives one caller",
    "second-instance": "needs a second instance on the same data; this version opens one",
}
"""Needs that the suite itself does not meet yet: what they are for is not exercised, whatever the target offers."""


@dataclass(slots=True)
class Learned:
    """What the runs against one target have shown."""

    exercised: Counter[str] = field(default_factory=Counter)
    choices: Counter[tuple[str, str]] = field(default_factory=Counter)
    coverage: Counter[tuple[str, str]] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    operations: int = 0
    examples: int = 0
    opened: bool = False
    """Whether the target was opened, so that what it offers is known."""
    offered: frozenset[Need] = frozenset()
    reasons: Mapping[str, str] = field(default_factory=dict)
    """For a need that is not offered: why."""
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Globs of requirements that an adapter cannot express, and why."""


def _inapplicable(requirement: Requirement, learned: Learned) -> str | None:
    for glob, reason in learned.not_applicable.items():
        if fnmatchcase(requirement.id, glob):
            return reason
    for need in requirement.missing(learned.offered):
        if need in learned.reasons:
            return learned.reasons[need]
        if need not in _LATER:
            return f"needs {NEEDS[need]}"
    if requirement.id in UNJUDGED:
        return UNJUDGED[requirement.id]
    if requirement.verdict == "none":
        return f"cannot be observed: {requirement.observable.why}"
    return None


_METHODS: Final = (
    (("tasks.update.", "tasks.rt.update-", "tasks.cap.update-"), "tasks/update"),
    (("tasks.cancel.", "tasks.rt.cancel-", "tasks.cap.cancel-"), "tasks/cancel"),
    (("tasks.create.", "tasks.rt.create-", "tasks.shape.flat", "tasks.cap.", "tasks.sec.entropy"), "tools/call"),
    (("tasks.status.seed-any",), "tools/call"),
    (("tasks.",), "tasks/get"),
    (("tasks25.cancel.",), "tasks/cancel"),
    (("tasks25.result.",), "tasks/result"),
    (("tasks25.create.", "tasks25.tool.", "tasks25.sec.entropy"), "tools/call"),
    (("tasks25.get.", "tasks25.life.", "tasks25.shape."), "tasks/get"),
)


def _unproved(requirement: str, learned: Learned) -> str | None:
    """Why good observations on a server prove nothing yet (contract, section 5)."""
    method = next((name for prefixes, name in _METHODS if requirement.startswith(prefixes)), None)
    if method is None:
        return None
    for kind, told in (("answered", "answered well"), ("refused", "refused")):
        if not learned.exercised[f"{kind}:{method}"]:
            return f"no {method} was {told} in this run, so what it answers proves nothing"
    return None


def _choices(requirement: str, learned: Learned) -> list[tuple[str, int]]:
    return [(label, count) for (name, label), count in learned.choices.most_common() if name == requirement and count]


def results(
    requirements: Iterable[Requirement], learned: Learned, findings: Sequence[Finding]
) -> list[RequirementResult]:
    """The verdict on each requirement, in the order given."""
    by_requirement: dict[str, list[Finding]] = {}
    for finding in findings:
        by_requirement.setdefault(finding.requirement, []).append(finding)
    out: list[RequirementResult] = []
    for requirement in requirements:
        found = by_requirement.get(requirement.id, [])
        choices = _choices(requirement.id, learned)
        exercised = learned.exercised[requirement.id] + sum(count for _, count in choices)
        told = "; ".join(f"{label} ({count:,} times)" for label, count in choices)
        if found:
            failed = [item for item in found if item.verdict == "fail"]
            reason = (failed or found)[0].message
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            verdict: Verdict = "fail" if failed else "warn"
            out.append(
                RequirementResult(requirement.id, requirement.level, verdict, max(exercised, len(found)), reason + more)
            )
            continue
        why = _inapplicable(requirement, learned) if learned.opened else None
        if why is not None:
            out.append(RequirementResult(requirement.id, requirement.level, "not_applicable", 0, why))
        elif exercised and (unproved := _unproved(requirement.id, learned)) is not None:
            out.append(RequirementResult(requirement.id, requirement.level, "not_exercised", 0, unproved))
        elif exercised and (requirement.verdict != "accept" or choices):
            out.append(RequirementResult(requirement.id, requirement.level, "pass", exercised, told))
        else:
            later = next((_LATER[need] for need in requirement.missing(learned.offered) if need in _LATER), None)
            reason = later or "no operation of this run put it at risk"
            if not learned.opened:
                reason = "the target could not be used"
            out.append(RequirementResult(requirement.id, requirement.level, "not_exercised", 0, reason))
    return out
