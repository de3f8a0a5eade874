"""Probes of subscriptions: silent on lawful servers, and each planted fault found under its own name."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from typing import Any

import pytest
from probe_driver import Probed, probe

from mcptasks.conformance.engine.wire_listening import learn_listening
from mcptasks.conformance.engine.wire_server import ServerSource, introduce
from mcptasks.conformance.probes import Probe, listen
from mcptasks.conformance.wire.client import Limits, WireClient
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.fixtures.gallery import server_listen_faults, server_listen_variants, server_notification_faults
from mcptasks.fixtures.gallery.registry import Fault, Variant
from mcptasks.fixtures.gallery.server_base import start_entry
from mcptasks.fixtures.server import HarnessOptions, start_server
from mcptasks.fixtures.server.server import Call, TaskServer
from mcptasks.fixtures.stores import MemoryTaskStore
from mcptasks.strategies import operations

OURS = {item.name for item in listen.GROUP.probes}
JUDGED = {name for item in listen.GROUP.probes for name in item.requirements}
CHOICES = {"tasks.notif.optional", "tasks.notif.no-result-type"}
FAULTS = [*server_listen_faults.GROUP.faults, *server_notification_faults.GROUP.faults]


def ours(item: Probe) -> bool:
    return item.name in OURS


def told(found: Probed) -> list[str]:
    return [f"{breach.requirement}: {breach.message} ({breach.actual})" for breach in found.breaches]


@pytest.mark.parametrize("profile", ["control", "official"])
def test_the_reference_server_passes(profile: str) -> None:
    options = HarnessOptions(control_tools=profile == "control", job_delay_s=0.05, answers="sse")
    with start_server(MemoryTaskStore, options=options) as server:
        found = probe(server.url, ours)
    assert told(found) == []
    assert found.skipped == {}
    assert {name for name in JUDGED if not found.exercised[name]} == CHOICES
    assert found.choices[("tasks.notif.optional", "notifies")] == 1
    assert found.choices[("tasks.notif.no-result-type", "without")]


@pytest.mark.parametrize("entry", server_listen_variants.GROUP.variants, ids=lambda entry: entry.name)
def test_a_lawful_variant_is_not_accused(entry: Variant) -> None:
    with start_entry(entry) as server:
        found = probe(server.url, ours)
    assert told(found) == []


@pytest.mark.parametrize("entry", FAULTS, ids=lambda entry: entry.name)
def test_a_planted_fault_is_found(entry: Fault) -> None:
    (shown,) = entry.counterexample
    assert isinstance(shown, operations.Probe)
    with start_entry(entry) as server:
        found = probe(server.url, lambda item: item.name == shown.name)
    assert found.requirements[:1] == [entry.requirements[0]]
    assert found.breaches[0].curl
    assert all(shlex.split(command) for command in found.breaches[0].curl)


def test_every_requirement_has_a_fault() -> None:
    assert JUDGED - {entry.requirements[0] for entry in FAULTS} == CHOICES


# --- whether there are subscriptions at all ----------------------------------------------------


class NeverAnswers(TaskServer):
    """Leaves a subscription without any answer."""

    async def listen(self, call: Call) -> dict[str, Any]:
        await call.wait_for_disconnect()
        return {}


def learned(url: str, answer_s: float = 10.0) -> tuple[str | None, int, Counter[str]]:
    """Why there are no subscriptions, with how many requests it was found, and what the introduction had counted."""

    async def run() -> tuple[str | None, int, Counter[str]]:
        spec = ServerSpec(url)
        async with WireClient(spec, url, limits=Limits(answer_s=10.0)) as client:
            source = ServerSource(client, (await introduce(client, spec)).profile, spec, url, lambda text: None)
            client.limits = Limits(answer_s=answer_s)
            before = client.requests
            why = await learn_listening(source)
            assert source.opened.listens is (why is None)
            return why, client.requests - before, client.exercised

    return asyncio.run(run())


def test_a_server_is_asked_once_whether_it_has_subscriptions() -> None:
    options = HarnessOptions(notifications=False)
    with start_server(MemoryTaskStore, options=options) as server:
        why, requests, counted = learned(server.url)
    assert why == "the server offers no subscriptions/listen: error -32601"
    assert requests == 1
    assert counted["core.discover.implemented"] == 1
    with start_server(MemoryTaskStore) as server:
        assert learned(server.url)[:2] == (None, 1)
    with start_server(MemoryTaskStore, make_server=NeverAnswers) as server:
        assert (
            learned(server.url, 0.5)[0] == "the server does not offer subscriptions/listen: it gave no answer in time"
        )
