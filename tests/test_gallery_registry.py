"""The gallery against a lawful store, by a runner that knows nothing of the engine.

Each fault must really differ from a lawful store on its counterexample, and not before its last operation.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcptasks.fixtures.gallery import FAULTS, VARIANTS, Fault, Variant, fault, variant
from mcptasks.fixtures.gallery.variants import (
    AbsentIdsAreIgnored,
    EndKeepsPending,
    ExpiredTasksStay,
    PendingKeyIsRefused,
)
from mcptasks.fixtures.gallery.variants_events import ListenerErrorReachesTheCaller
from mcptasks.fixtures.stores import MemoryTaskStore
from mcptasks.strategies.json_values import canonical
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
    sequence_from_json,
    sequence_to_json,
)

START = datetime(2026, 7, 28, 12, tzinfo=UTC)
METHODS = [
    "create_task", "get_task", "set_input_requests", "resolve_input_requests", "set_cancelled", "set_completed",
    "set_failed", "on_input_response",
]  # fmt: skip
MEMBERS = [
    "task_id", "status", "created_at", "last_updated_at", "ttl_ms", "poll_interval_ms", "input_requests", "result",
    "error",
]  # fmt: skip

# These would take the test's own process or machine with them.
DEADLY = {
    "second-cancel-blocks-the-thread",
    "answer-exits-the-process",
    "set-calls-sys-exit",
    "fail-kills-the-process",
    "second-fail-eats-memory",
}
# Only a look at many ids shows it, no single observation.
UNSEEN = {"ids-count-up"}

# Obligations that no single caller can put at risk, or whose every outcome is allowed or already another's.
WITHOUT_FAULT = {
    "store.cancel.truth",
    "store.completed.absent",
    "store.conc.disjoint-resolve",
    "store.conc.no-lost-set",
    "store.conc.one-terminal",
    "store.conc.set-vs-resolve",
    "store.conc.thread-safe",
    "store.event.distributed",
    "store.failed.absent",
    "store.input.absent",
    "store.input.answered-key",
    "store.input.empty-map",
    "store.input.same-pending-key",
    "store.misc.pending-on-terminal",
    "store.misc.shared-instance",
    "store.resolve.absent",
    "store.resolve.empty-map",
    "store.time.noop-keeps-updated",
    "store.ttl.after",
    "store.ttl.mutate-expired",
    "store.ttl.nonpositive",
}


def member(record: Any, name: str) -> Any:
    """A member of a record or an event, in whatever form it comes."""
    first, *rest = name.split("_")
    for key in (name, first + "".join(map(str.title, rest))):
        if isinstance(record, Mapping):
            if key in record:
                return record[key]
        elif hasattr(record, key):
            return getattr(record, key)
    return "absent" if name.endswith("_ms") else None


def plain(value: Any) -> Any:
    """A value that two runs can compare, strict on the type of scalars."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: plain(body) for key, body in value.items()}
    if isinstance(value, (list, tuple)):
        return "endless" if any(item is value for item in value) else [plain(item) for item in value]
    return f"{type(value).__name__}:{value!r}"


