"""The measure of the suite: every planted fault is found with its requirement named, no lawful variant is accused.

``MCPTASKS_GALLERY_SEEDS`` says how many seeds each entry is run with (default 1).
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.budget import Budget
from mcptasks.conformance.engine.campaign import Campaign
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.events import Event, FindingReported
from mcptasks.conformance.runner.job import StoreSpec
from mcptasks.conformance.runner.supervisor import RunOptions, Supervisor
from mcptasks.conformance.targets.loading import probe
from mcptasks.conformance.targets.store import StoreSource
from mcptasks.fixtures.gallery import FAULTS, VARIANTS, Fault, Variant
from mcptasks.strategies.operations import sequence_from_json, store_calls

SEEDS = range(int(os.environ.get("MCPTASKS_GALLERY_SEEDS", "1")))

DEADLY = {
    "second-cancel-blocks-the-thread",
    "answer-exits-the-process",
    "fail-kills-the-process",
    "set-calls-sys-exit",
    "second-fail-eats-memory",
}
"""Faults that end or block their process: run in a child, as the command line does."""

STORE_FAULTS = [entry for entry in FAULTS if entry.kind == "store" and entry.revision == "2026-07-28"]
STORE_VARIANTS = [entry for entry in VARIANTS if entry.kind == "store" and entry.revision == "2026-07-28"]


def _name(entry: Fault | Variant) -> str:
    return entry.name


def run_campaign(source: StoreSource, settings: Settings, emit: Callable[[dict[str, Any]], bool | None]) -> bool:
    """The campaign of a child process in this one; ends early when ``emit`` returns true.

    Returns:
        Whether nothing that depends on the seed was run.
    """
    loop = asyncio.new_event_loop()
    campaign: Campaign | None = None

    def heard(message: dict[str, Any]) -> None:
        if emit(message) and campaign is not None:
            campaign.stop()

    with tempfile.TemporaryDirectory() as folder:
        beat = Beat(Path(folder) / "beat", create=True)
        try:
            offer = loop.run_until_complete(probe(source))
            campaign = Campaign(source, settings, heard, beat, offer.features)
            campaign.run(loop)
            return not any(
                phase.kind in ("random", "hypothesis") for phase in campaign.plan.phases[: beat.words[1] + 1]
            )
        finally:
            beat.close()
            loop.close()


def _found(entry: Fault, seed: int) -> tuple[list[dict[str, Any]], bool]:
    """The findings up to the one that names the fault's requirement; whether every other seed finds the same."""
    found: list[dict[str, Any]] = []

    def hear(message: dict[str, Any]) -> bool:
        if message["kind"] == "finding":
            found.append(message)
        return any(_is_the_one(entry, item) for item in found)

    settings = Settings(seed=seed, budget=Budget(calls=150_000), timeout=1.0, settle=1.0, hypothesis=False)
    return found, run_campaign(StoreSource(entry.open_store, entry.name), settings, hear)


def _is_the_one(entry: Fault, finding: dict[str, Any]) -> bool:
    if finding["requirement"] != entry.requirements[0]:
        return False
    shortest = store_calls(entry.counterexample)
    return store_calls(sequence_from_json(finding["operations"])) <= shortest + 1


@pytest.mark.parametrize("entry", [entry for entry in STORE_FAULTS if entry.name not in DEADLY], ids=_name)
def test_fault_is_found(entry: Fault) -> None:
    for seed in SEEDS:
        found, seedless = _found(entry, seed)
        named = [item["requirement"] for item in found]
        assert entry.requirements[0] in named, f"seed {seed}: {entry.summary} Findings: {named}"
        shown = [item for item in found if item["requirement"] == entry.requirements[0]]
        assert any(_is_the_one(entry, item) for item in shown), (
            f"seed {seed}: shortest found: {min(shown, key=lambda item: len(item['operations']))['operations']}"
        )
        if seedless:
            break


@pytest.mark.parametrize("entry", [entry for entry in STORE_FAULTS if entry.name in DEADLY], ids=_name)
def test_deadly_fault_is_found(entry: Fault) -> None:
    events: list[Event] = []
    factory = entry.open_store
    spec = StoreSpec(f"{factory.__module__}:{factory.__qualname__}")
    settings = Settings(budget=Budget(calls=30_000), timeout=1.0, hypothesis=False)
    options = RunOptions(settings=settings, memory_limit=400 * 2**20)
    outcome = Supervisor(spec, options, events.append, threading.Event()).run()
    findings = [event.finding for event in events if isinstance(event, FindingReported)]
    assert outcome == "nonconformant", [str(event) for event in events][-3:]
    named = {finding.requirement for finding in findings}
    assert entry.requirements[0] in named
    shortest = store_calls(entry.counterexample)
    assert any(
        store_calls(sequence_from_json(finding.operations)) <= shortest + 1
        for finding in findings
        if finding.requirement == entry.requirements[0]
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("entry", STORE_VARIANTS, ids=_name)
def test_variant_is_accepted(entry: Variant, seed: int) -> None:
    accused: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        if message["kind"] == "finding":
            accused.append(f"{message['fingerprint']}: {message['message']} {message['operations']}")

    settings = Settings(seed=seed, budget=Budget(calls=8_000), hypothesis=False)
    run_campaign(StoreSource(entry.open_store, entry.name), settings, hear)
    assert not accused, f"{entry.summary} Allowed by: {entry.allowed_by}"


@pytest.mark.skipif(len(SEEDS) < 2, reason="runs with the other seeds only: it takes minutes")
@pytest.mark.parametrize("entry", [entry for entry in STORE_FAULTS if entry.name not in DEADLY], ids=_name)
def test_fault_is_blamed_on_nothing_else(entry: Fault) -> None:
    named: set[str] = set()

    def hear(message: dict[str, Any]) -> None:
        if message["kind"] == "finding":
            named.add(message["requirement"])

    settings = Settings(seed=0, budget=Budget(calls=8_000), timeout=1.0, settle=0.5, hypothesis=False)
    run_campaign(StoreSource(entry.open_store, entry.name), settings, hear)
    assert named <= set(entry.requirements)
