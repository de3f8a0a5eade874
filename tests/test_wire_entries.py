"""Planted faults by their first finding: what no other test of the gallery asks for, one sequence or probe each."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from mcptasks.conformance.catalogue.unjudged import UNJUDGED
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.wire_campaign import replay_on_server
from mcptasks.conformance.engine.wire_server import ServerSource, introduce
from mcptasks.conformance.probes import ALL
from mcptasks.conformance.wire.client import Limits, WireClient
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.fixtures.gallery import (
    FAULTS,
    Fault,
    Variant,
    fault,
    server_asking_faults,
    server_bytes_faults,
    server_task_faults,
)
from mcptasks.fixtures.gallery.server_base import start_entry
from mcptasks.strategies.operations import Operation, Probe

GROUPS = (server_task_faults.GROUP, server_bytes_faults.GROUP, server_asking_faults.GROUP)
OURS = [entry for group in GROUPS for entry in group.faults]
LAWFUL = [entry for group in GROUPS for entry in group.variants]
MOVED = [fault("get-says-input-required")]


def replayed(entry: Fault | Variant, *sequences: tuple[Operation, ...]) -> list[Breach]:
    """The first breach of each sequence on the entry's server."""

    async def run(url: str) -> list[Breach]:
        spec = ServerSpec(url, settle=0.5)
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
    planted = Counter(entry.requirements[0] for entry in FAULTS if entry.kind == "server")
    assert not {name for name in UNJUDGED if planted[name]}
    assert not {name for item in ALL for name in item.requirements} & UNJUDGED.keys()
