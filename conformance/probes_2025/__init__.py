"""Probes of servers of 2025-11-25: checks on the wire that are no sequence of operations on tasks.

``ALL`` has them in the order in which they run.
"""

from typing import Final

from mcptasks.conformance.probes.probe import Probe, ProbeGroup
from mcptasks.conformance.probes_2025 import (
    callers,
    capability,
    creation,
    heard,
    ids,
    jsonrpc,
    lists,
    related,
    tools,
    transport,
)

__all__ = ["ALL", "Probe"]

_GROUPS: Final[tuple[ProbeGroup, ...]] = (
    capability.GROUP,
    tools.GROUP,
    creation.GROUP,
    ids.GROUP,
    related.GROUP,
    lists.GROUP,
    heard.GROUP,
    callers.GROUP,
    transport.GROUP,
    jsonrpc.GROUP,
)

ALL: Final[tuple[Probe, ...]] = tuple(probe for group in _GROUPS for probe in group.probes)
