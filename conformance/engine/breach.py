"""A deviation as the interpreter sees it, before it is confirmed, shrunk and reported."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

__all__ = ["Breach", "Reporter", "Stop"]


@dataclass(frozen=True, slots=True)
class Breach:
    """One observation that the model does not allow."""

    requirement: str
    operation: str
    """The operation it is attributed to."""
    row: str
    """That operation's row in the state table, such as ``resolve-some``."""
    state: str
    aspect: str
    message: str
    expected: str
    actual: str
    index: int
    """Position in the sequence of the operation that revealed it; the length of the sequence for the end."""
    soft: bool = False
    """The sequence can go on after it: the model still knows the task's state."""
    stale: bool = False
    """The read answered exactly what an earlier read of the task did."""
    warning: bool = False
    """Nobody fails for it, whatever the catalogue's verdict on the requirement."""
    waited: bool = False
    """It shows only after a deadline: something was awaited and did not come."""
    curl: tuple[str, ...] = ()
    """The requests that led to it, as curl commands."""

    @property
    def hangs(self) -> bool:
        """Whether it is a call that does not end: it costs its timeout every time."""
        return self.state == "any" and self.aspect == "life"

    @property
    def fingerprint(self) -> str:
        """The kind of deviation, stable over runs and seeds."""
        return f"{self.requirement}/{self.row}/{self.state}/{self.aspect}"


class Stop(Exception):
    """Ends a sequence at a breach."""

    def __init__(self, breach: Breach) -> None:
        super().__init__(breach.message)
        self.breach = breach


class Reporter:
    """The part of every interpreter that reports breaches."""

    known: set[str]
    """Fingerprints already reported: at a soft breach of such a kind the sequence goes on."""
    repeated: Counter[str]
    """How often one of them was seen again."""
    index: int
    """Position of the operation under way."""

    def breach(
        self,
        requirement: str,
        operation: str,
        row: str,
        state: str,
        aspect: str,
        message: str,
        expected: str,
        actual: str,
        *,
        soft: bool = False,
        stale: bool = False,
        warning: bool = False,
        waited: bool = False,
    ) -> None:
        """Report a breach.

        Raises:
            Stop: unless it is soft and of a known kind.
        """
        found = Breach(
            requirement,
            operation,
            row,
            state,
            aspect,
            message,
            expected,
            actual,
            self.index,
            soft=soft,
            stale=stale,
            warning=warning,
            waited=waited,
        )
        if soft and found.fingerprint in self.known:
            self.repeated[found.fingerprint] += 1
            return
        raise Stop(self._with_proof(found))

    def _with_proof(self, found: Breach) -> Breach:
        """The breach with what shows it without the suite, where there is such a thing."""
        return found
