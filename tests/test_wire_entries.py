"""Planted faults by their first finding: what no other test of the gallery asks for, one sequence or probe each."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mcptasks.conformance.catalogue.unjudged import UNJUDGED
from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.engine.wire_campaign import replay_on_server
from mcptasks.conformance.engine.wire_server import ServerSource, introduce
from mcptasks.conformance.probes import ALL
from mcptasks.conformance.probes.phase import run_probe
from mcptasks.conformance.runner.job import Job
from mcptasks.conformance.runner.server_job import ServerWork
from mcptasks.conformance.server_api import check_server
from mcptasks.conformance.wire.client import Limits, WireClient
from mcptasks.conformance.wire.secrets import HeaderLine
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.fixtures.gallery import (
    FAULTS,
    Fault,
    Variant,
    fault,
    server_asking_faults,
    server_bytes_faults,
    server_caller_faults,
    server_task_faults,
)
from mcptasks.fixtures.gallery.server_base import start_entry
from mcptasks.fixtures.server import start_server
from mcptasks.fixtures.stores.memory import MemoryTaskStore
from mcptasks.strategies.operations import Operation, Probe

GROUPS = (
    server_task_faults.GROUP,
    server_bytes_faults.GROUP,
    server_asking_faults.GROUP,
    server_caller_faults.GROUP,
)
OURS = [entry for group in GROUPS for entry in group.faults]
LAWFUL = [entry for group in GROUPS for entry in group.variants]
OTHER = HeaderLine("Authorization", "Bearer mcptasks-other")
MOVED = [fault("get-says-input-required")]


def replayed(entry: Fault | Variant, *sequences: tuple[Operation, ...]) -> list[Breach]:
    """The first breach of each sequence on the entry's server."""

    async def run(url: str) -> list[Breach]:
        spec = ServerSpec(url, other_headers=(OTHER,), settle=0.5)
        async with WireClient(spec, url, limits=Limits(answer_s=4.0)) as client:
            source = ServerSource(client, (await introduce(client, spec)).profile, spec, url, lambda text: None)
            found = [await replay_on_server(source, sequence) for sequence in sequences]
        return [breach for breach in found if breach is not None]

    with start_entry(entry) as server:
        return asyncio.run(run(server.url))


@pytest.mark.parametrize("entry", [*OURS, *MOVED], ids=lambda entry: entry.name)
def test_a_fault_is_named_first(entry: Fault) -> None:
    (breach,) = replayed(entry, entry.counterexample)
    assert breach.requirement == entry.requirements[0]
    assert breach.curl


@pytest.mark.parametrize("entry", LAWFUL, ids=lambda entry: entry.name)
def test_a_lawful_server_is_not_accused(entry: Variant) -> None:
    about = [item.counterexample for item in FAULTS if set(item.requirements[:1]) & set(entry.requirements)]
    probes: list[tuple[Operation, ...]] = [
        (Probe(item.name),) for item in ALL if set(item.requirements) & set(entry.requirements)
    ]
    sequences = [*(sequence for sequence in about if sequence), *probes]
    assert sequences
    assert replayed(entry, *sequences) == []


def test_what_is_not_judged_has_no_fault_and_says_why() -> None:
    planted = Counter(
        entry.requirements[0] for entry in FAULTS if entry.kind == "server" and entry.revision == "2026-07-28"
    )
    assert not {name for name in UNJUDGED if planted[name]}
    assert not {name for item in ALL for name in item.requirements} & UNJUDGED.keys()


def test_a_second_callers_credentials_are_told_nowhere() -> None:
    (entry,) = (item for item in OURS if item.name == "anyone-may-read")
    with start_entry(entry) as server:
        report = check_server(
            server.url, other_headers={"Authorization": "Bearer mcptasks-other"}, select="tasks.sec.auth*", budget=1200
        )
    (finding,) = report.target.findings
    assert finding.requirement == "tasks.sec.auth-check"
    assert any("Authorization: <redacted>" in command for command in finding.curl)
    assert "mcptasks-other" not in str(report.run)


@pytest.mark.parametrize("others", [(), (OTHER,)])
def test_without_a_second_caller_nothing_about_one_applies(others: tuple[HeaderLine, ...]) -> None:
    messages: list[dict[str, Any]] = []

    async def introduced(url: str, beat: Beat) -> None:
        work = ServerWork(Job("campaign", ServerSpec(url, other_headers=others), Settings()), messages.append, beat)
        run = await work.open()
        assert run is not None
        # What the introduction has shown counts, whatever was asked behind it.
        assert run.automaton.exercised["core.discover.shape"] == 1
        await work.close()

    with tempfile.TemporaryDirectory() as folder, start_server(MemoryTaskStore) as server:
        beat = Beat(Path(folder) / "beat", create=True)
        asyncio.run(introduced(server.url, beat))
        beat.close()
    (told,) = (message for message in messages if message["kind"] == "probe")
    assert ("second-caller" in told["offered"]) is bool(others)
    assert told["reasons"]["second-caller"] == "no second caller was given (--other-header)"


def test_the_reference_server_is_judged_whole_by_these_probes() -> None:
    ours = [item for item in ALL if item.name.startswith(("callers.", "mrtr.", "update.malformed"))]
    exercised, choices = Counter[str](), Counter[tuple[str, str]]()

    async def run(url: str) -> list[str]:
        first = HeaderLine("Authorization", "Bearer mcptasks-first")
        spec = ServerSpec(url, (first,), (OTHER,))
        async with WireClient(spec, url) as client:
            source = ServerSource(client, (await introduce(client, spec)).profile, spec, url, lambda text: None)
            outcomes = [await run_probe(source, item, exercised=exercised, choices=choices) for item in ours]
        return [
            *(outcome.skipped for outcome in outcomes),
            *(breach.message for item in outcomes for breach in item.breaches),
        ]

    with start_server(MemoryTaskStore) as server:
        assert not any(asyncio.run(run(server.url)))
    judged = {name for item in ours for name in item.requirements}
    assert {name for name in judged if not exercised[name]} == {"tasks.sec.no-oracle"}
    assert choices[("tasks.sec.no-oracle", "answers foreign tasks like unknown ones")] == 3
