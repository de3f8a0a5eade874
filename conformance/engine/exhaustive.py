"""Bounded exhaustive search: every sequence over a small alphabet, shortest first.

Sequences are cut only by symmetry, never by what the model thinks of them: two sequences that reach
the same model state may reach different states of a faulty store, which is the point.  Two
sequences that differ only in the names of keys or tasks are run once.  A sequence that begins with
one that already failed is not run: past a breach nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from mcptasks.conformance.targets.store import StoreOptions
from mcptasks.strategies.json_values import Payload
from mcptasks.strategies.operations import (
    AdvanceClock,
    Cancel,
    Complete,
    Create,
    Fail,
    Get,
    Operation,
    Resolve,
    SetInput,
    Subscribe,
    name_of,
)

__all__ = ["Alphabet", "clock_alphabet", "listener_alphabet", "one_task", "two_tasks"]

TTL_MS = 60_000
"""Time to live in milliseconds of the stores whose clock is driven."""

Letter = Callable[[int], Operation]
"""The operation that a letter stands for at a position: payloads differ by position, so that an
overwrite shows."""


@dataclass(frozen=True)
class Alphabet:
    """What exhaustive sequences are made of."""

    name: str
    words: str
    """In words, for the report."""
    prefix: tuple[Operation, ...]
    letters: tuple[Letter, ...]
    closing: tuple[Operation, ...]
    """Reads at the end."""
    mirrors: tuple[tuple[int, ...], ...] = ()
    """Renamings as permutations of letter numbers; of sequences equal by one, the smallest is run."""
    options: StoreOptions = field(default_factory=StoreOptions)
    _table: list[tuple[Operation, ...]] = field(default_factory=list)

    def only(self, names: set[str]) -> Alphabet:
        """The alphabet with only the operations of these names."""
        kept = [index for index, letter in enumerate(self.letters) if name_of(letter(0)) in names]
        place = {letter: index for index, letter in enumerate(kept)}
        mirrors = []
        for mirror in self.mirrors:
            image = [mirror[letter] for letter in kept]
            if set(image) <= set(kept) and image != kept:
                mirrors.append(tuple(place[letter] for letter in image))
        told = ", ".join(dict.fromkeys(name_of(self.letters[index](0)) for index in kept))
        words = self.words if len(kept) == len(self.letters) else f"{told} (of: {self.words})"
        prefix = tuple(item for item in self.prefix if name_of(item) in names | {"create"})
        return replace(
            self,
            words=words,
            prefix=prefix,
            letters=tuple(self.letters[index] for index in kept),
            mirrors=tuple(mirrors),
            _table=[],
        )

    def without(self, names: frozenset[str]) -> Alphabet:
        """The alphabet without the operations of these names."""
        if not names:
            return self
        kept = self.only(
            {name_of(item) for item in self.prefix} | {name_of(letter(0)) for letter in self.letters} - names
        )
        return replace(kept, closing=tuple(item for item in self.closing if name_of(item) not in names), _table=[])

    def count(self, depth: int) -> int:
        """How many sequences of 1 to ``depth`` operations there are, those equal by renaming included."""
        return sum(len(self.letters) ** length for length in range(1, depth + 1))

    def words_of(self, length: int) -> Iterator[tuple[int, ...]]:
        """Every sequence of that length as letter numbers, one of each set equal by renaming."""
        mirrors = self.mirrors
        for word in product(range(len(self.letters)), repeat=length):
            for mirror in mirrors:
                if _greater(word, mirror):
                    break
            else:
                yield word

    def operations(self, word: Sequence[int]) -> list[Operation]:
        """The whole sequence to run: prefix, letters, closing reads."""
        table = self._table
        while len(table) < len(word):
            position = len(table)
            table.append(tuple(letter(position) for letter in self.letters))
        return [*self.prefix, *[table[i][letter] for i, letter in enumerate(word)], *self.closing]


def _greater(word: tuple[int, ...], mirror: tuple[int, ...]) -> bool:
    for letter in word:
        image = mirror[letter]
        if image != letter:
            return letter > image
    return False


def _requests(task: str, *keys: str) -> Letter:
    return lambda position: SetInput(task, {key: {"method": "ask", "at": position} for key in keys})


def _answers(task: str, *keys: str) -> Letter:
    return lambda position: Resolve(task, {key: {"answer": position} for key in keys})


def _constant(operation: Operation) -> Letter:
    return lambda position: operation


def _ends(task: str) -> tuple[Letter, ...]:
    return (
        _constant(Cancel(task)),
        lambda position: Complete(task, Payload({"result": position})),
        lambda position: Fail(task, Payload({"code": position, "message": "failed"})),
    )


def one_task() -> Alphabet:
    """Nine operations on one task with two keys."""
    letters: tuple[Letter, ...] = (
        _constant(Get("t1")),
        _requests("t1", "a"),
        _requests("t1", "b"),
        _answers("t1", "a"),
        _answers("t1", "b"),
        _answers("t1", "a", "b"),
        *_ends("t1"),
    )
    return Alphabet(
        "one-task",
        "get, set_input (a, b), resolve (a, b, both), cancel, complete, fail on one task",
        (Create("t1"),),
        letters,
        (Get("t1"),),
        ((0, 2, 1, 4, 3, 5, 6, 7, 8),),
    )


def two_tasks() -> Alphabet:
    """The same kinds of operation on two tasks that share a key."""

    def letters(task: str) -> tuple[Letter, ...]:
        return (_constant(Get(task)), _requests(task, "a"), _answers(task, "a"), *_ends(task))

    first, second = letters("t1"), letters("t2")
    size = len(first)
    swapped = (*range(size, 2 * size), *range(size))
    return Alphabet(
        "two-tasks",
        "get, set_input, resolve, cancel, complete, fail on two tasks with one key of the same name",
        (Create("t1"), Create("t2")),
        (*first, *second),
        (Get("t1"), Get("t2")),
        (swapped,),
    )


def listener_alphabet() -> Alphabet:
    """Input requests and ends with one listener subscribed."""
    letters: tuple[Letter, ...] = (
        _requests("t1", "a"),
        _requests("t1", "a", "b"),
        _answers("t1", "a"),
        _answers("t1", "b"),
        _answers("t1", "b", "a"),
        *_ends("t1"),
    )
    return Alphabet(
        "listener",
        "set_input, resolve, cancel, complete, fail on one task with a listener that reads the task",
        (Subscribe("l1", "getting"), Create("t1")),
        letters,
        (Get("t1"),),
    )


def clock_alphabet() -> Alphabet:
    """One task with a time to live and a clock that moves within it and past it."""
    letters: tuple[Letter, ...] = (
        _constant(Get("t1")),
        _requests("t1", "a"),
        _answers("t1", "a"),
        *_ends("t1"),
        _constant(AdvanceClock(TTL_MS // 3)),
        _constant(AdvanceClock(2 * TTL_MS)),
    )
    return Alphabet(
        "clock",
        "get, set_input, resolve, cancel, complete, fail and clock moves within and past the ttl, on one task",
        (Create("t1"),),
        letters,
        (Get("t1"),),
        options=StoreOptions(clock=True, ttl=True, default_ttl_ms=TTL_MS),
    )
