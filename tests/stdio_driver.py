"""Runs probes against a server over stdio, in this process and without the rest of a campaign."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from probe_driver import Probed

from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.wire_listening import learn_listening
from mcptasks.conformance.engine.wire_server import Introduction, ServerSource, introduce
from mcptasks.conformance.probes import Probe
from mcptasks.conformance.probes.phase import applicable, run_probe
from mcptasks.conformance.wire.client import Limits, WireClient
from mcptasks.conformance.wire.spec import ProfileName, ServerSpec
from mcptasks.conformance.wire.stdio_channel import StdioChannel
from mcptasks.conformance.wire.stdio_transport import STDIO_URL

T = TypeVar("T")


def over(
    command: str,
    work: Callable[[ServerSource, Introduction], Awaitable[T]],
    *,
    answer_s: float = 5.0,
    start_s: float = 20.0,
    profile: ProfileName | None = None,
    gently: float = 0.3,
) -> T:
    """What ``work`` gives for the server that a command starts, once it has introduced itself."""

    async def run() -> T:
        spec = ServerSpec(command=command, profile=profile)
        channel = StdioChannel(command)
        await channel.start()
        try:
            async with WireClient(spec, STDIO_URL, limits=Limits(answer_s=start_s), stdio=channel) as client:
                told = await introduce(client, spec)
                client.limits = Limits(answer_s=answer_s)
                source = ServerSource(client, told.profile, spec, STDIO_URL, lambda text: None)
                return await work(source, told)
        finally:
            await channel.close(gently)

    return asyncio.run(run())


def probe_stdio(
    command: str, wanted: Callable[[Probe], bool] = lambda probe: True, profile: ProfileName | None = None
) -> Probed:
    """Run the wanted probes once each; breaches of the introduction come first."""

    async def run(source: ServerSource, told: Introduction) -> Probed:
        out = Probed()
        out.breaches += [
            Breach(smell.requirement, method, method, "every", smell.aspect, smell.actual, smell.expected, "", 0)
            for method, smell in told.smells
        ]
        await learn_listening(source)
        for item in applicable(source):
            if wanted(item):
                outcome = await run_probe(source, item, exercised=out.exercised, choices=out.choices, known=set())
                out.breaches += outcome.breaches
                if outcome.skipped:
                    out.skipped[item.name] = outcome.skipped
        out.requests = source.opened.client.requests
        return out

    return over(command, run, profile=profile)
