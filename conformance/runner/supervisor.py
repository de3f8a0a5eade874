"""One target from start to verdicts: starts children, follows what they learn, survives their deaths."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from mcptasks.conformance.baseline import Baseline
from mcptasks.conformance.catalogue import Need, Requirement, load_catalogue
from mcptasks.conformance.engine.campaign import Settings
from mcptasks.conformance.engine.plan import Features, Plan
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
from mcptasks.conformance.runner.child import Child
from mcptasks.conformance.runner.deaths import Death, solve, under_way
from mcptasks.conformance.runner.job import Job, StoreSpec
from mcptasks.conformance.runner.verdicts import Learned, results
from mcptasks.strategies.operations import sequence_to_json

__all__ = ["RunOptions", "Supervisor"]

_DEATHS: Final = 4
"""Deaths after which a target is left alone."""

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


@dataclass(slots=True)
class _State:
    learned: Learned = field(default_factory=Learned)
    before: Learned = field(default_factory=Learned)
    """What earlier children of the same target had learned."""
    findings: dict[str, Finding] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=dict)
    features: Features = field(default_factory=Features)
    avoid: set[str] = field(default_factory=set)
    suspect: dict[str, Any] | None = None
    condition: Condition | None = None


class Supervisor:
    """Drives one target.

    Args:
        spec: the target.
        options: the run's options.
        emit: takes events, from any thread.
        stop: set from outside to interrupt.
    """

    def __init__(
        self,
        spec: StoreSpec,
        options: RunOptions,
        emit: Callable[[Event], None],
        stop: threading.Event,
        name: str | None = None,
    ) -> None:
        self._spec = spec
        self._options = options
        self._emit = emit
        self._stop = stop
        self.name = name or spec.name
        self._catalogue = load_catalogue()
        self._requirements: tuple[Requirement, ...] = tuple(
            item
            for item in self._catalogue.for_target("store", "2026-07-28")
            if item in set(self._catalogue.select(options.select, level=options.level))
        )
        self._state = _State()
        self._started = time.monotonic()

    def run(self) -> Outcome:
        """Run the target to its end; the outcome, which the last event tells too."""
        self._emit(TargetStarted(TargetInfo("store", self.name, "2026-07-28", self._spec.options())))
        settings = self._options.settings
        deaths = 0
        while True:
            job = Job("campaign", self._spec, settings)
            child = Child(job, memory_limit=self._options.memory_limit)
            try:
                done = self._follow(child)
                if done or self._stop.is_set():
                    break
                deaths += 1
                again = self._after_death(child, job, deaths)
            finally:
                child.close()
            if again is None:
                break
            settings = again
        return self._finish()

    # --- following a child -----------------------------------------------------------------

    def _follow(self, child: Child) -> bool:
        """Take what a child says until it is done (true) or dead (false)."""
        for message in child.messages():
            if self._stop.is_set():
                self._state.condition = Condition("interrupted", "interrupted")
                return True
            if message is None:
                continue
            kind = message["kind"]
            if kind == "done":
                return True
            if kind == "failed":
                self._failed(message, child)
                return True
            self._take(kind, message)
        return False

    def _failed(self, message: Mapping[str, Any], child: Child) -> None:
        code = message.get("exit_code")
        text = str(message.get("message"))
        if code == 5:
            detail = message.get("traceback")
            self._note("error", f"the suite itself failed: {text}" + (f"\n{detail}" if detail else ""))
        self._usage = code == 2
        self._state.condition = Condition("error" if code == 5 else "unusable", text)
        if child.output.strip():
            self._note("info", f"the target printed: {child.output[-1500:]}")

    _usage = False

    @property
    def usage_error(self) -> str | None:
        """What was wrong with how the target was named, if that ended the run."""
        return self._state.condition.reason if self._usage and self._state.condition else None

    def _take(self, kind: str, message: Mapping[str, Any]) -> None:
        state = self._state
        if kind == "probe":
            state.features = Features(**message["features"])
            state.learned.reasons = message["reasons"]
            state.learned.not_applicable = message["not_applicable"]
            state.learned.offered = _offered(state.features)
        elif kind in ("progress", "summary"):
            self._count(message)
            if kind == "progress":
                self._progress(str(message.get("driver", "")))
        elif kind == "suspect":
            state.suspect = dict(message)
        elif kind == "finding":
            state.suspect = None
            self._found(message)
        elif kind == "bound":
            self._emit(
                BoundReached(
                    self.name,
                    message["alphabet"],
                    message["depth"],
                    message["sequences"],
                    message["executed"],
                    message["statement"],
                )
            )
        elif kind == "note":
            self._note(message["level"], message["message"])

    def _count(self, message: Mapping[str, Any]) -> None:
        learned, before = self._state.learned, self._state.before
        learned.exercised = before.exercised + Counter(message["exercised"])
        learned.choices = before.choices + Counter({(name, label): count for name, label, count in message["choices"]})
        learned.coverage = before.coverage + Counter(
            {(name, state): count for name, state, count in message["coverage"]}
        )
        learned.repeated = before.repeated + Counter(message["repeated"])
        learned.operations = message["operations"]
        learned.examples = before.examples + message["examples"]
        learned.exercised["store.misc.call-ends"] = learned.operations

    def _progress(self, driver: str) -> None:
        learned = self._state.learned
        total = len(self._requirements)
        known = sum(
            1
            for item in self._requirements
            if learned.exercised[item.id] or any(name == item.id for name, _ in learned.choices)
        )
        self._emit(
            Progress(
                self.name, driver, learned.operations, learned.examples, known, total, time.monotonic() - self._started
            )
        )

    def _found(self, message: Mapping[str, Any]) -> None:
        requirement = self._catalogue.find(message["requirement"])
        if requirement is None or requirement not in self._requirements:
            return  # not selected
        finding = Finding(
            requirement=requirement.id,
            # A breach of what leaves a choice is one all the same, but nobody fails for it.
            verdict="fail" if requirement.verdict == "fail" and not message.get("soft_warning") else "warn",
            level=requirement.level,
            message=message["message"],
            operations=message["operations"],
            expected=message["expected"],
            actual=message["actual"],
            section=requirement.section,
            fingerprint=message["fingerprint"],
            operation=message["operation"],
            state=message["state"],
            aspect=message["aspect"],
            driver=message["driver"],
            store_options=message["store_options"],
            confirmed=message["confirmed"],
        )
        self._state.findings[finding.fingerprint] = finding
        self._emit(FindingReported(self.name, finding))
        known = self._state.verdicts.get(requirement.id)
        if known != "fail" and known != finding.verdict:
            self._state.verdicts[requirement.id] = finding.verdict
            result = RequirementResult(requirement.id, requirement.level, finding.verdict, 1, finding.message)
            self._emit(VerdictChanged(self.name, result))

    def _note(self, level: Any, message: str) -> None:
        self._emit(Note(self.name, level, message))

    # --- deaths ----------------------------------------------------------------------------

    def _after_death(self, child: Child, job: Job, deaths: int) -> Settings | None:
        """What to go on with after a child died, or ``None`` to stop."""
        state = self._state
        ended = child.ended
        assert ended is not None
        if child.output.strip():
            self._note("info", f"before it died the target printed: {child.output[-1500:]}")
        if not state.learned.offered:
            state.condition = Condition("unusable", f"opening the store: {ended.words}")
            return None
        position = child.position
        plan = Plan(job.settings.seed, state.features, job.settings.avoid)
        running = under_way(position, plan)
        death = solve(job, running, ended, self._options.memory_limit) if running is not None else None
        if self._stop.is_set():
            state.condition = Condition("interrupted", "interrupted")
            return None
        resume = (position.phase, position.sequence + 1)
        if death is not None:
            self._report_death(death)
            if death.operation in ("create", "get"):
                if not state.findings or (deaths == 1 and state.learned.operations == 0):
                    state.condition = Condition("unusable", f"{death.operation}: {death.ended.words}")
                return None
            state.avoid.add(death.operation)
            self._note("warning", f"the rest of the run goes without {death.operation}: {death.ended.words}")
            resume = (position.phase, 0)
        elif state.suspect is not None and position.investigating:
            self._note(
                "warning",
                f"the target died while a deviation was being shrunk; it is reported as first seen ({ended.words})",
            )
            self._found(
                {"driver": "random", "confirmed": "seen once; the target died while it was confirmed", **state.suspect}
            )
        elif deaths > 1 or running is None:
            state.condition = Condition("unusable", f"it died and a fresh process does not show why: {ended.words}")
            return None
        else:
            self._note("warning", f"the target died once and not again with the same calls ({ended.words})")
        state.suspect = None
        if deaths >= _DEATHS:
            self._note("warning", f"the target died {deaths} times; the run stops here")
            return None
        state.before = replace(state.learned)
        return replace(
            job.settings,
            avoid=frozenset(state.avoid),
            known=frozenset(state.findings) | job.settings.known,
            resume=resume,
            spent_calls=position.calls,
            spent_seconds=time.monotonic() - self._started,
        )

    def _report_death(self, death: Death) -> None:
        name = death.operation
        self._found(
            {
                "requirement": "store.misc.call-ends",
                "message": f"{name}: {death.ended.words}",
                "operations": sequence_to_json(death.operations),
                "expected": f"{name} returns or raises",
                "actual": death.ended.words,
                "fingerprint": f"store.misc.call-ends/{name}/any/life",
                "operation": name,
                "state": "any",
                "aspect": "life",
                "driver": "exhaustive",
                "store_options": death.options.to_json(),
                "confirmed": "in a fresh process",
            }
        )

    # --- the end ---------------------------------------------------------------------------

    def _finish(self) -> Outcome:
        state = self._state
        learned = state.learned
        findings = self._counted()
        told = results(self._requirements, learned, findings)
        for result in told:
            if state.verdicts.get(result.id) != result.verdict:
                self._emit(VerdictChanged(self.name, result))
        judgement = judge(
            told,
            findings,
            self._options.judgement,
            datetime.now(UTC).date(),
            self._options.baseline,
            state.condition,
        )
        self._emit(
            TargetFinished(
                self.name,
                judgement.outcome,
                judgement.reason,
                time.monotonic() - self._started,
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
        for fingerprint, finding in self._state.findings.items():
            again = self._state.learned.repeated[fingerprint]
            if again:
                finding = replace(finding, occurrences=1 + again)
                self._emit(FindingReported(self.name, finding))
            out.append(finding)
        return out


def _offered(features: Features) -> frozenset[Need]:
    offered: set[Need] = {"in-process"}
    if features.clock:
        offered.add("clock")
    if features.ttl:
        offered.add("ttl")
    if features.input_requests:
        offered.update(("events", "input"))
    if features.asynchronous:
        offered.add("abort")
    return frozenset(offered)
