"""Probes: checks on the wire that are no sequence of operations on tasks.

``ALL`` has them in the order in which they run.
"""

from typing import Final

from mcptasks.conformance.probes import (
    answers,
    asking,
    callers,
    cap,
    core,
    creation,
    eras,
    ids,
    jsonrpc,
    listen,
    methods,
    replicas,
    restarts,
    routing,
    stdio,
    transport,
)
from mcptasks.conformance.probes.probe import Probe

__all__ = ["ALL", "Probe"]

ALL: Final[tuple[Probe, ...]] = tuple(
    probe
    for module in (
        core,
        stdio,
        cap,
        methods,
        answers,
        jsonrpc,
        transport,
        routing,
        creation,
        asking,
        callers,
        listen,
        ids,
        replicas,
        restarts,
        eras,
    )
    for probe in module.GROUP.probes
)
