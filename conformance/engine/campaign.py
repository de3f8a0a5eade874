"""A whole run against one store, inside the process that holds the store.

The campaign works through the plan, hands breaches to the investigator, and tells what it learns as
messages (plain JSON objects): ``progress``, ``suspect`` (a breach, before it is investigated),
``finding``, ``bound``, ``note`` and, last, ``summary``.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mcptasks.conformance.engine.beat import Beat, Stage
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.budget import Budget, Meter
from mcptasks.conformance.engine.entropy import weakness
from mcptasks.conformance.engine.exhaustive import Alphabet
from mcptasks.conformance.engine.formed import is_formed
from mcptasks.conformance.engine.interpreter import Interpreter
from mcptasks.conformance.engine.interpreter_2025 import Interpreter25
from mcptasks.conformance.engine.investigate import Confirmed, Investigator
from mcptasks.conformance.engine.plan import BATCH, Features, Phase, Plan, named, same_call
from mcptasks.conformance.engine.revisions import automaton_for, interpreter_on
from mcptasks.conformance.engine.watchdog import Watchdog
from mcptasks.conformance.errors import TargetUnusableError
from mcptasks.conformance.targets.store import OpenStore, StoreOptions, StoreSource
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Create, Operation, name_of, sequence_to_json

__all__ = ["Campaign", "Settings", "replay_once"]

Emit = Callable[[dict[str, JSON]], None]

_Numbered = tuple[int, Any, list[Operation]]
"""A sequence with its number in the phase and its label: a word of the alphabet, or the number again."""

_PROGRESS_EVERY: Final = 0.25
_SAMPLE: Final = 200
_MISSED_LIMIT: Final = 3
_PATH: Final = tuple(sys.path)

_BEYOND: Final = 4
"""Deviations in one sequence, each behind the last, that are followed up."""

_EXAMPLE: Final = 15
"""What an example of Hypothesis costs at least, in calls: one that ends at its first call takes as long as any."""

_RENEWAL: Final = 20
"""What opening a store anew after a breach costs, in calls: it must not be free, or a store that fails at
once takes a thousand times as long as a sound one."""

_BROKEN_OFF: Final = 500

_HYPOTHESIS_CALLS: Final = 1000
"""Hypothesis costs a hundred times more a call than the plain generator: a taste of it, in a campaign."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a campaign is run."""

    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    timeout: float = 5.0
    """Seconds after which a call counts as never ending."""
    settle: float = 2.0
    """Seconds to wait for events that are due."""
    fail_fast: bool = False
    hypothesis: bool = True
    avoid: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    resume: tuple[int, int] = (0, 0)
    """Phase and number of the first sequence to run."""
    spent_calls: int = 0
    spent_seconds: float = 0.0


async def replay_once(
    source: StoreSource,
    operations: Sequence[Operation],
    options: StoreOptions,
    *,
    known: set[str] | None = None,
    settle: float = 2.0,
    beat: Beat | None = None,
    watchdog: Watchdog | None = None,
) -> Breach | None:
    """Run a sequence on a fresh store; the breach that ended it, or ``None``."""
    if beat is not None:
        beat.spell({"operations": sequence_to_json(operations), "options": options.to_json()})
    store = await source.open(options)
    try:
        words = beat.words if beat else None
        interpreter = interpreter_on(source, store, known=known or set(), settle=settle, beat=words)
        if watchdog is None:
            return await interpreter.run(operations)
        with watchdog.over(interpreter):
            return await interpreter.run(operations)
    finally:
        await store.close()


