"""The lawful variants that stand next to a check: a whole campaign exercises what they name, and accuses nobody.

By default a sample of the servers; all of them, with as many seeds, where ``MCPTASKS_GALLERY_SEEDS`` is set.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest
from test_store25_gallery import findings as findings_25
from test_store25_gallery import run as run_25
from test_store25_gallery import source_of
from wire_campaigns import campaign, findings

from mcptasks.conformance.wire.forms import same_instant
from mcptasks.fixtures.gallery import (
    Variant,
    server_answer_variants,
    server_refusal_variants,
    server_task_variants,
    store25_variants_forms,
    variant,
)
from mcptasks.fixtures.gallery.server_base import start_entry

SEEDS = range(int(os.environ.get("MCPTASKS_GALLERY_SEEDS", "0")))
SERVERS = [
    *server_task_variants.GROUP.variants,
    *server_answer_variants.GROUP.variants,
    *server_refusal_variants.GROUP.variants,
    variant("more-members"),
    variant("older-clients-are-served-too"),
]
BY_THE_RUN = {"store25.misc.call-ends"}
"""Counted by whoever follows the campaign: it is he who sees a call that does not end."""


def name(entry: Variant) -> str:
    return entry.name


@pytest.mark.parametrize("entry", SERVERS if SEEDS else SERVERS[2::18], ids=name)
def test_servers_are_looked_at_where_they_are_odd_and_not_accused(entry: Variant) -> None:
    for seed in SEEDS or [0]:
        with start_entry(entry) as server:
            messages = campaign(server.url, 1800, seed=seed)
        assert [f"{item['fingerprint']}: {item['message']}" for item in findings(messages)] == []
        summary = messages[-1]
        assert summary["kind"] == "summary", summary
        looked = set(summary["exercised"]) | {requirement for requirement, _, _ in summary["choices"]}
        assert set(entry.requirements) - looked == set()


@pytest.mark.parametrize("entry", store25_variants_forms.GROUP.variants, ids=name)
def test_stores_are_looked_at_where_they_are_odd_and_not_accused(entry: Variant) -> None:
    for seed in SEEDS or [0]:
        messages = run_25(source_of(entry.open_store), 9_000, seed, settle=2.0)
        assert [f"{item['fingerprint']}: {item['message']}" for item in findings_25(messages)] == []
        summary = messages[-1]
        looked = set(summary["exercised"]) | {requirement for requirement, _, _ in summary["choices"]}
        assert set(entry.requirements) - looked <= BY_THE_RUN


def test_times_are_the_same_where_one_was_rounded() -> None:
    precise = datetime(2026, 7, 28, 12, 0, 0, 123456, tzinfo=UTC)
    for microsecond, same in (
        (123456, True),
        (123000, True),
        (124000, True),
        (0, True),
        (123457, False),
        (125000, False),
    ):
        assert same_instant(precise, precise.replace(microsecond=microsecond)) is same
    assert not same_instant(precise, precise + timedelta(seconds=1))
