"""Events of a run put together to its report.  Pure: no file, no clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from mcptasks.conformance.events import (
    BoundReached,
    Event,
    Finding,
    FindingReported,
    Note,
    Progress,
    RequirementResult,
    RunFinished,
    RunStarted,
    TargetFinished,
    TargetInfo,
    TargetStarted,
    VerdictChanged,
)
from mcptasks.reports.run_report import RunReport, TargetReport

__all__ = ["Assembler", "assemble"]


@dataclass(slots=True)
class _OpenTarget:
    """What is known of a target so far."""

    info: TargetInfo
    findings: dict[str, Finding] = field(default_factory=dict)
    results: dict[str, RequirementResult] = field(default_factory=dict)
    bounds: dict[str, BoundReached] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    progress: Progress | None = None
    finished: TargetFinished | None = None

    def report(self) -> TargetReport:
        end = self.finished
        if end is None:
            return TargetReport(
                target=self.info,
                outcome="interrupted",
                reason="the run ended before this target was finished",
                requirements=tuple(self.results.values()),
                findings=tuple(self.findings.values()),
                coverage=(),
                bounds=tuple(self.bounds.values()),
                notes=tuple(self.notes),
                seconds=self.progress.seconds if self.progress else 0.0,
                operations=self.progress.operations if self.progress else 0,
                examples=self.progress.examples if self.progress else 0,
                truncated=True,
            )
        return TargetReport(
            target=self.info,
            outcome=end.outcome,
            reason=end.reason,
            requirements=tuple(end.requirements),
            findings=tuple(self.findings.values()),
            coverage=tuple(end.coverage),
            bounds=tuple(self.bounds.values()),
            notes=tuple(self.notes),
            seconds=end.seconds,
            operations=end.operations,
            examples=end.examples,
            baseline_problems=tuple(end.baseline_problems),
            expected_failures=tuple(end.expected_failures),
        )


class Assembler:
    """Takes events one by one; a report can be had at any time.

    It keeps what a report needs and no more, so a long run costs no memory.
    """

    def __init__(self) -> None:
        self._header: RunStarted | None = None
        self._footer: RunFinished | None = None
        self._targets: list[_OpenTarget] = []
        self._by_name: dict[str, _OpenTarget] = {}
        self._notes: list[Note] = []

    @property
    def started(self) -> bool:
        """Whether the header has come."""
        return self._header is not None

    def add(self, event: Event) -> None:
        """Take the next event of the run.

        Raises:
            ValueError: it names a target that was not started.
        """
        match event:
            case RunStarted():
                self._header = event
            case RunFinished():
                self._footer = event
            case TargetStarted():
                # A name that comes again is another run of the same target, with a report of its own.
                target = _OpenTarget(event.target)
                self._targets.append(target)
                self._by_name[event.target.name] = target
            case Note(target=None):
                self._notes.append(event)
            case Note(target=str(name)):
                self._target(name).notes.append(event)
            case Progress():
                self._target(event.target).progress = event
            case BoundReached():
                self._target(event.target).bounds[event.alphabet] = event
            case FindingReported():
                self._target(event.target).findings[event.finding.fingerprint] = event.finding
            case VerdictChanged():
                self._target(event.target).results[event.result.id] = event.result
            case TargetFinished():
                self._target(event.target).finished = event

    def target_of(self, name: str) -> TargetInfo:
        """The target that later events call ``name``.

        Raises:
            ValueError: it was not started.
        """
        return self._target(name).info

    def report(self) -> RunReport:
        """The report on the events taken so far.

        Raises:
            ValueError: the header has not come yet.
        """
        if self._header is None:
            raise ValueError("a run begins with its header")
        targets = tuple(target.report() for target in self._targets)
        end = self._footer
        return RunReport(
            header=self._header,
            targets=targets,
            notes=tuple(self._notes),
            outcome="interrupted" if end is None else end.outcome,
            exit_code=None if end is None else end.exit_code,
            seconds=sum(target.seconds for target in targets) if end is None else end.seconds,
            truncated=end is None,
        )

    def _target(self, name: str) -> _OpenTarget:
        target = self._by_name.get(name)
        if target is None:
            raise ValueError(f"an event names the target {name!r}, which was not started")
        return target


def assemble(events: Iterable[Event]) -> RunReport:
    """The report on the events of a run, whether or not it came to its end.

    Raises:
        ValueError: there is no header, or an event names a target that was not started.
    """
    assembler = Assembler()
    for event in events:
        assembler.add(event)
    return assembler.report()
