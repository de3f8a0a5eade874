"""Events of made-up runs, with targets that are kind and targets that are hostile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

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
    RunFinished,
    RunStarted,
    TargetFinished,
    TargetInfo,
    TargetStarted,
    VerdictChanged,
)
from mcptasks.reports.events_file import EventsFile

HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07 \x00 \x7f \x9b2J ]]> <script>alert(1)</script> <!-- --> ``` ` ~~~ \u202egnp.exe\u2066 "
    "\ud800 \u200b\ufeff\u2028\r\n::error::x\n  ::add-mask::a\n##[error]x ##vso[task.setvariable]y\n# head\n- item | cell [bold]b[/bold] {{ x }} {% y %} "
    "''' \"\"\" \\ \\N{x} @someone #12 https://example.org www.example.org $x$ &amp; *b* é 漢 😀 \ufffe"
)
STORE = TargetInfo(
    "store", "shop/tasks.py:Store", "2026-07-28", {"store": "shop/tasks.py:Store", "store_args": {"n": 1}}
)
HEADER = RunStarted("1.2.3", "0.9", 7, "operations", "2026-08-01T10:00:00Z", command=["mcptasks", "run"])
OPERATIONS: list[dict[str, Any]] = [
    {"op": "create", "as": "t1"},
    {"op": "cancel", "task": "t1"},
    {"op": "complete", "task": "t1", "result": {"n": 1}},
    {"op": "get", "task": "t1"},
]


def finding(**members: Any) -> Finding:
    given: dict[str, Any] = {
        "requirement": "store.completed.terminal-noop",
        "verdict": "fail",
        "level": "MUST",
        "message": "a completed cancelled task is completed",
        "operations": OPERATIONS,
        "expected": "status cancelled",
        "actual": "status completed",
        "section": "IMcpTaskStore, SetCompletedAsync",
        "fingerprint": "store.completed.terminal-noop/complete/cancelled/status",
        "operation": "complete",
        "state": "cancelled",
        "aspect": "status",
        "driver": "exhaustive",
        "store_options": {"clock": True},
        **members,
    }
    return Finding(**given)


RESULTS = [
    RequirementResult("store.completed.terminal-noop", "MUST", "fail", 40),
    RequirementResult("store.get.pure", "SHOULD", "warn", 4, "drifts"),
    RequirementResult("store.create.working", "MUST", "pass", 99),
    RequirementResult("store.input.empty-map", "MAY", "pass", 3, "the target ignores it"),
    RequirementResult("store.conc.linear", "MUST", "not_exercised", 0, "needs concurrent callers"),
    RequirementResult("store.ttl.no-early", "MUST", "not_applicable", 0, "the factory has no clock"),
]


def run(
    *findings: Finding,
    target: TargetInfo = STORE,
    outcome: Outcome = "nonconformant",
    results: list[RequirementResult] | None = None,
    **end: Any,
) -> list[Event]:
    name = target.name
    members: dict[str, Any] = {
        "reason": "1 requirement failed",
        "requirements": RESULTS if results is None else results,
        "coverage": [CoverageCell("complete", "cancelled", 40), CoverageCell("get", "working", 7)],
        **end,
    }
    return [
        HEADER,
        TargetStarted(target),
        Progress(name, "exhaustive", 10, 2, 1, 6, 0.5),
        BoundReached(name, "nine operations", 4, 7380, 7380, "all 7,380 sequences of up to 4 operations"),
        BoundReached(name, "nine operations", 5, 66429, 66429, "all 66,429 sequences of up to 5 operations"),
        *(FindingReported(name, item) for item in findings),
        VerdictChanged(name, RESULTS[0]),
        Progress(name, "random", 1200, 300, 4, 6, 2.0),
        TargetFinished(name, outcome, members.pop("reason"), 2.5, 1234, 321, **members),
        RunFinished(outcome, 1, 2.6),
    ]


def hostile_run() -> list[Event]:
    target = TargetInfo("store", f"x.py:{HOSTILE}", HOSTILE, {"store": HOSTILE, "adapter": HOSTILE})
    payload = {HOSTILE.replace("\ud800", ""): [HOSTILE.replace("\ud800", ""), "\x7f", 2**70, 1e300, None]}
    bad = finding(
        message=HOSTILE,
        expected=HOSTILE,
        actual=HOSTILE * 200,
        section=HOSTILE,
        fingerprint=HOSTILE,
        store_options={"k": HOSTILE},
        operations=[
            {"op": "create", "as": HOSTILE},
            {"op": "complete", "task": "t1", "result": payload},
            {"op": HOSTILE, HOSTILE: HOSTILE},
            {"op": "subscribe", "as": "l1", "kind": HOSTILE},
        ],
        confirmed=HOSTILE,
    )
    events = run(bad, replace(bad, verdict="warn", requirement="store.get.pure", fingerprint="x"), target=target)
    end = events[-2]
    assert isinstance(end, TargetFinished)
    results = [replace(result, reason=HOSTILE) for result in RESULTS]
    coverage = [CoverageCell(HOSTILE, HOSTILE, 1)]
    events[-2] = replace(end, reason=HOSTILE, requirements=results, baseline_problems=[HOSTILE], coverage=coverage)
    events[-2:-2] = [
        Note(target.name, "warning", HOSTILE),
        Note(None, "error", HOSTILE),
        BoundReached(target.name, HOSTILE, 1, 1, 1, HOSTILE),
    ]
    return events


def assert_harmless(text: str) -> None:
    """No character that acts on a terminal or hides, and nothing that UTF-8 cannot encode."""
    text.encode("utf-8")
    assert {c for c in text if not c.isprintable()} <= {"\n"}


def write_events(path: Path, events: list[Event]) -> None:
    with EventsFile(path) as handler:
        for event in events:
            handler(event)


TWO = [*run(finding())[:-1], *run(target=replace(STORE, name="other"))[1:]]
