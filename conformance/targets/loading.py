"""From what the user named to a source of stores, and what that source offers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcptasks.conformance.adapters import Adapter, AdapterError, find_adapter
from mcptasks.conformance.engine.beat import Stage
from mcptasks.conformance.engine.interpreter import Interpreter
from mcptasks.conformance.engine.interpreter_2025 import Automaton25, Interpreter25
from mcptasks.conformance.engine.plan import Features
from mcptasks.conformance.errors import UsageError
from mcptasks.conformance.model.automaton import Automaton
from mcptasks.conformance.targets.importing import load_attribute
from mcptasks.conformance.targets.protocols import STORE_2025, STORE_2026
from mcptasks.conformance.targets.store import REQUIRED_METHODS, StoreOptions, StoreSource
from mcptasks.strategies.json_values import JSON
from mcptasks.strategies.operations import Create
from mcptasks.strategies.operations_2025 import CreateTask

__all__ = ["Offer", "load_source", "probe"]


@dataclass(frozen=True, slots=True)
class Offer:
    """What a target offers, and why it does not offer the rest."""

    features: Features
    reasons: dict[str, str]
    """For a need of the catalogue that is not offered: why."""
    not_applicable: dict[str, str]
    """Globs of requirements that an adapter cannot express, with its reason."""


def load_source(
    store: str,
    arguments: Mapping[str, JSON] | None = None,
    adapter: str | None = None,
    revision: str = STORE_2026.revision,
) -> tuple[StoreSource, Adapter | None]:
    """The source of stores that ``--store``, ``--store-arg``, ``--adapter`` and ``--revision`` name.

    Raises:
        UsageError: something of it cannot be found or does not fit.
    """
    found: Any = load_attribute(store)
    chosen: Adapter | None = None
    exempt: frozenset[str] = frozenset()
    if adapter is not None:
        try:
            chosen = find_adapter(adapter)
        except AdapterError as error:
            raise UsageError(str(error)) from error
        found = chosen.factory(found)
        exempt = chosen.missing_methods
        if revision not in ("auto", chosen.revision):
            raise UsageError(f"--adapter {adapter}: it makes stores of revision {chosen.revision}, not {revision}")
        revision = chosen.revision
    sessions = chosen is None or chosen.sessions
    return StoreSource(found, store, dict(arguments or {}), exempt, revision=revision, sessions=sessions), chosen


def source_of(factory: Callable[..., Any] | object, name: str) -> StoreSource:
    """A source for a class, factory or instance at hand."""
    return StoreSource(factory, name)


async def probe(source: StoreSource, adapter: Adapter | None = None) -> Offer:
    """Open a store once with everything and see what it honours.

    Raises:
        UsageError: it is no store.
        TargetUnusableError: it cannot be opened, or cannot create a task.
    """
    if source.protocol is STORE_2025:
        return await _probe_2025(source, adapter)
    accepts = source.accepts
    reasons: dict[str, str] = {}
    features = Features(
        input_requests=adapter is None or "set_input_requests" not in adapter.missing_methods,
        renewable=not source.is_instance,
        well_formed=adapter is not None and adapter.payloads != "any",
    )
    clock = "clock" in accepts
    ttl = "default_ttl_ms" in accepts
    if source.is_instance:
        reasons["clock"] = reasons["ttl"] = "an instance was given, not a factory that takes keywords"
    if not clock:
        reasons.setdefault("clock", "the factory has no parameter 'clock'")
    if not ttl:
        reasons.setdefault("ttl", "the factory has no parameter 'default_ttl_ms'")
    if "location" not in accepts:
        reasons["second-instance"] = "the factory has no parameter 'location'"
    reasons.update(source.unmet)
    if clock or ttl:
        store = await source.open(StoreOptions(clock=clock, ttl=ttl, default_ttl_ms=60_000))
        try:
            source.stage(Stage.OPENING)  # nothing is known of this store yet: its first call has as much time
            interpreter = Interpreter(store, Automaton())
            await interpreter.run([Create("t1")])
            task = interpreter.tasks.get("t1")
            if task is not None:
                if clock and interpreter.times.clock_ignored:
                    clock = False
                    reasons["clock"] = "the factory takes 'clock' and does not use it"
                if ttl and not task.expiry_unknown and task.ttl_ms != 60_000:
                    ttl = False
                    reasons["ttl"] = "the factory takes 'default_ttl_ms' and its tasks have another ttl"
        finally:
            await store.close()
    store = await source.open(StoreOptions())
    asynchronous = not source.bridged and any(
        inspect.iscoroutinefunction(getattr(store, name)) for name in REQUIRED_METHODS
    )
    await store.close()
    if not asynchronous:
        reasons.setdefault("abort", "its methods are plain def")
    return Offer(
        Features(
            clock=clock,
            ttl=ttl,
            input_requests=features.input_requests,
            renewable=features.renewable,
            asynchronous=asynchronous,
            bridged=source.bridged,
            well_formed=features.well_formed,
        ),
        reasons,
        dict(adapter.not_applicable) if adapter is not None else {},
    )


_LEFT_TO_THE_SERVER: Final = {
    f"store25.{area}.terminal": "the server above the store keeps ended tasks as they are (--guard server)"
    for area in ("result", "status")
}


async def _probe_2025(source: StoreSource, adapter: Adapter | None) -> Offer:
    """The same for a store of revision 2025-11-25."""
    accepts = source.accepts
    reasons: dict[str, str] = {}
    clock = "clock" in accepts
    if source.is_instance:
        reasons["clock"] = reasons["pages"] = "an instance was given, not a factory that takes keywords"
    for need, keyword in (("clock", "clock"), ("pages", "page_size"), ("second-instance", "location")):
        if keyword not in accepts:
            reasons.setdefault(need, f"the factory has no parameter '{keyword}'")
    reasons.update(source.unmet)
    store = await source.open(StoreOptions(clock=clock))
    waits = getattr(store, "wait_for_task_result", None)
    hears = getattr(store, "on_status_change", None)
    try:
        source.stage(Stage.OPENING)  # nothing is known of this store yet: its first call has as much time
        interpreter = Interpreter25(store, Automaton25())
        await interpreter.run([CreateTask("t1", {"ttl": 60_000})])
        if clock and interpreter.times.clock_ignored:
            clock = False
            reasons["clock"] = "the factory takes 'clock' and does not use it"
    finally:
        await store.close()
    if waits is None:
        reasons["wait"] = "the store has no wait_for_task_result"
    elif not inspect.iscoroutinefunction(waits):
        reasons["wait"] = "wait_for_task_result is no coroutine function: it would block the only caller"
    if hears is None:
        reasons["events"] = "the store has no on_status_change"
    features = Features(
        clock=clock,
        ttl=True,
        input_requests=False,
        renewable=not source.is_instance,
        asynchronous=False,
        bridged=source.bridged,
        well_formed=adapter is not None and adapter.payloads != "any",
        revision=STORE_2025.revision,
        wait="wait" not in reasons,
        statuses=hears is not None,
        pages="page_size" in accepts,
    )
    not_applicable = dict(adapter.not_applicable) if adapter is not None else {}
    return Offer(features, reasons, not_applicable if source.guarded else {**not_applicable, **_LEFT_TO_THE_SERVER})
