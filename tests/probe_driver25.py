"""Runs probes against a server of 2025-11-25, in this process and without the rest of a campaign."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from probe_driver import Probed

from mcptasks.conformance.engine.wire25_server import ServerSource25, introduce25
from mcptasks.conformance.probes_2025 import Probe
from mcptasks.conformance.probes_2025.phase import applicable, run_probe
from mcptasks.conformance.wire.client import Limits
from mcptasks.conformance.wire.spec import ServerSpec
from mcptasks.conformance.wire_2025.client import Client25


def probe25(url: str, wanted: Callable[[Probe], bool] = lambda probe: True, answer_s: float = 4.0) -> Probed:
    """Run the wanted probes once each against the server at ``url``."""
    out = Probed()

    async def run() -> None:
        spec = ServerSpec(url)
        client = Client25(spec, url, limits=Limits(answer_s=10.0))
        introduction, session = await introduce25(client, spec)
        client.limits = Limits(answer_s=answer_s)  # what has to start up may take longer
        source = ServerSource25(client, introduction, spec, url, lambda text: None)
        source.opened.adopt(session)
        try:
            for item in applicable(source):
                if wanted(item):
                    outcome = await run_probe(source, item, exercised=out.exercised, choices=out.choices, known=set())
                    out.breaches += outcome.breaches
                    if outcome.skipped:
                        out.skipped[item.name] = outcome.skipped
            out.requests = client.requests
        finally:
            await source.opened.leave()
            await client.close()

    asyncio.run(run())
    return out
