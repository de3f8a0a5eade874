"""Servers that speak both revisions: what the extension must not change under the earlier one."""

from __future__ import annotations

import pytest
from probe_driver import probe
from wire_campaigns import campaign, findings

from mcptasks.conformance.probes import Probe
from mcptasks.fixtures.gallery import Fault, Variant, server_eras
from mcptasks.fixtures.gallery.server_base import start_entry
from mcptasks.fixtures.server_2025 import start_both
from mcptasks.fixtures.stores.memory import MemoryTaskStore
from mcptasks.fixtures.stores.memory_2025 import MemoryTaskStore2025


def name(entry: Fault | Variant) -> str:
    return entry.name


def of_eras(item: Probe) -> bool:
    return item.name.startswith("era.")


@pytest.mark.parametrize("entry", server_eras.GROUP.faults, ids=name)
def test_a_server_that_mixes_the_revisions_is_found(entry: Fault) -> None:
    with start_entry(entry) as server:
        found = probe(server.url, of_eras, dual=True)
    assert found.requirements == list(entry.requirements)
    assert any("initialize" in line for line in found.breaches[0].curl)


@pytest.mark.parametrize("entry", server_eras.GROUP.variants, ids=name)
def test_a_server_that_keeps_them_apart_is_not_accused(entry: Variant) -> None:
    with start_entry(entry) as server:
        found = probe(server.url, of_eras, dual=True)
    assert found.breaches == []
    assert all(found.exercised[requirement] for requirement in entry.requirements)


def test_that_a_server_speaks_both_is_found_out() -> None:
    with start_both(MemoryTaskStore, MemoryTaskStore2025) as server:
        messages = campaign(server.url, 1)
    assert findings(messages) == []
    assert "dual-era" in next(item["offered"] for item in messages if item["kind"] == "probe")
