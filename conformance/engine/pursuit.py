"""What becomes of a breach: it is confirmed and shrunk on fresh stores, told once, and known from then on.

What is learned is told as messages (plain JSON objects): ``progress``, ``suspect`` (a breach, before it is
investigated), ``finding``, ``left_out`` and ``note``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from mcptasks.conformance.engine.beat import Beat
from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.formed import is_formed
from mcptasks.conformance.engine.interpreter import Interpreter
from mcptasks.conformance.engine.interpreter_2025 import Interpreter25
from mcptasks.conformance.engine.investigate import Confirmed, Investigator
from mcptasks.conformance.engine.plan import Features, same_call
from mcptasks.conformance.engine.replay import replay_once
from mcptasks.conformance.engine.revisions import automaton_for, interpreter_on
from mcptasks.conformance.engine.settings import Settings
from mcptasks.conformance.engine.watchdog import Watchdog
from mcptasks.conformance.targets.store import OpenStore, StoreOptions, StoreSource
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Operation, sequence_to_json

__all__ = ["Emit", "Pursuit"]

Emit = Callable[[dict[str, JSON]], None]

_PROGRESS_EVERY: Final = 0.25
"""Seconds."""
_MISSED_LIMIT: Final = 3
"""Times that a kind of breach may fail to show again before it is let be."""
_BEYOND: Final = 4
"""Deviations in one sequence, each behind the last, that are followed up."""


class Pursuit:
    """Follows up what a campaign comes upon.

    Args:
        source: opens stores.
        settings: see :class:`Settings`.
        emit: takes messages.
        beat: shared counters.
        features: what the target offers.
    """

    _listens = "subscribe"

    def __init__(self, source: StoreSource, settings: Settings, emit: Emit, beat: Beat, features: Features) -> None:
        self._source = source
        self._settings = settings
        self._emit = emit
        self._beat = beat
        self._features = features
        self._avoid = set(settings.avoid)
        self.automaton = automaton_for(source)
        self.known: set[str] = set(settings.known)
        self.repeated: Counter[str] = Counter()
        self.examples = 0
        self._watchdog = Watchdog(beat.words, settings.timeout)
        self._next_progress = 0.0
        self._driver = ""
        self._stopped = False
        self._missed: Counter[str] = Counter()

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
