"""A second replica of a deployment (``--peer-url``)."""

from __future__ import annotations

import pytest
from probe_driver import probe

from mcptasks.conformance import check_server
from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.probes import Probe
from mcptasks.fixtures.gallery import Fault, Variant, server_replica_faults
from mcptasks.fixtures.gallery.server_base import start_entry
from mcptasks.fixtures.server import start_server
from mcptasks.fixtures.stores import MemoryTaskStore

ENTRIES: list[Fault | Variant] = [*server_replica_faults.GROUP.faults, *server_replica_faults.GROUP.variants]
CONSISTENT = "tasks.create.consistency"


def replicas(item: Probe) -> bool:
    return item.name.startswith("replicas.")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_task_must_be_found_on_the_second_replica_at_once(entry: Fault | Variant) -> None:
    with start_entry(entry) as server:
        peer = server.url + server_replica_faults.REPLICA_PATH
        found = probe(server.url, replicas, peer_url=peer)
    assert found.exercised[CONSISTENT]
    assert not found.skipped
    assert found.requirements == ([] if isinstance(entry, Variant) else [CONSISTENT])
    assert all(any(server_replica_faults.REPLICA_PATH in line for line in item.curl) for item in found.breaches)


def test_another_server_is_no_replica() -> None:
    with start_server(MemoryTaskStore) as server, start_server(MemoryTaskStore) as other:
        found = probe(server.url, replicas, peer_url=other.url)
    assert found.requirements == [CONSISTENT]


def test_without_one_it_is_not_applicable() -> None:
    with start_server(MemoryTaskStore) as server:
        report = check_server(server.url, budget=250, select=(CONSISTENT,))
    (found,) = report.requirements
    assert found.verdict == "not_applicable"
    assert "--peer-url" in found.reason
    with pytest.raises(UsageError, match="no http"):
        check_server("http://127.0.0.1:9/mcp", peer_url="ftp://x")
