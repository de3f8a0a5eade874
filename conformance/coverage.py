"""Which requirements have a proof that their check works: a planted fault that it must find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcptasks.conformance.engine.plan import Features
from mcptasks.conformance.runner.account import RunOptions, offered, selected
from mcptasks.conformance.runner.verdicts import Learned, results
from mcptasks.fixtures.gallery import FAULTS, VARIANTS
from mcptasks.strategies.json_values import JSON

__all__ = ["Coverage", "store_coverage"]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The requirements on one kind of target, sorted by what proves their check."""

    revision: str
    implemented: Mapping[str, tuple[str, ...]]
    """Ids with the names of the faults that break them."""
    excluded: Mapping[str, str]
    """Ids that no fault can or need prove, with the reason."""
    missing: tuple[str, ...]
    """Ids that should have a fault and have none."""

    @property
    def total(self) -> int:
        """How many requirements there are."""
        return len(self.implemented) + len(self.excluded) + len(self.missing)

    def to_json(self) -> dict[str, JSON]:
        """The form for scripts."""
        return {
            "revision": self.revision,
            "implemented": {name: list(faults) for name, faults in self.implemented.items()},
            "excluded": dict(self.excluded),
            "missing": list(self.missing),
        }


def store_coverage() -> Coverage:
    """The coverage of the requirements on a store of revision 2026-07-28."""
    requirements = selected(RunOptions())
    faults: dict[str, tuple[str, ...]] = {}
    for entry in FAULTS:
        if entry.kind == "store" and entry.revision == "2026-07-28":
            for name in entry.requirements:
                faults[name] = (*faults.get(name, ()), entry.name)
    everything = Learned(offered=offered(Features(clock=True, ttl=True)))
    unreached = {result.id: result.reason for result in results(requirements, everything, [])}
    implemented: dict[str, tuple[str, ...]] = {}
    excluded: dict[str, str] = {}
    missing: list[str] = []
    for requirement in requirements:
        if requirement.id in faults:
            implemented[requirement.id] = faults[requirement.id]
        elif requirement.missing(everything.offered):
            excluded[requirement.id] = unreached[requirement.id]
        elif requirement.verdict == "accept":
            variants = sum(requirement.id in entry.requirements for entry in VARIANTS)
            excluded[requirement.id] = f"every choice is lawful; {variants or 'no'} variants take one"
        else:
            missing.append(requirement.id)
    return Coverage("2026-07-28", implemented, excluded, tuple(missing))
