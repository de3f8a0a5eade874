"""How many requests a client sends: never more than it may, and waiting is none."""

from __future__ import annotations

import asyncio

import pytest

from mcptasks.conformance.engine.beat import counters, seen, tick
from mcptasks.conformance.wire.allowance import Allowance
from mcptasks.conformance.wire.client import WireClient
from mcptasks.conformance.wire.problems import RequestsSpentError, WireProblem
from mcptasks.conformance.wire.spec import ServerSpec

URL = "http://127.0.0.1:9/mcp"


def test_what_is_kept_back_is_for_ends_only() -> None:
    beat = counters()
    allowance = Allowance(3, beat)
    allowance.reserve = 1
    assert allowance.spares(2)
    assert not allowance.spares(3)
    allowance.spend()
    allowance.spend()
    with pytest.raises(RequestsSpentError):
        allowance.spend()
    allowance.spend(beyond=True)
    with pytest.raises(WireProblem, match="as many requests as it may be sent"):
        allowance.spend(beyond=True)
    assert allowance.requests == beat[0] == 3
    assert not allowance.spares(0)


def test_without_a_limit_none_is_kept_back() -> None:
    allowance = Allowance(None)
    allowance.reserve = 5
    for _ in range(100):
        allowance.spend()
    assert allowance.requests == 100


def test_waiting_shows_life_and_counts_as_no_request() -> None:
    beat = counters()
    client = WireClient(ServerSpec(URL), URL, allowance=Allowance(None, beat, lambda: tick(beat)))

    async def wait() -> None:
        await client.pacer.sleep(1.1)
        await client.close()

    asyncio.run(wait())
    calls, ticks = seen(beat)
    assert (client.requests, calls) == (0, 0)
    assert ticks >= 1
