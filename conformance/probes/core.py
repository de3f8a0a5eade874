"""Core protocol: _meta, versions, discovery."""

from __future__ import annotations

from typing import Final

from mcptasks.conformance.probes.probe import ProbeGroup

__all__ = ["GROUP"]

GROUP: Final = ProbeGroup()
