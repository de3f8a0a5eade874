"""The gallery of servers of 2025-11-25: each fault found and charged to its requirement, no variant accused.

By default a sample of each; all of them where ``MCPTASKS_GALLERY_SEEDS`` is set (tox environment
``gallery-servers``).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from typing import TypeVar

import pytest
from wire_campaigns import OTHER, campaign, findings

from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.wire25_campaign import Wire25Campaign, replay_on_server_25
from mcptasks.conformance.engine.wire25_server import ServerSource25, introduce25
from mcptasks.conformance.wire.client import Limits
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.conformance.wire_2025.client import Client25
from mcptasks.fixtures.gallery import (
    FAULTS,
    VARIANTS,
    Fault,
    Variant,
    server25_create_faults,
    server25_life_faults,
    server25_list_faults,
    server25_related_faults,
    server25_result_faults,
    server25_sdk_faults,
)
from mcptasks.fixtures.gallery.server25_base import EntryServer25
from mcptasks.fixtures.gallery.server_base import start_entry
from mcptasks.fixtures.server_2025.server import Call
from mcptasks.fixtures.server_2025.work import Members
from mcptasks.strategies.operations import Operation, Probe

SEEDS = range(int(os.environ.get("MCPTASKS_GALLERY_SEEDS", "0")))
REVISION = "2025-11-25"
SERVER_FAULTS = [entry for entry in FAULTS if entry.kind == "server" and entry.revision == REVISION]
SERVER_VARIANTS = [entry for entry in VARIANTS if entry.kind == "server" and entry.revision == REVISION]
_GROUPS = (
    server25_create_faults.GROUP,
    server25_life_faults.GROUP,
    server25_result_faults.GROUP,
    server25_related_faults.GROUP,
    server25_list_faults.GROUP,
    server25_sdk_faults.GROUP,
)
OURS = [entry for group in _GROUPS for entry in group.faults]
"""Those of the transport and of JSON-RPC are shown by probes, and tested with them."""
_Entry = TypeVar("_Entry", Fault, Variant)


def sampled(entries: Sequence[_Entry], every: int) -> list[_Entry]:
    return list(entries) if SEEDS else list(entries)[::every]


def name(entry: Fault | Variant) -> str:
    return entry.name


def probed(entry: Fault) -> bool:
    """Whether a probe finds it."""
    return isinstance(entry.counterexample[0], Probe)


def replayed(entry: Fault | Variant, sequence: Sequence[Operation]) -> Breach | None:
    """The first breach of a sequence on the entry's server."""

    async def run(url: str) -> Breach | None:
        spec = ServerSpec(url, other_headers=(OTHER,), settle=0.5, revision=REVISION)
        client = Client25(spec, url, limits=Limits(answer_s=4.0))
        try:
            introduction, session = await introduce25(client, spec)
            source = ServerSource25(client, introduction, spec, url, lambda text: None)
            source.opened.adopt(session)
            return await replay_on_server_25(source, sequence)
        finally:
            await client.close()

    with start_entry(entry) as server:
        return asyncio.run(run(server.url))


@pytest.mark.parametrize("entry", sampled(OURS, 5), ids=name)
def test_what_shows_a_fault_shows_it(entry: Fault) -> None:
    breach = replayed(entry, entry.counterexample)
    assert breach is not None
    assert breach.requirement == entry.requirements[0]


def test_an_early_answer_of_a_server_that_stalls_is_told_from_a_wrong_one(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = EntryServer25.get_result

    async def stalled(self: EntryServer25, call: Call) -> Members:
        time.sleep(0.1)  # nothing is served meanwhile: the suite goes on before the answer has left
        return await prompt(self, call)

    monkeypatch.setattr(EntryServer25, "get_result", stalled)
    entry = next(item for item in SERVER_FAULTS if item.name == "server25-second-waiter-ends-the-first")
    breach = replayed(entry, entry.counterexample)
    assert breach is not None
    assert breach.requirement == "tasks25.result.blocks"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrinking that no busy machine breaks off."""
    monkeypatch.setattr(Wire25Campaign, "_proof_seconds", 600.0)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "entry", sampled([entry for entry in SERVER_FAULTS if SEEDS or not probed(entry)], 45), ids=name
)
def test_a_fault_is_found_and_charged_to_what_it_breaks(entry: Fault) -> None:
    for seed in [0] if probed(entry) else SEEDS or [0]:  # probes know no seed
        with start_entry(entry) as server:
            found = findings(campaign(server.url, 1300 if SEEDS else 700, seed=seed, probes=bool(SEEDS)))
        charged = {item["requirement"] for item in found}
        assert entry.requirements[0] in charged
        assert charged <= set(entry.requirements)
        wanted = next(item for item in found if item["requirement"] == entry.requirements[0])
        assert len(wanted["operations"]) <= len(entry.counterexample) + 1
        assert wanted["curl"]


WITHOUT_TASKS = {"server25-makes-no-tasks"}
"""Of these only single probes can tell anything: a run is inconclusive."""


@pytest.mark.parametrize("entry", sampled(SERVER_VARIANTS, 20), ids=name)
def test_a_lawful_server_is_not_accused(entry: Variant) -> None:
    for seed in SEEDS or [0]:
        with start_entry(entry) as server:
            probes = bool(SEEDS) or entry.name in WITHOUT_TASKS
            messages = campaign(server.url, 1300 if SEEDS else 350, seed=seed, settle=0.5, probes=probes)
        assert findings(messages) == []
        ended = messages[-1]
        if SEEDS and ended["kind"] == "summary":  # without probes not everything is looked at
            looked = set(ended["exercised"]) | {requirement for requirement, _, _ in ended["choices"]}
            assert set(entry.requirements) <= looked
        assert ended["kind"] != "failed" or (entry.name in WITHOUT_TASKS and ended["exit_code"] == 4), ended


def test_every_entry_is_about_what_binds_such_a_server() -> None:
    bound = {item.id for item in load_catalogue().for_target("server", REVISION)}
    for entry in [*SERVER_FAULTS, *SERVER_VARIANTS]:
        assert set(entry.requirements) <= bound, entry.name
