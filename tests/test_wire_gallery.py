"""The gallery over the wire: planted server faults, store faults seen through a server, lawful variants.

By default a sample of each; all of them where ``MCPTASKS_GALLERY_SEEDS`` is set (tox environment ``gallery``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest
from wire_campaigns import campaign, findings

from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.fixtures.gallery import FAULTS, VARIANTS, Fault, Variant
from mcptasks.fixtures.gallery.server_base import start_entry
from mcptasks.strategies.operations import Probe

SEEDS = range(int(os.environ.get("MCPTASKS_GALLERY_SEEDS", "0")))
_Entry = TypeVar("_Entry", Fault, Variant)


def sampled(entries: Sequence[_Entry], every: int) -> list[_Entry]:
    return list(entries) if SEEDS else list(entries)[::every]


def name(entry: Fault | Variant) -> str:
    return entry.name


def probed(entry: Fault) -> bool:
    """Whether a probe finds it: then it is tested with the probes, and here only where everything is."""
    return isinstance(entry.counterexample[0], Probe) if entry.counterexample else False


SERVER_FAULTS = sampled([entry for entry in FAULTS if entry.kind == "server" and (SEEDS or not probed(entry))], 11)
SERVER_VARIANTS = sampled([entry for entry in VARIANTS if entry.kind == "server"], 5)


@pytest.mark.parametrize("entry", SERVER_FAULTS, ids=name)
def test_server_faults_are_found_by_name(entry: Fault) -> None:
    for seed in SEEDS or [0]:
        with start_entry(entry) as server:
            found = findings(campaign(server.url, 1500 if probed(entry) else 700, seed=seed))
        assert entry.requirements[0] in {item["requirement"] for item in found}
        wanted = next(item for item in found if item["requirement"] == entry.requirements[0])
        assert len(wanted["operations"]) <= len(entry.counterexample) + 1
        assert wanted["curl"]


@pytest.mark.parametrize("entry", SERVER_VARIANTS, ids=name)
def test_lawful_servers_are_not_accused(entry: Variant) -> None:
    for seed in SEEDS or [0]:
        with start_entry(entry) as server:
            messages = campaign(server.url, seed=seed)
        assert findings(messages) == []
        assert messages[-1]["kind"] != "failed", messages[-1]


def test_every_server_fault_is_charged_to_what_the_catalogue_binds_servers_to() -> None:
    bound = {item.id for item in load_catalogue().for_target("server", "2026-07-28")}
    for entry in [*FAULTS, *VARIANTS]:
        if entry.kind == "server":
            assert set(entry.requirements) <= bound, entry.name
