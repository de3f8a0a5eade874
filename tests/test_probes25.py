"""Probes of capabilities, tools, transport and JSON-RPC of 2025-11-25: the reference server, each fault, each variant."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from probe_driver25 import probe25

from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.conformance.probes_2025 import ALL, capability, jsonrpc, tools, transport
from mcptasks.conformance.probes_2025 import Probe as ProbeEntry
from mcptasks.fixtures.gallery import FAULTS, VARIANTS, Fault, Variant, fault
from mcptasks.fixtures.gallery.server_base import start_entry
from mcptasks.fixtures.server_2025 import HarnessOptions25, start_server
from mcptasks.fixtures.stores.memory_2025 import MemoryTaskStore2025
from mcptasks.strategies.operations import Probe

SEEDS = int(os.environ.get("MCPTASKS_GALLERY_SEEDS", "0"))
"""By default a sample of the variants; all of them in the tox environment ``gallery-servers``."""
GROUPS = (capability.GROUP, tools.GROUP, transport.GROUP, jsonrpc.GROUP)
OWN = {item.name: item for group in GROUPS for item in group.probes}
JUDGED = {requirement for item in OWN.values() for requirement in item.requirements} | {
    "rpc.version",
    "rpc.result-xor-error",
    "rpc.error-code",
}
FAULT_ENTRIES = [
    entry
    for entry in FAULTS
    if entry.kind == "server"
    and entry.revision == "2025-11-25"
    and isinstance(entry.counterexample[0], Probe)
    and entry.counterexample[0].name in OWN
]
VARIANT_ENTRIES = [
    entry
    for entry in VARIANTS
    if entry.kind == "server" and entry.revision == "2025-11-25" and JUDGED & set(entry.requirements)
]


def own(item: ProbeEntry) -> bool:
    return item.name in OWN


def name(entry: Fault | Variant) -> str:
    return entry.name


@pytest.fixture(scope="module")
def reference() -> Iterator[str]:
    with start_server(MemoryTaskStore2025, options=HarnessOptions25(job_delay_s=0.05)) as server:
        yield server.url


def test_the_reference_server_passes_every_probe(reference: str) -> None:
    found = probe25(reference, own)
    assert found.breaches == []
    assert found.skipped == {}
    judged = {requirement for item in ALL if own(item) for requirement in item.requirements}
    assert judged - {requirement for requirement, count in found.exercised.items() if count} == set()


@pytest.mark.parametrize("entry", FAULT_ENTRIES, ids=name)
def test_each_fault_is_named(entry: Fault) -> None:
    (shown,) = entry.counterexample
    assert isinstance(shown, Probe)
    with start_entry(entry) as server:
        found = probe25(server.url, lambda item: item.name == shown.name)
    told = {breach.requirement: breach for breach in found.breaches}
    if entry.requirements[0] in OWN[shown.name].requirements:
        assert list(told)[:1] == [entry.requirements[0]], found
        assert told[entry.requirements[0]].curl


@pytest.mark.parametrize("entry", VARIANT_ENTRIES if SEEDS else VARIANT_ENTRIES[::4], ids=name)
def test_lawful_servers_are_not_accused(entry: Variant) -> None:
    with start_entry(entry) as server:
        found = probe25(server.url, own)
    assert found.breaches == []


def test_commands_begin_every_session_that_a_probe_used() -> None:
    with start_entry(fault("server25-ended-session-goes-on")) as server:
        found = probe25(server.url, lambda item: item.name == "http.session-gone")
    curl = found.breaches[0].curl
    assert [line.split("=")[0] for line in curl if "initialize" in line and "SESSION" in line[:9]] == [
        "SESSION",
        "SESSION2",
    ]
    assert "-X DELETE" in curl[-2]
    assert all('"Mcp-Session-Id: $SESSION2"' in line for line in curl[-2:])


def test_every_probe_is_about_what_binds_a_server() -> None:
    bound = {item.id for item in load_catalogue().for_target("server", "2025-11-25")}
    assert {requirement for item in OWN.values() for requirement in item.requirements} <= bound
