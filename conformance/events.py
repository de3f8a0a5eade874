"""What a run says while it goes on: typed events, one JSON line each in ``events.jsonl``.

Drivers and runners emit events; every output (console, report files) is a handler of them, and
every report can be made again from the file alone.  Single operations are no events: there are
millions of them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from mcptasks.strategies.json_values import JSON

__all__ = [
    "BoundReached",
    "CoverageCell",
    "Event",
    "Finding",
    "FindingReported",
    "Note",
    "Outcome",
    "Progress",
    "RequirementResult",
    "RunFinished",
    "RunStarted",
    "TargetFinished",
    "TargetInfo",
    "TargetStarted",
    "Verdict",
    "VerdictChanged",
    "event_from_json",
    "event_to_json",
]

EVENTS_SCHEMA = "mcptasks-events/1"

Verdict = Literal["pass", "fail", "warn", "not_exercised", "not_applicable", "error"]
Outcome = Literal["conformant", "nonconformant", "inconclusive", "unusable", "error", "interrupted"]


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """What is being checked."""

    kind: Literal["store", "bridge", "server"]
    name: str
    """As the user named it, such as ``shop/tasks.py:RedisStore``."""
    revision: str
    options: dict[str, JSON] = field(default_factory=dict)
    """How to name it again on the command line: ``store``, ``adapter``, ``store_args``, …"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One distinct deviation, with its proof."""

    requirement: str
    verdict: Literal["fail", "warn"]
    level: str
    message: str
    """One sentence: what the target did that it may not."""
    operations: list[dict[str, JSON]]
    """The shortest sequence found, as :func:`mcptasks.strategies.operations.to_json` writes it."""
    expected: str
    actual: str
    section: str
    """Document and section that the requirement comes from."""
    fingerprint: str
    """Stable over runs and seeds: requirement, operation, state and aspect joined by ``/``."""
    operation: str
    """The operation to which the deviation is attributed (``complete``)."""
    state: str
    """The state that the task was in before it (``cancelled``)."""
    aspect: str
    """``return``, ``status``, ``pending``, ``payload``, ``events``, ``times``, ``identity`` or ``life``."""
    driver: str
    """``exhaustive``, ``random``, ``hypothesis``, ``replay`` or ``concurrent``."""
    store_options: dict[str, JSON] = field(default_factory=dict)
    """Factory keywords of the store that showed it: ``{"clock": true, "default_ttl_ms": 1000}``."""
    confirmed: str = "on a fresh store"
    """``on a fresh store`` or ``needs the history of the store`` (then ``operations`` is that history, shrunk)."""
    occurrences: int = 1
    curl: list[str] = field(default_factory=list)
    """On a server: the requests that show it, as shell commands; secrets redacted."""
    replay: str | None = None
    """Path of the replay file, relative to the report directory."""
    pytest_file: str | None = None
    """Path of the runnable pytest file, relative to the report directory."""
    replay_command: str | None = None


@dataclass(frozen=True, slots=True)
class RequirementResult:
    """The verdict on one requirement."""

    id: str
    level: str
    verdict: Verdict
    exercised: int = 0
    """Observations that could have failed it."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CoverageCell:
    """How often an operation met a task in a state."""

    operation: str
    state: str
    count: int


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Header: the first line of every events file."""

    event: ClassVar[str] = "run_started"
    version: str
    catalogue: str
    seed: int
    budget: str
    started_at: str
    """ISO 8601, UTC."""
    schema: str = EVENTS_SCHEMA
    command: list[str] = field(default_factory=list)
    """The command line, secrets redacted."""


@dataclass(frozen=True, slots=True)
class TargetStarted:
    """A target is about to be driven.  ``target`` in all later events is its name."""

    event: ClassVar[str] = "target_started"
    target: TargetInfo


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a driver is; at most a few a second."""

    event: ClassVar[str] = "progress"
    target: str
    driver: str
    operations: int
    """Calls made to the target so far, over all drivers."""
    examples: int
    """Sequences finished so far, over all drivers."""
    requirements_exercised: int
    requirements_total: int
    seconds: float


@dataclass(frozen=True, slots=True)
class BoundReached:
    """A depth of the exhaustive search is finished: a fact for the report."""

    event: ClassVar[str] = "bound_reached"
    target: str
    alphabet: str
    """What the sequences are made of, in words."""
    depth: int
    sequences: int
    """All sequences up to this depth, those equal by renaming included."""
    executed: int
    statement: str
    """The fact in one sentence."""


@dataclass(frozen=True, slots=True)
class FindingReported:
    """A finding, confirmed and shrunk.  A later one with the same fingerprint replaces it."""

    event: ClassVar[str] = "finding"
    target: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class VerdictChanged:
    """A requirement's verdict is now another."""

    event: ClassVar[str] = "verdict"
    target: str
    result: RequirementResult


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader should know that is no verdict: a diagnostic with a hint, output of the target."""

    event: ClassVar[str] = "note"
    target: str | None
    level: Literal["info", "warning", "error"]
    message: str


@dataclass(frozen=True, slots=True)
class TargetFinished:
    """All that was learned about a target."""

    event: ClassVar[str] = "target_finished"
    target: str
    outcome: Outcome
    reason: str
    seconds: float
    operations: int
    examples: int
    requirements: list[RequirementResult]
    coverage: list[CoverageCell]
    baseline_problems: list[str] = field(default_factory=list)
    """Stale or expired baseline entries, one line each."""
    expected_failures: list[str] = field(default_factory=list)
    """Ids of requirements whose failure the baseline expects."""


@dataclass(frozen=True, slots=True)
class RunFinished:
    """Footer: the last line; its absence means a truncated run."""

    event: ClassVar[str] = "run_finished"
    outcome: Outcome
    exit_code: int
    seconds: float


Event = (
    RunStarted
    | TargetStarted
    | Progress
    | BoundReached
    | FindingReported
    | VerdictChanged
    | Note
    | TargetFinished
    | RunFinished
)

_KINDS: dict[str, type[Any]] = {
    kind.event: kind
    for kind in (
        RunStarted,
        TargetStarted,
        Progress,
        BoundReached,
        FindingReported,
        VerdictChanged,
        Note,
        TargetFinished,
        RunFinished,
    )
}


def event_to_json(event: Event) -> dict[str, JSON]:
    """The event as a JSON object whose member ``event`` names its kind."""
    return {"event": event.event, **asdict(event)}


def event_from_json(value: dict[str, JSON]) -> Event:
    """The event that :func:`event_to_json` wrote.

    Raises:
        ValueError: an unknown kind, or members that do not fit it.
    """
    members = dict(value)
    kind = _KINDS.get(members.pop("event", ""))
    if kind is None:
        raise ValueError(f"unknown event {value.get('event')!r}")
    try:
        if kind is TargetStarted:
            members["target"] = TargetInfo(**members["target"])
        elif kind is FindingReported:
            members["finding"] = Finding(**members["finding"])
        elif kind is VerdictChanged:
            members["result"] = RequirementResult(**members["result"])
        elif kind is TargetFinished:
            members["requirements"] = [RequirementResult(**item) for item in members["requirements"]]
            members["coverage"] = [CoverageCell(**item) for item in members["coverage"]]
        event: Event = kind(**members)
    except (KeyError, TypeError) as error:
        raise ValueError(f"event {value.get('event')!r}: {error}") from error
    return event
