"""Running probes of 2025-11-25: each under a deadline, in the session that the run shares or in its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.wire25_server import ServerSource25
from mcptasks.conformance.errors import SuiteError
from mcptasks.conformance.probes.conducting import conduct
from mcptasks.conformance.probes.phase import Outcome
from mcptasks.conformance.probes_2025 import ALL, Probe
from mcptasks.conformance.probes_2025.capability import WITHOUT_TASKS
from mcptasks.conformance.probes_2025.session import ProbeSession25

__all__ = ["applicable", "available", "find", "replay_probe", "run_probe"]


def find(name: str) -> Probe:
    """The probe of that name.

    Raises:
        SuiteError: there is none; a replay file may be of another version.
    """
    for probe in ALL:
        if probe.name == name:
            return probe
    raise SuiteError(f"this version has no probe '{name}' for servers of 2025-11-25")


def available(source: ServerSource25) -> frozenset[str]:
    """What probes may need and this server offers: the name of its profile, ``list``, ``cancel``, ``listen``,
    ``sessions``, ``second-caller`` and ``optional`` (the tool ``task_open_optional``)."""
    introduction = source.opened.introduction
    offers = {
        "list": introduction.lists,
        "cancel": introduction.cancels,
        "listen": introduction.listens,
        "sessions": introduction.has_sessions,
        "second-caller": source.spec.has_other,
        "optional": "task_open_optional" in introduction.supports,
    }
    return frozenset({source.opened.profile.name, *(name for name, is_so in offers.items() if is_so)})


def applicable(source: ServerSource25) -> Iterable[Probe]:
    """The probes that can run on a server, in their order."""
    offered = available(source)
    declared = source.opened.introduction.declared
    return (probe for probe in ALL if probe.needs <= offered and (declared or probe.name in WITHOUT_TASKS))


async def run_probe(
    source: ServerSource25,
    probe: Probe,
    *,
    exercised: Counter[str] | None = None,
    choices: Counter[tuple[str, str]] | None = None,
    known: set[str] | None = None,
    repeated: Counter[str] | None = None,
) -> Outcome:
    """Run a probe once; the arguments are those of :func:`mcptasks.conformance.probes.phase.run_probe`.

    Raises:
        TargetUnusableError: no session can be begun any more.
        RequestsSpentError: no request is left.
    """
    client = source.opened.client
    counts = client.exercised
    session = ProbeSession25(
        source, probe.name, exercised=Counter() if exercised is None else exercised, choices=choices, known=known
    )
    skipped = await conduct(probe.run, session, counts, probe.deadline_s, lambda problem: f"the server {problem.text}")
    if repeated is not None:
        repeated.update(session.repeated)
    return Outcome(tuple(session.breaches), skipped)


async def replay_probe(source: ServerSource25, name: str, known: set[str] | None = None) -> Breach | None:
    """Run a probe again; the first breach that it shows.

    Raises:
        SuiteError: there is none of that name.
        TargetUnusableError: no session can be begun any more.
    """
    outcome = await run_probe(source, find(name), known=known)
    return outcome.breaches[0] if outcome.breaches else None