class Runner:
    """Runs operations on one store and notes all that a caller can see, with ids replaced by names."""

    def __init__(self, factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self.now = START
        self.store = factory(clock=lambda: self.now, **options)
        self.ids: dict[str, Any] = {}
        self.names: dict[Any, str] = {}
        self.given: dict[str, Any] = {}
        self.records: list[Any] = []
        self.heard: list[Any] = []
        self.removers: dict[str, Callable[[], None]] = {}

    def id_of(self, name: str) -> Any:
        base, _, suffix = name.partition("~")
        known = self.ids.get(base, f"unknown-{base}")
        if not suffix:
            return known
        return {"prefix": known[:-1], "suffix": known + "x", "case": known.swapcase(), "space": known + " "}[suffix]

    def see(self, record: Any) -> Any:
        if record is None or isinstance(record, (str, int)):
            return plain(record)
        try:
            seen = {name: plain(member(record, name)) for name in MEMBERS}
        except Exception as error:
            return f"unreadable: {type(error).__name__}"
        seen["task_id"] = self.names.get(member(record, "task_id"), "another id")
        return seen

    async def call(self, method: str, *arguments: Any) -> Any:
        returned = getattr(self.store, method)(*arguments)
        return await returned if inspect.isawaitable(returned) else returned

    def subscribe(self, operation: Subscribe) -> None:
        name, kind = operation.as_, operation.kind

        def listener(event: Any) -> Any:
            task = self.names.get(member(event, "task_id"), "another id")
            self.heard.append([name, task, plain(member(event, "request_id")), plain(member(event, "response"))])
            if kind == "raising":
                raise ValueError("listener")
            return look(member(event, "task_id")) if kind == "getting" else None

        async def look(task_id: Any) -> None:
            self.heard.append([name, "sees", self.see(await self.call("get_task", task_id))])

        self.removers[name] = self.store.on_input_response(listener)

    async def step(self, operation: Operation) -> Any:
        """Run one operation; what it returned."""
        match operation:
            case AdvanceClock(ms):
                self.now += timedelta(milliseconds=ms)
                return None
            case Subscribe():
                return self.subscribe(operation)
            case Unsubscribe(listener):
                return self.removers[listener]()
            case Create(name):
                record = await self.call("create_task")
                task_id = member(record, "task_id")
                repeated = task_id in self.names
                self.ids[name] = task_id
                self.names[task_id] = name
                self.records.append(record)
                return [self.see(record), type(task_id).__name__, task_id == "", repeated]
            case Get(task):
                record = await self.call("get_task", self.id_of(task))
                self.records.append(record)
                return self.see(record)
            case Tamper(task, what):
                record = await self.call("get_task", self.id_of(task))
                target = self.given[task] if what == "given" else [member(record, name) for name in MEMBERS[6:]]
                for item in target if isinstance(target, list) else [target]:
                    tamper(item)
                return None
            case Abort(inner, after):
                running = asyncio.ensure_future(self.step(inner))
                for _ in range(after):
                    await asyncio.sleep(0)
                running.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await running
                return "aborted"
        method, argument = {
            SetInput: ("set_input_requests", "requests"),
            Resolve: ("resolve_input_requests", "responses"),
            Cancel: ("set_cancelled", None),
            Complete: ("set_completed", "result"),
            Fail: ("set_failed", "error"),
        }[type(operation)]
        assert not isinstance(operation, (Create, AdvanceClock, Subscribe, Unsubscribe, Abort, Tamper))
        if argument is None:
            return plain(await self.call(method, self.id_of(operation.task)))
        body = getattr(operation, argument)
        value = {key: item.fresh() for key, item in body} if isinstance(body, tuple) else body.fresh()
        self.given[operation.task] = value
        await self.call(method, self.id_of(operation.task), value)
        return None

    async def run(self, operations: Sequence[Operation]) -> list[Any]:
        """Run a sequence; all that was seen, in order."""
        trace: list[Any] = []
        for operation in operations:
            try:
                trace.append(await asyncio.wait_for(self.step(operation), 0.5))
            except TimeoutError:
                trace.append("hangs")
            except BaseException as error:
                trace.append(f"raises {'Exception' if isinstance(error, Exception) else type(error).__name__}")
        trace.append([self.heard, [self.see(record) for record in self.records]])
        return trace


def tamper(value: Any) -> None:
    """Change every container within ``value``."""
    if isinstance(value, dict):
        for body in list(value.values()):
            tamper(body)
        value["tampered"] = True
    elif isinstance(value, list):
        for body in value:
            tamper(body)
        value.append("tampered")


def trace_of(factory: Callable[..., Any], operations: Sequence[Operation], options: Mapping[str, Any]) -> list[Any]:
    async def main() -> list[Any]:
        return await Runner(factory, options).run(operations)

    return asyncio.run(main())


# Lawful stores that between them make every choice that a fault of the gallery makes on its way.
LAWFUL: list[Callable[..., Any]] = [
    MemoryTaskStore,
    AbsentIdsAreIgnored,
    EndKeepsPending,
    ExpiredTasksStay,
    ListenerErrorReachesTheCaller,
    PendingKeyIsRefused,
]


def differs(entry: Fault, operations: Sequence[Operation]) -> bool:
    """Whether no lawful store does what the fault does."""
    trace = trace_of(entry.open_store, operations, entry.store_options)
    return all(trace != trace_of(lawful, operations, entry.store_options) for lawful in LAWFUL)


def names(entries: Sequence[Any]) -> list[str]:
    return [entry.name for entry in entries]


ENTRIES: list[Fault | Variant] = [*FAULTS, *VARIANTS]
# Those of revision 2025-11-25 are held against the engine in test_store25_gallery.py.
STORE_FAULTS = [entry for entry in FAULTS if entry.kind == "store" and entry.revision == "2026-07-28"]
STORE_VARIANTS = [entry for entry in VARIANTS if entry.kind == "store" and entry.revision == "2026-07-28"]
STORES: list[Fault | Variant] = [*STORE_FAULTS, *STORE_VARIANTS]


def test_names_are_unique_and_find_their_entry() -> None:
    every = names(FAULTS) + names(VARIANTS)
    assert len(every) == len(set(every))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in every)
    assert fault(FAULTS[0].name) is FAULTS[0]
    assert variant(VARIANTS[0].name) is VARIANTS[0]
    with pytest.raises(KeyError):
        fault(VARIANTS[0].name)
    assert len(FAULTS) >= 90
    assert len(VARIANTS) >= 30


