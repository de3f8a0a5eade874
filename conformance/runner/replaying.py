"""One sequence on a fresh store, in a child process or in this one, and what it shows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.budget import Budget
from mcptasks.conformance.engine.campaign_2025 import campaign_for
from mcptasks.conformance.engine.expand import is_2025
from mcptasks.conformance.engine.plan import Features, named
from mcptasks.conformance.engine.plan_2025 import plan_for
from mcptasks.conformance.engine.replay import replay_once
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.engine.watchdog import Watchdog
from mcptasks.conformance.errors import InconclusiveError, SuiteError, TargetUnusableError, UsageError
from mcptasks.conformance.events import Finding
from mcptasks.conformance.runner.account import DEFAULT_MEMORY
from mcptasks.conformance.runner.child import Child, Ended
from mcptasks.conformance.runner.deaths import under_way
from mcptasks.conformance.runner.fault_log import write_fault_log
from mcptasks.conformance.runner.in_process import apart_from_running_loop, own_loop
from mcptasks.conformance.runner.job import Job, Spec
from mcptasks.conformance.targets.store import StoreOptions, StoreSource
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Operation, sequence_to_json

__all__ = ["replay_here", "replay_in_child"]

Message = Mapping[str, Any]
Once = Callable[[frozenset[str]], Message | None]

_BY_SAMPLE: Final = ("store.create.id-unguessable", "store25.create.id-unguessable", "tasks.sec.entropy")
"""Judged over many ids: no sequence shows it, so the sample is drawn again."""
_SAMPLE_CALLS: Final = 1000
_DEVIATIONS: Final = 20
"""Deviations of one sequence after which it is not run on."""


def replay_in_child(
    spec: Spec,
    operations: Sequence[Operation],
    options: StoreOptions,
    *,
    requirement: str | None = None,
    settings: Settings = Settings(),  # noqa: B008  # frozen
    memory_limit: int = DEFAULT_MEMORY,
) -> list[Finding]:
    """What the sequence shows of the store that ``spec`` names, run in a child process.

    After a deviation that leaves the model sure of the task's state the sequence goes on, so there
    may be several; one that does not is the last.

    Args:
        requirement: the one that it is about, if known.

    Raises:
        UsageError: the store cannot be imported, or is none.
        TargetUnusableError: it cannot be opened.
    """
    if requirement in _BY_SAMPLE:
        message = _in_child(Job("campaign", spec, _sample(settings)), memory_limit, operations)
        return [_finding(message, operations, options, spec.revision)] if message is not None else []

    def once(known: frozenset[str]) -> Message | None:
        job = Job(
            "replay",
            spec,
            replace(settings, known=known),
            operations=sequence_to_json(operations),
            store_options=options.to_json(),
        )
        return _in_child(job, memory_limit, operations)

    return _all(once, operations, options, spec.revision)


def _in_child(job: Job, memory_limit: int, operations: Sequence[Operation]) -> Message | None:
    child = Child(job, memory_limit=memory_limit)
    try:
        for message in child.messages():
            kind = None if message is None else message["kind"]
            if message is None or kind is None:
                continue
            if kind == "failed":
                _refuse(message)
            if kind == "replayed":
                breach: Message | None = message.get("breach")
                return breach
            if kind == "finding" and message.get("requirement") in _BY_SAMPLE:
                return message
            if kind == "done":
                return None
        return _died(child.ended, child, operations)
    finally:
        child.close()


def _refuse(message: Message) -> None:
    text = str(message.get("message"))
    code = message.get("exit_code")
    if code == 2:
        raise UsageError(text)
    if code == 3:
        raise TargetUnusableError(text)
    if code == 4:
        raise InconclusiveError(text)
    log = write_fault_log(str(message.get("traceback", text)))
    raise SuiteError(f"a fault of the suite itself: {text}; details are in {log}")


def _died(ended: Ended | None, child: Child, operations: Sequence[Operation]) -> Message:
    words = ended.words if ended is not None else "the process ended"
    later = is_2025(operations)
    requirement = "store25.misc.call-ends" if later else "store.misc.call-ends"
    running = under_way(child.position, plan_for(0, Features(revision="2025-11-25" if later else "2026-07-28")))
    if child.position.calls == 0 or running is None:
        raise TargetUnusableError(f"opening the store: {words}")
    name = next(iter(named(running.operations[-1]) - {"abort"}), "create") if running.operations else "create"
    return {
        "requirement": requirement,
        "operation": name,
        "state": "any",
        "aspect": "life",
        "message": f"{name}: {words}",
        "expected": f"{name} returns or raises",
        "actual": words,
        "fingerprint": f"{requirement}/{name}/any/life",
        "index": min(len(running.operations), len(operations)) - 1,
        "soft": False,
    }


def replay_here(
    source: StoreSource,
    operations: Sequence[Operation],
    options: StoreOptions,
    *,
    requirement: str | None = None,
    settings: Settings = Settings(),  # noqa: B008  # frozen
) -> list[Finding]:
    """Like :func:`replay_in_child`, in this process: a target that ends it, or blocks, does so to the caller."""
    if requirement in _BY_SAMPLE:
        return apart_from_running_loop(lambda: _sample_here(source, operations, options, settings))

    def once(known: frozenset[str]) -> Message | None:
        with own_loop() as loop:
            return loop.run_until_complete(_once_here(source, operations, options, settings, known))

    return apart_from_running_loop(lambda: _all(once, operations, options, source.revision))


async def _once_here(
    source: StoreSource,
    operations: Sequence[Operation],
    options: StoreOptions,
    settings: Settings,
    known: frozenset[str],
) -> Message | None:
    with tempfile.TemporaryDirectory(prefix="mcptasks-run-") as folder:
        beat = Beat(Path(folder) / "beat", create=True)
        words: Any = beat.words
        watchdog = Watchdog(words, settings.timeout)
        watchdog.start()
        try:
            breach = await replay_once(
                source,
                operations,
                options,
                known=set(known),
                settle=settings.settle,
                beat=beat,
                watchdog=watchdog,
            )
        finally:
            await watchdog.stop()
            beat.close()
    return None if breach is None else {**asdict(breach), "fingerprint": breach.fingerprint}


def _sample(settings: Settings) -> Settings:
    # As if the probes of a server had been run: the sample is what comes first behind them.
    return replace(settings, budget=Budget(calls=_SAMPLE_CALLS), hypothesis=False, resume=(0, 1))


def _sample_here(
    source: StoreSource, operations: Sequence[Operation], options: StoreOptions, settings: Settings
) -> list[Finding]:
    messages: list[dict[str, JSON]] = []
    with tempfile.TemporaryDirectory(prefix="mcptasks-run-") as folder, own_loop() as loop:
        beat = Beat(Path(folder) / "beat", create=True)
        try:
            features = Features(revision=source.revision)
            campaign_for(source, _sample(settings), messages.append, beat, features).run(loop)
        finally:
            beat.close()
    found = [item for item in messages if item["kind"] == "finding" and item["requirement"] in _BY_SAMPLE]
    return [_finding(item, operations, options, source.revision) for item in found]


def _all(once: Once, operations: Sequence[Operation], options: StoreOptions, revision: str) -> list[Finding]:
    """Run again past every soft deviation, as the run that found the sequence did."""
    found: dict[str, Finding] = {}
    while len(found) < _DEVIATIONS:
        message = once(frozenset(found))
        if message is None or message["fingerprint"] in found:
            break
        found[message["fingerprint"]] = _finding(message, operations, options, revision)
        if not message["soft"]:
            break
    return list(found.values())


def _finding(message: Message, operations: Sequence[Operation], options: StoreOptions, revision: str) -> Finding:
    requirement = load_catalogue()[message["requirement"]]
    return Finding(
        requirement=requirement.id,
        verdict="fail" if requirement.verdict == "fail" and not message.get("warning") else "warn",
        level=requirement.level,
        message=message["message"],
        operations=sequence_to_json(operations[: message.get("index", len(operations)) + 1]),
        expected=message["expected"],
        actual=message["actual"],
        section=requirement.section_in(revision),
        fingerprint=message["fingerprint"],
        operation=message["operation"],
        state=message["state"],
        aspect=message["aspect"],
        driver="replay",
        store_options=options.to_json(),
    )
