"""JSON-RPC: what is no message, no request, or a request that asks for what is not there."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()