@pytest.mark.parametrize("entry", ENTRIES, ids=names(ENTRIES))
def test_entries_say_what_they_are(entry: Fault | Variant) -> None:
    assert entry.summary.endswith(".")
    assert "\n" not in entry.summary
    assert entry.requirements
    assert len(set(entry.requirements)) == len(entry.requirements)
    if isinstance(entry, Variant):
        assert entry.allowed_by.endswith(".")


def test_requirements_are_in_the_catalogue_and_covered() -> None:
    catalogue = pytest.importorskip("mcptasks.conformance.catalogue", exc_type=ImportError)
    known = set(catalogue.load_catalogue().requirements)
    mentioned = {name for entry in ENTRIES for name in entry.requirements}
    assert mentioned <= known
    shown = {entry.requirements[0] for entry in FAULTS}
    assert {name for name in known if name.startswith("store.")} - shown == WITHOUT_FAULT


def test_every_check_has_a_lawful_variant_next_to_its_fault() -> None:
    coverage = pytest.importorskip("mcptasks.conformance.coverage", exc_type=ImportError)
    stores = [coverage.store_coverage(revision) for revision in ("2026-07-28", "2025-11-25")]
    servers = [coverage.server_coverage(revision) for revision in ("2026-07-28", "2025-11-25")]
    for found in (*stores, *servers):
        assert set(found.implemented) - set(found.variants) == set(), (found.kind, found.revision)


@pytest.mark.parametrize("entry", FAULTS, ids=names(FAULTS))
def test_counterexamples_survive_json(entry: Fault) -> None:
    text = json.dumps(sequence_to_json(entry.counterexample))
    assert sequence_from_json(json.loads(text)) == entry.counterexample
    assert canonical(dict(entry.store_options)) is not None


@contextlib.asynccontextmanager
async def opened(factory: Callable[..., Any], **options: Any) -> Any:
    """The store of a factory of any form the contract allows, with the keywords that it names."""
    named = inspect.signature(factory).parameters
    made = factory(**{key: value for key, value in options.items() if key in named})
    made = await made if inspect.isawaitable(made) else made
    async with contextlib.AsyncExitStack() as stack:
        if hasattr(made, "__aenter__"):
            made = await stack.enter_async_context(made)
        elif hasattr(made, "__enter__"):
            made = stack.enter_context(made)
        yield made
        if hasattr(made, "close"):
            closing = made.close()
            if inspect.isawaitable(closing):
                await closing


@pytest.mark.parametrize("entry", STORES, ids=names(STORES))
def test_factories_open_a_store_of_the_protocol(entry: Fault | Variant) -> None:
    async def main() -> None:
        async with opened(entry.open_store, clock=lambda: START, default_ttl_ms=1000) as store:
            assert [method for method in METHODS if not callable(getattr(store, method, None))] == []

    asyncio.run(main())


@pytest.mark.parametrize("entry", STORE_FAULTS, ids=names(STORE_FAULTS))
def test_faults_name_the_keywords_of_the_factory(entry: Fault) -> None:
    assert {"clock", "default_ttl_ms"} <= set(inspect.signature(entry.open_store).parameters)


