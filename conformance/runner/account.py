"""What is learned about one target: a campaign's messages in, events and at last verdicts out.

Whoever runs the campaign, in a child process or in this one, hands its messages to an account.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, cast

from mcptasks.conformance.baseline import Baseline
from mcptasks.conformance.catalogue import Need, Requirement, load_catalogue
from mcptasks.conformance.engine.plan import Features
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.events import (
    BoundReached,
    CoverageCell,
    Event,
    Finding,
    FindingReported,
    Note,
    Outcome,
    Progress,
    RequirementResult,
    TargetFinished,
    TargetInfo,
    TargetStarted,
    VerdictChanged,
)
from mcptasks.conformance.outcomes import Condition, JudgementOptions, judge
from mcptasks.conformance.runner.verdicts import Learned, results

__all__ = ["DEFAULT_MEMORY", "Account", "RunOptions", "offered", "selected"]

DEFAULT_MEMORY: Final = 2 * 2**30


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for, for all targets of a run."""

    settings: Settings = Settings()  # noqa: RUF009  # frozen
    select: tuple[str, ...] = ("*",)
    level: str = "may"
    judgement: JudgementOptions = JudgementOptions()  # noqa: RUF009  # frozen
    baseline: Baseline | None = None
    memory_limit: int = DEFAULT_MEMORY
    """Resident bytes above which a target's process is killed."""


def selected(
    options: RunOptions, kind: Literal["store", "bridge", "server"] = "store", revision: str = "2026-07-28"
) -> tuple[Requirement, ...]:
    """The requirements on a target of that kind that ``options`` ask for, in the catalogue's order."""
    catalogue = load_catalogue()
    wanted = {item.id for item in catalogue.select(options.select, level=options.level)}
    return tuple(item for item in catalogue.for_target(kind, revision) if item.id in wanted)


