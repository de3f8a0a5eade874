"""Bulk random sequences from a seeded plain generator: many, fast, of very different make.

Sequence ``i`` of a run depends on the seed and ``i`` alone, so any of them can be made again.  Each
draws its own make: how many tasks and keys, which operations at all and how often, how much is read
back.  Leaving operations out is what lets some sequences go deep where others go wide.  Now and
then one is *long*: hundreds of tasks in one store, old ones read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from mcptasks.conformance.engine.expand import closing_reads
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.operations import (
    Abort,
    AdvanceClock,
    Cancel,
    Complete,
    Create,
    Fail,
    Get,
    ListenerKind,
    Operation,
    Resolve,
    SetInput,
    Subscribe,
    Tamper,
    Unsubscribe,
)
from mcptasks.strategies.payloads import PayloadPool

__all__ = ["LONG_EVERY", "RandomSequences"]

LONG_EVERY: Final = 250
"""One sequence in so many is long."""

_LONG_TASKS: Final = 300

_WEIGHTS: Final[dict[str, float]] = {
    "get": 3.0,
    "set_input": 4.0,
    "resolve": 4.0,
    "cancel": 1.2,
    "complete": 1.5,
    "fail": 1.0,
    "create": 0.6,
    "tamper": 0.5,
    "subscribe": 0.5,
    "unsubscribe": 0.3,
    "abort": 0.6,
    "advance_clock": 1.0,
    "stranger": 0.5,
}
_IN_PROCESS: Final = frozenset({"tamper", "subscribe", "unsubscribe", "abort", "advance_clock"})
_LISTENER_WEIGHTS: Final[dict[str, float]] = {
    "get": 1.0,
    "set_input": 4.0,
    "resolve": 5.0,
    "subscribe": 2.0,
    "unsubscribe": 2.0,
    "create": 0.5,
    "cancel": 0.3,
}
_ROUND_WEIGHTS: Final[dict[str, float]] = {
    "get": 1.0,
    "set_input": 5.0,
    "resolve": 6.0,
    "complete": 0.2,
    "cancel": 0.2,
}
_INPUT: Final = frozenset({"set_input", "resolve", "subscribe", "unsubscribe"})
_LISTENER_KINDS: Final[tuple[ListenerKind, ...]] = ("plain", "plain", "getting", "raising")


class RandomSequences:
    """The sequences of one run.

    Args:
        seed: same seed, same sequences.
        input_requests: whether the target knows input requests and events (an adapter may not).
        well_formed: draw only payloads that are valid for their role.
        in_process: whether there are operations that only a target in this process knows.
    """

    def __init__(
        self, seed: int, *, input_requests: bool = True, well_formed: bool = False, in_process: bool = True
    ) -> None:
        self._seed = seed
        self._input = input_requests
        self._well_formed = well_formed
        self._left_out = frozenset() if in_process else _IN_PROCESS

    def sequence(self, number: int, options: StoreOptions) -> list[Operation]:
        """Sequence ``number`` for a store opened with ``options``."""
        random = Random(f"{self._seed}/{number}")
        if number % LONG_EVERY == LONG_EVERY - 1:
            return self._long(random, options)
        return _Maker(random, options, self._input, self._well_formed, self._left_out).short()

    def _long(self, random: Random, options: StoreOptions) -> list[Operation]:
        return _Maker(random, options, self._input, self._well_formed, self._left_out).long()


class _Maker:
    """Makes one sequence."""

    def __init__(
        self, random: Random, options: StoreOptions, with_input: bool, well_formed: bool, left_out: frozenset[str]
    ) -> None:
        self._random = random
        self._pool = PayloadPool(random, well_formed=well_formed)
        self._options = options
        self._keys = self._pool.keys(random.choice((1, 2, 2, 3, 4)))
        self._tasks = ["t1"]
        self._next_task = 2
        self._listeners: list[str] = []
        self._next_listener = 1
        self._asked: dict[str, list[str]] = {}
        weights = dict(_WEIGHTS)
        if not with_input:
            for name in _INPUT:
                weights.pop(name)
        if not options.clock:
            weights.pop("advance_clock")
        for name in left_out:
            weights.pop(name, None)
        # Each sequence leaves some operations out altogether.
        for name in list(weights):
            if name not in ("get", "create") and random.random() < 0.35:
                weights.pop(name)
        self._with_input = with_input
        self._left_out = left_out
        # Listeners come and go too rarely among everything else: some sequences are about them.
        self._on_listeners = with_input and "subscribe" not in left_out and random.random() < 0.2
        if self._on_listeners:
            weights = dict(_LISTENER_WEIGHTS)
        elif with_input and random.random() < 0.15:
            # Several rounds of questions on one task.
            weights = dict(_ROUND_WEIGHTS)
        self._names = list(weights)
        self._weights = [weight * random.choice((0.3, 1.0, 1.0, 3.0)) for weight in weights.values()]
        self._makers: dict[str, Callable[[], Operation | None]] = {
            "get": lambda: Get(self._task()),
            "set_input": self._set_input,
            "resolve": self._resolve,
            "cancel": lambda: Cancel(self._task()),
            "complete": lambda: Complete(self._task(), self._pool.results()),
            "fail": lambda: Fail(self._task(), self._pool.errors()),
            "create": self._create,
            "tamper": lambda: Tamper(self._task(), random.choice(("returned", "given"))),
            "subscribe": self._subscribe,
            "unsubscribe": self._unsubscribe,
            "abort": self._abort,
            "advance_clock": self._advance,
            "stranger": self._stranger,
        }

    def short(self) -> list[Operation]:
        """A sequence of a few to a few dozen operations."""
        random = self._random
        length = min(40, 2 + int(random.expovariate(1 / 8)))
        read_back = random.choice((0.0, 0.0, 0.3, 1.0))
        out: list[Operation] = []
        if self._with_input and random.random() < 0.3 and not self._left_out:
            out.append(self._subscribe())
        out.append(Create("t1"))
        for _ in range(length):
            name = random.choices(self._names, self._weights)[0]
            operation = self._makers[name]()
            if operation is None:
                continue
            out.append(operation)
            if read_back and random.random() < read_back and not isinstance(operation, Get):
                task = getattr(operation, "task", None)
                if task is not None:
                    out.append(Get(task))
        out.extend(closing_reads(out))
        return out

    def long(self) -> list[Operation]:
        """Hundreds of tasks, most of them touched once or twice, old ones read again at the end."""
        random = self._random
        out: list[Operation] = []
        names = [f"t{number}" for number in range(1, _LONG_TASKS + 1)]
        self._tasks = []
        choices = ("set_input", "resolve", "complete", "fail", "cancel", "get")
        # What a store keeps only so many of fills up where most tasks come to the same.
        favourite = random.choice(choices)
        for name in names:
            self._tasks.append(name)
            out.append(Create(name))
            for _ in range(random.randrange(3)):
                self._tasks, kept = [name] if random.random() < 0.6 else self._tasks, self._tasks
                picked = favourite if random.random() < 0.5 else random.choice(choices)
                if picked in _INPUT and not self._with_input:
                    picked = "complete"
                operation = self._makers[picked]()
                self._tasks = kept
                if operation is not None:
                    out.append(operation)
        out.extend(Get(name) for name in names)
        return out

    # --- single operations -----------------------------------------------------------------

    def _task(self) -> str:
        return self._random.choice(self._tasks)

    def _set_input(self) -> Operation:
        random = self._random
        task = self._task()
        count = random.choice((0, 1, 1, 1, 2, 3)) if random.random() < 0.9 else len(self._keys)
        keys = random.sample(self._keys, min(count, len(self._keys)))
        self._asked.setdefault(task, []).extend(keys)
        return SetInput(task, [(key, self._pool.request_bodies()) for key in keys])

    def _resolve(self) -> Operation:
        random = self._random
        task = self._task()
        asked = self._asked.get(task)
        dice = random.random()
        if asked and dice < 0.5:
            keys: Sequence[str] = [random.choice(asked)]
        elif asked and dice < 0.7:
            keys = list(dict.fromkeys(asked))
        else:
            keys = random.sample(self._keys, random.randrange(len(self._keys) + 1))
            if dice > 0.95:
                keys = [*keys, "never-asked"]
        return Resolve(task, [(key, self._pool.responses()) for key in keys])

    def _create(self) -> Operation:
        name = f"t{self._next_task}"
        self._next_task += 1
        self._tasks.append(name)
        return Create(name)

    def _subscribe(self) -> Operation:
        name = f"l{self._next_listener}"
        self._next_listener += 1
        self._listeners.append(name)
        return Subscribe(name, self._random.choice(_LISTENER_KINDS))

    def _unsubscribe(self) -> Operation | None:
        if not self._listeners:
            return None
        name = self._random.choice(self._listeners)
        self._listeners.remove(name)
        return Unsubscribe(name)

    def _abort(self) -> Operation | None:
        names = ["cancel", "complete", "fail", "get"] + (["set_input", "resolve"] if self._with_input else [])
        inner = self._makers[self._random.choice(names)]()
        if not isinstance(inner, (Get, SetInput, Resolve, Cancel, Complete, Fail)):
            return None
        return Abort(inner, self._random.choice((0, 0, 1, 1, 2, 3, 5)))

    def _advance(self) -> Operation:
        ttl = self._options.default_ttl_ms or 60_000
        ttl = max(ttl, 1000)
        steps = (
            1,
            1000,
            ttl // 3,
            ttl // 2,
            ttl - 1,
            ttl,
            ttl + 1,
            2 * ttl,
            10 * ttl,
            3_600_001,
            86_400_001,
            -1000,
            -ttl,
        )
        return AdvanceClock(self._random.choice(steps))

    def _stranger(self) -> Operation:
        """An operation on an id that was never given out."""
        random = self._random
        kept = self._tasks
        stranger = random.choice(("x1", "x2", f"{random.choice(kept)}~prefix", f"{random.choice(kept)}~suffix"))
        if random.random() < 0.2:
            stranger = f"{random.choice(kept)}~{random.choice(('case', 'space'))}"
        self._tasks = [stranger]
        names = ["cancel", "complete", "fail", "get"] + (["set_input", "resolve"] if self._with_input else [])
        operation = self._makers[random.choice(names)]()
        self._tasks = kept
        assert operation is not None
        return operation
