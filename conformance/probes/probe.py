"""What a probe is: one check on the wire that is no sequence of operations on tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Probe", "ProbeGroup", "Run"]

Run = Callable[[Any], Awaitable[None]]
"""Takes the session of its revision: :class:`.session.ProbeSession`, or that of :mod:`mcptasks.conformance.probes_2025`."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe."""

    name: str
    """Slug, unique among all probes: ``cap.undeclared-get``.  Part of fingerprints and replay files."""
    requirements: tuple[str, ...]
    """Ids of the catalogue that it can judge."""
    run: Run
    """Does it."""
    needs: frozenset[str] = frozenset()
    """What a server must offer for it: the name of a profile, such as ``control``, or what the user gave for it, such
    as ``second-caller``."""
    deadline_s: float = 30.0
    """Seconds that it may take in all."""


class ProbeGroup:
    """The probes of one module, in the order in which they stand there."""

    def __init__(self) -> None:
        self.probes: list[Probe] = []

    def probe(
        self, name: str, *requirements: str, needs: frozenset[str] = frozenset(), deadline_s: float = 30.0
    ) -> Callable[[Run], Run]:
        """Decorate a coroutine function that takes a session as a :class:`Probe`."""

        def add(run: Run) -> Run:
            self.probes.append(Probe(name, requirements, run, needs, deadline_s))
            return run

        return add