class Account:
    """Keeps what the campaigns on one target say.

    Args:
        info: the target.
        options: the run's options.
        emit: takes events.
    """

    def __init__(self, info: TargetInfo, options: RunOptions, emit: Callable[[Event], None]) -> None:
        self._info = info
        self._options = options
        self._emit = emit
        self._catalogue = load_catalogue()
        self._late = info.kind == "server" or info.revision == "auto"
        """Whether the target tells who it is before it is announced."""
        if info.revision == "auto":
            info = self._info = replace(info, revision="2026-07-28")
        self._requirements = selected(options, info.kind, info.revision)
        self._started = time.monotonic()
        self.learned = Learned()
        self.before = Learned()
        """What earlier campaigns on the same target had learned."""
        self.findings: dict[str, Finding] = {}
        self.verdicts: dict[str, str] = {}
        self.features = Features()
        self.suspect: dict[str, Any] | None = None
        """A breach that is being investigated."""
        self.condition: Condition | None = None
        self._announced = False

    @property
    def has_failed(self) -> bool:
        """Whether a finding counts as a failure, as far as can be told before the end."""
        counted = {"fail", "warn"} if self._options.judgement.fail_on_warn else {"fail"}
        expected = self._options.baseline.entries if self._options.baseline is not None else {}
        return any(item.verdict in counted and item.requirement not in expected for item in self.findings.values())

    @property
    def seconds(self) -> float:
        """Wall time since the target was begun."""
        return time.monotonic() - self._started

    def begin(self) -> None:
        """Tell that the target is about to be driven; one that is to be asked who it is, once it has said so."""
        if not self._late:
            self._announce()

    def _announce(self) -> None:
        if not self._announced:
            self._announced = True
            self._emit(TargetStarted(self._info))

    def take(self, message: Mapping[str, Any]) -> None:
        """Take the next message of a campaign."""
        kind = message["kind"]
        if kind == "probe":
            self.features = Features(**message["features"])
            self.learned.reasons = message["reasons"]
            self.learned.not_applicable = message["not_applicable"]
            self.learned.opened = True
            told = message.get("offered")
            self.learned.offered = offered(self.features) if told is None else frozenset(told)
            revision = message.get("revision", self._info.revision)
            options = {**self._info.options, **message.get("options", {})}
            self._info = replace(self._info, revision=revision, options=options)
            self._requirements = selected(self._options, self._info.kind, revision)
            self._announce()
        elif kind in ("progress", "summary"):
            self._count(message)
            if kind == "progress":
                self._progress(str(message.get("driver", "")))
        elif kind == "suspect":
            self.suspect = dict(message)
        elif kind == "finding":
            self.suspect = None
            self.found(message)
        elif kind == "bound":
            self._emit(
                BoundReached(
                    self._info.name,
                    message["alphabet"],
                    message["depth"],
                    message["sequences"],
                    message["executed"],
                    message["statement"],
                )
            )
        elif kind == "note":
            self.note(message["level"], message["message"])

    def _count(self, message: Mapping[str, Any]) -> None:
        learned, before = self.learned, self.before
        learned.exercised = before.exercised + Counter(message["exercised"])
        learned.choices = before.choices + Counter({(name, label): count for name, label, count in message["choices"]})
        learned.coverage = before.coverage + Counter(
            {(name, state): count for name, state, count in message["coverage"]}
        )
        learned.repeated = before.repeated + Counter(message["repeated"])
        learned.operations = message["operations"]
        learned.examples = before.examples + message["examples"]
        prefix = "store25" if self._info.revision == "2025-11-25" else "store"
        learned.exercised[f"{prefix}.misc.call-ends"] = learned.operations

    def _progress(self, driver: str) -> None:
        learned = self.learned
        total = len(self._requirements)
        known = sum(
            1
            for item in self._requirements
            if learned.exercised[item.id] or any(name == item.id for name, _ in learned.choices)
        )
        self._emit(Progress(self._info.name, driver, learned.operations, learned.examples, known, total, self.seconds))

    def found(self, message: Mapping[str, Any]) -> None:
        """Take a finding, unless its requirement is not selected or not applicable to what the adapter adapts."""
        requirement = self._catalogue.find(message["requirement"])
        if requirement is None or requirement not in self._requirements:
            return  # not selected
        if any(fnmatchcase(requirement.id, glob) for glob in self.learned.not_applicable):
            return  # what an interface cannot express is never failed
        finding = Finding(
            requirement=requirement.id,
            # A breach of what leaves a choice is one all the same, but nobody fails for it.
            verdict="fail" if requirement.verdict == "fail" and not message.get("soft_warning") else "warn",
            level=requirement.level,
            message=message["message"],
            operations=message["operations"],
            expected=message["expected"],
            actual=message["actual"],
            section=requirement.section_in(self._info.revision),
            fingerprint=message["fingerprint"],
            operation=message["operation"],
            state=message["state"],
            aspect=message["aspect"],
            driver=message["driver"],
            store_options=message["store_options"],
            confirmed=message["confirmed"],
            curl=list(message.get("curl", ())),
        )
        self.findings[finding.fingerprint] = finding
        self._emit(FindingReported(self._info.name, finding))
        known = self.verdicts.get(requirement.id)
        if known != "fail" and known != finding.verdict:
            self.verdicts[requirement.id] = finding.verdict
            result = RequirementResult(requirement.id, requirement.level, finding.verdict, 1, finding.message)
            self._emit(VerdictChanged(self._info.name, result))

    def note(self, level: Literal["info", "warning", "error"], message: str) -> None:
        """Tell the reader something that is no verdict."""
        self._announce()
        self._emit(Note(self._info.name, level, message))

    def finish(self) -> Outcome:
        """Judge, and tell the outcome as the target's last event."""
        self._announce()
        learned = self.learned
        findings = self._counted()
        told = results(self._requirements, learned, findings)
        for result in told:
            if self.verdicts.get(result.id) != result.verdict:
                self._emit(VerdictChanged(self._info.name, result))
        judgement = judge(
            told,
            findings,
            self._options.judgement,
            datetime.now(UTC).date(),
            self._options.baseline,
            self.condition,
        )
        self._emit(
            TargetFinished(
                self._info.name,
                judgement.outcome,
                judgement.reason,
                self.seconds,
                learned.operations,
                learned.examples,
                told,
                [CoverageCell(name, status, count) for (name, status), count in sorted(learned.coverage.items())],
                list(judgement.baseline_problems),
                list(judgement.expected_failures),
            )
        )
        return judgement.outcome

    def _counted(self) -> list[Finding]:
        """The findings, each with how often its kind was seen."""
        out: list[Finding] = []
        for fingerprint, finding in self.findings.items():
            again = self.learned.repeated[fingerprint]
            if again:
                finding = replace(finding, occurrences=1 + again)
                self._emit(FindingReported(self._info.name, finding))
            out.append(finding)
        return out


def offered(features: Features) -> frozenset[Need]:
    """The catalogue's needs that a target with these features meets."""
    needs: set[Need] = set() if features.bridged else {"in-process"}
    if features.clock:
        needs.add("clock")
    if features.ttl:
        needs.add("ttl")
    if features.input_requests:
        needs.update(("events", "input"))
    if features.asynchronous:
        needs.add("abort")
    for need, offers in (("events", features.statuses), ("wait", features.wait), ("pages", features.pages)):
        if offers:
            needs.add(cast("Need", need))
    return frozenset(needs)