class Campaign:
    """Runs the plan against one store.

    Args:
        source: opens stores.
        settings: see :class:`Settings`.
        emit: takes messages.
        beat: shared counters.
        features: what the target offers.
    """

    _hypothesis_calls = _HYPOTHESIS_CALLS
    _unguessable = "store.create.id-unguessable"
    _listens = "subscribe"

    def __init__(self, source: StoreSource, settings: Settings, emit: Emit, beat: Beat, features: Features) -> None:
        self._source = source
        self._settings = settings
        self._emit = emit
        self._beat = beat
        self._features = features
        self._avoid = set(settings.avoid)
        self.plan = Plan(settings.seed, features, settings.avoid)
        self.automaton = automaton_for(source)
        self.known: set[str] = set(settings.known)
        self.repeated: Counter[str] = Counter()
        self.examples = 0
        self._watchdog = Watchdog(beat.words, settings.timeout)
        self._meter = Meter(settings.budget, lambda: beat.words[0] + self._charged, settings.spent_seconds)
        self._next_progress = 0.0
        self._driver = ""
        self._stopped = False
        self._missed: Counter[str] = Counter()
        self._charged = 0
        """Calls charged to the budget for stores opened anew after a breach."""
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
        self._beat.words[0] = self._settings.spent_calls
        number = 0
        while number < len(self.plan.phases) and not self._stopped:
            phase = self.plan.phases[number]  # the plan changes when an operation is left out
            number += 1
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

    async def _beyond(self, operations: Sequence[Operation], options: StoreOptions) -> None:
        """What the sequence shows behind a deviation that need not have ended it and is known now."""
        for _ in range(_BEYOND):
            if self._stopped:
                return
            breach = await replay_once(
                self._source, operations, options, known=self.known, settle=self._settings.settle, beat=self._beat,
                watchdog=self._watchdog,
            )  # fmt: skip
            self._beat.spell(None)
            if breach is None or breach.fingerprint in self.known:
                return
            await self._breached(operations, breach, options, [])

    def _give_up(self) -> None:
        """Every sequence ends at a known deviation: nothing more is to be learned behind it."""
        self._stopped = True
        message = (
            f"the last {_BROKEN_OFF} sequences all ended at deviations that are already reported; the run stops here"
        )
        self._emit({"kind": "note", "level": "warning", "message": message})

    def _interpreter(self, store: OpenStore) -> Interpreter | Interpreter25:
        interpreter = interpreter_on(
            self._source, store, self.automaton, known=self.known, settle=self._settings.settle, beat=self._beat.words
        )
        interpreter.repeated = self.repeated
        return interpreter

    # --- breaches --------------------------------------------------------------------------

    async def _breached(
        self,
        operations: Sequence[Operation],
        breach: Breach,
        options: StoreOptions,
        history: Sequence[Sequence[Operation]],
    ) -> None:
        if breach.fingerprint in self.known:
            self.repeated[breach.fingerprint] += 1
            return
        self._emit({"kind": "suspect", **self._spelled(breach, operations, options)})
        self._beat.investigating(True)
        calls = self._beat.words[0]
        replay = self._replayer(breach)
        try:
            found = await Investigator(replay, self._observe, self.known).investigate(
                operations, breach, options, history
            )
            if found is not None and (found.breach.aspect == "missing" or found.breach.waited):
                found = await self._waited_for(found)
        finally:
            self._beat.investigating(False)
            self._beat.words[0] = calls  # what proof costs is not charged to the budget
            self._beat.spell(None)
            self._watchdog.touch()
        if found is None:
            await self._unconfirmed(operations, breach, options, history)
            return
        # The breach as first seen is of a known kind from now on, too.
        self.known.update((found.breach.fingerprint, breach.fingerprint))
        self._finding(found)
        if found.breach.hangs:
            self._leave_out(found.breach.operation)

    def _replayer(self, breach: Breach) -> Any:
        settings = self._settings
        hanging = breach.hangs
        missing = breach.aspect == "missing" or breach.waited
        settle = min(settings.settle, 0.03) if missing else settings.settle
        watchdog = Watchdog(self._beat.words, min(settings.timeout, 1.0)) if hanging else self._watchdog

        async def replay(operations: Sequence[Operation], options: StoreOptions) -> Breach | None:
            if self._features.well_formed and not is_formed(operations):
                return None
            if hanging:
                watchdog.start()
            try:
                return await replay_once(
                    self._source,
                    operations,
                    options,
                    known=self.known,
                    settle=settle,
                    beat=self._beat,
                    watchdog=watchdog,
                )
            finally:
                if hanging:
                    await watchdog.stop()

        return replay

    async def _observe(self, operations: Sequence[Operation], options: StoreOptions) -> object:
        """An outline of what the last get of a sequence returns on a fresh store."""
        store = await self._source.open(options)
        try:
            interpreter = interpreter_on(self._source, store, known=self.known, beat=self._beat.words)
            return await interpreter.outline_of_last_read(operations)
        finally:
            await store.close()

    async def _waited_for(self, found: Confirmed) -> Confirmed | None:
        """Shrinking waits only briefly for events; the finding has to stand with the whole deadline."""
        breach = await replay_once(
            self._source,
            found.operations,
            found.options,
            known=self.known,
            settle=self._settings.settle,
            beat=self._beat,
        )
        if breach is None or breach.fingerprint != found.breach.fingerprint:
            return None
        return replace(found, breach=breach)

    async def _unconfirmed(
        self,
        operations: Sequence[Operation],
        breach: Breach,
        options: StoreOptions,
        history: Sequence[Sequence[Operation]],
    ) -> None:
        """Of a known kind after all, or not to be seen again: then it is told, and accuses nobody."""
        again = await self._replayer(breach)(list(operations), options)
        self._missed[breach.fingerprint] += 1
        if self._missed[breach.fingerprint] >= _MISSED_LIMIT:
            self.known.add(breach.fingerprint)
        if again is not None and again.fingerprint in self.known:
            self.repeated[again.fingerprint] += 1
            return
        if again is None:
            self._emit(
                {
                    "kind": "note",
                    "level": "warning",
                    "message": f"{breach.requirement}: {breach.message} (seen once after {len(history)} other sequences"
                    " on the same store, and not again; not counted as a finding)",
                }
            )

    def _leave_out(self, name: str) -> None:
        """A call that hangs costs its timeout every time: go on without it."""
        # Whoever subscribes is unsubscribed at the end of its sequence.
        names = {self._listens, "unsubscribe"} if name == "unsubscribe" else same_call(name)
        if names & {"create", "get", "create_task", "get_task"}:
            self._stopped = True
            self._emit({"kind": "note", "level": "warning", "message": f"{name} does not end: the run stops here"})
            return
        self._avoid |= names
        # The plan stays: the parent finds a sequence in it by its number.
        self._emit({"kind": "left_out", "names": sorted(names)})
        self._emit(
            {
                "kind": "note",
                "level": "warning",
                "message": f"the rest of the run goes without {' and '.join(sorted(names))}: {name} does not end",
            }
        )

    # --- messages --------------------------------------------------------------------------

    @staticmethod
    def _spelled(breach: Breach, operations: Sequence[Operation], options: StoreOptions) -> dict[str, JSON]:
        return {
            "requirement": breach.requirement,
            "message": breach.message,
            "expected": breach.expected,
            "actual": breach.actual,
            "fingerprint": breach.fingerprint,
            "operation": breach.operation,
            "state": breach.state,
            "aspect": breach.aspect,
            "operations": sequence_to_json(operations),
            "store_options": options.to_json(),
            "soft_warning": breach.warning,
        }

    def _finding(self, found: Confirmed) -> None:
        self._emit(
            {
                "kind": "finding",
                "driver": self._driver,
                "confirmed": found.how,
                **self._spelled(found.breach, found.operations, found.options),
            }
        )
        if self._settings.fail_fast:
            self._stopped = True

    def _progress(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now < self._next_progress:
            return
        self._next_progress = now + _PROGRESS_EVERY
        self.automaton.settle()
        self._emit({"kind": "progress", "driver": self._driver, **self._numbers()})

    def _numbers(self) -> dict[str, JSON]:
        exercised = self.automaton.exercised
        return {
            "operations": self._beat.words[0],
            "examples": self.examples,
            "exercised": dict(exercised),
            "choices": [[requirement, label, count] for (requirement, label), count in self.automaton.choices.items()],
            "coverage": [[name, state, count] for (name, state), count in sorted(self.automaton.coverage.items())],
            "repeated": dict(self.repeated),
        }

    def _summary(self) -> None:
        if not getattr(self._source, "closes", True) and "close" not in self._settings.avoid:
            message = "closing a store does not end, so the stores after it were not closed"
            self._emit({"kind": "note", "level": "warning", "message": message})
        self.automaton.settle()
        self._emit({"kind": "summary", **self._numbers()})
