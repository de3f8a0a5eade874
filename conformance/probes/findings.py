"""What a probe of either revision concludes: observations counted, breaches kept with their commands, choices noted."""

from __future__ import annotations

from collections import Counter

from mcptasks.conformance.engine.breach import Breach

__all__ = ["ProbeFindings", "ProbeOver"]


class ProbeOver(Exception):
    """Ends a probe at its breach."""


class ProbeFindings:
    """The conclusions of one run of one probe.

    Args:
        probe: the probe's name.
        exercised: counts of observations by requirement, added to.
        choices: counts of what was observed where the specification leaves a choice, added to.
        known: fingerprints already reported.
    """

    def __init__(
        self,
        probe: str,
        exercised: Counter[str],
        choices: Counter[tuple[str, str]] | None,
        known: set[str] | None,
    ) -> None:
        self.probe = probe
        self.exercised = exercised
        self.choices: Counter[tuple[str, str]] = Counter() if choices is None else choices
        self.known: set[str] = set() if known is None else known
        self.repeated: Counter[str] = Counter()
        self.breaches: list[Breach] = []
        self.skipped: dict[str, str] = {}
        """Requirements that the probe could not judge here, with the reason."""

    def commands(self) -> tuple[str, ...]:
        """Commands that show what was sent so far."""
        raise NotImplementedError

    def check(
        self,
        requirement: str,
        ok: bool,
        *,
        expected: str,
        actual: str,
        message: str,
        choice: str | None = None,
        aspect: str = "answer",
        soft: bool = False,
        warning: bool = False,
    ) -> bool:
        """Judge one observation that could have breached a requirement.

        Args:
            requirement: its id.
            ok: whether it is kept.
            expected: what is lawful.
            actual: what was seen.
            message: one sentence: what the server did that it may not.
            choice: which of several lawful ways it took, to be told in the report.
            aspect: tells apart several breaches of one requirement in one probe.
            soft: go on after a breach.
            warning: a breach only warns, whatever the catalogue's verdict.

        Returns:
            ``ok``.

        Raises:
            ProbeOver: it is breached, and ``soft`` is false.
        """
        self.exercised[requirement] += 1
        if ok:
            if choice is not None:
                self.choice(requirement, choice)
            return True
        found = Breach(
            requirement,
            "probe",
            "probe",
            self.probe,
            aspect,
            message,
            expected,
            actual,
            0,
            soft=soft,
            warning=warning,
            curl=self.commands(),
        )
        if found.fingerprint in self.known:
            self.repeated[found.fingerprint] += 1
        elif all(found.fingerprint != other.fingerprint for other in self.breaches):
            self.breaches.append(found)
        if not soft:
            raise ProbeOver(message)
        return False

    def choice(self, requirement: str, label: str) -> None:
        """Note which of several lawful ways the server took."""
        self.choices[(requirement, label)] += 1

    def skip(self, requirement: str, reason: str) -> None:
        """Note that a requirement cannot be judged here."""
        self.skipped.setdefault(requirement, reason)
