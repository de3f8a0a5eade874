"""Random sequences for 2025-11-25 stores, from a seeded plain generator.

Sequence ``i`` of a run depends on the seed and ``i`` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from mcptasks.conformance.engine.expand import closing_reads
from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.operations import AdvanceClock, Operation, Tamper, Unsubscribe
from mcptasks.strategies.operations_2025 import (
    OWN,
    STATUSES,
    AwaitResult,
    BadCursor,
    CreateTask,
    FinalStatus,
    ForeignCursor,
    GetResult,
    GetTask,
    ListTasks,
    OnStatus,
    StoreResult,
    UpdateStatus,
)
from mcptasks.strategies.payloads import PayloadPool

__all__ = ["RandomSequences25"]

_WEIGHTS: Final[dict[str, float]] = {
    "get": 3.0,
    "get_result": 2.0,
    "update": 4.0,
    "store": 2.0,
    "create": 1.0,
    "list": 0.8,
    "cursor": 0.2,
    "foreign": 0.8,
    "stranger": 0.3,
    "wait": 0.5,
    "listen": 0.4,
    "unsubscribe": 0.2,
    "tamper": 0.2,
    "clock": 1.0,
}
_MESSAGES: Final = (None, "m", "ä", "", "line\nbreak")
_STEPS: Final = (1, 1_000, 30_000, 60_000, 300_000, 86_400_000)
_TTLS: Final = (None, 60_000, 60_000, 3_600_000, 1_000, 2**31)


class RandomSequences25:
    """The sequences of one run."""

    def __init__(self, seed: int, *, wait: bool, statuses: bool, well_formed: bool = False) -> None:
        self._seed = seed
        left_out = (() if wait else ("wait",)) + (() if statuses else ("listen", "unsubscribe"))
        self._weights = {name: weight for name, weight in _WEIGHTS.items() if name not in left_out}
        self._well_formed = well_formed

    def sequence(self, number: int, options: StoreOptions) -> list[Operation]:
        """Sequence ``number`` for a store opened with ``options``."""
        random = Random(f"{self._seed}/{number}")
        pool = PayloadPool(random, well_formed=self._well_formed)
        return _Maker(random, self._weights, pool, options).make()


class _Maker:
    def __init__(self, random: Random, weights: dict[str, float], pool: PayloadPool, options: StoreOptions) -> None:
        self.random = random
        self.pool = pool
        self.clock = options.clock
        kept = {name: weight for name, weight in weights.items() if random.random() < 0.75 or name in ("get", "update")}
        if not options.clock:
            kept.pop("clock", None)
        self.names = list(kept)
        self.weights = list(kept.values())
        self.sessions: tuple[str | None, ...] = random.choice((("A",), ("A", "B"), ("A", "B", None), (None,)))
        if "list" in kept and None in self.sessions:
            # Lists of no session hold what every earlier sequence made: they would grow long.
            self.sessions = ("A", "B")
        self.owners: dict[str, str | None] = {}
        self.made: list[Operation] = []

    def make(self) -> list[Operation]:
        if "listen" in self.names and self.random.random() < 0.3:
            self.made.append(OnStatus("l1", self.random.choice(("plain", "getting"))))
        for _ in range(self.random.choice((1, 1, 2, 3))):
            self._create()
        for _ in range(self.random.choice((3, 6, 12, 25))):
            name = self.random.choices(self.names, self.weights)[0]
            _MAKERS[name](self)
        return [*self.made, *closing_reads(self.made)]

    def _task(self) -> str:
        return self.random.choice(list(self.owners))

    def _foreign(self, task: str) -> str | None:
        others = [name for name in ("A", "B", "C") if name != self.owners[task]]
        return self.random.choice(others) if self.owners[task] is not None else OWN

    def _create(self) -> None:
        name = f"t{len(self.owners) + 1}"
        session = self.random.choice(self.sessions)
        options: dict[str, object] = {}
        if self.random.random() < 0.5:
            options["ttl"] = self.random.choice(_TTLS if self.clock else (None, 3_600_000))
        if self.random.random() < 0.2:
            options["poll_interval"] = self.random.choice((1, 500, 60_000))
        if self.random.random() < 0.1:
            options["meta"] = {"n": self.random.randrange(9)}
        self.owners[name] = session
        self.made.append(CreateTask(name, options, session))

    def _final(self) -> FinalStatus:
        return self.random.choice(("completed", "completed", "failed"))

    def _update(self) -> None:
        status = self.random.choice((*STATUSES[:2] * 3, *STATUSES[2:]))
        self.made.append(UpdateStatus(self._task(), status, self.random.choice(_MESSAGES)))

    def _store(self) -> None:
        self.made.append(StoreResult(self._task(), self._final(), self.pool.results()))

    def _call_of_another(self) -> None:
        task = self._task()
        session = self._foreign(task)
        self.made.append(
            self.random.choice(
                (
                    GetTask(task, session),
                    GetResult(task, session),
                    UpdateStatus(task, self.random.choice(STATUSES), None, session),
                    StoreResult(task, self._final(), {"foreign": 1}, session),
                )
            )
        )

    def _stranger(self) -> None:
        name = self.random.choice(("nobody", f"{self._task()}~prefix", f"{self._task()}~suffix"))
        call = self.random.choice(
            (GetTask(name), GetResult(name), UpdateStatus(name), StoreResult(name, "completed", {"n": 1}))
        )
        self.made.append(call)

    def _list(self) -> None:
        session = self.random.choice([item for item in self.sessions if item is not None] or ["A"])
        during: tuple[Operation, ...] = ()
        if self.random.random() < 0.3:
            during = (UpdateStatus(self._task(), "input_required"),)
        self.made.append(ListTasks(session, during))

    def _cursor(self) -> None:
        cursor: Operation = BadCursor("no-such-cursor", "A")
        self.made.append(self.random.choice((cursor, ForeignCursor("B", "A"))))

    def _tamper(self) -> None:
        self.made.append(Tamper(self._task(), self.random.choice(("returned", "given"))))


_MAKERS: Final[dict[str, Callable[[_Maker], None]]] = {
    "get": lambda m: m.made.append(GetTask(m._task())),
    "get_result": lambda m: m.made.append(GetResult(m._task())),
    "update": _Maker._update,
    "store": _Maker._store,
    "create": _Maker._create,
    "list": _Maker._list,
    "cursor": _Maker._cursor,
    "foreign": _Maker._call_of_another,
    "stranger": _Maker._stranger,
    "wait": lambda m: m.made.append(AwaitResult(m._task())),
    "listen": lambda m: m.made.append(OnStatus(f"l{m.random.randrange(1, 3)}")),
    "unsubscribe": lambda m: m.made.append(Unsubscribe(f"l{m.random.randrange(1, 3)}")),
    "tamper": _Maker._tamper,
    "clock": lambda m: m.made.append(AdvanceClock(m.random.choice(_STEPS))),
}
