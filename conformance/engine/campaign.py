"""A whole run against one store, inside the process that holds the store.

The campaign works through the plan.  What it comes upon is followed up (:mod:`.pursuit`), and to the messages that
tell of it come ``bound`` and, last, ``summary``.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from mcptasks.conformance.engine.beat import Beat, Stage
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.budget import Meter
from mcptasks.conformance.engine.entropy import weakness
from mcptasks.conformance.engine.exhaustive import Alphabet
from mcptasks.conformance.engine.interpreter import Interpreter
from mcptasks.conformance.engine.interpreter_2025 import Interpreter25
from mcptasks.conformance.engine.investigate import Confirmed
from mcptasks.conformance.engine.plan import BATCH, Features, Phase, Plan, named
from mcptasks.conformance.engine.pursuit import Emit, Pursuit
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.targets.store import OpenStore, StoreOptions, StoreSource
from mcptasks.strategies.operations import Create, Operation, name_of

__all__ = ["Campaign"]

_Numbered = tuple[int, Any, list[Operation]]
"""A sequence with its number in the phase and its label: a word of the alphabet, or the number again."""

_SAMPLE: Final = 200
_PATH: Final = tuple(sys.path)

_EXAMPLE: Final = 15
"""What an example of Hypothesis costs at least, in calls: one that ends at its first call takes as long as any."""

_RENEWAL: Final = 20
"""What opening a store anew after a breach costs, in calls: it must not be free, or a store that fails at
once takes a thousand times as long as a sound one."""

_BROKEN_OFF: Final = 500

_HYPOTHESIS_CALLS: Final = 1000
"""Hypothesis costs a hundred times more a call than the plain generator: a taste of it, in a campaign."""


class Campaign(Pursuit):
    """Runs the plan against one store; see :class:`.pursuit.Pursuit` for the arguments."""

    _hypothesis_calls = _HYPOTHESIS_CALLS
    _unguessable = "store.create.id-unguessable"

    def __init__(self, source: StoreSource, settings: Settings, emit: Emit, beat: Beat, features: Features) -> None:
        super().__init__(source, settings, emit, beat, features)
        self.plan = Plan(settings.seed, features, settings.avoid)
        self._meter = Meter(settings.budget, lambda: beat.words[0] + self._charged, settings.spent_seconds)
        self._charged = 0
        """Calls charged to the budget for stores opened anew after a breach; less those that are not."""
        self._before = 0
        """Calls before the plan that are told of."""
        self._refused: set[StoreOptions] = set()
        """Keywords that the factory does not take, though it names them."""
        self._broken_off = 0
        """Sequences in a row that ended at a breach."""
        self._executed: dict[tuple[str, int], int] = {}
        """Sequences run of each alphabet and depth."""

    def stop(self) -> None:
        """Stop at the next opportunity; the summary is still told."""
        self._stopped = True

    def run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work through the plan and emit the summary.

        Every call to the store happens in ``loop``, which is not running between phases: Hypothesis
        drives it step by step.
        """
        self._beat.words[0] = self._settings.spent_calls + self._before
        for phase in self.plan.phases:
            if self._stopped:
                break
            if phase.number < self._settings.resume[0]:
                continue
            if self._meter.spent >= phase.share or (self._meter.spent >= 1 and phase.number):
                continue
            self._beat.phase(phase.number)
            self._driver = "random" if phase.kind in ("ids", "sweep") else phase.kind
            if phase.kind == "hypothesis":
                if self._settings.hypothesis and not self._avoid:
                    self._hypothesis(loop, phase)
            else:
                loop.run_until_complete(self._watched(phase))
        self._summary()

    async def _watched(self, phase: Phase) -> None:
        self._watchdog.start()
        try:
            if phase.kind == "exhaustive" and phase.alphabet is not None:
                await self._exhaustive(phase, phase.alphabet)
            elif phase.kind == "random":
                await self._random(phase)
            elif phase.kind == "sweep":
                await self._sweep(phase)
            else:
                await self._ids()
        finally:
            await self._watchdog.stop()

    # --- phases ----------------------------------------------------------------------------

    def _sample(self) -> int:
        """How many ids are looked at: with a small budget too few for a judgement."""
        calls = self._settings.budget.calls
        return _SAMPLE if calls is None else max(1, min(_SAMPLE, calls // 5))

    def _creation(self, name: str) -> Operation:
        return Create(name)

    async def _ids(self) -> None:
        """Create a sample of tasks and look at how well their ids can be guessed."""
        store = await self._source.open(StoreOptions())
        try:
            interpreter = self._interpreter(store)
            self._beat.sequence(0)
            operations = [self._creation(f"t{number}") for number in range(1, self._sample() + 1)]
            with self._watchdog.over(interpreter):
                breach = await interpreter.run(operations)
            self.examples += 1
            if breach is not None:
                if breach.hangs and not breach.index:
                    raise TargetUnusableError(f"{self._source.name}: creating a first task does not end")
                await self._breached(operations, breach, StoreOptions(), [])
                return
            if len(operations) < _SAMPLE // 2:
                return
            requirement = self._unguessable
            self.automaton.exercised[requirement] += 1
            reason = weakness([task.id for task in interpreter.tasks.values()])
            if reason is not None:
                found = Breach(
                    requirement, name_of(operations[0]), "create", "absent", "identity",
                    f"task ids can be guessed: {reason}",
                    "ids with at least 64 bits that cannot be told from earlier ones", reason, 2, soft=True,
                )  # fmt: skip
                if found.fingerprint not in self.known:
                    self.known.add(found.fingerprint)
                    self._finding(Confirmed(found, operations[:3], StoreOptions(), "on a fresh store"))
        finally:
            await store.close()

    async def _exhaustive(self, phase: Phase, alphabet: Alphabet) -> None:
        failed: set[tuple[int, ...]] = set()
        number = 0
        for depth in phase.depths:
            fixed = len(alphabet.prefix) + len(alphabet.closing)
            size = len(alphabet.letters) ** depth
            estimate = size // (len(alphabet.mirrors) + 1) * (fixed + depth)
            if not self._meter.fits(estimate, phase.share):
                return
            lengths = sorted({len(word) for word in failed})

            def words(depth: int = depth, lengths: Sequence[int] = tuple(lengths)) -> Iterable[_Numbered]:
                nonlocal number
                for word in alphabet.words_of(depth):
                    # Every word is counted, so that whoever knows the number alone finds the word.
                    number += 1
                    if not number & 255:
                        self._beat.tick()  # many may be passed over without a call
                    if failed and any(word[:length] in failed for length in lengths):
                        continue
                    operations = alphabet.operations(word)
                    if not self._avoid or not any(self._avoid & named(item) for item in operations):
                        yield number - 1, word, operations

            ran = await self._batches(words(), lambda _: alphabet.options, failed)
            if self._stopped:
                return
            if alphabet.options in self._refused:
                return
            self._executed[(alphabet.name, depth)] = ran
            self._bound(alphabet, depth, len(failed))

    def _bound(self, alphabet: Alphabet, depth: int, failing: int) -> None:
        """Tell that every sequence up to a depth was run: a fact for the report."""
        ran = [self._executed.get((alphabet.name, length)) for length in range(1, depth + 1)]
        executed = sum(count for count in ran if count is not None)
        total = alphabet.count(depth)
        told = f"all {total:,} sequences of up to {depth} operation{'' if depth == 1 else 's'}: {alphabet.words}"
        notes = []
        # A run that went on in a new process does not know what the last one ran of the lower depths.
        if None not in ran and executed < total:
            notes.append(f"{executed:,} run, the others equal to one of them by renaming")
        if self._avoid:
            notes.append(f"less those with {' or '.join(sorted(self._avoid))}")
        if failing:
            notes.append(f"less those that begin with one of {failing} failing ones")
        self._emit(
            {
                "kind": "bound",
                "alphabet": alphabet.name,
                "depth": depth,
                "sequences": total,
                "executed": executed,
                "statement": told + (f" ({'; '.join(notes)})" if notes else ""),
            }
        )

    async def _random(self, phase: Phase) -> None:
        first = self._settings.resume[1] if phase.number == self._settings.resume[0] else 0
        # A later stretch goes on where no earlier one can have come to.
        base = phase.number * 10_000_000

        def numbered() -> Iterable[_Numbered]:
            number = base + max(0, first - base)
            while self._meter.spent < phase.share:
                self._beat.tick()
                operations = self.plan.random_sequence(number)
                yield number, number, [item for item in operations if not self._avoid & named(item)]
                number += 1

        await self._batches(numbered(), lambda number: self.plan.options(number // BATCH), None)

    async def _sweep(self, phase: Phase) -> None:
        def numbered() -> Iterable[_Numbered]:
            for number, operations in enumerate(self.plan.sweep):
                if self._meter.spent >= phase.share:
                    return
                self._beat.tick()
                yield number, number, [item for item in operations if not self._avoid & named(item)]

        await self._batches(numbered(), lambda _: StoreOptions(), None)

    def _hypothesis(self, loop: asyncio.AbstractEventLoop, phase: Phase) -> None:
        self._beat.stage(Stage.OWN)
        sys.path += [entry for entry in _PATH if entry not in sys.path]  # a target may have cleared it
        # Imported here, because a replay or a run without it should not pay for loading Hypothesis.
        from mcptasks.conformance.engine.hypothesis_driver import drive

        async def breached(operations: Sequence[Operation], breach: Breach, options: StoreOptions) -> None:
            self._watchdog.start()
            try:
                await self._breached(operations, breach, options, [])
            finally:
                await self._watchdog.stop()

        first, before = self._beat.words[0], self.examples

        def going_on() -> bool:
            self.examples += 1
            self._progress()
            made = max(self._beat.words[0] - first, (self.examples - before) * _EXAMPLE)
            return made < self._hypothesis_calls and self._meter.spent < phase.share and not self._stopped

        drive(
            loop,
            self._source,
            self._features,
            self._settings.seed,
            make=self._interpreter,
            beat=self._beat,
            breached=breached,
            going_on=going_on,
        )
        self._beat.stage(Stage.RUNNING)

    async def _batches(
        self,
        sequences: Iterable[_Numbered],
        options_of: Callable[[Any], StoreOptions],
        failed: set[tuple[int, ...]] | None,
    ) -> int:
        """Run sequences, renewing the store now and then; how many ran."""
        store: OpenStore | None = None
        interpreter: Interpreter | Interpreter25 | None = None
        history: list[list[Operation]] = []
        opened_with: StoreOptions | None = None
        resume = self._settings.resume[1] if self._beat.words[1] == self._settings.resume[0] else 0
        ran = 0
        try:
            for number, label, operations in sequences:
                ran += 1
                if number < resume:
                    continue
                options = options_of(label)
                if interpreter is None or len(history) >= BATCH or options != opened_with:
                    if store is not None:
                        await store.close()
                    self._beat.spell(None)
                    interpreter = None
                    store = await self._opened(options)
                    if store is None:
                        continue
                    interpreter = self._interpreter(store)
                    history, opened_with = [], options
                self._beat.sequence(number)
                with self._watchdog.over(interpreter):
                    breach = await interpreter.run(operations)
                self.examples += 1
                if breach is not None:
                    if failed is not None:
                        failed.add(label)
                    await self._breached(operations, breach, options, history)
                    if breach.soft:
                        await self._beyond(operations, options)
                    interpreter = None  # past a breach nothing is known of this store
                    self._charged += _RENEWAL
                    self._broken_off += 1
                    if self._broken_off >= _BROKEN_OFF:
                        self._give_up()
                    if self._stopped:
                        break
                else:
                    self._broken_off = 0
                    history.append(operations)
                if self._stopped:
                    break
                if not self.examples & 15:
                    self._progress()
        finally:
            if store is not None:
                await store.close()
        return ran

    async def _opened(self, options: StoreOptions) -> OpenStore | None:
        """A store, or ``None`` where the factory refuses these keywords though it works without them."""
        if options in self._refused:
            return None
        try:
            return await self._source.open(options)
        except TargetUnusableError as error:
            if options == StoreOptions():
                raise
            self._refused.add(options)
            message = f"the factory refuses {options.words}: {error}; the run goes on without such stores"
            self._emit({"kind": "note", "level": "warning", "message": message})
            return None

    def _give_up(self) -> None:
        """Every sequence ends at a known deviation: nothing more is to be learned behind it."""
        self._stopped = True
        message = (
            f"the last {_BROKEN_OFF} sequences all ended at deviations that are already reported; the run stops here"
        )
        self._emit({"kind": "note", "level": "warning", "message": message})
