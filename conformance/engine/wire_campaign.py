"""A whole run against one server: the campaign of stores, with what is different about servers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Final

from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.campaign import Campaign
from mcptasks.conformance.engine.entropy import weakness
from mcptasks.conformance.engine.investigate import Confirmed
from mcptasks.conformance.engine.plan import Phase
from mcptasks.conformance.engine.pursuit import Emit
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.engine.watchdog import Watchdog
from mcptasks.conformance.engine.wire_automaton import WireAutomaton
from mcptasks.conformance.engine.wire_interpreter import WireInterpreter
from mcptasks.conformance.engine.wire_plan import FIXED, IDS, WIRE_FEATURES, WirePlan
from mcptasks.conformance.engine.wire_server import Introduction, ServerSource
from mcptasks.conformance.errors import ConformanceError
from mcptasks.conformance.model.states import TERMINAL
from mcptasks.conformance.probes.phase import Outcome, applicable, replay_probe, run_probe
from mcptasks.conformance.probes.probe import Probe as ProbeEntry
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.conformance.wire.problems import RequestsSpentError
from mcptasks.conformance.wire.stdio_scope import is_told
from mcptasks.conformance.wire.transcript import Transcript
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Complete, Create, Get, Operation, Probe

__all__ = ["WireCampaign", "replay_on_server"]

_HYPOTHESIS_REQUESTS: Final = 120
_PROOF_REQUESTS: Final = 1500
"""Requests that confirming and shrinking one finding may take."""
_PROBES_SHARE: Final = 0.5
"""Share of a budget of time above which no further probe is begun; of requests they take at most as many again."""
_PATIENCE: Final = 2.0
_BEYOND: Final = 4
"""Deviations behind one another in one sequence that are followed up."""
_BRIEF: Final = 0.15
"""Seconds that shrinking waits for an effect that a whole deadline has shown not to come."""
_READ_EVERY: Final = 8
"""Of the tasks whose ids are looked at, one in so many is read as soon as it is there."""

_READS: Final = frozenset({"store.get.pure", "store.get.current"})


async def replay_on_server(
    source: ServerSource,
    operations: Sequence[Operation],
    *,
    known: set[str] | None = None,
    settle: float | None = None,
    beat: Beat | None = None,
    automaton: WireAutomaton | None = None,
) -> Breach | None:
    """Run a sequence on a server with fresh tasks; the breach that ended it, or ``None``."""
    if operations and isinstance(operations[0], Probe):
        return await replay_probe(source, operations[0].name, known)
    server = await source.open()
    interpreter = WireInterpreter(
        server,
        automaton or WireAutomaton(),
        known=known,
        settle=source.spec.settle if settle is None else settle,
        beat=beat.words if beat else None,
    )
    return await interpreter.run(operations)


class WireCampaign(Campaign):
    """Runs the plan against one server.

    Args:
        source: the server.
        settings: see :class:`Settings`.
        emit: takes messages.
        beat: shared counters.
        introduction: what the server said of itself.
    """

    _hypothesis_calls = _HYPOTHESIS_REQUESTS

    def __init__(
        self, source: ServerSource, settings: Settings, emit: Emit, beat: Beat, introduction: Introduction
    ) -> None:
        super().__init__(source, settings, emit, beat, WIRE_FEATURES)  # type: ignore[arg-type]  # opened alike
        self._server: Any = source
        self._wire: Any = self._new_automaton()
        self._wire.exercised.update(source.opened.client.exercised)
        self._replays: Any = self._new_automaton()
        self.automaton = self._wire
        self.plan: Any = self._new_plan(introduction)
        self._introduction: Any = introduction
        self._commands: dict[tuple[Operation, ...], tuple[str, ...]] = {}
        """The requests of each sequence that was replayed for the finding under way, up to its breach."""

    # --- what a revision brings of its own --------------------------------------------------

    _entropy = "tasks.sec.entropy"
    _proof_seconds = inf
    _run_probe: Callable[..., Awaitable[Outcome]] = staticmethod(run_probe)

    def _new_automaton(self) -> Any:
        return WireAutomaton()

    def _new_plan(self, introduction: Any) -> Any:
        return WirePlan(self._settings.seed, introduction.profile, self._settings.avoid)

    def _new_interpreter(self, server: Any, automaton: Any, settle: float | None) -> Any:
        return WireInterpreter(server, automaton, known=self.known, settle=settle, beat=self._beat.words)

    async def _replay(self, operations: Sequence[Operation], settle: float | None = None) -> Breach | None:
        return await replay_on_server(
            self._server, operations, known=self.known, settle=settle, beat=self._beat, automaton=self._replays
        )

    def _applicable(self) -> Iterable[ProbeEntry]:
        return applicable(self._server)

    async def _probed(self, probe: ProbeEntry, *, counted: bool) -> Outcome:
        """Run a probe; what it observes counts only the first time."""
        if not counted:
            return await self._run_probe(self._server, probe, known=self.known)
        return await self._run_probe(
            self._server,
            probe,
            exercised=self._wire.exercised,
            choices=self._wire.choices,
            known=self.known,
            repeated=self.repeated,
        )

    def _sample_of_ids(self) -> list[Operation]:
        """What creates the tasks whose ids are looked at."""
        operations: list[Operation] = []
        if self._introduction.profile.free:
            for number in range(1, 11):  # each of these is at work until it is cancelled
                operations += [Create(f"t{number}"), Get(f"t{number}")]
            return operations
        for number in range(1, IDS + 1):
            name = f"t{number}"
            operations.append(Create(name))
            if number % _READ_EVERY == 1:
                operations.append(Get(name))
            operations.append(Complete(name, {"n": number}))
        # The old ones must still be there, after a hundred others.
        return operations + [Get(f"t{number}") for number in (1, 2, 3, 50)]

    def _creating(self, few: Sequence[Create]) -> tuple[str, ...]:
        """Commands that create a few tasks: they show what ids look like."""
        sent = Transcript(self._server.url, self._server.spec.sent_headers, self._server.spec.command)
        for made in few:
            sent.add("tools/call", self._introduction.profile.opening(made.as_, [made]), None, "task")
        return sent.commands({})

    # --- the run ---------------------------------------------------------------------------

    def run(self, loop: Any) -> None:
        """Work through the plan and emit the summary.

        Raises:
            ConformanceError: the server is lost, or turns out to have nothing to check.
        """
        self._opening()
        try:
            if self._settings.resume == (0, 0):
                loop.run_until_complete(self._probes())
            super().run(loop)
        except RequestsSpentError:
            self._note("info", f"stopped after --max-requests {self._server.spec.max_requests} requests")
            self._summary()
        except ConformanceError:
            self._summary()
            raise
        pacer = self._server.opened.client.pacer
        if pacer.slowed:
            self._note("info", f"the server asked {pacer.slowed} times for fewer requests (429 or 503), and got fewer")

    def _note(self, level: str, message: str) -> None:
        self._emit({"kind": "note", "level": level, "message": message})

    def _opening(self) -> None:
        """Report what was wrong with the server's introduction."""
        for method, smell in self._introduction.smells:
            if is_told(smell, self.known):
                continue
            actual = f"the answer {smell.actual}"
            name = method.partition("/")[2]
            found = Breach(
                smell.requirement,
                name,
                name,
                "every",
                smell.aspect.removeprefix("!"),
                f"{method}: {actual}",
                smell.expected,
                actual,
                0,
                soft=True,
                warning=smell.aspect.startswith("!"),
                curl=(f"# {method}, as any client sends it",),
            )
            if found.fingerprint not in self.known:
                self.known.add(found.fingerprint)
                self._driver = "exhaustive"
                self._finding(Confirmed(found, [], StoreOptions(), "whenever it is asked"))

    # --- phases ----------------------------------------------------------------------------

    async def _probes(self) -> None:
        """Run every probe that the server can be asked."""
        self._driver = "probe"
        probes = list(self._applicable())
        begun = self._beat.words[0]
        try:
            await self._run_probes(probes)
        finally:
            # They are the same few hundred requests in every run: a budget of requests is for what follows.
            self._before = self._beat.words[0]
            self._charged -= self._before - begun

    async def _run_probes(self, probes: Sequence[ProbeEntry]) -> None:
        share = 1.0 if self._settings.budget.seconds is None else _PROBES_SHARE
        for number, probe in enumerate(probes):
            if self._stopped:
                return
            if self._meter.spent >= share:
                self._note("info", f"the budget is too small for {len(probes) - number} of {len(probes)} probes")
                return
            self._beat.sequence(number)
            outcome = await self._probed(probe, counted=True)
            self.examples += 1
            if outcome.skipped:
                self._note("info", f"probe {probe.name}: {outcome.skipped}")
            await self._probe_breached(probe, outcome.breaches)
            self._progress()

    async def _probe_breached(self, probe: ProbeEntry, breaches: Sequence[Breach]) -> None:
        if not breaches:
            return
        operations = [Probe(probe.name)]
        self._emit({"kind": "suspect", **self._spelled(breaches[0], operations, StoreOptions())})
        calls = self._beat.words[0]
        again = await self._probed(probe, counted=False)
        self._beat.words[0] = calls  # what proof costs is not charged to the budget
        confirmed = {found.fingerprint for found in again.breaches}
        for breach in breaches:
            if breach.fingerprint in confirmed:
                self.known.add(breach.fingerprint)
                self._finding(Confirmed(breach, list(operations), StoreOptions(), "with fresh tasks"))
            else:
                told = f"{breach.requirement}: {breach.message}"
                self._note("warning", f"{told} (seen once and not again; not counted as a finding)")

    async def _ids(self) -> None:
        """Create tasks, read each at once, and look at how well their ids can be guessed."""
        interpreter = self._interpreter(await self._server.open())
        self._beat.sequence(0)
        operations = self._sample_of_ids()
        with self._watchdog.over(interpreter):
            breach = await interpreter.run(operations)
        self.examples += 1
        if breach is not None:
            await self._breached(operations, breach, StoreOptions(), [])
            return
        ids = [task.id for task in interpreter.tasks.values()]
        if len(ids) < 20:
            return
        self.automaton.exercised[self._entropy] += 1
        reason = weakness(ids)
        if reason is not None:
            few = [item for item in operations if isinstance(item, Create)][:3]
            found = Breach(
                self._entropy, "create", "create", "absent", "identity", f"task ids can be guessed: {reason}",
                "ids with at least 64 bits that cannot be told from earlier ones", reason, 2, soft=True,
                curl=self._creating(few),
            )  # fmt: skip
            if found.fingerprint not in self.known:
                self.known.add(found.fingerprint)
                self._finding(Confirmed(found, list(few), StoreOptions(), "on a fresh store"))

    async def _random(self, phase: Phase) -> None:
        if phase.number != FIXED:
            await super()._random(phase)
            return
        base = phase.number * 10_000_000

        def numbered() -> Iterator[tuple[int, int, list[Operation]]]:
            for number in range(len(self.plan.fixed)):
                if self._meter.spent >= phase.share:
                    return
                yield base + number, base + number, self.plan.random_sequence(base + number)

        await self._batches(numbered(), lambda _: StoreOptions(), None)

    def _interpreter(self, store: Any) -> Any:
        interpreter = self._new_interpreter(store, self._wire, self._server.spec.settle)
        interpreter.repeated = self.repeated
        return interpreter

    # --- breaches --------------------------------------------------------------------------

    async def _beyond(self, operations: Sequence[Operation], options: StoreOptions) -> None:
        """What the sequence shows behind a deviation that need not have ended it and is known now."""
        counts = self._server.opened.client.exercised
        for _ in range(_BEYOND):
            if self._stopped:
                return
            try:
                self._replays.exercised = Counter()  # the sequence was counted when it was run
                breach = await self._replay(operations)
            finally:
                self._server.opened.client.exercised = counts
            if breach is None or breach.fingerprint in self.known:
                return
            await self._breached(operations, breach, options, [])

    def _replayer(self, breach: Breach) -> Any:
        # Tasks that move by themselves are waited for, and a shorter sequence may wait for what never comes.
        brief = _BRIEF if breach.waited else _PATIENCE if self._introduction.profile.free else None
        client = self._server.opened.client
        watchdog: Watchdog = self._watchdog
        last, until = client.requests + _PROOF_REQUESTS, time.monotonic() + self._proof_seconds

        async def replay(operations: Sequence[Operation], options: StoreOptions) -> Breach | None:
            if client.requests > last or time.monotonic() > until:
                return None
            counts = client.exercised
            try:
                watchdog.touch()
                self._replays.exercised = Counter()  # what a proof observes counts for nothing
                found = await self._replay(operations, brief)
                if found is not None:
                    self._commands[tuple(operations)] = found.curl
                return found
            finally:
                client.exercised = counts

        return replay

    async def _waited_for(self, found: Confirmed) -> Confirmed | None:
        """Shrinking waits only briefly for effects; the finding has to stand with the whole deadline."""
        breach = await self._replayer(replace(found.breach, waited=False))(found.operations, found.options)
        if breach is None or breach.fingerprint != found.breach.fingerprint:
            return None
        return replace(found, breach=breach)

    async def _observe(self, operations: Sequence[Operation], options: StoreOptions) -> object:
        """An outline of what the last get of a sequence shows."""
        server = await self._server.open()
        counts = server.client.exercised
        try:
            interpreter = self._new_interpreter(server, self._new_automaton(), None)
            await interpreter.run(operations)
            last = operations[-1] if operations else None
            task = interpreter.tasks.get(last.task) if isinstance(last, Get) else None
            return None if task is None else task.outline
        finally:
            server.client.exercised = counts

    @staticmethod
    def _spelled(breach: Breach, operations: Sequence[Operation], options: StoreOptions) -> dict[str, JSON]:
        return {
            **Campaign._spelled(breach, operations, options),
            "curl": list(breach.curl),
            "soft_warning": breach.warning,
        }

    def _finding(self, found: Confirmed) -> None:
        breach = found.breach
        if breach.requirement in _READS:
            # Found by the investigator, which knows the names of stores only: a get does it.
            current = breach.requirement == "store.get.current"
            if breach.aspect == "life" or breach.state in TERMINAL or current:
                cause = "create" if current and breach.state not in TERMINAL and breach.aspect != "life" else "reread"
                requirement = self._wire.model.blame(cause, breach.state, breach.aspect, breach.state)
            else:
                requirement = "tasks.status.get-pure"
            breach = replace(breach, requirement=requirement)
            if breach.fingerprint in self.known:
                self.repeated[breach.fingerprint] += 1
                return
            self.known.add(breach.fingerprint)
        # Blaming reads more than the sequence has: its own requests are those of its own replay.
        wanted = tuple(found.operations)
        fitting = (curl for done, curl in self._commands.items() if done[: len(wanted)] == wanted)
        breach = replace(breach, curl=min(fitting, key=len, default=breach.curl))
        self._commands.clear()
        how = {
            "on a fresh store": "with fresh tasks",
            "needs the history of the store": "needs what the server was asked before",
        }.get(found.how, found.how)
        super()._finding(replace(found, breach=breach, how=how))
