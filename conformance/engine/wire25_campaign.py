"""A whole run against one server of 2025-11-25: the campaign of servers with what that revision brings of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.investigate import Confirmed
from mcptasks.conformance.engine.pursuit import Emit
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.engine.wire25_automaton import Wire25Automaton
from mcptasks.conformance.engine.wire25_interpreter import TTL_MS, Wire25Interpreter
from mcptasks.conformance.engine.wire25_plan import IDS_2025, Wire25Plan
from mcptasks.conformance.engine.wire25_server import NO_TASKS, Introduction25, ServerSource25
from mcptasks.conformance.engine.wire_campaign import WireCampaign
from mcptasks.conformance.errors import InconclusiveError, TargetUnusableError
from mcptasks.conformance.probes.probe import Probe as ProbeEntry
from mcptasks.conformance.probes_2025.phase import applicable, replay_probe, run_probe
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.conformance.wire_2025.transcript import Transcript25
from mcptasks.strategies.operations import Complete, Create, Operation, Probe

__all__ = ["Wire25Campaign", "replay_on_server_25"]


_SHORT: Final = 12
"""Operations of a sequence that can be what a session has ended for."""
_NOTES: Final = 1


def _ended(breach: Breach) -> bool:
    """Whether a session was ended by the server, which it may at any time."""
    return breach.state == "session" and breach.aspect == "lost" and breach.warning


async def replay_on_server_25(
    source: ServerSource25,
    operations: Sequence[Operation],
    *,
    known: set[str] | None = None,
    settle: float | None = None,
    beat: Beat | None = None,
    automaton: Wire25Automaton | None = None,
) -> Breach | None:
    """Run a sequence on a server with fresh tasks; the breach that ended it, or ``None``."""
    if operations and isinstance(operations[0], Probe):
        return await replay_probe(source, operations[0].name, known)
    interpreter = Wire25Interpreter(
        await source.open(),
        automaton or Wire25Automaton(),
        known=known,
        settle=source.spec.settle if settle is None else settle,
        beat=beat.words if beat else None,
    )
    return await interpreter.run(operations)


class Wire25Campaign(WireCampaign):
    """Runs the plan against one server; see :class:`.wire_campaign.WireCampaign` for the arguments."""

    def __init__(
        self, source: ServerSource25, settings: Settings, emit: Emit, beat: Beat, introduction: Introduction25
    ) -> None:
        super().__init__(cast("Any", source), settings, emit, beat, cast("Any", introduction))
        self._ended_by_itself = 0

    _entropy = "tasks25.sec.entropy"
    _run_probe = staticmethod(run_probe)
    _proof_seconds = 15.0

    def _new_automaton(self) -> Any:
        return Wire25Automaton()

    def _new_plan(self, introduction: Any) -> Any:
        return Wire25Plan(self._settings.seed, introduction.profile, self._settings.avoid)

    def _new_interpreter(self, server: Any, automaton: Any, settle: float | None) -> Any:
        return Wire25Interpreter(server, automaton, known=self.known, settle=settle, beat=self._beat.words)

    async def _replay(self, operations: Sequence[Operation], settle: float | None = None) -> Breach | None:
        return await replay_on_server_25(
            self._server, operations, known=self.known, settle=settle, beat=self._beat, automaton=self._replays
        )

    async def _probes(self) -> None:
        await super()._probes()
        if not self._introduction.declared:
            raise InconclusiveError(NO_TASKS)  # what is declared was all that there was to judge

    def _applicable(self) -> Iterable[ProbeEntry]:
        return applicable(self._server)

    def _sample_of_ids(self) -> list[Operation]:
        if self._introduction.profile.free:
            return super()._sample_of_ids()
        operations: list[Operation] = []
        for number in range(1, IDS_2025 + 1):
            name = f"t{number}"
            operations += [Create(name), Complete(name, {"n": number})]
        return operations

    async def _ends_again(self, operations: Sequence[Operation], breach: Breach) -> bool:
        """Whether a session that the server has ended ends for the same operations when it is new."""
        if breach.fingerprint in self.known:
            return True
        counts = self._server.opened.client.exercised
        await self._server.opened.leave()
        try:
            again = await self._replay(operations)
        finally:
            self._server.opened.client.exercised = counts
        if again is not None and again.fingerprint == breach.fingerprint:
            return True
        if self._ended_by_itself < _NOTES:
            self._ended_by_itself += 1
            self._note("info", "the server has ended a session by itself, as it may; the run goes on with a new one")
        return False

    async def _waited_for(self, found: Confirmed) -> Confirmed | None:
        if not _ended(found.breach):
            return await super()._waited_for(found)
        if len(found.operations) > _SHORT:
            return None
        for _ in range(2):
            await self._server.opened.leave()
            again = await super()._waited_for(found)
            if again is None:
                return None
        return found

    def _creating(self, few: Sequence[Create]) -> tuple[str, ...]:
        sent = Transcript25(self._server.url, self._server.spec.sent_headers)
        for made in few:
            params = {**self._introduction.profile.opening(made.as_, [made]), "task": {"ttl": TTL_MS}}
            sent.add("tools/call", params, creates="task")
        return sent.commands({})

    async def _breached(
        self,
        operations: Sequence[Operation],
        breach: Breach,
        options: StoreOptions,
        history: Sequence[Sequence[Operation]],
    ) -> None:
        if _ended(breach) and not await self._ends_again(operations, breach):
            return
        try:
            await super()._breached(operations, breach, options, history)
        except TargetUnusableError:
            self._last(breach, operations)
            raise

    async def _probe_breached(self, probe: ProbeEntry, breaches: Sequence[Breach]) -> None:
        try:
            await super()._probe_breached(probe, breaches)
        except TargetUnusableError:
            for breach in breaches:
                self._last(breach, [Probe(probe.name)])
            raise

    def _last(self, breach: Breach, operations: Sequence[Operation]) -> None:
        """Tell what a server did last: it is gone for good, and cannot show it again."""
        if breach.fingerprint not in self.known:
            self.known.add(breach.fingerprint)
            self._finding(Confirmed(breach, list(operations), StoreOptions(), "seen once; the server is gone since"))
