"""Probes of capabilities, of the core protocol and of JSON-RPC: the reference server, each fault, each variant."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest
from probe_driver import probe
from wire_campaigns import campaign, findings

from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.probes import ALL, cap, core, jsonrpc, methods
from mcptasks.conformance.probes import Probe as ProbeEntry
from mcptasks.fixtures.gallery import (
    Fault,
    Variant,
    server_cap_faults,
    server_meta_faults,
    server_rpc_faults,
    server_rpc_variants,
)
from mcptasks.fixtures.gallery.server_base import start_entry
from mcptasks.fixtures.server import HarnessOptions, start_server
from mcptasks.fixtures.stores.memory import MemoryTaskStore
from mcptasks.strategies.operations import Probe

GROUPS = (cap.GROUP, core.GROUP, methods.GROUP, jsonrpc.GROUP)
OWN = {item.name for group in GROUPS for item in group.probes}
GALLERY = (server_cap_faults.GROUP, server_meta_faults.GROUP, server_rpc_faults.GROUP, server_rpc_variants.GROUP)
FAULTS = [entry for group in GALLERY for entry in group.faults]
VARIANTS = [entry for group in GALLERY for entry in group.variants]


def own(item: ProbeEntry) -> bool:
    return item.name in OWN


def name(entry: Fault | Variant) -> str:
    return entry.name


@pytest.fixture(scope="module")
def reference() -> Iterator[str]:
    with start_server(MemoryTaskStore, options=HarnessOptions(job_delay_s=0.05)) as server:
        yield server.url


def test_the_reference_server_passes_every_probe(reference: str) -> None:
    found = probe(reference, own)
    assert found.breaches == []
    assert found.skipped == {}
    judged = {requirement for item in ALL if own(item) for requirement in item.requirements}
    seen = {requirement for requirement, count in found.exercised.items() if count}
    assert judged - seen - {requirement for requirement, _ in found.choices} == set()


@pytest.mark.parametrize("options", [HarnessOptions(answers="sse"), HarnessOptions(control_tools=False)])
def test_other_forms_and_tools_pass_too(options: HarnessOptions) -> None:
    with start_server(MemoryTaskStore, options=options) as server:
        found = probe(server.url, own)
    assert found.breaches == []


def test_a_server_without_official_tools_is_asked_what_it_can_be() -> None:
    with start_server(MemoryTaskStore, options=HarnessOptions(official_tools=False)) as server:
        found = probe(server.url, own)
    assert found.breaches == []
    assert set(found.skipped) == {"cap.undeclared-input"}


@pytest.mark.parametrize("entry", FAULTS, ids=name)
def test_each_fault_is_named(entry: Fault) -> None:
    (shown,) = entry.counterexample
    assert isinstance(shown, Probe)
    with start_entry(entry) as server:
        found = probe(server.url, lambda item: item.name == shown.name)
    assert found.requirements[:1] == [entry.requirements[0]]
    assert found.breaches[0].curl


def test_requests_on_one_connection_are_told_as_such() -> None:
    entry = next(item for item in FAULTS if item.name == "connections-are-remembered")
    with start_entry(entry) as server:
        found = probe(server.url, lambda item: item.name == "cap.not-sticky")
    before, remark, shown = found.breaches[0].curl[-3:]
    assert remark.startswith("# the next request goes by the same connection")
    assert '"io.modelcontextprotocol/tasks"' in before
    assert '"io.modelcontextprotocol/tasks"' not in shown


@pytest.mark.parametrize("entry", VARIANTS, ids=name)
def test_no_variant_is_accused(entry: Variant) -> None:
    with start_entry(entry) as server:
        found = probe(server.url, own)
    assert found.breaches == []


def test_a_campaign_confirms_a_breach_and_tells_how_to_see_it() -> None:
    entry = next(item for item in FAULTS if item.name == "refused-cancel-cancels")
    with start_entry(entry) as server:
        found = findings(campaign(server.url, 400))
    (first,) = [item for item in found if item["requirement"] == "tasks.cap.cancel-undeclared"]
    assert first["driver"] == "probe"
    assert first["operations"] == [{"op": "probe", "name": "cap.undeclared-cancel"}]
    assert first["fingerprint"] == "tasks.cap.cancel-undeclared/probe/cap.undeclared-cancel/nothing-effect"
    commands = first["curl"]
    assert commands[0].startswith("T1=$(curl ")
    assert all(shlex.split(command) for command in commands)
    assert '"$T1"' in commands[-1]


def test_probe_names_and_requirements_are_in_order() -> None:
    names = [item.name for item in ALL]
    assert len(names) == len(set(names))
    known = {item.id for item in load_catalogue().for_target("server", "2026-07-28")}
    assert {requirement for item in ALL for requirement in item.requirements} <= known
