"""Stores of revision 2025-11-25: every planted fault is found with its requirement named, no lawful variant accused.

``MCPTASKS_GALLERY_SEEDS`` says how many seeds each entry is run with (default 1).
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.budget import Budget
from mcptasks.conformance.engine.campaign import Campaign
from mcptasks.conformance.engine.campaign_2025 import campaign_for
from mcptasks.conformance.engine.replay import replay_once
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.engine.watchdog import Watchdog
from mcptasks.conformance.targets.loading import probe
from mcptasks.conformance.targets.store import StoreOptions, StoreSource
from mcptasks.fixtures.gallery import FAULTS, VARIANTS, Fault, Variant
from mcptasks.fixtures.gallery.store25_base import SimpleStore25
from mcptasks.fixtures.stores.memory_2025 import MemoryTaskStore2025
from mcptasks.fixtures.stores.threadsafe_2025 import ThreadSafeTaskStore2025
from mcptasks.strategies.operations import sequence_from_json, store_calls

REVISION = "2025-11-25"
SEEDS = range(int(os.environ.get("MCPTASKS_GALLERY_SEEDS", "1")))
STORE_FAULTS = [entry for entry in FAULTS if entry.kind == "store" and entry.revision == REVISION]
STORE_VARIANTS = [entry for entry in VARIANTS if entry.kind == "store" and entry.revision == REVISION]
BY_SAMPLE = "store25.create.id-unguessable"
HANGS = {"store25-store-hangs-on-failed"}


def name(entry: Fault | Variant) -> str:
    return entry.name


def source_of(factory: Callable[..., Any], *, guarded: bool = True) -> StoreSource:
    return StoreSource(factory, "target", revision=REVISION, guarded=guarded)


def run(
    source: StoreSource, calls: int, seed: int = 0, *, timeout: float = 1.0, settle: float = 0.03,
    enough: Callable[[dict[str, Any]], bool] = lambda _: False,
) -> list[dict[str, Any]]:  # fmt: skip
    """The messages of a campaign in this process; it ends early when one of them is enough."""
    loop = asyncio.new_event_loop()
    messages: list[dict[str, Any]] = []
    campaign: Campaign | None = None

    def hear(message: dict[str, Any]) -> None:
        messages.append(message)
        if campaign is not None and enough(message):
            campaign.stop()

    with tempfile.TemporaryDirectory() as folder:
        beat = Beat(Path(folder) / "beat", create=True)
        try:
            offer = loop.run_until_complete(probe(source))
            settings = Settings(seed=seed, budget=Budget(calls=calls), timeout=timeout, settle=settle)
            campaign = campaign_for(source, settings, hear, beat, offer.features)
            campaign.run(loop)
        finally:
            beat.close()
            loop.close()
    return messages


def findings(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [message for message in messages if message["kind"] == "finding"]


@pytest.mark.parametrize("entry", STORE_FAULTS, ids=name)
def test_fault_is_found(entry: Fault) -> None:
    for seed in SEEDS:

        def enough(message: dict[str, Any]) -> bool:
            return message["kind"] == "finding" and message["requirement"] == entry.requirements[0]

        timeout = 0.2 if entry.name in HANGS else 1.0
        found = findings(run(source_of(entry.open_store), 20_000, seed, timeout=timeout, enough=enough))
        named = [item["requirement"] for item in found]
        assert entry.requirements[0] in named, f"seed {seed}: {entry.summary} Findings: {named}"
        assert set(named) <= set(entry.requirements)
        shown = [item for item in found if item["requirement"] == entry.requirements[0]]
        least = min(store_calls(sequence_from_json(item["operations"])) for item in shown)
        assert least <= store_calls(entry.counterexample) + 1, shown


def shown_by(entry: Fault) -> Breach | None:
    """What the counterexample of an entry shows on a fresh store."""
    size: Any = entry.store_options.get("page_size")

    async def main() -> Breach | None:
        options = StoreOptions(clock=True, page_size=size)
        with tempfile.TemporaryDirectory() as folder:
            beat = Beat(Path(folder) / "beat", create=True)
            watchdog = Watchdog(beat.words, 0.2 if entry.name in HANGS else 1.0)
            watchdog.start()
            try:
                return await replay_once(
                    source_of(entry.open_store),
                    entry.counterexample,
                    options,
                    settle=0.03,
                    beat=beat,
                    watchdog=watchdog,
                )
            finally:
                await watchdog.stop()
                beat.close()

    return asyncio.run(main())


@pytest.mark.parametrize("entry", [entry for entry in STORE_FAULTS if entry.requirements[0] != BY_SAMPLE], ids=name)
def test_counterexample_shows_the_fault(entry: Fault) -> None:
    breach = shown_by(entry)
    assert breach is not None
    assert breach.requirement in entry.requirements
    lawful = Fault(
        entry.name, "", entry.requirements, SimpleStore25, entry.counterexample, "store", REVISION, entry.store_options
    )
    assert shown_by(lawful) is None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("entry", STORE_VARIANTS, ids=name)
def test_variant_is_accepted(entry: Variant, seed: int) -> None:
    accused = findings(run(source_of(entry.open_store), 3_000, seed, settle=2.0))
    assert [f"{item['fingerprint']}: {item['message']} {item['operations']}" for item in accused] == []


def test_the_plain_reference_is_accepted() -> None:
    messages = run(source_of(ThreadSafeTaskStore2025), 5_000)
    assert findings(messages) == []
    assert ["store25.list.order", "newest first"] in [choice[:2] for choice in messages[-1]["choices"]]


@pytest.mark.parametrize("factory", [SimpleStore25, MemoryTaskStore2025])
def test_a_conformant_store_passes_all_that_a_store_can(factory: Callable[..., Any]) -> None:
    messages = run(source_of(factory), 9_000)
    assert findings(messages) == []
    summary = messages[-1]
    reached = set(summary["exercised"]) | {requirement for requirement, _, _ in summary["choices"]}
    known = {item.id for item in load_catalogue().for_target("store", REVISION) if "polling" not in item.needs}
    # That every call ends is counted by whoever follows the campaign; what waits twice may come to nothing here.
    assert known - reached <= {"store25.misc.call-ends", "store25.wait.two-waiters"}


def test_every_entry_is_about_a_requirement_of_this_revision() -> None:
    known = {item.id for item in load_catalogue().for_target("store", REVISION)}
    assert len(STORE_FAULTS) >= 30
    assert len(STORE_VARIANTS) >= 12
    for entry in [*STORE_FAULTS, *STORE_VARIANTS]:
        assert set(entry.requirements) <= known, entry.name


def test_a_server_above_may_guard_ended_tasks() -> None:
    overwriting = [entry for entry in STORE_FAULTS if entry.requirements[0].endswith(".terminal")]
    assert len(overwriting) >= 5
    for entry in overwriting if len(SEEDS) > 1 else overwriting[:4]:
        messages = run(source_of(entry.open_store, guarded=False), 1_500)
        assert findings(messages) == [], entry.name
    taken = {(requirement, label) for requirement, label, _ in messages[-1]["choices"]}
    assert any(requirement.endswith(".terminal") for requirement, _ in taken)
