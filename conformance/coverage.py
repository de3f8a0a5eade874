"""Which requirements have a proof that their check works: a planted fault that it must find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from mcptasks.conformance.catalogue import NEEDS, Need, Requirement
from mcptasks.conformance.catalogue.unjudged import NOT_OF_2025, UNJUDGED
from mcptasks.conformance.engine.plan import Features
from mcptasks.conformance.runner.account import RunOptions, offered, selected
from mcptasks.conformance.runner.verdicts import Learned, results
from mcptasks.fixtures.gallery import FAULTS, VARIANTS
from mcptasks.strategies.json_values import JSON

__all__ = ["Coverage", "server_coverage", "store_coverage"]

_NO_SERVER: Final[Mapping[Need, str]] = {
    "clock": "a server's clock cannot be driven from outside",
    "client": NEEDS["client"],
}
"""Needs that no server meets, with the reason; what needs something else has a fault, or lacks one."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The requirements on one kind of target, sorted by what proves their check."""

    kind: Literal["store", "server"]
    revision: str
    implemented: Mapping[str, tuple[str, ...]]
    """Ids with the names of the faults that break them."""
    excluded: Mapping[str, str]
    """Ids that no fault can or need prove, with the reason."""
    missing: tuple[str, ...]
    """Ids that should have a fault and have none."""
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids with the names of the lawful variants that a hasty check would accuse of breaking them."""

    @property
    def total(self) -> int:
        """How many requirements there are."""
        return len(self.implemented) + len(self.excluded) + len(self.missing)

    def to_json(self) -> dict[str, JSON]:
        """The form for scripts."""
        return {
            "kind": self.kind,
            "revision": self.revision,
            "implemented": {name: list(faults) for name, faults in self.implemented.items()},
            "variants": {name: list(variants) for name, variants in self.variants.items()},
            "excluded": dict(self.excluded),
            "missing": list(self.missing),
        }


def _entries(
    kind: Literal["store", "server"], revision: str = "2026-07-28"
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """The gallery's faults and variants by requirement.

    Of a fault on a server only the first requirement counts, the one that its finding must name: whether the others
    are found as well is proved by no test.
    """
    faults: dict[str, tuple[str, ...]] = {}
    variants: dict[str, tuple[str, ...]] = {}
    for fault in FAULTS:
        if fault.kind == kind and fault.revision == revision:
            for name in fault.requirements if kind == "store" else fault.requirements[:1]:
                faults[name] = (*faults.get(name, ()), fault.name)
    for variant in VARIANTS:
        if variant.kind == kind and variant.revision == revision:
            for name in variant.requirements:
                variants[name] = (*variants.get(name, ()), variant.name)
    return faults, variants


def _accepted(requirement: Requirement, variants: Mapping[str, tuple[str, ...]]) -> str | None:
    if requirement.verdict != "accept":
        return None
    return f"every choice is lawful; {len(variants.get(requirement.id, ())) or 'no'} variants take one"


def store_coverage(revision: str = "2026-07-28") -> Coverage:
    """The coverage of the requirements on a store of a revision."""
    requirements = selected(RunOptions(), "store", revision)
    faults, variants = _entries("store", revision)
    features = Features(clock=True, ttl=True)
    if revision == "2025-11-25":
        features = Features(
            clock=True, ttl=True, input_requests=False, asynchronous=False,
            revision=revision, wait=True, statuses=True, pages=True,
        )  # fmt: skip
    everything = Learned(opened=True, offered=offered(features))
    unreached = {result.id: result.reason for result in results(requirements, everything, [])}
    implemented: dict[str, tuple[str, ...]] = {}
    excluded: dict[str, str] = {}
    missing: list[str] = []
    for requirement in requirements:
        accepted = _accepted(requirement, variants)
        if requirement.id in faults:
            implemented[requirement.id] = faults[requirement.id]
        elif requirement.missing(everything.offered):
            excluded[requirement.id] = unreached[requirement.id]
        elif accepted is not None:
            excluded[requirement.id] = accepted
        else:
            missing.append(requirement.id)
    return Coverage("store", revision, implemented, excluded, tuple(missing), variants)


def server_coverage(revision: str = "2026-07-28") -> Coverage:
    """The coverage of the requirements on a server of a revision."""
    faults, variants = _entries("server", revision)
    unjudged = {**UNJUDGED, **(NOT_OF_2025 if revision == "2025-11-25" else {})}
    implemented: dict[str, tuple[str, ...]] = {}
    excluded: dict[str, str] = {}
    missing: list[str] = []
    for requirement in selected(RunOptions(), "server", revision):
        accepted = _accepted(requirement, variants)
        never = next((_NO_SERVER[need] for need in requirement.needs if need in _NO_SERVER), None)
        if requirement.id in faults:
            implemented[requirement.id] = faults[requirement.id]
        elif requirement.id in unjudged:
            excluded[requirement.id] = unjudged[requirement.id]
        elif requirement.verdict == "none":
            excluded[requirement.id] = f"cannot be observed: {requirement.observable.why}"
        elif never is not None:
            excluded[requirement.id] = never
        elif accepted is not None:
            excluded[requirement.id] = accepted
        else:
            missing.append(requirement.id)
    return Coverage("server", revision, implemented, excluded, tuple(missing), variants)