@pytest.mark.parametrize("entry", STORE_FAULTS, ids=names(STORE_FAULTS))
def test_counterexamples_reveal_with_their_last_operation(entry: Fault) -> None:
    if entry.name in DEADLY | UNSEEN:
        pytest.skip("cannot be seen from within")
    assert differs(entry, entry.counterexample)
    assert not differs(entry, entry.counterexample[:-1])


@pytest.mark.parametrize("entry", STORE_FAULTS, ids=names(STORE_FAULTS))
def test_counterexamples_have_no_call_too_many(entry: Fault) -> None:
    if entry.name in DEADLY | UNSEEN or len(entry.counterexample) > 20:
        pytest.skip("cannot be seen from within, or long")
    for index, operation in enumerate(entry.counterexample):
        if not isinstance(operation, Get):
            shorter = entry.counterexample[:index] + entry.counterexample[index + 1 :]
            with contextlib.suppress(KeyError):  # an unsubscribe without its subscribe is no sequence
                assert not differs(entry, shorter), f"without {operation}"


@pytest.mark.parametrize("entry", STORE_VARIANTS, ids=names(STORE_VARIANTS))
def test_variants_do_what_no_choice_touches(entry: Variant) -> None:
    async def main() -> None:
        async with opened(entry.open_store, clock=lambda: START, default_ttl_ms=60_000) as store:
            runner = Runner(lambda **_: store, {})
            await life(runner)

    asyncio.run(main())


async def life(runner: Runner) -> None:
    """What every lawful store does alike, whatever it chooses where the contract is open."""

    async def record(task: str) -> Any:
        return await runner.call("get_task", runner.id_of(task))

    async def state(task: str) -> tuple[Any, Any]:
        now = await record(task)
        status = member(now, "status")
        return getattr(status, "value", status), member(now, "input_requests")

    runner.subscribe(Subscribe("l1", "getting"))
    created = await runner.step(Create("t1"))
    assert created[0]["task_id"] == "t1"
    assert created[2:] == [False, False]
    await runner.step(Create("t2"))
    assert runner.ids["t1"] != runner.ids["t2"]
    assert await state("t1") in [("working", None), ("working", {})]
    await runner.step(SetInput("t1", {"a": {"n": [1, 1.5]}}))
    await runner.step(SetInput("t1", {"b": "x", "c": True}))
    status, pending = await state("t1")
    assert status == "input_required"
    assert canonical(pending) == canonical({"a": {"n": [1, 1.5]}, "b": "x", "c": True})
    await runner.step(Resolve("t1", {"a": {"yes": 1}}))
    status, pending = await state("t1")
    assert (status, canonical(pending)) == ("input_required", canonical({"b": "x", "c": True}))
    await runner.step(Resolve("t1", {"b": 2, "c": 3}))
    assert (await state("t1"))[0] == "working"
    for _ in range(200):
        if len([entry for entry in runner.heard if entry[1] == "t1"]) >= 3:
            break
        await asyncio.sleep(0.005)
    assert sorted(entry[2] for entry in runner.heard if entry[1] == "t1") == ["str:'a'", "str:'b'", "str:'c'"]
    result = {"content": [{"text": "é", "n": None}], "isError": False}
    await runner.step(Complete("t1", result))
    done = await record("t1")
    assert (await state("t1"))[0] == "completed"
    assert canonical(member(done, "result")) == canonical(result)
    assert member(done, "error") is None
    await runner.step(Fail("t1", {"code": 1}))
    assert await runner.step(Cancel("t1")) == "bool:False"
    assert canonical(member(await record("t1"), "result")) == canonical(result)
    assert await runner.step(Cancel("t2")) == "bool:True"
    await runner.step(Complete("t2", 1))
    cancelled = await record("t2")
    assert (await state("t2"))[0] == "cancelled"
    assert member(cancelled, "result") is None
    assert await runner.step(Get("unknown")) == "NoneType:None"
    assert await runner.step(Cancel("unknown")) == "bool:False"
    await runner.step(Create("t3"))
    await runner.step(Fail("t3", {"code": -1}))
    assert canonical(member(await record("t3"), "error")) == canonical({"code": -1})
