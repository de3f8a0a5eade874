"""Running probes: each under a deadline, a breach believed only when it shows twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.wire_server import ServerSource
from mcptasks.conformance.errors import SuiteError, TargetUnusableError
from mcptasks.conformance.probes import ALL, Probe
from mcptasks.conformance.probes.conducting import conduct
from mcptasks.conformance.probes.session import ProbeSession
from mcptasks.conformance.wire.problems import WireProblem
from mcptasks.conformance.wire.stdio_scope import is_judged

__all__ = ["Outcome", "available", "find", "replay_probe", "run_probe"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of a probe has shown."""

    breaches: tuple[Breach, ...]
    skipped: str
    """Why it could not tell anything, or not everything; empty if it could."""


def find(name: str) -> Probe:
    """The probe of that name.

    Raises:
        SuiteError: there is none; a replay file may be of another version.
    """
    for probe in ALL:
        if probe.name == name:
            return probe
    raise SuiteError(f"this version has no probe '{name}'")


def available(source: ServerSource) -> frozenset[str]:
    """What probes may need and this server offers."""
    listens = {"listen"} if source.opened.listens else set()
    callers = {"second-caller"} if source.spec.has_other else set()
    restarts = {"restart"} if source.spec.restart_command is not None else set()
    dual = {"dual-era"} if source.opened.dual else set()
    stdio = {"stdio"} if source.opened.client.stdio is not None else set()
    replicas = {"peer"} if source.spec.peer_url else set()
    return frozenset({source.opened.profile.name, *listens, *callers, *restarts, *replicas, *stdio, *dual})


def applicable(source: ServerSource) -> Iterable[Probe]:
    """The probes that can run on a server, in their order."""
    offered = available(source)
    found = (probe for probe in ALL if probe.needs <= offered)
    if source.opened.client.stdio is None:
        return found
    return (probe for probe in found if any(map(is_judged, probe.requirements)))


async def run_probe(
    source: ServerSource,
    probe: Probe,
    *,
    exercised: Counter[str] | None = None,
    choices: Counter[tuple[str, str]] | None = None,
    known: set[str] | None = None,
    repeated: Counter[str] | None = None,
) -> Outcome:
    """Run a probe once.

    Args:
        source: the server.
        probe: what to run.
        exercised: counts of observations by requirement, added to.
        choices: counts of lawful choices, added to.
        known: fingerprints already reported: not among the breaches any more.
        repeated: how often known breaches were seen again, added to.

    Raises:
        TargetUnusableError: nothing listens any more.
        RequestsSpentError: no request is left.
    """
    client = source.opened.client
    counts = client.exercised
    session = ProbeSession(
        source, probe.name, exercised=Counter() if exercised is None else exercised, choices=choices, known=known
    )

    def broken(problem: WireProblem) -> str:
        raise TargetUnusableError(f"{client.endpoint}: {problem.line}") from problem

    skipped = await conduct(probe.run, session, counts, probe.deadline_s, broken)
    session.judge_the_rest()
    if repeated is not None:
        repeated.update(session.repeated)
    return Outcome(tuple(session.breaches), skipped)


async def replay_probe(source: ServerSource, name: str, known: set[str] | None = None) -> Breach | None:
    """Run a probe again; the first breach that it shows.

    Raises:
        SuiteError: there is none of that name.
        TargetUnusableError: nothing listens any more.
    """
    outcome = await run_probe(source, find(name), known=known)
    return outcome.breaches[0] if outcome.breaches else None
