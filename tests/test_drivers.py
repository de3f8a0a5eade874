"""Exhaustive search, random sequences, shrinking, replays: the parts between generator and finding."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from mcptasks.conformance.engine.breach import Breach
from mcptasks.conformance.engine.budget import Budget
from mcptasks.conformance.engine.entropy import weakness
from mcptasks.conformance.engine.exhaustive import clock_alphabet, listener_alphabet, one_task, two_tasks
from mcptasks.conformance.engine.expand import closing_reads, with_reads, without_inner_reads
from mcptasks.conformance.engine.interpreter import Interpreter
from mcptasks.conformance.engine.plan import Features, Plan
from mcptasks.conformance.engine.renaming import prefixed
from mcptasks.conformance.engine.shrink import Shrinker
from mcptasks.conformance.model.automaton import Automaton
from mcptasks.conformance.targets.store import StoreOptions, StoreSource
from mcptasks.fixtures.gallery.base import SimpleStore
from mcptasks.fixtures.stores import MemoryTaskStore, ThreadSafeTaskStore
from mcptasks.strategies.operations import (
    Abort,
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
    Tamper,
    Unsubscribe,
)


def run(factory: Any, operations: Sequence[Operation], options: StoreOptions | None = None) -> Breach | None:
    async def main() -> Breach | None:
        store = await StoreSource(factory, "store").open(options or StoreOptions())
        try:
            return await Interpreter(store, Automaton(), settle=0.2).run(operations)
        finally:
            await store.close()

    return asyncio.run(main())


# --- exhaustive -------------------------------------------------------------------------------


def test_nine_operations_to_depth_five_are_66429_sequences() -> None:
    assert one_task().count(5) == 66_429


@pytest.mark.parametrize("alphabet", [one_task(), two_tasks(), listener_alphabet(), clock_alphabet()])
def test_of_sequences_equal_by_renaming_exactly_one_is_run(alphabet: Any) -> None:
    chosen = set(alphabet.words_of(3))
    for word in product(range(len(alphabet.letters)), repeat=3):
        images = {word, *(tuple(mirror[letter] for letter in word) for mirror in alphabet.mirrors)}
        assert len(images & chosen) == 1


def test_payloads_differ_by_position_so_that_an_overwrite_shows() -> None:
    alphabet = one_task()
    first, second = alphabet.operations((7, 7))[1:3]
    assert isinstance(first, Complete)
    assert isinstance(second, Complete)
    assert first.result != second.result


def test_an_alphabet_without_an_operation_keeps_its_symmetry() -> None:
    smaller = one_task().without(frozenset({"fail"}))
    assert len(smaller.letters) == 8
    chosen = set(smaller.words_of(2))
    for word in product(range(8), repeat=2):
        images = {word, *(tuple(mirror[letter] for letter in word) for mirror in smaller.mirrors)}
        assert len(images & chosen) == 1


# --- random -----------------------------------------------------------------------------------


def test_a_random_sequence_depends_on_seed_and_number_alone() -> None:
    plan = Plan(3, Features(clock=True, ttl=True))
    again = Plan(3, Features(clock=True, ttl=True))
    assert [plan.random_sequence(number) for number in (900, 7)] == [again.random_sequence(n) for n in (900, 7)]
    assert plan.random_sequence(7) != Plan(4, Features(clock=True, ttl=True)).random_sequence(7)


def test_random_sequences_make_every_operation_and_end_with_reads() -> None:
    plan = Plan(0, Features(clock=True, ttl=True))
    made = [plan.random_sequence(number) for number in range(1500)]
    kinds = {type(operation) for sequence in made for operation in sequence}
    assert kinds == {
        Abort, AdvanceClock, Cancel, Complete, Create, Fail, Get, Resolve, SetInput, Subscribe, Tamper, Unsubscribe,
    }  # fmt: skip
    assert all(isinstance(sequence[-1], Get) for sequence in made)
    assert max(sum(isinstance(item, Create) for item in sequence) for sequence in made) == 300


def test_a_target_without_input_requests_gets_none() -> None:
    plan = Plan(0, Features(input_requests=False))
    kinds = {type(operation) for number in range(300) for operation in plan.random_sequence(number)}
    assert not kinds & {SetInput, Resolve, Subscribe, Unsubscribe}


@pytest.mark.parametrize("factory", [MemoryTaskStore, ThreadSafeTaskStore, SimpleStore])
def test_random_sequences_accuse_no_reference(factory: Any) -> None:
    plan = Plan(11, Features(clock=True, ttl=True))
    for number in range(0, 3000, 7):
        operations = plan.random_sequence(number)
        options = plan.options(number // 250)
        assert run(factory, operations, options) is None, (number, operations)


# --- reads ------------------------------------------------------------------------------------


def test_with_reads_reads_what_was_changed_and_the_rest() -> None:
    sequence = [Create("t1"), Create("t2"), Cancel("t1")]
    expanded = with_reads(sequence)
    assert [item for item in expanded if not isinstance(item, Get)] == sequence
    assert expanded[-3:] == [Get("t1"), Get("t1"), Get("t2")]


def test_without_inner_reads_keeps_the_last_one() -> None:
    assert without_inner_reads([Create("t1"), Get("t1"), Cancel("t1"), Get("t1")]) == [
        Create("t1"),
        Cancel("t1"),
        Get("t1"),
    ]


def test_closing_reads_name_every_task_once() -> None:
    assert closing_reads([Create("t1"), Abort(Cancel("t2")), Get("t1")]) == [Get("t1"), Get("t2")]


# --- shrinking --------------------------------------------------------------------------------


def shrunk(operations: list[Operation], fails: Any) -> list[Operation]:
    """What is left of a sequence for which ``fails`` gives the index of the failing operation."""

    async def test(candidate: Sequence[Operation]) -> Breach | None:
        index = fails(list(candidate))
        return None if index is None else Breach("r", "o", "o", "s", "status", "", "", "", index)

    async def main() -> list[Operation]:
        first = await test(operations)
        assert first is not None
        return (await Shrinker(test).shrink(operations, first))[0]

    return asyncio.run(main())


def _double_complete(operations: list[Operation]) -> int | None:
    seen: set[str] = set()
    for index, operation in enumerate(operations):
        if isinstance(operation, Complete):
            if operation.task in seen:
                return index
            seen.add(operation.task)
    return None


def test_operations_tasks_and_payloads_are_shrunk() -> None:
    noise: list[Operation] = [Create(f"t{number}") for number in range(40)]
    sequence = [
        *noise,
        Complete("t31", {"content": [{"type": "text", "text": "x" * 5000}]}),
        Get("t3"),
        Cancel("t4"),
        Complete("t31", {"deep": [[[1, 2, 3]]]}),
        Get("t31"),
    ]
    assert shrunk(sequence, _double_complete) == [Complete("t1", {}), Complete("t1", {})]


def test_keys_are_renamed_and_left_out() -> None:
    def fails(operations: list[Operation]) -> int | None:
        for index, operation in enumerate(operations):
            if isinstance(operation, SetInput) and any(len(key) > 0 for key, _ in operation.requests):
                return index
        return None

    sequence: list[Operation] = [Create("t9"), SetInput("t9", {"constructor": 1, "__proto__": {"a": [1]}, "x": 2})]
    assert shrunk(sequence, fails) == [SetInput("t1", {"a": {}})]


# --- the interpreter --------------------------------------------------------------------------


class _Overwrites(SimpleStore):
    """complete and fail overwrite what is there."""

    def _complete_ended(self, task: Any, result: Any) -> None:
        self._complete_live(task, result)


def test_a_breach_names_operation_state_and_aspect() -> None:
    found = run(_Overwrites, [Create("t1"), Cancel("t1"), Complete("t1", {"n": 1}), Get("t1")])
    assert found is not None
    assert (found.requirement, found.operation, found.state, found.aspect) == (
        "store.completed.terminal-noop", "complete", "cancelled", "status",
    )  # fmt: skip
    assert found.index == 3
    assert "cancelled" in found.expected
    assert "completed" in found.actual


def test_what_is_between_two_reads_is_not_judged_before_the_second() -> None:
    assert run(_Overwrites, [Create("t1"), Cancel("t1"), Complete("t1", {"n": 1})]) is None


@pytest.mark.parametrize("factory", [MemoryTaskStore, ThreadSafeTaskStore])
def test_listeners_of_one_sequence_do_not_hear_the_next(factory: Any) -> None:
    async def main() -> list[Breach | None]:
        store = await StoreSource(factory, "store").open(StoreOptions())
        interpreter = Interpreter(store, Automaton(), settle=0.2)
        sequence = [
            Subscribe("l1"), Subscribe("l2", "getting"), Create("t1"), SetInput("t1", {"a": 1, "b": 2}),
            Resolve("t1", {"a": 1}), Unsubscribe("l1"), Resolve("t1", {"b": 1}), Get("t1"),
        ]  # fmt: skip
        return [await interpreter.run(sequence) for _ in range(3)]

    assert asyncio.run(main()) == [None, None, None]


def test_sequences_joined_keep_their_names_apart() -> None:
    joined = [
        *prefixed([Create("t1"), Subscribe("l1"), Cancel("t1~suffix")], "s0."),
        *prefixed([Create("t1"), Get("t1")], "s1."),
    ]
    assert joined == [
        Create("s0.t1"),
        Subscribe("s0.l1"),
        Cancel("s0.t1~suffix"),
        Unsubscribe("s0.l1"),
        Create("s1.t1"),
        Get("s1.t1"),
    ]
    assert run(MemoryTaskStore, joined) is None


# --- ids and budgets --------------------------------------------------------------------------


def test_guessable_ids_are_told_from_good_ones() -> None:
    import secrets
    import uuid

    assert weakness([str(number) for number in range(200)])
    assert weakness([f"task-{number:06d}" for number in range(200)])
    assert weakness([secrets.token_hex(4) for _ in range(200)])
    assert weakness([str(uuid.uuid4()) for _ in range(200)]) is None
    assert weakness([secrets.token_urlsafe(16) for _ in range(200)]) is None
    # Time-ordered with 74 random bits.
    assert weakness([f"0193{number:08x}{secrets.token_hex(10)}" for number in range(200)]) is None


@pytest.mark.parametrize(
    ("text", "calls", "seconds"),
    [("200000", 200_000, None), ("200k", 200_000, None), ("2M", 2_000_000, None), ("8s", None, 8), ("1m30s", None, 90)],
)
def test_budgets_are_read(text: str, calls: int | None, seconds: float | None) -> None:
    assert Budget.parse(text) == Budget(calls=calls, seconds=seconds)


@pytest.mark.parametrize("text", ["", "0", "0s", "-5", "8 s", "1h", "k", "ten"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no budget"):
        Budget.parse(text)
