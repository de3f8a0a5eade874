"""Runs probes against a server, in this process and without the rest of a campaign."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.wire_server import ServerSource, introduce
from mcptasks.conformance.probes import Probe
from mcptasks.conformance.probes.phase import applicable, run_probe
from mcptasks.conformance.wire.client import Limits, WireClient
from mcptasks.conformance.wire.spec import ProfileName, ServerSpec


@dataclass
class Probed:
    """What probes have shown."""

    breaches: list[Breach] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    exercised: Counter[str] = field(default_factory=Counter)
    choices: Counter[tuple[str, str]] = field(default_factory=Counter)
    requests: int = 0

    @property
    def requirements(self) -> list[str]:
        """What was breached, in the order in which it was found."""
        return list(dict.fromkeys(breach.requirement for breach in self.breaches))


def probe(
    url: str,
    wanted: Callable[[Probe], bool] = lambda probe: True,
    answer_s: float = 4.0,
    profile: ProfileName | None = None,
    peer_url: str = "",
    dual: bool = False,
) -> Probed:
    """Run the wanted probes once each against the server at ``url``."""
    out = Probed()

    async def run() -> None:
        spec = ServerSpec(url, profile=profile, peer_url=peer_url)
        async with WireClient(spec, url, limits=Limits(answer_s=10.0)) as client:
            source = ServerSource(client, (await introduce(client, spec)).profile, spec, url, lambda text: None)
            client.limits = Limits(answer_s=answer_s)  # what has to start up may take longer
            source.opened.dual = dual
            for item in applicable(source):
                if wanted(item):
                    outcome = await run_probe(source, item, exercised=out.exercised, choices=out.choices, known=set())
                    out.breaches += outcome.breaches
                    if outcome.skipped:
                        out.skipped[item.name] = outcome.skipped
            out.requests = client.requests

    asyncio.run(run())
    return out
