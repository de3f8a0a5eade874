"""How much the engine costs over the store it drives: ratios within one run.

    python benchmarks/store_drivers.py [--calls 60000] [--rounds 5]

Prints, for each in-memory reference:

* bulk / bare: calls a second of the bulk driver against a bare loop of the same calls (read-backs
  included, generation excluded);
* bulk / hypothesis: calls a second of the bulk driver, generation included, against the Hypothesis state
  machine;
* linear: time a call of the last tenth of a long run against the first tenth;
* memory: growth of the resident set over that run.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import psutil

from mcptasks.conformance.engine.hypothesis_driver import drive
from mcptasks.conformance.engine.interpreter import Interpreter
from mcptasks.conformance.engine.plan import BATCH, Features, Plan
from mcptasks.conformance.model.automaton import Automaton
from mcptasks.conformance.targets.store import OpenStore, StoreOptions, StoreSource
from mcptasks.fixtures.stores.memory import MemoryTaskStore
from mcptasks.fixtures.stores.threadsafe import ThreadSafeTaskStore
from mcptasks.strategies.operations import (
    Cancel,
    Complete,
    Create,
    Fail,
    Get,
    Operation,
    Resolve,
    SetInput,
)

CORE = (Create, Get, SetInput, Resolve, Cancel, Complete, Fail)


def sequences(calls: int, start: int = 0) -> list[list[Operation]]:
    """Random sequences of plain calls, as the bulk driver makes them, read back after every call."""
    plan = Plan(0, Features())
    out: list[list[Operation]] = []
    made = 0
    number = start
    while made < calls:
        number += 1
        if number % 250 == 249:
            continue  # long ones run alike, and make the rounds uneven
        sequence = [item for item in plan.random.sequence(number, StoreOptions()) if isinstance(item, CORE)]
        read: list[Operation] = []
        for item in sequence:
            read.append(item)
            if not isinstance(item, Get):
                read.append(Get(item.as_ if isinstance(item, Create) else item.task))
        out.append(read)
        made += len(read)
    return out


Compiled = list[tuple[str, str, Callable[[], Any] | None]]


def compiled(sequence: Sequence[Operation]) -> Compiled:
    """A sequence as method, task and argument."""
    out: Compiled = []
    for item in sequence:
        match item:
            case Create(as_):
                out.append(("create_task", as_, None))
            case Get(task):
                out.append(("get_task", task, None))
            case Cancel(task):
                out.append(("set_cancelled", task, None))
            case SetInput(task, entries):
                out.append(("set_input_requests", task, lambda e=entries: {k: b.fresh() for k, b in e}))
            case Resolve(task, entries):
                out.append(("resolve_input_requests", task, lambda e=entries: {k: b.fresh() for k, b in e}))
            case Complete(task, payload):
                out.append(("set_completed", task, payload.fresh))
            case Fail(task, payload):
                out.append(("set_failed", task, payload.fresh))
    return out


async def bare(store: Any, programs: Sequence[Compiled], asynchronous: bool) -> float:
    """Seconds for the calls alone; what a store raises for an unknown id is dropped."""
    started = time.process_time()
    for program in programs:
        ids: dict[str, str] = {}
        for name, task, argument in program:
            method = getattr(store, name)
            try:
                if name == "create_task":
                    record = await method() if asynchronous else method()
                    ids[task] = record.task_id
                elif argument is None:
                    if asynchronous:
                        await method(ids.get(task, task))
                    else:
                        method(ids.get(task, task))
                elif asynchronous:
                    await method(ids.get(task, task), argument())
                else:
                    method(ids.get(task, task), argument())
            except LookupError:
                pass
    return time.process_time() - started


async def bulk(source: StoreSource, work: Sequence[Sequence[Operation]]) -> tuple[float, int]:
    """Seconds and calls of the interpreter over the same sequences."""
    store = await source.open(StoreOptions())
    interpreter = Interpreter(store, Automaton())
    started = time.process_time()
    for sequence in work:
        found = await interpreter.run(sequence)
        assert found is None, found
    seconds = time.process_time() - started
    await store.close()
    return seconds, interpreter.beat[0]


def hypothesis_rate(source: StoreSource, features: Features, calls: int) -> float:
    """Calls a second of the state machine."""
    import tempfile
    from pathlib import Path

    from mcptasks.conformance.engine.beat import Beat

    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as folder:
        beat = Beat(Path(folder) / "beat", create=True)

        def make(store: OpenStore) -> Interpreter:
            return Interpreter(store, Automaton(), beat=beat.words)

        async def breached(*arguments: Any) -> None:
            raise AssertionError(arguments)

        started = time.process_time()
        drive(
            loop,
            source,
            features,
            0,
            make=make,
            beat=beat,
            breached=breached,
            going_on=lambda: beat.words[0] < calls,
        )
        rate = beat.words[0] / (time.process_time() - started)
        beat.close()
    loop.close()
    return rate


async def generated_rate(source: StoreSource, calls: int) -> float:
    """Calls a second of the bulk driver with generation, over all kinds of operations."""
    plan = Plan(0, Features())
    store = await source.open(StoreOptions())
    interpreter = Interpreter(store, Automaton())
    started = time.process_time()
    number = 0
    while interpreter.beat[0] < calls:
        number += 1
        found = await interpreter.run(plan.random.sequence(number, StoreOptions()))
        assert found is None, found
    rate = interpreter.beat[0] / (time.process_time() - started)
    await store.close()
    return rate


async def long_run(source: StoreSource, calls: int) -> tuple[float, float]:
    """Time a call of the last tenth over the first, and growth of memory in MiB after the first tenth."""
    plan = Plan(0, Features())
    automaton = Automaton()
    process = psutil.Process()
    spans: list[tuple[float, int]] = []
    resident = 0.0
    total = number = 0
    span_started, span_calls = time.process_time(), 0
    interpreter: Interpreter | None = None
    store: OpenStore | None = None
    while total < calls:
        if number % BATCH == 0:
            if store is not None:
                await store.close()
            store = await source.open(StoreOptions())
            interpreter = Interpreter(store, automaton)
        assert interpreter is not None
        before = interpreter.beat[0]
        number += 1
        assert await interpreter.run(plan.random.sequence(number, StoreOptions())) is None
        made = interpreter.beat[0] - before
        total += made
        span_calls += made
        if span_calls >= calls / 10:
            now = time.process_time()
            spans.append((now - span_started, span_calls))
            span_started, span_calls = now, 0
            if len(spans) == 1:
                resident = process.memory_info().rss
    first, last = spans[0], spans[-1]
    growth = (process.memory_info().rss - resident) / 2**20
    return (last[0] / last[1]) / (first[0] / first[1]), growth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--long", type=int, default=1_000_000, help="calls of the long run; 0 leaves it out")
    options = parser.parse_args()
    work = sequences(options.calls)
    programs = [compiled(sequence) for sequence in work]
    for factory, goal in ((MemoryTaskStore, 0.4), (ThreadSafeTaskStore, 0.3)):
        source = StoreSource(factory, factory.__name__)
        asynchronous = inspect.iscoroutinefunction(factory.get_task)
        ratios = []
        for _ in range(options.rounds):
            plain = asyncio.run(bare(factory(), programs, asynchronous))
            driven, calls = asyncio.run(bulk(source, work))
            ratios.append(plain / driven)
        ratio = statistics.median(ratios)
        print(
            f"{factory.__name__}: bulk / bare {ratio:.2f} (goal {goal}; "
            f"{min(ratios):.2f} to {max(ratios):.2f}), {driven / calls * 1e6:.1f} us a call"
        )
        slow = hypothesis_rate(source, Features(), 1500)
        fast = asyncio.run(generated_rate(source, 20_000))
        print(
            f"{factory.__name__}: bulk / hypothesis {fast / slow:.0f} (goal 10), {fast:,.0f} and {slow:,.0f} calls a second"
        )
        if options.long:
            slope, growth = asyncio.run(long_run(source, options.long))
            print(
                f"{factory.__name__}: linear {slope:.2f} (goal near 1), memory +{growth:.0f} MiB over {options.long:,} calls"
            )


if __name__ == "__main__":
    main()
