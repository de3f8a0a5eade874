"""How much the server driver costs over the HTTP client below it: a ratio within one run.

    python benchmarks/server_driver.py [--requests 400] [--rounds 9]

Starts the reference server as a process of its own.  In each round the driver runs random sequences against it,
its requests being recorded; then a bare httpx loop sends the same requests (bodies made beforehand, answers parsed
as JSON, nothing else) over one kept-alive connection.  Prints requests a second of both and the median ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from typing import Any

import httpx

from mcptasks.conformance.engine.wire_automaton import WireAutomaton
from mcptasks.conformance.engine.wire_interpreter import WireInterpreter
from mcptasks.conformance.engine.wire_plan import WirePlan
from mcptasks.conformance.engine.wire_profiles import Control
from mcptasks.conformance.engine.wire_server import ServerSource
from mcptasks.conformance.wire.client import WireClient
from mcptasks.conformance.wire.requests import Outgoing
from mcptasks.conformance.wire.spec import ServerSpec

STORE = "mcptasks.fixtures.stores.memory:MemoryTaskStore"


class Recording(WireClient):
    """The driver's client, keeping what it sends."""

    sent: list[Outgoing]

    async def _exchange(self, outgoing: Outgoing, *, again: bool) -> Any:
        self.sent.append(outgoing)
        return await super()._exchange(outgoing, again=again)


async def drive(url: str, requests: int, seed: int) -> tuple[float, list[Outgoing]]:
    """Requests a second of the driver, and the requests."""
    spec = ServerSpec(url)
    profile = Control()
    plan = WirePlan(seed, profile)
    async with Recording(spec, url) as client:
        client.sent = []
        source = ServerSource(client, profile, spec, url, lambda text: None)
        interpreter = WireInterpreter(await source.open(), WireAutomaton(), settle=0.5)
        sequences = [plan.random_sequence(30_000_000 + number) for number in range(requests)]
        for sequence in sequences[:5]:
            await interpreter.run(sequence)
        client.sent.clear()
        started = time.perf_counter()
        for sequence in sequences[5:]:
            breach = await interpreter.run(sequence)
            assert breach is None, breach
            if len(client.sent) >= requests:
                break
        seconds = time.perf_counter() - started
        return len(client.sent) / seconds, client.sent


async def bare(url: str, sent: list[Outgoing]) -> float:
    """Requests a second of a bare loop."""
    async with httpx.AsyncClient(trust_env=False, timeout=None) as client:
        for outgoing in sent[:20]:
            await client.post(url, content=outgoing.body, headers=list(outgoing.headers))
        started = time.perf_counter()
        for outgoing in sent:
            response = await client.post(url, content=outgoing.body, headers=list(outgoing.headers))
            response.json()
        return len(sent) / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    command = [sys.executable, "-m", "mcptasks.conformance.wire.serving", STORE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        try:
            ratios = []
            for number in range(given.rounds):
                driver, sent = asyncio.run(drive(url, given.requests, number))
                loop = asyncio.run(bare(url, sent))
                ratios.append(driver / loop)
                print(f"round {number + 1}: driver {driver:.0f}/s, bare httpx {loop:.0f}/s, ratio {ratios[-1]:.2f}")
            print(f"server driver / bare httpx: {statistics.median(ratios):.2f} (median of {given.rounds} rounds)")
        finally:
            server.kill()


if __name__ == "__main__":
    main()
