"""The gallery over the wire: planted server faults, store faults seen through a server, lawful variants.

By default a sample of each; all of them where ``MCPTASKS_GALLERY_SEEDS`` is set (tox environment
``gallery-servers``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest
from wire_campaigns import campaign, findings

from mcptasks.conformance.catalogue import load_catalogue
from mcptasks.fixtures.gallery import (
    FAULTS,
    VARIANTS,
    Fault,
    Variant,
    server_replica_faults,
    server_restart_faults,
    server_stdio,
)
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


_APART = (server_restart_faults.GROUP, server_replica_faults.GROUP, server_stdio.GROUP)
APART = {entry.name for group in _APART for entry in (*group.faults, *server_stdio.GROUP.variants)}
"""Shown only where there is a command that restarts or starts them, or a second replica: tested apart."""
OF_SERVERS = [entry for entry in FAULTS if entry.kind == "server" and entry.revision == "2026-07-28"]
SERVER_FAULTS = sampled(
    [entry for entry in OF_SERVERS if (SEEDS or not probed(entry)) and entry.name not in APART],
    11,
)
LAWFUL = [entry for entry in VARIANTS if entry.kind == "server" and entry.revision == "2026-07-28"]
SERVER_VARIANTS = sampled([entry for entry in LAWFUL if entry.name not in APART], 8)


@pytest.mark.parametrize("entry", SERVER_FAULTS, ids=name)
def test_server_faults_are_found_by_name(entry: Fault) -> None:
    for seed in [0] if probed(entry) else SEEDS or [0]:  # probes know no seed
        with start_entry(entry) as server:
            found = findings(campaign(server.url, 1500 if probed(entry) else 1300, seed=seed))
        assert entry.requirements[0] in {item["requirement"] for item in found}
        wanted = next(item for item in found if item["requirement"] == entry.requirements[0])
        assert len(wanted["operations"]) <= len(entry.counterexample) + 1
        assert wanted["curl"]


WARNED = {"cancels-are-always-acknowledged": "tasks.cancel.unknown-error"}
"""Breaches of a SHOULD by servers that keep every MUST."""


@pytest.mark.parametrize("entry", SERVER_VARIANTS, ids=name)
def test_lawful_servers_are_not_accused(entry: Variant) -> None:
    for seed in SEEDS or [0]:
        with start_entry(entry) as server:
            messages = campaign(server.url, 1300, seed=seed)
        assert [item for item in findings(messages) if item["requirement"] != WARNED.get(entry.name)] == []
        assert messages[-1]["kind"] != "failed", messages[-1]


def test_every_server_fault_is_charged_to_what_the_catalogue_binds_servers_to() -> None:
    bound = {item.id for item in load_catalogue().for_target("server", "2026-07-28")}
    for entry in [*FAULTS, *VARIANTS]:
        if entry.kind == "server" and entry.revision == "2026-07-28":
            assert set(entry.requirements) <= bound, entry.name


# --- store faults through a server ------------------------------------------------------------------

DEADLY = {entry.name for entry in FAULTS if "store.misc.call-ends" in entry.requirements}
"""They end or hang their process, which here is this one."""

UNSEEN: dict[str, tuple[str, ...]] = {
    "a wire carries copies, so nobody shares an object with a store": (
        "bodies-are-shared-with-records",
        "error-given-is-kept",
        "pending-map-is-live",
        "record-is-the-live-object",
        "requests-given-are-kept",
        "result-is-shared-with-records",
    ),
    "no listener of the suite's and no call that could be aborted": (
        "abort-leaves-the-lock",
        "abort-loses-the-task",
        "abort-tears-a-completion",
        "abort-tears-an-answer",
        "event-before-the-update",
        "event-for-an-absent-task",
        "event-on-a-cancelled-task",
        "event-on-a-failed-task-that-waited",
        "event-on-complete",
        "event-twice-for-an-unmatched-key",
        "event-twice-for-the-second-listener",
        "event-twice-when-all-is-answered",
        "listener-error-removes-it",
        "listener-error-undoes-the-answer",
        "one-listener-at-a-time",
        "only-the-first-listener-hears",
        "third-listener-hears-nothing",
        "unsubscribe-does-nothing",
        "unsubscribe-removes-all",
        "unsubscribe-removes-the-newest",
    ),
    "needs a clock or a ttl that the suite can set": (
        "cancel-raises-after-expiry",
        "ended-task-is-kept-a-minute",
        "expired-task-flickers",
        "expired-task-loses-its-result",
        "expires-an-hour-early",
        "get-raises-after-expiry",
        "gone-task-can-be-cancelled",
        "gone-task-comes-back-on-complete",
        "gone-task-comes-back-on-set",
        "no-ttl-means-an-hour",
        "ttl-is-halved",
        "ttl-is-text",
        "ttl-taken-as-microseconds",
        "waiting-task-is-abandoned",
    ),
    "lawful on the wire: cancelling is cooperative, a part of the answers may be refused, a server may refuse a task": (
        "answered-request-stays",
        "cancel-as-the-fourth-change-is-lost",
        "cancel-fails-the-task",
        "cancel-false-while-input-required",
        "cancel-only-asks",
        "create-refuses-third-live-task",
        "large-result-is-refused",
        "partial-answer-raises",
        "second-cancel-returns-true",
    ),
    "the suite never asks for this over a wire: keys are unique, and nobody asks for nothing": (
        "answered-key-comes-back-with-its-old-body",
        "answered-key-ends-the-task",
        "empty-answer-declines-one",
        "empty-set-asks-something",
        "empty-set-cancels",
        "empty-set-clears",
        "empty-set-goes-working",
        "falsy-error-is-lost",
        "falsy-result-is-lost",
        "integers-become-doubles",
        "integers-wrap-at-64-bits",
        "no-event-for-a-key-of-before",
        "result-contains-itself",
        "same-key-blends-bodies",
        "same-key-is-raised-and-dropped",
    ),
    "the harness shows no such thing: pending requests and raised errors of finished tasks, local times": (
        "answer-empties-pending-of-an-ended-task",
        "answer-raises-on-a-failed-task",
        "complete-raises-on-an-ended-task",
        "end-asks-for-an-acknowledgement",
        "end-keeps-some-requests",
        "fail-raises-on-a-completed-task",
        "no-poll-interval",
        "set-adds-to-a-completed-task",
        "set-raises-on-a-failed-task",
    ),
    "the wire's rules on times are looser: any offset, a second of rounding, no rule on when lastUpdatedAt moves": (
        "created-an-hour-ahead",
        "get-counts-as-an-update",
        "meta-is-removed",
        "times-are-naive",
        "updated-at-ignores-set",
        "updated-at-loses-its-zone",
        "updated-at-never-moves",
        "updated-before-created",
    ),
    "its first task cannot be told: the run is inconclusive": ("create-returns-bare-id", "id-is-empty"),
}
NOT_SEEN = {name for names in UNSEEN.values() for name in names}
STORE_FAULTS = [
    entry
    for entry in FAULTS
    if entry.kind == "store" and entry.revision == "2026-07-28" and entry.name not in NOT_SEEN | DEADLY
]
MANY = {"ids-repeat-after-256": 3000}
"""Faults that show after many tasks."""


@pytest.mark.parametrize("entry", sampled(STORE_FAULTS, 30), ids=name)
def test_store_faults_that_the_wire_shows_are_found_there(entry: Fault) -> None:
    with start_entry(entry) as server:
        found = findings(campaign(server.url, MANY.get(entry.name, 1500), settle=0.1, probes=False))
    assert found, entry.summary


def test_every_fault_that_is_not_looked_for_is_in_the_gallery() -> None:
    assert {entry.name for entry in FAULTS} >= NOT_SEEN
