"""From a breach in some sequence to a finding: confirm it, attribute it, shrink it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.expand import closing_reads, with_reads, without_inner_reads
from mcptasks.conformance.engine.shrink import Shrinker, one_step_simpler, shortest
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.operations import Get, Operation, Subscribe, Tamper

__all__ = ["Confirmed", "Investigator", "Replay"]


class Replay(Protocol):
    """Runs a sequence on a fresh store."""

    async def __call__(self, operations: Sequence[Operation], options: StoreOptions) -> Breach | None:
        """The breach that ended it, or ``None``."""


_LONG: Final = 400
"""Operations above which a sequence is not shrunk with all its reads."""

_DEAR: Final = 60
_NOT_OF_READS: Final = ("store.get.", "store.ttl.", "store.create.independent", "store25.", "tasks.update.", "tasks25.")
"""Requirements whose breaches are not a read's doing: on a wire reads are how the suite learns which keys are taken."""

Observe = Callable[[Sequence[Operation], StoreOptions], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A breach that a fresh store shows again, with its shortest sequence."""

    breach: Breach
    operations: list[Operation]
    options: StoreOptions
    how: str
    """``on a fresh store`` or ``needs the history of the store``."""


class Investigator:
    """Confirms and shrinks breaches.

    Args:
        replay: runs a sequence on a fresh store.
        observe: runs a sequence on a fresh store and gives an outline of what its last get returned.
        known: fingerprints already reported; a candidate that slips to one of these does not count.
    """

    def __init__(self, replay: Replay, observe: Observe, known: set[str]) -> None:
        self._replay = replay
        self._observe = observe
        self._known = known

    async def investigate(
        self,
        operations: Sequence[Operation],
        breach: Breach,
        options: StoreOptions,
        history: Sequence[Sequence[Operation]] = (),
    ) -> Confirmed | None:
        """The finding behind a breach, or ``None`` if it is of a known kind or never shows again.

        Args:
            operations: the sequence that showed it.
            breach: what it showed.
            options: how the store was opened.
            history: the sequences that the same store had run before.
        """
        how = "on a fresh store"
        sequence = list(operations)
        again = await self._replay(sequence, options)
        if again is None:
            if not history:
                again = await self._replay(sequence, options)
                if again is None:
                    return None
            else:
                sequence = _joined([*history, operations])
                again = await self._replay(sequence, options)
                if again is None:
                    return None
                how = "needs the history of the store"
        breach = again
        if how == "on a fresh store" and breach.state != "any":
            sequence, breach = await self._with_reads(sequence, breach, options)
        if breach.fingerprint in self._known:
            return None
        target = breach

        async def test(candidate: Sequence[Operation]) -> Breach | None:
            found = await self._attributed(candidate, options, target.fingerprint)
            return found if found is not None and self._alike(found, target) else None

        hanging = breach.hangs
        if hanging:
            sequence, breach = await self._shortest_hang(sequence, breach, options)
        budget = 6 if hanging else 3000 if history else 1500
        shrunk, found = await Shrinker(test, budget).shrink(sequence, breach)
        if not hanging:
            shrunk, found = await self._showing(shrunk, found, options)
        if not hanging and await self._is_known(shrunk, found, options):
            return None
        if how == "on a fresh store":
            found = await self._blame_reads(shrunk, found, options)
            if found.fingerprint in self._known:
                return None
        if how != "on a fresh store" and len(shrunk) <= 12 and await self._replay(shrunk, options) is not None:
            how = "on a fresh store"
        return Confirmed(found, shrunk, options, how)

    async def _showing(
        self, shrunk: list[Operation], found: Breach, options: StoreOptions
    ) -> tuple[list[Operation], Breach]:
        """The sequence with the read that shows what it is blamed for: a replay must show the same."""
        again = await self._replay(shrunk, options)
        if again is not None and again.requirement == found.requirement:
            return shrunk, again
        expanded = with_reads(shrunk[: found.index + 1])
        earlier = await self._replay(expanded, options)
        if earlier is None or earlier.fingerprint != found.fingerprint:
            return shrunk, found

        async def same(candidate: Sequence[Operation]) -> Breach | None:
            breach = await self._replay(candidate, options)
            return breach if breach is not None and breach.fingerprint == found.fingerprint else None

        return await Shrinker(same, 600).shrink(expanded, earlier)

    async def _attributed(
        self, candidate: Sequence[Operation], options: StoreOptions, sought: str = ""
    ) -> Breach | None:
        """The breach that a candidate shows, blamed on the operation after which a read shows it first.

        Args:
            sought: fingerprint at which a long candidate is taken at its word: reading after each of its calls costs
                many times what the candidate does.
        """
        found = await self._replay(candidate, options)
        if found is None or found.state == "any" or (len(candidate) > _DEAR and found.fingerprint == sought):
            return found
        earlier = await self._replay(with_reads(candidate[: found.index + 1]), options)
        if earlier is None or earlier.soft or earlier.state == "any":
            return found
        return replace(earlier, index=found.index)

    async def _is_known(self, shrunk: list[Operation], found: Breach, options: StoreOptions) -> bool:
        """Whether something simpler shows the same deviation, already known under another name.

        A resolve that is wrong anyway is also wrong while a raising listener is subscribed: that is no
        second fault.
        """
        events = found.requirement.startswith("store.event.")
        candidates = list(one_step_simpler(shrunk))
        if events:
            quiet = [Subscribe(item.as_) if isinstance(item, Subscribe) else item for item in shrunk]
            candidates.insert(0, [*quiet, *closing_reads(shrunk)])
        for candidate in candidates:
            other = await self._attributed(candidate, options)
            if other is None or other.fingerprint not in self._known:
                continue
            # What a listener sees is wrong in another aspect than what a read shows of the same fault.
            if other.aspect == found.aspect or (events and not other.requirement.startswith("store.event.")):
                return True
        return False

    async def _shortest_hang(
        self, sequence: list[Operation], breach: Breach, options: StoreOptions
    ) -> tuple[list[Operation], Breach]:
        """Try first what is shortest for almost every hang: the call alone, on a new task."""
        for candidate in shortest(sequence[: breach.index + 1]):
            found = await self._replay(candidate, options)
            if found is not None and found.fingerprint == breach.fingerprint:
                return candidate, found
        return sequence, breach

    def _alike(self, found: Breach, target: Breach) -> bool:
        if found.requirement == target.requirement:
            # A failure must not shrink to what is only a warning of the same requirement.
            return found.warning == target.warning
        # The same deviation may be attributed to another operation once the sequence is shorter; the
        # shorter one is right.
        return found.aspect == target.aspect and found.soft == target.soft and found.fingerprint not in self._known

    async def _with_reads(
        self, sequence: list[Operation], breach: Breach, options: StoreOptions
    ) -> tuple[list[Operation], Breach]:
        """Read after every call, so that the first wrong one is seen at once."""
        expanded = with_reads(sequence[: breach.index + 1])
        found = await self._replay(expanded, options)
        if found is None or not self._related(found, breach):
            return sequence, breach
        if len(expanded) > _LONG:
            # It is known now what to look for; thousands of reads would only have to be deleted again.
            return sequence[: breach.index + 1], replace(found, index=breach.index)
        return expanded, found

    def _related(self, found: Breach, breach: Breach) -> bool:
        """Whether reading earlier shows the same deviation earlier, rather than another one."""
        return found.requirement == breach.requirement or not found.soft

    async def _blame_reads(self, shrunk: list[Operation], breach: Breach, options: StoreOptions) -> Breach:
        """A deviation that goes away without the reads before it is the doing of a read."""
        inner = [operation for operation in shrunk[:-1] if isinstance(operation, Get)]
        read = breach.aspect in (
            "status",
            "payload",
            "stray",
            "pending-missing",
            "pending-extra",
            "pending-body",
            "life",
        )
        if not inner or not read or any(isinstance(operation, Tamper) for operation in shrunk):
            return breach
        if breach.requirement.startswith(_NOT_OF_READS):
            return breach
        plain = without_inner_reads(shrunk)
        if await self._replay(plain, options) is not None:
            return breach
        # Where the contract is open a read only settles which way the target went: then the last read
        # shows the same with and without it, and reading is not to blame.
        if await self._observe(plain, options) == await self._observe(shrunk, options):
            return breach
        requirement = "store.get.current" if breach.stale else "store.get.pure"
        told = "answers what it answered before" if breach.stale else "changes the task"
        return Breach(
            requirement,
            "get",
            "get",
            breach.state,
            breach.aspect,
            f"a get {told}: without the earlier get, {breach.operation} does what it must",
            breach.expected,
            breach.actual,
            breach.index,
            soft=breach.soft,
            stale=breach.stale,
        )


def _joined(sequences: Sequence[Sequence[Operation]]) -> list[Operation]:
    """Several sequences as one, their tasks and listeners kept apart by name."""
    from mcptasks.conformance.engine.renaming import prefixed

    out: list[Operation] = []
    for number, sequence in enumerate(sequences):
        out.extend(prefixed(sequence, f"s{number}."))
    return out
